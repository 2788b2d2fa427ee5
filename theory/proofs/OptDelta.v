(** * P1: the optimum is at least the sum of the Delta_t

    A lower bound on the optimum that is computed online.  [rank_of] are the
    rank functions of the matroids M_t: M_0 has rank 0; M_t contracts U_t,
    truncates to rank B - |U_t|, and adds U_t freely.  Delta_t is how far
    U_t falls short of being independent in M_{t-1}.  Any cache falls short
    by some nullity, and to serve U_t it must fetch Delta_t tokens or reduce
    its nullity. *)

From KVBounds Require Export Basics.

(** Rank after one more step. *)
Definition next_rank (B : nat) (r : list nat -> nat) (U A : list nat) : nat :=
  card (inter A U) + Nat.min (B - card U) (r (A ++ U) - r U).

Definition delta (r : list nat -> nat) (U : list nat) : nat := card U - r U.

Fixpoint sum_delta (B : nat) (r : list nat -> nat) (us : list (list nat)) : nat :=
  match us with
  | [] => 0
  | U :: us' => delta r U + sum_delta B (next_rank B r U) us'
  end.

Definition rank_0 : list nat -> nat := fun _ => 0.

(** The sum of all Delta_t from an empty cache. *)
Definition deltas (B : nat) (us : list (list nat)) : nat := sum_delta B rank_0 us.

(** What the proof needs of a rank function. *)
Record rank_like (r : list nat -> nat) : Prop := {
  rank_mono : forall A A', incl A A' -> r A <= r A';
  rank_step : forall A A', r (A ++ A') <= r A + card (diff A' A);
  rank_card : forall A, r A <= card A
}.

Lemma rank_0_like : rank_like rank_0.
Proof. split; intros; unfold rank_0; lia. Qed.

Lemma next_rank_like B r U : rank_like r -> rank_like (next_rank B r U).
Proof.
  intros H. unfold next_rank. split.
  - intros A A' Hi. apply Nat.add_le_mono.
    + apply card_incl. intros x. rewrite !In_inter. intuition.
    + apply Nat.min_le_compat_l, Nat.sub_le_mono_r. apply (rank_mono r H).
      intros x. rewrite !in_app_iff. intuition.
  - intros A A'.
    assert (E1 : card (inter (A ++ A') U) = card (inter A U) + card (inter (diff A' A) U)).
    { rewrite <- card_app_disjoint.
      - apply card_ext. intros x. rewrite in_app_iff, !In_inter, in_app_iff, In_diff.
        destruct (In_dec x A); tauto.
      - intros x. rewrite !In_inter, In_diff. tauto. }
    assert (E2 : r ((A ++ A') ++ U) <= r (A ++ U) + card (diff (diff A' A) U)).
    { transitivity (r ((A ++ U) ++ diff (diff A' A) U)).
      - apply (rank_mono r H). intros x. rewrite !in_app_iff, !In_diff.
        destruct (In_dec x A), (In_dec x U); tauto.
      - etransitivity; [apply (rank_step r H)|]. apply Nat.add_le_mono_l.
        apply card_incl. intros x Hx. now apply In_diff in Hx. }
    pose proof (card_split2 (diff A' A) U).
    assert (r U <= r (A ++ U)).
    { apply (rank_mono r H). intros x Hx. apply in_app_iff. auto. }
    lia.
  - intros A. pose proof (card_split2 A U).
    assert (r (A ++ U) <= r U + card (diff A U)).
    { transitivity (r (U ++ A)); [|apply (rank_step r H)].
      apply (rank_mono r H). intros x. rewrite !in_app_iff. tauto. }
    lia.
Qed.

(** The amortised step: nullity after + Delta <= nullity before + misses. *)
Lemma delta_step B r U Z Z1 :
  rank_like r -> incl U Z1 -> incl Z1 (Z ++ U) -> card Z1 <= B ->
  delta r U + (card Z1 - next_rank B r U Z1) <= (card Z - r Z) + card (diff U Z).
Proof.
  intros H HU Hlazy HB. unfold delta, next_rank.
  assert (E1 : card (inter Z1 U) = card U).
  { apply card_ext. intros x. rewrite In_inter. intuition. }
  assert (E2 : r (Z1 ++ U) = r Z1).
  { apply Nat.le_antisymm; apply (rank_mono r H); intros x; rewrite in_app_iff; intuition. }
  assert (E3 : card Z1 = card U + card (diff Z1 U)).
  { rewrite <- card_app. apply card_ext. intros x. rewrite in_app_iff. intuition. }
  assert (E4 : r Z1 <= r U + card (diff Z1 U)).
  { transitivity (r (U ++ Z1)); [|apply (rank_step r H)].
    apply (rank_mono r H). intros x Hx. apply in_app_iff. auto. }
  assert (E5 : r U <= r Z1) by (apply (rank_mono r H); auto).
  pose proof (rank_card r H U) as E6. pose proof (rank_card r H Z1) as E7.
  (* nullity of Z1 in M_{t-1} is at most that of Z u U *)
  assert (E8 : r (Z ++ U) <= r Z1 + card (diff (Z ++ U) Z1)).
  { transitivity (r (Z1 ++ (Z ++ U))); [|apply (rank_step r H)].
    apply (rank_mono r H). intros x Hx. apply in_app_iff. auto. }
  assert (E9 : card (Z ++ U) = card Z1 + card (diff (Z ++ U) Z1)).
  { rewrite <- card_app. apply card_ext. intros x. rewrite (in_app_iff Z1).
    split; auto. intros [Hx|Hx]; auto. }
  assert (E10 : r Z <= r (Z ++ U)).
  { apply (rank_mono r H). intros x Hx. apply in_app_iff. auto. }
  rewrite card_app in E9. pose proof (rank_card r H Z). rewrite E1, E2. lia.
Qed.

Lemma sum_delta_le_gen B us : forall r Z ss,
  rank_like r -> schedule B Z us ss ->
  sum_delta B r us <= (card Z - r Z) + cost Z us ss.
Proof.
  induction us as [|U us IH]; intros r Z [|Z1 ss] H Hs; try easy; [simpl; lia|].
  cbn [schedule sum_delta cost] in *. destruct Hs as (H1 & H2 & H3 & H4).
  pose proof (IH (next_rank B r U) Z1 ss (next_rank_like B r U H) H4).
  pose proof (delta_step B r U Z Z1 H H1 H2 H3). lia.
Qed.

(** P1: every demand schedule from an empty cache, prefix-closed or not,
    costs at least the sum of the Delta_t. *)
Theorem opt_ge_sum_delta : forall B us os,
  schedule B [] us os -> deltas B us <= cost [] us os.
Proof.
  intros B us os H. pose proof (sum_delta_le_gen B us rank_0 [] os rank_0_like H) as G.
  rewrite card_nil in G. unfold deltas. lia.
Qed.
