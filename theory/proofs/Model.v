(** * The model: prefix caching as paging on a forest

    Read this file to know what the theorems talk about.  A *token* stands
    for one token together with its whole prefix, that is, a node of the
    trie. *)

From KVBounds Require Export Sets.

Notation token := nat (only parsing).
Notation tset := (list nat) (only parsing).

(** A rooted forest: every parent has a smaller number than its child.  Any
    finite trie can be numbered like this.  (Infinitely many tokens may
    exist; a sequence uses finitely many.) *)
Record forest := Forest {
  parent : token -> option token;
  parent_lt : forall t p, parent t = Some p -> p < t
}.

(** ** Queries, footprints, batches *)

(** The path from a token up to its root: the tokens of the query that ends
    in [t]. *)
Fixpoint path_fuel (F : forest) (n : nat) (t : token) : tset :=
  match n with
  | 0 => [t]
  | S n' => match parent F t with
            | None => [t]
            | Some p => t :: path_fuel F n' p
            end
  end.

Definition path (F : forest) (t : token) : tset := path_fuel F t t.

(** Ancestor-closed (prefix-closed) sets. *)
Definition closed (F : forest) (A : tset) : Prop :=
  forall t p, In t A -> parent F t = Some p -> In p A.

(** A batch is a list of queries, each given by its last token; its footprint
    is the union of the paths. *)
Definition footprint (F : forest) (Q : list token) : tset := flat_map (path F) Q.

(** A batch of exactly [beta] distinct queries, each of at least [L] tokens. *)
Definition batch_of (F : forest) (L beta : nat) (Q : list token) : Prop :=
  length Q = beta /\ NoDup Q /\ forall q, In q Q -> L <= length (path F q).

(** An admissible sequence of footprints: each is closed and has at least [u]
    and at most [B] tokens. *)
Definition admissible (F : forest) (B u : nat) (us : list tset) : Prop :=
  forall U, In U us -> closed F U /\ u <= card U <= B.

(** ** Schedules and their cost

    A schedule lists the cache after every step.  [us] are the footprints,
    [ss] the caches, [S0] is the cache before the first step. *)

(** Demand schedules: all of U is resident, only requested tokens are loaded.
    The caches need not be prefix-closed. *)
Fixpoint schedule (B : nat) (S0 : tset) (us ss : list tset) : Prop :=
  match us, ss with
  | [], [] => True
  | U :: us', S1 :: ss' =>
      incl U S1 /\ incl S1 (S0 ++ U) /\ card S1 <= B /\ schedule B S1 us' ss'
  | _, _ => False
  end.

(** The cost of a demand schedule: its misses. *)
Fixpoint cost (S0 : tset) (us ss : list tset) : nat :=
  match us, ss with
  | U :: us', S1 :: ss' => card (diff U S0) + cost S1 us' ss'
  | _, _ => 0
  end.

(** Schedules that may also load tokens ahead of their request.  Every load
    is then paid for ([loads]); were prefetching free, the optimum would pay
    almost nothing. *)
Fixpoint prefetching_schedule (B : nat) (us ss : list tset) : Prop :=
  match us, ss with
  | [], [] => True
  | U :: us', S1 :: ss' =>
      incl U S1 /\ card S1 <= B /\ prefetching_schedule B us' ss'
  | _, _ => False
  end.

Fixpoint loads (S0 : tset) (us ss : list tset) : nat :=
  match us, ss with
  | U :: us', S1 :: ss' => card (diff S1 S0) + loads S1 us' ss'
  | _, _ => 0
  end.

(** Every cache of the schedule is prefix-closed. *)
Definition all_closed (F : forest) (ss : list tset) : Prop :=
  forall S1, In S1 ss -> closed F S1.

(** ** Phases and marking

    [T] holds the tokens requested in the current phase.  A phase ends just
    before the step that would make them more than [B]. *)
Definition next_marks (B : nat) (T U : tset) : tset :=
  if card (T ++ U) <=? B then T ++ U else U.

(** A schedule is *marking* if no step drops a token that has been requested
    in the current phase (this step included). *)
Fixpoint marking (B : nat) (T S0 : tset) (us ss : list tset) : Prop :=
  match us, ss with
  | U :: us', S1 :: ss' =>
      let T' := next_marks B T U in
      (forall x, In x (S0 ++ U) -> In x T' -> In x S1) /\
      marking B T' S1 us' ss'
  | _, _ => True
  end.

(** ** Deterministic policies

    A policy maps the footprints so far, the newest first, to the cache after
    the newest step. *)
Notation policy := (list (list nat) -> list nat) (only parsing).

Fixpoint run_from (pol : policy) (past us : list tset) : list tset :=
  match us with
  | [] => []
  | U :: us' => pol (U :: past) :: run_from pol (U :: past) us'
  end.

Definition run (pol : policy) (us : list tset) : list tset := run_from pol [] us.

(** The misses of a policy from an empty cache. *)
Definition policy_cost (pol : policy) (us : list tset) : nat :=
  cost [] us (run pol us).

(** ** Leaf policies

    Evict one token at a time, each a cached leaf outside the footprint,
    while more than [B] are cached.  The victim is the candidate of largest
    rank; equal ranks: the one with the larger number. *)
Definition is_child (F : forest) (t c : token) : bool :=
  match parent F c with Some p => p =? t | None => false end.

Definition is_leaf (F : forest) (A : tset) (t : token) : bool :=
  forallb (fun c => negb (is_child F t c)) A.

Definition candidates (F : forest) (U A : tset) : tset :=
  filter (is_leaf F A) (diff A U).

Definition before (r : token -> nat) (x y : token) : bool :=
  (r x <? r y) || ((r x =? r y) && (x <? y)).

Fixpoint argmax (r : token -> nat) (A : tset) : option token :=
  match A with
  | [] => None
  | x :: A' => match argmax r A' with
               | None => Some x
               | Some y => if before r x y then Some y else Some x
               end
  end.

Fixpoint evict (F : forest) (B : nat) (U : tset) (r : token -> nat)
         (n : nat) (A : tset) : tset :=
  match n with
  | 0 => A
  | S n' => if card A <=? B then A
            else match argmax r (candidates F U A) with
                 | None => A
                 | Some v => evict F B U r n' (remove1 v A)
                 end
  end.

Definition serve (F : forest) (B : nat) (r : token -> nat) (S0 U : tset) : tset :=
  let A := union S0 U in evict F B U r (card A) A.

(** What a leaf policy may look at: the steps so far, the newest first, each
    with its footprint and the cache after it. *)
Notation history := (list (list nat * list nat)) (only parsing).

Definition cache_of (h : history) : tset :=
  match h with [] => [] | (_, S1) :: _ => S1 end.

Fixpoint history_of (F : forest) (B : nat) (rank : history -> token -> nat)
         (past : list tset) : history :=
  match past with
  | [] => []
  | U :: past' => let h := history_of F B rank past' in
                  (U, serve F B (rank h) (cache_of h) U) :: h
  end.

Definition rank_policy (F : forest) (B : nat) (rank : history -> token -> nat)
  : policy := fun past => cache_of (history_of F B rank past).

(** ** Leaf-LRU

    [age us t]: how many steps ago [t] was last used ([us] newest first). *)
Fixpoint age (us : list tset) (t : token) : nat :=
  match us with
  | [] => 0
  | U :: us' => if mem t U then 0 else S (age us' t)
  end.

Definition leaf_lru (F : forest) (B : nat) : policy :=
  rank_policy F B (fun h => age (map fst h)).
