(** * The definitions are not vacuous

    Small instances, computed by the kernel.  The numbers are written here
    once; the Python model has to give the same ones. *)

From KVBounds Require Export LeafLRU.

(** A forest from a list of parents; a parent that is not smaller is no
    parent. *)
Definition lookup (ps : list (option nat)) (t : nat) : option nat :=
  match nth t ps None with
  | Some p => if p <? t then Some p else None
  | None => None
  end.

Lemma lookup_lt ps t p : lookup ps t = Some p -> p < t.
Proof.
  unfold lookup. destruct (nth t ps None) as [q|]; [|easy].
  destruct (q <? t) eqn:E; [|easy]. intros H. injection H as <-.
  now apply Nat.ltb_lt.
Qed.

Definition forest_of (ps : list (option nat)) : forest :=
  Forest (lookup ps) (lookup_lt ps).

(** Parents [-,-,0,0,1,2]: roots 0 and 1; 2 and 3 below 0; 4 below 1; 5 below 2. *)
Definition small : forest :=
  forest_of [None; None; Some 0; Some 0; Some 1; Some 2].

Definition queries (qs : list nat) : list (list nat) :=
  map (fun q => footprint small [q]) qs.

(** Capacity 3; the queries 5 3 4 5 3 4: Leaf-LRU misses 11 times. *)
Definition small_run := queries [5; 3; 4; 5; 3; 4].

Example path_of_5 : path small 5 = [5; 2; 0].
Proof. reflexivity. Qed.

Example footprint_of_batch : card (footprint small [5; 3]) = 4.
Proof. reflexivity. Qed.

Example batch_exists : batch_of small 2 2 [5; 3].
Proof.
  repeat split.
  - repeat constructor; simpl; intuition congruence.
  - intros q [<-|[<-|[]]]; vm_compute; lia.
Qed.

Example small_admissible : admissible small 3 2 small_run.
Proof.
  intros U HU. apply in_map_iff in HU as (q & <- & Hq). split.
  - apply footprint_closed.
  - repeat (destruct Hq as [<-|Hq]; [vm_compute; lia|]). easy.
Qed.

Example lru_small_caches :
  run (leaf_lru small 3) small_run =
  [[5; 2; 0]; [2; 0; 3]; [0; 4; 1]; [0; 5; 2]; [0; 2; 3]; [0; 4; 1]].
Proof. vm_compute. reflexivity. Qed.

Example lru_small_cost : policy_cost (leaf_lru small 3) small_run = 11.
Proof. vm_compute. reflexivity. Qed.

(** A schedule that is no schedule: too many tokens are kept. *)
Example too_large : ~ schedule 3 [] small_run
  [[5; 2; 0]; [5; 0; 2; 3]; [0; 1; 4]; [5; 2; 0]; [0; 2; 3]; [0; 1; 4]].
Proof. simpl. intros (_ & _ & _ & _ & _ & H & _). vm_compute in H. lia. Qed.

(** A demand schedule must not load ahead: were that free, alternating
    three single tokens with B = 2 would cost 1 in all. *)
Example prefetching_is_not_demand :
  prefetching_schedule 2 [[0]; [1]; [2]; [0]] [[0; 1]; [1; 2]; [2; 0]; [0; 1]] /\
  ~ schedule 2 [] [[0]; [1]; [2]; [0]] [[0; 1]; [1; 2]; [2; 0]; [0; 1]] /\
  cost [] [[0]; [1]; [2]; [0]] [[0; 1]; [1; 2]; [2; 0]; [0; 1]] = 1 /\
  loads [] [[0]; [1]; [2]; [0]] [[0; 1]; [1; 2]; [2; 0]; [0; 1]] = 5.
Proof.
  split; [|split; [|split; reflexivity]].
  - repeat split; try (vm_compute; lia); intros x Hx; simpl in *; tauto.
  - intros (_ & H & _). destruct (H 1); [now (right; left)|lia|easy].
Qed.

(** A policy that is not marking: single tokens, B = 2, the second step drops
    a token of the current phase although there is room. *)
Example not_marking : ~ marking 2 [] [] [[0]; [1]] [[0]; [1]].
Proof.
  simpl. intros (_ & H & _). destruct (H 0) as [?|[]]; try (now left). lia.
Qed.

(** The broom of Theorem 2 with L = 2, beta = 1, B = 3: k = 2, three leaves
    1, 2, 3; in a circle Leaf-LRU misses a leaf each time. *)
Example broom_lru :
  policy_cost (leaf_lru (forest_of [None; Some 0; Some 0; Some 0]) 3)
    (map (footprint (forest_of [None; Some 0; Some 0; Some 0]))
         [[1]; [2]; [3]; [1]; [2]; [3]; [1]; [2]; [3]]) = 10.
Proof. vm_compute. reflexivity. Qed.

(** Batches of two: B = 4, L = 2. *)
Example broom_lru_batches :
  policy_cost (leaf_lru (forest_of [None; Some 0; Some 0; Some 0; Some 0]) 4)
    (map (footprint (forest_of [None; Some 0; Some 0; Some 0; Some 0]))
         [[1; 2]; [1; 3]; [1; 4]; [1; 2]; [1; 3]; [1; 4]]) = 8.
Proof. vm_compute. reflexivity. Qed.
