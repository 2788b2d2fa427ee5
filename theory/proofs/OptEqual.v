(** * The optimum equals the sum of the Delta_t

    OptDelta.v shows OPT >= sum of Delta_t.  For the converse go backwards:
    from an independent set Z_t of M_t that holds U_t, take all of Z_t outside
    U_t and a maximal independent part of U_t: that is independent in M_{t-1},
    and the step from it to Z_t misses exactly Delta_t tokens. *)

From KVBounds Require Export Greedy Lemma1.

Local Open Scope nat_scope.

Definition independent (r : list nat -> nat) (Z : list nat) : Prop := r Z = card Z.

Section Step.
Variable r : list nat -> nat.
Hypothesis Hr : matroid r.

(** A part of U that spans U. *)
Definition part (U : list nat) : list nat := greedy r [] (nodup Nat.eq_dec U).

Lemma part_incl U : incl (part U) U.
Proof. intros x Hx. apply greedy_In in Hx. now apply nodup_In in Hx. Qed.

Lemma greedy_spans o : forall Y, r (greedy r Y o ++ Y) = r (o ++ Y).
Proof.
  induction o as [|y o IH]; intros Y; [reflexivity|]. cbn [greedy].
  assert (E : r ((y :: o) ++ Y) = r (o ++ y :: Y)).
  { apply r_ext; auto. intros z. simpl. rewrite !in_app_iff. simpl. tauto. }
  rewrite E, <- IH. destruct (r Y <? r (y :: Y)) eqn:Ey.
  - apply r_ext; auto. intros z. simpl. rewrite !in_app_iff. simpl. tauto.
  - apply Nat.ltb_ge in Ey. pose proof (r_cons r Hr y Y).
    symmetry. apply (same_loop r Hr y Y ltac:(lia)).
Qed.

Lemma part_rank U : r (part U) = r U /\ card (part U) = r U.
Proof.
  assert (E : r (nodup Nat.eq_dec U ++ []) = r U).
  { apply r_ext; auto. intros x. rewrite app_nil_r. apply nodup_In. }
  assert (H0 : r [] = 0).
  { pose proof (rank_card r (m_rank r Hr) []) as G. rewrite card_nil in G. lia. }
  pose proof (greedy_spans (nodup Nat.eq_dec U) []) as H1.
  pose proof (greedy_length r Hr (nodup Nat.eq_dec U) []) as H2.
  fold (part U) in H1, H2. rewrite app_nil_r in H1. rewrite E in H1, H2.
  pose proof (rank_card r (m_rank r Hr) (part U)). pose proof (card_le_length (part U)).
  split; lia.
Qed.

Lemma part_spans U A : r (A ++ part U) = r (A ++ U).
Proof.
  destruct (part_rank U) as (H1 & _).
  rewrite (r_ext r Hr (A ++ U) (U ++ (A ++ part U))).
  - symmetry. apply loops_add; auto. intros x Hx.
    apply (m_span r Hr (part U)); [intros y Hy; apply in_app_iff; auto|].
    apply Nat.le_antisymm; [|apply r_cons; auto].
    rewrite H1. apply r_mono; auto. intros y [<-|Hy]; auto. now apply part_incl.
  - intros x. rewrite !in_app_iff. pose proof (part_incl U x). tauto.
Qed.

(** One step backwards. *)
Lemma step_back B U Z1 :
  card U <= B -> incl U Z1 -> independent (next_rank B r U) Z1 ->
  let Z := diff Z1 U ++ part U in
  independent r Z /\ incl Z1 (Z ++ U) /\ card (diff U Z) = delta r U.
Proof.
  intros HU HUZ Hind. cbn zeta. destruct (part_rank U) as (P1 & P2).
  assert (E1 : card (inter Z1 U) = card U).
  { apply card_ext. intros x. rewrite In_inter. intuition. }
  assert (E2 : r (Z1 ++ U) = r Z1).
  { apply r_ext; auto. intros x. rewrite in_app_iff. intuition. }
  assert (E3 : card Z1 = card U + card (diff Z1 U)).
  { rewrite <- card_app. apply card_ext. intros x. rewrite in_app_iff. intuition. }
  assert (E4 : r (diff Z1 U ++ part U) = r Z1).
  { rewrite part_spans. apply r_ext; auto. intros x. rewrite in_app_iff, In_diff.
    destruct (In_dec x U); intuition. }
  assert (E5 : card (diff Z1 U ++ part U) = card (diff Z1 U) + card (part U)).
  { apply card_app_disjoint. intros x Hx Hp. apply In_diff in Hx. apply part_incl in Hp. tauto. }
  unfold independent, next_rank in *. rewrite E1, E2 in Hind.
  assert (E6 : r Z1 <= r U + card (diff Z1 U)).
  { transitivity (r (U ++ Z1)).
    - apply r_mono; auto. intros x Hx. apply in_app_iff. auto.
    - apply (rank_step r (m_rank r Hr)). }
  assert (E9 : r U <= r Z1) by (apply r_mono; auto).
  split; [|split].
  - lia.
  - intros x Hx. rewrite !in_app_iff, In_diff. destruct (In_dec x U); tauto.
  - assert (E7 : card (diff U (diff Z1 U ++ part U)) = card (diff U (part U))).
    { apply card_ext. intros x. rewrite !In_diff, in_app_iff, In_diff. tauto. }
    assert (E8 : card (inter U (part U)) = card (part U)).
    { apply card_ext. intros x. rewrite In_inter. pose proof (part_incl U x). tauto. }
    pose proof (card_diff_inter U (part U)). unfold delta. lia.
Qed.
End Step.

(** U may be added to an independent set: its tokens are free. *)
Lemma next_rank_free B r U V Z : matroid r -> incl V U ->
  independent (next_rank B r U) Z -> independent (next_rank B r U) (V ++ Z).
Proof.
  intros Hr. induction V as [|x V IH]; simpl; intros HV HZ; auto.
  specialize (IH (fun y Hy => HV y (or_intror Hy)) HZ).
  set (A := V ++ Z) in *. pose proof (next_rank_matroid B r U Hr) as Hr'.
  unfold independent in *. destruct (In_dec x A) as [Hx|Hx].
  - rewrite (r_ext _ Hr' (x :: A) A), (card_ext (x :: A) A); auto;
      intros y; simpl; intuition; now subst.
  - assert (HxU : In x U) by (apply HV; now left).
    assert (E1 : card (x :: A) = S (card A)).
    { rewrite (card_remove1 x); [|now left]. f_equal. apply card_ext.
      intros y. rewrite In_remove1. simpl. split; [intros ([->|?] & ?); tauto|].
      intros Hy. split; auto. intros ->. auto. }
    assert (E2 : next_rank B r U (x :: A) = S (next_rank B r U A)).
    { unfold next_rank.
      assert (E3 : card (inter (x :: A) U) = S (card (inter A U))).
      { rewrite (card_remove1 x); [|apply In_inter; split; auto; now left].
        f_equal. apply card_ext. intros y. rewrite In_remove1, !In_inter. simpl.
        split; [intros (([->|?] & ?) & ?); tauto|].
        intros (? & ?). repeat split; auto. intros ->. auto. }
      assert (E4 : r ((x :: A) ++ U) = r (A ++ U)).
      { apply r_ext; auto. intros y. simpl. rewrite !in_app_iff. intuition. subst. auto. }
      rewrite E3, E4. reflexivity. }
    lia.
Qed.

Lemma schedule_superset B us ss : forall Z Z', incl Z Z' -> schedule B Z us ss ->
  schedule B Z' us ss /\ cost Z' us ss <= cost Z us ss.
Proof.
  destruct us as [|U us], ss as [|S1 ss]; intros Z Z' Hi H; cbn [schedule cost] in *; auto;
    try easy.
  destruct H as (H1 & H2 & H3 & H4). split.
  - repeat split; auto. intros x Hx. apply H2, in_app_iff in Hx. apply in_app_iff.
    destruct Hx; auto.
  - apply Nat.add_le_mono_r, card_incl. intros x. rewrite !In_diff. intuition.
Qed.

Lemma backwards B us : forall r, matroid r -> (forall A, r A <= B) ->
  (forall U, In U us -> card U <= B) ->
  exists Z ss, independent r Z /\ schedule B Z us ss /\ cost Z us ss <= sum_delta B r us.
Proof.
  induction us as [|U us IH]; intros r Hr HB Hus.
  - exists [], []. repeat split; auto. unfold independent.
    pose proof (rank_card r (m_rank r Hr) []) as G. rewrite card_nil in *. lia.
  - assert (HU : card U <= B) by (apply Hus; now left).
    assert (Hr' := next_rank_matroid B r U Hr).
    assert (HB' : forall A, next_rank B r U A <= B).
    { intros A. unfold next_rank. assert (card (inter A U) <= card U); [|lia].
      apply card_incl. intros x Hx. now apply In_inter in Hx. }
    destruct (IH (next_rank B r U) Hr' HB') as (Z0 & ss & H1 & H2 & H3).
    { intros V HV. apply Hus. now right. }
    set (Z1 := U ++ Z0).
    assert (HUZ : incl U Z1) by (intros x Hx; apply in_app_iff; auto).
    assert (Hind : independent (next_rank B r U) Z1).
    { apply next_rank_free; auto. apply incl_refl. }
    destruct (schedule_superset B us ss Z0 Z1) as (G1 & G2); auto.
    { intros x Hx. apply in_app_iff. auto. }
    destruct (step_back r Hr B U Z1 HU HUZ Hind) as (S1 & S2 & S3).
    exists (diff Z1 U ++ part r U), (Z1 :: ss). cbn [schedule cost sum_delta].
    split; [exact S1|]. split; [|lia]. repeat split; auto.
    unfold independent in Hind. rewrite <- Hind. apply HB'.
Qed.

Theorem opt_eq_sum_delta : forall F B u us,
  admissible F B u us -> opt F B us = deltas B us.
Proof.
  intros F B u us H. destruct (lemma_1 F B u us H) as ((os & H1 & _ & H2) & Hle & _).
  apply Nat.le_antisymm.
  - destruct (backwards B us rank_0 rank_0_matroid) as (Z & ss & Z1 & Z2 & Z3).
    { intros. unfold rank_0. lia. }
    { intros U HU. destruct (H U HU). lia. }
    assert (Z = []) by (apply card_zero; symmetry; exact Z1). subst Z.
    specialize (Hle ss Z2). unfold deltas. lia.
  - rewrite <- H2. now apply opt_ge_sum_delta.
Qed.
