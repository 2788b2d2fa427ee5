(** * Random greedy bases of a matroid: the gradient lemma (P3)

    A matroid is given by its rank function r; its tokens are the list L.
    M/Y is the contraction by Y.  The greedy basis takes tokens one after the
    other, each uniform among the tokens that still raise the rank (the
    non-loops [nl Y]).

    [pout n Y x]: the probability that x is not taken (n = rank of M/Y).
    [pot n Y]: the potential E sum_j (1 - (n-j)/s_j), where s_j non-loops
    are left before the j-th choice.
    The gradient lemma: contracting a non-loop x lowers the potential by
    exactly the probability that x is not taken. *)

From KVBounds Require Export OptDelta Dist.

Local Open Scope nat_scope.

Record matroid (r : list nat -> nat) : Prop := {
  m_rank : rank_like r;
  m_span : forall A A' x, incl A A' -> r (x :: A) = r A -> r (x :: A') = r A'
}.

Lemma rank_0_matroid : matroid rank_0.
Proof. split; [apply rank_0_like|reflexivity]. Qed.

Lemma rank_ext r A A' : rank_like r -> (forall x, In x A <-> In x A') -> r A = r A'.
Proof.
  intros Hr H. apply Nat.le_antisymm; apply (rank_mono r Hr); intros x Hx; now apply H.
Qed.

(** Contraction, truncation and free tokens keep a matroid a matroid. *)
Lemma next_rank_matroid B r U : matroid r -> matroid (next_rank B r U).
Proof.
  intros H. split; [apply next_rank_like, H|].
  intros A A' x Hi E. unfold next_rank in *.
  destruct (In_dec x U) as [HxU|HxU].
  - assert (HxA : In x A).
    { destruct (In_dec x A) as [|Hn]; auto. exfalso.
      assert (E1 : card (inter (x :: A) U) = S (card (inter A U))).
      { rewrite (card_remove1 x); [|apply In_inter; split; auto; now left].
        f_equal. apply card_ext. intros y. rewrite In_remove1, !In_inter. simpl.
        split; [intros (([->|?] & ?) & ?); tauto|].
        intros (? & ?). repeat split; auto. intros ->. auto. }
      assert (r (A ++ U) <= r ((x :: A) ++ U)).
      { apply (rank_mono r (m_rank r H)). intros y Hy. simpl. auto. }
      lia. }
    assert (HxA' : In x A') by auto.
    rewrite (card_ext (inter (x :: A') U) (inter A' U)).
    2:{ intros y. rewrite !In_inter. simpl. intuition. now subst. }
    rewrite (rank_ext r ((x :: A') ++ U) (A' ++ U)); auto; [apply H|].
    intros y. simpl. rewrite !in_app_iff. intuition. subst. auto.
  - assert (E1 : forall D, card (inter (x :: D) U) = card (inter D U)).
    { intros D. apply card_ext. intros y. rewrite !In_inter. simpl.
      intuition. subst. tauto. }
    rewrite !E1 in *.
    assert (Hm : r (A ++ U) <= r (A' ++ U)).
    { apply (rank_mono r (m_rank r H)). intros y. rewrite !in_app_iff. intuition. }
    assert (Hm2 : r (A' ++ U) <= r ((x :: A') ++ U)).
    { apply (rank_mono r (m_rank r H)). intros y Hy. simpl. auto. }
    assert (Hm3 : r U <= r (A ++ U)).
    { apply (rank_mono r (m_rank r H)). intros y Hy. apply in_app_iff. auto. }
    destruct (Nat.eq_dec (r ((x :: A) ++ U)) (r (A ++ U))) as [Eq|Ne].
    + assert (r ((x :: A') ++ U) = r (A' ++ U)); [|lia].
      apply (m_span r H (A ++ U)); auto.
      intros y. rewrite !in_app_iff. intuition.
    + assert (r (A ++ U) <= r ((x :: A) ++ U)).
      { apply (rank_mono r (m_rank r H)). intros y Hy. simpl. auto. }
      lia.
Qed.

Section Matroid.
Variable r : list nat -> nat.
Hypothesis Hr : matroid r.
Variable L : list nat.
Hypothesis L_NoDup : NoDup L.

Lemma r_ext A A' : (forall x, In x A <-> In x A') -> r A = r A'.
Proof. apply rank_ext, Hr. Qed.

Lemma r_mono A A' : incl A A' -> r A <= r A'.
Proof. apply (rank_mono r), Hr. Qed.

Lemma r_cons x A : r A <= r (x :: A) <= S (r A).
Proof.
  split; [apply r_mono; intros y Hy; now right|].
  transitivity (r (A ++ [x])).
  - apply r_mono. intros y [<-|Hy]; apply in_app_iff; simpl; auto.
  - rewrite (rank_step r (m_rank r Hr) A [x]).
    assert (card (diff [x] A) <= card [x]).
    { apply card_incl. intros y Hy. now apply In_diff in Hy. }
    rewrite card_single in *. lia.
Qed.

(** Sets that contract to the same matroid. *)
Definition same (Y Y' : list nat) : Prop := forall A, r (A ++ Y) = r (A ++ Y').

Lemma same_ext Y Y' : (forall x, In x Y <-> In x Y') -> same Y Y'.
Proof. intros H A. apply r_ext. intros x. rewrite !in_app_iff, H. tauto. Qed.

Lemma same_trans Y1 Y2 Y3 : same Y1 Y2 -> same Y2 Y3 -> same Y1 Y3.
Proof. intros H1 H2 A. now rewrite H1. Qed.

Lemma same_sym Y Y' : same Y Y' -> same Y' Y.
Proof. intros H A. now rewrite H. Qed.

Lemma same_cons x Y Y' : same Y Y' -> same (x :: Y) (x :: Y').
Proof.
  intros H A. specialize (H (A ++ [x])). now rewrite <- !app_assoc in H.
Qed.

Lemma same_loop y Y : r (y :: Y) = r Y -> same (y :: Y) Y.
Proof.
  intros H A. transitivity (r (y :: A ++ Y)).
  - apply r_ext. intros x. simpl. rewrite !in_app_iff. simpl. tauto.
  - apply (m_span r Hr Y); auto. intros x Hx. apply in_app_iff. auto.
Qed.

Lemma same_parallel x y Y :
  r (x :: Y) = r (y :: Y) -> r (x :: y :: Y) = r (y :: Y) -> same (x :: Y) (y :: Y).
Proof.
  intros H1 H2. apply same_trans with (x :: y :: Y); [|now apply same_loop].
  apply same_trans with (y :: x :: Y).
  - apply same_sym, same_loop. rewrite H1, <- H2. apply r_ext. intros z. simpl. tauto.
  - apply same_ext. intros z. simpl. tauto.
Qed.

(** ** Non-loops *)

Definition nl (Y : list nat) : list nat := filter (fun x => r Y <? r (x :: Y)) L.

Lemma In_nl x Y : In x (nl Y) <-> In x L /\ r (x :: Y) = S (r Y).
Proof.
  unfold nl. rewrite filter_In, Nat.ltb_lt. pose proof (r_cons x Y). intuition lia.
Qed.

Lemma nl_NoDup Y : NoDup (nl Y).
Proof. now apply NoDup_filter. Qed.

Lemma nl_same Y Y' : same Y Y' -> nl Y = nl Y'.
Proof.
  intros H. unfold nl. apply filter_ext. intros x.
  pose proof (H []) as H0. pose proof (H [x]) as H1. simpl in *. now rewrite H0, H1.
Qed.

(** Rank of M/Y. *)
Definition rk (Y : list nat) : nat := r (L ++ Y) - r Y.

Lemma rk_cons y Y : In y (nl Y) -> rk Y = S (rk (y :: Y)).
Proof.
  intros Hy. apply In_nl in Hy as (HyL & Hy). unfold rk.
  assert (E : r (L ++ y :: Y) = r (L ++ Y)).
  { apply r_ext. intros x. rewrite !in_app_iff. simpl. intuition. subst. auto. }
  rewrite E, Hy. assert (r (y :: Y) <= r (L ++ Y)); [|lia].
  apply r_mono. intros x [<-|Hx]; apply in_app_iff; auto.
Qed.

Lemma loops_add Y l : (forall x, In x l -> r (x :: Y) = r Y) -> r (l ++ Y) = r Y.
Proof.
  induction l as [|x l IH]; simpl; intros Hl; auto.
  rewrite (m_span r Hr Y); auto. intros y Hy. apply in_app_iff. auto.
Qed.

Lemma rk_le_nl Y : rk Y <= length (nl Y).
Proof.
  rewrite <- card_NoDup by apply nl_NoDup. unfold rk.
  set (lo := filter (fun x => negb (r Y <? r (x :: Y))) L).
  assert (H1 : r (lo ++ Y) = r Y).
  { apply loops_add. intros x Hx. unfold lo in Hx. apply filter_In in Hx as (_ & Hx).
    apply negb_true_iff, Nat.ltb_ge in Hx. pose proof (r_cons x Y). lia. }
  assert (H2 : r (L ++ Y) <= r ((lo ++ Y) ++ nl Y)).
  { apply r_mono. intros x Hx. apply in_app_iff in Hx. rewrite !in_app_iff.
    destruct Hx as [Hx|Hx]; auto. unfold lo, nl. rewrite !filter_In, negb_true_iff.
    destruct (r Y <? r (x :: Y)); auto. }
  pose proof (rank_step r (m_rank r Hr) (lo ++ Y) (nl Y)) as H3.
  assert (card (diff (nl Y) (lo ++ Y)) <= card (nl Y)); [|lia].
  apply card_incl. intros x Hx. now apply In_diff in Hx.
Qed.

Lemma rk_0_nl Y : rk Y = 0 -> nl Y = [].
Proof.
  intros H. destruct (nl Y) as [|y l] eqn:E; auto. exfalso.
  assert (Hy : In y (nl Y)) by (rewrite E; now left). apply rk_cons in Hy. lia.
Qed.

(** After contracting x: the non-loops not parallel to x. *)
Lemma nl_cons x y Y : In x (nl Y) ->
  (In y (nl (x :: Y)) <-> In y (nl Y) /\ In x (nl (y :: Y))).
Proof.
  intros Hx. apply In_nl in Hx as (HxL & Hx). rewrite !In_nl.
  assert (Hs : r (y :: x :: Y) = r (x :: y :: Y)).
  { apply r_ext. intros z. simpl. tauto. }
  pose proof (r_cons y Y). split.
  - intros (HyL & Hy). assert (r (y :: Y) = S (r Y)).
    { destruct (Nat.eq_dec (r (y :: Y)) (r Y)) as [E|]; [|lia]. exfalso.
      apply (m_span r Hr Y (x :: Y)) in E; [lia|]. intros z Hz. now right. }
    repeat split; auto. lia.
  - intros ((HyL & Hy) & _ & Hxy). split; auto. lia.
Qed.

(** ** Potential and probability *)

Fixpoint pot (n : nat) (Y : list nat) : Q :=
  match n with
  | O => 0
  | S n' => 1 - qn n * / qn (length (nl Y))
            + / qn (length (nl Y)) * sumQ (fun y => pot n' (y :: Y)) (nl Y)
  end.

Fixpoint pout (n : nat) (Y : list nat) (x : nat) : Q :=
  match n with
  | O => 0
  | S n' => / qn (length (nl Y)) *
            sumQ (fun y => if (y =? x)%nat then 0%Q
                           else if mem x (nl (y :: Y)) then pout n' (y :: Y) x else 1%Q)
                 (nl Y)
  end.

Lemma pot_same n : forall Y Y', same Y Y' -> (pot n Y == pot n Y')%Q.
Proof.
  induction n as [|n IH]; intros Y Y' H; cbn [pot]; [reflexivity|].
  rewrite (nl_same Y Y' H). rewrite (sumQ_ext (fun y => pot n (y :: Y))
    (fun y => pot n (y :: Y')) (nl Y')); [reflexivity|].
  intros y _. now apply IH, same_cons.
Qed.

Lemma pout_same n : forall Y Y' x, same Y Y' -> (pout n Y x == pout n Y' x)%Q.
Proof.
  induction n as [|n IH]; intros Y Y' x H; cbn [pout]; [reflexivity|].
  rewrite (nl_same Y Y' H). apply Qmult_comp; [reflexivity|]. apply sumQ_ext.
  intros y _. rewrite (nl_same (y :: Y) (y :: Y')) by now apply same_cons.
  destruct (y =? x); [reflexivity|]. destruct (mem x (nl (y :: Y'))); [|reflexivity].
  now apply IH, same_cons.
Qed.

Lemma pot_nonneg n : forall Y, n <= rk Y -> (0 <= pot n Y)%Q.
Proof.
  induction n as [|n IH]; intros Y Hn; cbn [pot]; [lra|].
  pose proof (rk_le_nl Y) as Hl.
  destruct (length (nl Y)) as [|s] eqn:Es; [lia|].
  pose proof (inv_qn_pos s) as Hi.
  assert (H1 : (qn (S n) * / qn (S s) <= 1)%Q).
  { apply Qmult_lt_0_le_reg_r with (qn (S s)); [apply qn_pos|].
    rewrite <- Qmult_assoc, (Qmult_comm (/ qn (S s))), Qmult_inv_r
      by (pose proof (qn_pos s); lra).
    assert (qn (S n) <= qn (S s))%Q by (apply qn_le; lia). lra. }
  assert (H2 : (0 <= sumQ (fun y => pot n (y :: Y)) (nl Y))%Q).
  { apply sumQ_nonneg. intros y Hy. apply IH. apply rk_cons in Hy. lia. }
  nra.
Qed.

(** The number of tokens of [l] other than x. *)
Lemma sum_not x l : NoDup l -> In x l ->
  (sumQ (fun y => if (y =? x)%nat then 0%Q else 1%Q) l == qn (length l) - 1)%Q.
Proof.
  intros HN Hx.
  assert (G : (sumQ (fun y => if (y =? x)%nat then 0%Q else 1%Q) l +
               sumQ (fun y => if (y =? x)%nat then 1%Q else 0%Q) l == qn (length l))%Q).
  { rewrite <- sumQ_plus, <- (Qmult_1_r (qn (length l))), <- sumQ_const.
    apply sumQ_ext. intros y _. destruct (y =? x); lra. }
  assert (G1 : (sumQ (fun y => if (y =? x)%nat then 1%Q else 0%Q) l == 1)%Q); [|lra].
  clear G. induction l as [|a l IH]; [easy|]. inversion HN; subst. cbn [sumQ].
  destruct Hx as [->|Hx].
  - rewrite Nat.eqb_refl. rewrite (sumQ_ext _ (fun _ => 0%Q)).
    + rewrite sumQ_const. lra.
    + intros y Hy. destruct (Nat.eqb_spec y x); [subst; easy|reflexivity].
  - rewrite (IH H2 Hx). destruct (Nat.eqb_spec a x); [subst; easy|lra].
Qed.

(** The gradient lemma. *)
Theorem gradient n : forall Y x, rk Y = S n -> In x (nl Y) ->
  (pot (S n) Y - pot n (x :: Y) == pout (S n) Y x)%Q.
Proof.
  induction n as [|n IH]; intros Y x Hrk Hx.
  - (* rank 1: all non-loops are parallel to x *)
    cbn [pot pout]. pose proof (sum_not x (nl Y) (nl_NoDup Y) Hx) as Hs.
    rewrite (sumQ_const 0), (sumQ_ext _ (fun y => if (y =? x)%nat then 0%Q else 1%Q)).
    + rewrite Hs. destruct (nl Y) as [|y l]; [easy|].
      cbn [length]. pose proof (qn_pos (length l)). change (qn 1) with 1%Q. field. lra.
    + intros y Hy. destruct (y =? x); [reflexivity|].
      rewrite (rk_0_nl (y :: Y)); [reflexivity|]. apply rk_cons in Hy. lia.
  - set (X := nl Y) in *.
    set (p := fun y => mem x (nl (y :: Y))).
    set (par := filter (fun y => negb (p y)) X). set (non := filter p X).
    assert (Hxpar : In x par).
    { apply filter_In. split; auto. unfold p. apply negb_true_iff, mem_not_In.
      rewrite In_nl. intros (_ & E).
      rewrite (r_ext (x :: x :: Y) (x :: Y)) in E by (intros z; simpl; tauto). lia. }
    assert (Hsplit : forall f, (sumQ f X == sumQ f par + sumQ f non)%Q).
    { intros f. unfold par, non. rewrite (sumQ_filter_split p f X). lra. }
    assert (Hlen : (qn (length X) == qn (length par) + qn (length non))%Q).
    { pose proof (Hsplit (fun _ => 1%Q)) as G. rewrite !sumQ_const in G. lra. }
    (* non-loops of M/(x::Y) *)
    assert (Hnon : forall y, In y (nl (x :: Y)) <-> In y non).
    { intros y. unfold non, p. rewrite (nl_cons x y Y Hx), filter_In, mem_In. reflexivity. }
    assert (HnonN : NoDup non) by (apply NoDup_filter, nl_NoDup).
    assert (Hrkx : rk (x :: Y) = S n) by (apply rk_cons in Hx; lia).
    assert (Hlenx : length (nl (x :: Y)) = length non).
    { rewrite <- !card_NoDup by (auto; apply nl_NoDup). now apply card_ext. }
    set (P := pot (S n) (x :: Y)).
    (* sums over parallel and other tokens *)
    assert (Hpar : (sumQ (fun y => pot (S n) (y :: Y)) par == qn (length par) * P)%Q).
    { rewrite <- sumQ_const. apply sumQ_ext. intros y Hy.
      unfold par, p in Hy. apply filter_In in Hy as (HyX & Hyp).
      apply negb_true_iff, mem_not_In in Hyp. apply pot_same, same_sym, same_parallel.
      - apply In_nl in Hx as (_ & E1). apply In_nl in HyX as (_ & E2). lia.
      - pose proof (r_cons x (y :: Y)). apply In_nl in Hx as (HxL & _).
        destruct (Nat.eq_dec (r (x :: y :: Y)) (r (y :: Y))) as [|Hne]; auto.
        exfalso. apply Hyp, In_nl. split; auto. lia. }
    set (SA := sumQ (fun y => pout (S n) (y :: Y) x) non).
    set (SB := sumQ (fun y => pot n (x :: y :: Y)) non).
    assert (HnonS : (sumQ (fun y => pot (S n) (y :: Y)) non == SA + SB)%Q).
    { unfold SA, SB. rewrite <- sumQ_plus. apply sumQ_ext. intros y Hy.
      unfold non, p in Hy. apply filter_In in Hy as (HyX & Hyp). apply mem_In in Hyp.
      rewrite <- (IH (y :: Y) x); auto; [ring|]. apply rk_cons in HyX. lia. }
    assert (HP : (qn (length non) * P == qn (length non) - qn (S n) + SB)%Q).
    { unfold P. cbn [pot]. rewrite Hlenx.
      rewrite (sumQ_set _ (nl (x :: Y)) non (nl_NoDup _) HnonN Hnon).
      assert (HSB : (sumQ (fun y => pot n (y :: x :: Y)) non == SB)%Q).
      { apply sumQ_ext. intros y _. apply pot_same, same_ext. intros z. simpl. tauto. }
      rewrite HSB. pose proof (rk_le_nl (x :: Y)) as Hl. rewrite Hlenx in Hl.
      destruct (length non) as [|s]; [lia|]. pose proof (qn_pos s). field. lra. }
    assert (HS2 : (sumQ (fun y => if (y =? x)%nat then 0%Q
                     else if mem x (nl (y :: Y)) then pout (S n) (y :: Y) x else 1%Q) X
                   == qn (length par) - 1 + SA)%Q).
    { rewrite Hsplit. apply Qplus_comp.
      - rewrite <- (sum_not x par) by (auto; apply NoDup_filter, nl_NoDup).
        apply sumQ_ext. intros y Hy. apply filter_In in Hy as (_ & Hyp).
        apply negb_true_iff in Hyp. unfold p in Hyp. rewrite Hyp. reflexivity.
      - apply sumQ_ext. intros y Hy. apply filter_In in Hy as (_ & Hyp).
        unfold p in Hyp. rewrite Hyp. destruct (Nat.eqb_spec y x) as [->|]; [|reflexivity].
        exfalso. apply filter_In in Hxpar as (_ & Hq). unfold p in Hq.
        rewrite Hyp in Hq. discriminate. }
    cbn [pout]. fold X. rewrite HS2.
    change (pot (S (S n)) Y) with
      (1 - qn (S (S n)) * / qn (length X)
       + / qn (length X) * sumQ (fun y => pot (S n) (y :: Y)) X)%Q.
    rewrite Hsplit, Hpar, HnonS. fold P. rewrite (qn_S (S n)).
    assert (Hpos : (0 < qn (length X))%Q).
    { destruct X as [|y l]; [easy|]. apply qn_pos. }
    assert (Hmul : (qn (length X) * (1 - (1 + qn (S n)) * / qn (length X) +
              / qn (length X) * (qn (length par) * P + (SA + SB)) - P) ==
              qn (length X) * (/ qn (length X) * (qn (length par) - 1 + SA)))%Q).
    { field_simplify; [|lra|lra]. rewrite Hlen.
      assert (HPx : (qn (length non) * P == qn (length non) - qn (S n) + SB)%Q) by exact HP.
      set (a := qn (length par)) in *. set (b := qn (length non)) in *.
      set (m := qn (S n)) in *. clearbody a b m P SA SB. lra. }
    apply Qmult_inj_l in Hmul; [exact Hmul|lra].
Qed.
End Matroid.
