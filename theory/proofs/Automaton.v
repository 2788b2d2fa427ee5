(** * Pieces of the certificate checker: automata and batches

    An automaton is a table of targets and costs.  [check_automaton] finds
    what its states stand for in a machine of [Recency.v] and compares every
    edge. *)

From KVBounds Require Export Recency.

Local Open Scope nat_scope.

(** ** Automata *)

Record automaton := Automaton {
  targets : list (list nat);       (* next state, by state and step *)
  costs : list (list nat)
}.

Definition cell (rows : list (list nat)) (i j : nat) : nat := nth j (nth i rows []) 0.

Section Automaton.
Variable State : Type.
Variable eq_dec : forall s s' : State, {s = s'} + {s <> s'}.
Variable next : State -> list nat -> State.
Variable fee : State -> list nat -> nat.
Variable start : State.
Variable us : list (list nat).
Variable a : automaton.

(** What the states of the automaton stand for: they are numbered in the
    order in which the rows meet them. *)
Fixpoint meet (s : State) (row : list nat) (us : list (list nat)) (known : list State)
  : list State :=
  match row, us with
  | t :: row', U :: us' =>
      meet s row' us' (if t =? length known then known ++ [next s U] else known)
  | _, _ => known
  end.

Fixpoint explore (i : nat) (rows : list (list nat)) (known : list State) : list State :=
  match rows with
  | [] => known
  | row :: rows' => explore (S i) rows' (meet (nth i known start) row us known)
  end.

Definition known_states : list State := explore 0 (targets a) [start].

Definition same_state (s s' : State) : bool := if eq_dec s s' then true else false.

Definition check_automaton (known : list State) : bool :=
  same_state (nth 0 known start) start &&
  forallb (fun i => forallb (fun j =>
      same_state (nth (cell (targets a) i j) known start)
                 (next (nth i known start) (nth j us [])) &&
      (cell (costs a) i j =? fee (nth i known start) (nth j us [])))
    (seq 0 (length us))) (seq 0 (length (targets a))).

Lemma check_automaton_spec known : check_automaton known = true ->
  nth 0 known start = start /\
  forall i j, i < length (targets a) -> j < length us ->
    nth (cell (targets a) i j) known start = next (nth i known start) (nth j us []) /\
    cell (costs a) i j = fee (nth i known start) (nth j us []).
Proof.
  assert (Hs : forall s s', same_state s s' = true -> s = s')
    by (unfold same_state; intros s s'; destruct (eq_dec s s'); easy).
  intros H. apply andb_true_iff in H as (H0 & H). split; [now apply Hs|].
  intros i j Hi Hj. rewrite forallb_forall in H.
  assert (Hi' : In i (seq 0 (length (targets a)))) by (apply in_seq; lia).
  specialize (H i Hi'). rewrite forallb_forall in H.
  assert (Hj' : In j (seq 0 (length us))) by (apply in_seq; lia).
  specialize (H j Hj'). apply andb_true_iff in H as (H1 & H2).
  split; [now apply Hs|now apply Nat.eqb_eq].
Qed.
End Automaton.

Definition list_eq_dec_nat : forall s s' : list nat, {s = s'} + {s <> s'} :=
  list_eq_dec Nat.eq_dec.

Definition table_eq_dec : forall t t' : table, {t = t'} + {t <> t'}.
Proof. decide equality. apply Nat.eq_dec. Defined.

(** ** Batches *)

(** The sublists of [n] members. *)
Fixpoint choose (n : nat) (l : list nat) : list (list nat) :=
  match n, l with
  | 0, _ => [[]]
  | S _, [] => []
  | S n', x :: l' => map (cons x) (choose n' l') ++ choose n l'
  end.

Lemma choose_all l : forall Q, NoDup Q -> incl Q l ->
  exists Q', In Q' (choose (length Q) l) /\ same_set Q Q'.
Proof.
  induction l as [|x l IH]; intros Q HN HQ.
  - destruct Q as [|y Q]; [|now destruct (HQ y); left]. exists []. split; [now left|easy].
  - destruct Q as [|y0 Q0] eqn:EQ; [exists []; split; [now left|easy]|]. rewrite <- EQ in *.
    assert (Hlen : length Q = S (length Q0)) by now subst.
    destruct (In_dec x Q) as [Hx|Hx].
    + assert (HN' : NoDup (remove1 x Q)) by now apply NoDup_filter.
      destruct (IH (remove1 x Q) HN') as (Q' & H1 & H2).
      { intros y Hy. apply In_remove1 in Hy as (Hy & Hne). destruct (HQ y Hy); [congruence|auto]. }
      pose proof (card_remove1 x Q Hx) as Hc. rewrite !card_NoDup in Hc by auto.
      exists (x :: Q'). split.
      * rewrite Hc. simpl. apply in_app_iff. left. now apply in_map.
      * intros y. simpl. rewrite <- (H2 y), In_remove1. split.
        -- intros Hy. destruct (Nat.eq_dec x y); auto.
        -- intros [<-|[]]; auto.
    + destruct (IH Q HN) as (Q' & H1 & H2).
      { intros y Hy. destruct (HQ y Hy); auto. subst. easy. }
      exists Q'. split; auto. rewrite Hlen in *. simpl. apply in_app_iff. auto.
Qed.

Lemma footprint_same F Q Q' : same_set Q Q' -> same_set (footprint F Q) (footprint F Q').
Proof.
  intros H x. unfold footprint. rewrite !in_flat_map.
  split; intros (q & Hq & Hx); exists q; split; auto; now apply H.
Qed.
