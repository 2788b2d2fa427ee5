(** * OnlineMIN: expected cost at most H_k * OPT (Theorems O1, O2)

    Fix random priorities of all tokens.  The virtual cache after a step is
    the greedy basis of the matroid M_t of OptDelta.v.  It is lazy: tokens
    enter only when requested.  One step costs, in expectation, at most
    Delta_t * H_k plus what the potential falls; the sum of the Delta_t is
    at most OPT (P1). *)

From KVBounds Require Export Greedy.

Local Open Scope nat_scope.

(** The virtual caches of a sequence, for one order of priorities. *)
Fixpoint online_min (B : nat) (order : list nat) (r : list nat -> nat)
         (us : list (list nat)) : list (list nat) :=
  match us with
  | [] => []
  | U :: us' => let r' := next_rank B r U in
                greedy r' [] order :: online_min B order r' us'
  end.

Section Step.
Variable B : nat.
Variable r : list nat -> nat.
Hypothesis Hr : matroid r.
Hypothesis r_le_B : forall A, r A <= B.
Variable L : list nat.
Hypothesis L_NoDup : NoDup L.
Variable U : list nat.
Hypothesis U_in_L : incl U L.
Hypothesis small_U : card U <= B.

Let r' := next_rank B r U.
Let q := B - card U.

Lemma next_matroid : matroid r'.
Proof. now apply next_rank_matroid. Qed.

Lemma next_le_B A : r' A <= B.
Proof.
  unfold r', next_rank. assert (card (inter A U) <= card U); [|lia].
  apply card_incl. intros x Hx. now apply In_inter in Hx.
Qed.

(** ** Laziness (P2) *)

Lemma next_coloop x A : In x U -> ~ In x A -> r' (x :: A) = S (r' A).
Proof.
  intros Hx HA. unfold r', next_rank.
  assert (E1 : card (inter (x :: A) U) = S (card (inter A U))).
  { rewrite (card_remove1 x); [|apply In_inter; split; auto; now left].
    f_equal. apply card_ext. intros y. rewrite In_remove1, !In_inter. simpl.
    split; [intros (([->|?] & ?) & ?); tauto|].
    intros (? & ?). repeat split; auto. intros ->. auto. }
  assert (E2 : r ((x :: A) ++ U) = r (A ++ U)).
  { apply r_ext; auto. intros y. simpl. rewrite !in_app_iff. intuition. subst. auto. }
  rewrite E1, E2. reflexivity.
Qed.

Lemma next_has_U o : incl U o -> incl U (greedy r' [] o).
Proof.
  intros HUo x Hx. apply greedy_coloop; auto. intros A. now apply next_coloop.
Qed.

Lemma next_raises x Y : ~ In x U -> r' Y < r' (x :: Y) -> r Y < r (x :: Y).
Proof.
  intros HxU Hlt. destruct (Nat.eq_dec (r (x :: Y)) (r Y)) as [E|];
    [|pose proof (r_cons r Hr x Y); lia].
  exfalso. assert (E1 : card (inter (x :: Y) U) = card (inter Y U)).
  { apply card_ext. intros y. rewrite !In_inter. simpl. intuition. subst. tauto. }
  assert (E2 : r ((x :: Y) ++ U) = r (Y ++ U)).
  { apply (m_span r Hr Y); auto. intros y Hy. apply in_app_iff. auto. }
  unfold r', next_rank in Hlt. rewrite E1, E2 in Hlt. lia.
Qed.

Lemma next_lazy o : forall Y x, In x (greedy r' Y o) -> In x (greedy r Y o) \/ In x U.
Proof.
  induction o as [|y o IH]; simpl; intros Y x Hx; [easy|].
  destruct (r' Y <? r' (y :: Y)) eqn:E'; destruct (r Y <? r (y :: Y)) eqn:E.
  - destruct Hx as [->|Hx]; [left; now left|]. apply IH in Hx. simpl. tauto.
  - destruct Hx as [->|Hx]; [|now apply IH in Hx].
    right. destruct (In_dec x U) as [|HxU]; auto. exfalso.
    apply Nat.ltb_lt in E'. apply Nat.ltb_ge in E. apply next_raises in E'; auto. lia.
  - apply IH in Hx. simpl. tauto.
  - now apply IH in Hx.
Qed.

Lemma next_card o : card (greedy r' [] o) <= B.
Proof.
  pose proof (greedy_length r' next_matroid o []) as G.
  pose proof (next_le_B (o ++ [])). pose proof (card_le_length (greedy r' [] o)). lia.
Qed.

(** ** The expected misses of a step and the potential *)

Definition expected_misses (V : list nat) : Q :=
  sumQ (fun x => Exp (random_order L) (missed r [] x)) V.

Lemma missed_mono Y x o : (missed r [] x o <= missed r Y x o)%Q.
Proof.
  unfold missed. destruct (mem x (greedy r Y o)) eqn:E1; destruct (mem x (greedy r [] o)) eqn:E2;
    try lra. apply mem_In in E1. apply mem_not_In in E2. exfalso. apply E2.
  eapply greedy_mono; eauto. intros z [].
Qed.

Lemma order_proper : proper (random_order L).
Proof. now apply orders_proper. Qed.

Lemma missed_pout Y x : In x (nl r L Y) ->
  (Exp (random_order L) (missed r Y x) == pout r L (rk r L Y) Y x)%Q.
Proof.
  intros Hx. apply orders_pout; auto.
  - apply incl_refl.
  - intros z Hz. apply In_nl in Hz; tauto.
Qed.

(** Contract the tokens of V one by one: those that are independent pay for
    themselves with potential, each of the others costs at most 1. *)
Lemma contract_all V : forall Y, incl V L ->
  (expected_misses V + pot r L (rk r L (rev V ++ Y)) (rev V ++ Y) + qn (r (V ++ Y))
   <= pot r L (rk r L Y) Y + qn (length V) + qn (r Y))%Q.
Proof.
  induction V as [|x V IH]; intros Y HV.
  - unfold expected_misses. cbn [sumQ rev app length]. change (qn 0) with 0%Q. lra.
  - specialize (IH (x :: Y) ltac:(intros z Hz; apply HV; now right)).
    unfold expected_misses in *. cbn [sumQ rev length].
    rewrite <- app_assoc. cbn [app].
    assert (E : r (x :: V ++ Y) = r (V ++ x :: Y)).
    { apply r_ext; auto. intros z. simpl. rewrite !in_app_iff. simpl. tauto. }
    rewrite E, (qn_S (length V)).
    assert (HxL : In x L) by (apply HV; now left).
    destruct (Nat.eq_dec (r (x :: Y)) (r Y)) as [Hl|Hn].
    + assert (Hs : same r (x :: Y) Y) by now apply same_loop.
      assert (Hrk : rk r L (x :: Y) = rk r L Y) by (unfold rk; now rewrite (Hs L), Hl).
      assert (H1 : (Exp (random_order L) (missed r [] x) <= 1)%Q).
      { rewrite <- (Exp_const (random_order L) 1%Q) by apply order_proper.
        apply Exp_le; [apply order_proper|]. intros o _. apply missed_01. }
      rewrite Hrk, Hl, (pot_same r L (rk r L Y) _ _ Hs) in IH. lra.
    + assert (Hx : In x (nl r L Y)).
      { apply In_nl; auto. split; auto. pose proof (r_cons r Hr x Y). lia. }
      assert (H1 : (Exp (random_order L) (missed r [] x) <=
                    pot r L (rk r L Y) Y - pot r L (rk r L (x :: Y)) (x :: Y))%Q).
      { pose proof (rk_cons r Hr L x Y Hx) as Hrk.
        pose proof (gradient r Hr L L_NoDup (rk r L (x :: Y)) Y x Hrk Hx) as G.
        rewrite <- Hrk in G. rewrite G, <- missed_pout by auto.
        apply Exp_le; [apply order_proper|]. intros o _. apply missed_mono. }
      assert (Hrx : (qn (r (x :: Y)) == 1 + qn (r Y))%Q).
      { apply (In_nl r Hr) in Hx as (_ & Ex). rewrite Ex. apply qn_S. }
      rewrite Hrx in IH. lra.
Qed.

(** Tokens that are free in the new matroid carry no potential. *)
Lemma free_all V : forall Y, incl V U -> NoDup V -> (forall x, In x V -> ~ In x Y) ->
  (pot r' L (rk r' L Y) Y == pot r' L (rk r' L (rev V ++ Y)) (rev V ++ Y))%Q.
Proof.
  induction V as [|x V IH]; intros Y HV HN HY; [reflexivity|].
  inversion HN as [|? ? HxV HN']; subst.
  assert (HxU : In x U) by (apply HV; now left).
  assert (HxY : ~ In x Y) by (apply HY; now left).
  assert (Hx : In x (nl r' L Y)).
  { apply In_nl; [apply next_matroid|]. split; auto. now apply next_coloop. }
  cbn [rev]. rewrite <- app_assoc. cbn [app].
  rewrite <- (IH (x :: Y)); auto.
  - pose proof (rk_cons r' next_matroid L x Y Hx) as Hrk.
    pose proof (gradient r' next_matroid L L_NoDup (rk r' L (x :: Y)) Y x Hrk Hx) as G.
    rewrite <- Hrk in G.
    assert (H0 : (pout r' L (rk r' L Y) Y x == 0)%Q); [|lra].
    rewrite <- (orders_pout r' next_matroid L L_NoDup (length L) L Y x); auto.
    + rewrite <- (Exp_const (orders (length L) L) 0%Q) by apply order_proper.
      apply Exp_ext. intros o Ho. unfold missed.
      replace (mem x (greedy r' Y o)) with true; [reflexivity|]. symmetry. apply mem_In.
      apply greedy_coloop; auto.
      * intros A. now apply next_coloop.
      * apply orders_support in Ho as (_ & Ho); auto. apply Ho. auto.
    + apply incl_refl.
    + intros z Hz. apply In_nl in Hz; [tauto|apply next_matroid].
  - intros z Hz. apply HV. now right.
  - intros z Hz [->|Hzy]; [easy|]. apply (HY z); auto. now right.
Qed.

(** Truncation only limits how many tokens are taken. *)
Lemma pot_next n : forall Y, incl U Y -> n + (r Y - r U) <= q ->
  (pot r' L n Y == pot r L n Y)%Q.
Proof.
  induction n as [|n IH]; intros Y HUY Hn; [reflexivity|]. cbn [pot].
  assert (HrU : r U <= r Y) by (apply r_mono; auto).
  assert (Hnl : nl r' L Y = nl r L Y).
  { unfold nl. apply filter_ext. intros x. apply eq_true_iff_eq. rewrite !Nat.ltb_lt.
    unfold r', next_rank.
    assert (EY : r (Y ++ U) = r Y).
    { apply r_ext; auto. intros z. rewrite in_app_iff. intuition. }
    assert (ExY : r ((x :: Y) ++ U) = r (x :: Y)).
    { apply r_ext; auto. intros z. simpl. rewrite in_app_iff. intuition. }
    assert (E1 : card (inter (x :: Y) U) = card (inter Y U)).
    { apply card_ext. intros z. rewrite !In_inter. simpl. intuition (subst; auto). }
    rewrite EY, ExY, E1. pose proof (r_cons r Hr x Y). fold q. lia. }
  rewrite Hnl. rewrite (sumQ_ext (fun y => pot r' L n (y :: Y))
                          (fun y => pot r L n (y :: Y)) (nl r L Y)); [reflexivity|].
  intros y Hy. apply In_nl in Hy as (_ & Hy); auto. apply IH; [|lia].
  intros z Hz. right. auto.
Qed.

Fixpoint trunc_sum (n D : nat) : Q :=
  match n with O => 0 | S n' => qn D * / qn (D + S n') + trunc_sum n' D end.

Lemma pot_trunc n D : forall Y, n + D = rk r L Y ->
  (pot r L n Y <= pot r L (n + D) Y + trunc_sum n D)%Q.
Proof.
  induction n as [|n IH]; intros Y HY.
  - cbn [pot trunc_sum]. pose proof (pot_nonneg r Hr L L_NoDup D Y ltac:(lia)).
    cbn [plus]. lra.
  - cbn [plus pot trunc_sum]. pose proof (rk_le_nl r Hr L L_NoDup Y) as Hl.
    set (s := length (nl r L Y)) in *.
    assert (Hs : (0 < qn s)%Q) by (destruct s; [lia|apply qn_pos]).
    assert (Hsum : (sumQ (fun y => pot r L n (y :: Y)) (nl r L Y) <=
                    sumQ (fun y => pot r L (n + D) (y :: Y)) (nl r L Y)
                    + qn s * trunc_sum n D)%Q).
    { unfold s. rewrite <- sumQ_const, <- sumQ_plus. apply sumQ_le. intros y Hy.
      apply IH. apply rk_cons in Hy; auto. lia. }
    assert (HD : (qn D * / qn s <= qn D * / qn (D + S n))%Q).
    { assert (Hi : (/ qn s <= / qn (D + S n))%Q).
      { assert (Hle : (qn (D + S n) <= qn s)%Q) by (apply qn_le; lia).
        assert (Hp : (0 < qn (D + S n))%Q).
        { replace (D + S n) with (S (D + n)) by lia. apply qn_pos. }
        apply Qmult_lt_0_le_reg_r with (qn s); auto.
        rewrite (Qmult_comm (/ qn s)), Qmult_inv_r by lra.
        apply Qmult_lt_0_le_reg_r with (qn (D + S n)); auto.
        rewrite Qmult_1_l, (Qmult_comm _ (qn s)), <- Qmult_assoc,
          (Qmult_comm (/ qn (D + S n))), Qmult_inv_r by lra. lra. }
      pose proof (qn_nonneg D). nra. }
    set (a := sumQ (fun y => pot r L n (y :: Y)) (nl r L Y)) in *.
    set (b := sumQ (fun y => pot r L (n + D) (y :: Y)) (nl r L Y)) in *.
    assert (Ha : (/ qn s * a <= / qn s * b + trunc_sum n D)%Q).
    { apply Qmult_lt_0_le_reg_r with (qn s); auto.
      assert (E1 : (/ qn s * a * qn s == a)%Q) by (field; lra).
      assert (E2 : ((/ qn s * b + trunc_sum n D) * qn s == b + qn s * trunc_sum n D)%Q)
        by (field; lra).
      rewrite E1, E2. exact Hsum. }
    assert (Hq : (qn (S (n + D)) == qn (S n) + qn D)%Q) by (rewrite <- qn_plus; reflexivity).
    rewrite Hq.
    assert (E3 : ((qn (S n) + qn D) * / qn s == qn (S n) * / qn s + qn D * / qn s)%Q) by ring.
    rewrite E3. lra.
Qed.
End Step.

(** The sum of D/(D+i), i = 1 .. n, is D (H_(n+D) - H_D) ... *)
Lemma trunc_sum_eq n D : (trunc_sum n D == qn D * (harmonic (n + D) - harmonic D))%Q.
Proof.
  induction n as [|n IH]; cbn [trunc_sum plus]; [ring|].
  replace (D + S n) with (S (n + D)) by lia. cbn [harmonic]. rewrite IH. ring.
Qed.

(** ... and grows with D. *)
Lemma trunc_sum_mono n D Delta : D <= Delta -> (trunc_sum n D <= trunc_sum n Delta)%Q.
Proof.
  intros HD. induction n as [|n IH]; cbn [trunc_sum]; [lra|].
  assert (H : (qn D * / qn (D + S n) <= qn Delta * / qn (Delta + S n))%Q).
  { assert (Hp : (0 < qn (D + S n))%Q).
    { replace (D + S n) with (S (D + n)) by lia. apply qn_pos. }
    assert (Hp2 : (0 < qn (Delta + S n))%Q).
    { replace (Delta + S n) with (S (Delta + n)) by lia. apply qn_pos. }
    apply Qmult_lt_0_le_reg_r with (qn (D + S n) * qn (Delta + S n))%Q; [nra|].
    assert (E1 : (qn D * / qn (D + S n) * (qn (D + S n) * qn (Delta + S n)) ==
                  qn D * qn (Delta + S n))%Q) by (field; lra).
    assert (E2 : (qn Delta * / qn (Delta + S n) * (qn (D + S n) * qn (Delta + S n)) ==
                  qn Delta * qn (D + S n))%Q) by (field; lra).
    rewrite E1, E2, <- !qn_mult. apply qn_le. nia. }
  lra.
Qed.

(** Delta + sum_{i<=n} Delta/(Delta+i) <= Delta H_{n+1}. *)
Lemma trunc_sum_bound n Delta :
  (qn Delta + trunc_sum n Delta <= qn Delta * harmonic (S n))%Q.
Proof.
  induction n as [|n IH]; cbn [trunc_sum].
  - cbn [harmonic]. change (qn 1) with 1%Q. pose proof (qn_nonneg Delta).
    assert (E : (/ 1 == 1)%Q) by reflexivity. rewrite E. lra.
  - change (harmonic (S (S n))) with (harmonic (S n) + / qn (S (S n)))%Q.
    destruct Delta as [|D].
    { change (qn 0) with 0%Q in *. lra. }
    assert (H : (qn (S D) * / qn (S D + S n) <= qn (S D) * / qn (S (S n)))%Q).
    { assert (Hi : (/ qn (S D + S n) <= / qn (S (S n)))%Q).
      { pose proof (qn_pos (S n)) as Hp2. pose proof (qn_pos (D + S n)) as Hp.
        change (S (D + S n)) with (S D + S n) in Hp.
        apply Qmult_lt_0_le_reg_r with (qn (S D + S n) * qn (S (S n)))%Q; [nra|].
        assert (E1 : (/ qn (S D + S n) * (qn (S D + S n) * qn (S (S n))) ==
                      qn (S (S n)))%Q) by (field; lra).
        assert (E2 : (/ qn (S (S n)) * (qn (S D + S n) * qn (S (S n))) ==
                      qn (S D + S n))%Q) by (field; lra).
        rewrite E1, E2. apply qn_le. lia. }
      pose proof (qn_nonneg (S D)). nra. }
    lra.
Qed.
