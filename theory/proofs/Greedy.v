(** * Greedy bases by random priorities

    The priorities are a uniformly random order of all tokens.  The greedy
    basis takes every token that raises the rank of what comes before it.  The
    probability that a token is not taken is [pout] of Matroid.v. *)

From KVBounds Require Export Matroid.

Local Open Scope nat_scope.

(** The basis of M/Y: go through the order, keep what raises the rank. *)
Fixpoint greedy (r : list nat -> nat) (Y order : list nat) : list nat :=
  match order with
  | [] => []
  | y :: order' =>
      if r Y <? r (y :: Y) then y :: greedy r (y :: Y) order'
      else greedy r (y :: Y) order'
  end.

(** A uniformly random order of [l] ([n] = its length). *)
Fixpoint orders (n : nat) (l : list nat) : dist (list nat) :=
  match n with
  | O => ret []
  | S n' => bind (uniform l)
                 (fun y => bind (orders n' (remove1 y l)) (fun o => ret (y :: o)))
  end.

Definition random_order (l : list nat) : dist (list nat) := orders (length l) l.

Lemma remove1_length x l : NoDup l -> In x l -> length l = S (length (remove1 x l)).
Proof.
  intros HN Hx. pose proof (card_remove1 x l Hx) as H.
  rewrite !card_NoDup in H; auto. now apply NoDup_filter.
Qed.

Lemma orders_proper n : forall l, length l = n -> NoDup l -> proper (orders n l).
Proof.
  induction n as [|n IH]; intros l Hl HN; [apply proper_ret|]. cbn [orders].
  apply proper_bind.
  - apply proper_uniform. intros ->. easy.
  - intros y Hy. apply support_uniform in Hy. apply proper_bind.
    + apply IH; [|now apply NoDup_filter]. pose proof (remove1_length y l HN Hy). lia.
    + intros o _. apply proper_ret.
Qed.

Lemma orders_support n : forall l o, length l = n -> NoDup l -> in_support o (orders n l) ->
  NoDup o /\ forall x, In x o <-> In x l.
Proof.
  induction n as [|n IH]; intros l o Hl HN Ho.
  - apply support_ret in Ho. subst. destruct l; [|easy]. split; [constructor|tauto].
  - cbn [orders] in Ho. apply support_bind in Ho as (y & Hy & Ho).
    apply support_uniform in Hy. apply support_bind in Ho as (o' & Ho' & Ho).
    apply support_ret in Ho. subst o.
    destruct (IH (remove1 y l) o') as (H1 & H2); auto.
    { pose proof (remove1_length y l HN Hy). lia. }
    { now apply NoDup_filter. }
    split.
    + constructor; auto. rewrite H2, In_remove1. tauto.
    + intros x. cbn [In]. rewrite H2, In_remove1. destruct (Nat.eq_dec x y) as [->|Hne].
      * tauto.
      * split; [intros [<-|?]; tauto|tauto].
Qed.

Section Greedy.
Variable r : list nat -> nat.
Hypothesis Hr : matroid r.

Lemma greedy_In Y o x : In x (greedy r Y o) -> In x o.
Proof.
  revert Y. induction o as [|y o IH]; simpl; intros Y; [easy|].
  destruct (r Y <? r (y :: Y)); simpl; intuition eauto.
Qed.

(** A loop of M/Y is never taken. *)
Lemma greedy_loop o : forall Y x, r (x :: Y) = r Y -> ~ In x (greedy r Y o).
Proof.
  induction o as [|y o IH]; simpl; intros Y x Hx; [easy|].
  assert (Hx' : r (x :: y :: Y) = r (y :: Y)).
  { apply (m_span r Hr Y); auto. intros z Hz. now right. }
  destruct (r Y <? r (y :: Y)) eqn:E; [|now apply IH].
  intros [->|Hin]; [|now apply IH in Hin]. apply Nat.ltb_lt in E. lia.
Qed.

(** Contracting more takes less. *)
Lemma greedy_mono o : forall Y Y', incl Y Y' -> incl (greedy r Y' o) (greedy r Y o).
Proof.
  induction o as [|y o IH]; simpl; intros Y Y' Hi; [apply incl_refl|].
  assert (Hi' : incl (y :: Y) (y :: Y')).
  { intros z [->|Hz]; [now left|right; auto]. }
  destruct (r Y' <? r (y :: Y')) eqn:E'; destruct (r Y <? r (y :: Y)) eqn:E.
  - intros x [->|Hx]; [now left|right; eapply IH; eauto].
  - exfalso. apply Nat.ltb_lt in E'. apply Nat.ltb_ge in E.
    pose proof (r_cons r Hr y Y).
    pose proof (m_span r Hr Y Y' y Hi ltac:(lia)). lia.
  - intros x Hx. right. eapply IH; eauto.
  - apply IH. auto.
Qed.

Lemma greedy_length o : forall Y, length (greedy r Y o) + r Y = r (o ++ Y).
Proof.
  induction o as [|y o IH]; intros Y; [reflexivity|]. cbn [greedy].
  assert (E : r ((y :: o) ++ Y) = r (o ++ y :: Y)).
  { apply r_ext; auto. intros z. simpl. rewrite !in_app_iff. simpl. tauto. }
  rewrite E, <- IH. pose proof (r_cons r Hr y Y).
  destruct (r Y <? r (y :: Y)) eqn:Eb; cbn [length].
  - apply Nat.ltb_lt in Eb. lia.
  - apply Nat.ltb_ge in Eb. lia.
Qed.

(** A token that raises the rank of everything without it is taken. *)
Lemma greedy_coloop x o : (forall A, ~ In x A -> r (x :: A) = S (r A)) ->
  In x o -> forall Y, ~ In x Y -> In x (greedy r Y o).
Proof.
  intros Hx. induction o as [|y o IH]; intros Ho Y HY; [easy|]. cbn [greedy].
  destruct (Nat.eq_dec y x) as [->|Hne].
  - rewrite (Hx Y HY). replace (r Y <? S (r Y)) with true; [now left|].
    symmetry. apply Nat.ltb_lt. lia.
  - destruct Ho as [->|Ho]; [easy|].
    assert (In x (greedy r (y :: Y) o)).
    { apply IH; auto. intros [->|?]; auto. }
    destruct (r Y <? r (y :: Y)); [now right|auto].
Qed.

(** ** Random orders *)

Variable L : list nat.
Hypothesis L_NoDup : NoDup L.

Definition missed (Y : list nat) (x : nat) (o : list nat) : Q :=
  if mem x (greedy r Y o) then 0 else 1.

Lemma missed_01 Y x o : (0 <= missed Y x o <= 1)%Q.
Proof. unfold missed. destruct (mem x (greedy r Y o)); lra. Qed.

Lemma orders_pout n : forall l Y x, length l = n -> NoDup l -> incl l L ->
  (forall z, In z (nl r L Y) -> In z l) -> In x (nl r L Y) ->
  (Exp (orders n l) (missed Y x) == pout r L (rk r L Y) Y x)%Q.
Proof.
  induction n as [|n IH]; intros l Y x Hl HN HlL Hnl Hx.
  { apply Hnl in Hx. destruct l; easy. }
  cbn [orders]. rewrite Exp_bind, Exp_uniform.
  destruct (rk r L Y) as [|m] eqn:Erk.
  { apply rk_cons in Hx; auto. lia. }
  set (v := pout r L (S m) Y x).
  set (g := fun y => Exp (orders n (remove1 y l)) (fun o => missed Y x (y :: o))).
  assert (Hg : (sumQ (fun y => Exp (bind (orders n (remove1 y l)) (fun o => ret (y :: o)))
                                   (missed Y x)) l == sumQ g l)%Q).
  { apply sumQ_ext. intros y _. rewrite Exp_bind. unfold g. apply Exp_ext.
    intros o _. apply Exp_ret. }
  rewrite Hg.
  set (p := fun y => r Y <? r (y :: Y)).
  assert (Hprop : forall y, In y l -> proper (orders n (remove1 y l))).
  { intros y Hy. apply orders_proper; [|now apply NoDup_filter].
    pose proof (remove1_length y l HN Hy). lia. }
  assert (HxY : r (x :: Y) = S (r Y)) by (apply In_nl in Hx; tauto).
  assert (Hrest : forall y, In y l ->
            length (remove1 y l) = n /\ NoDup (remove1 y l) /\ incl (remove1 y l) L).
  { intros y Hy. pose proof (remove1_length y l HN Hy).
    repeat split; [lia|now apply NoDup_filter|]. intros z Hz. apply HlL.
    now apply In_remove1 in Hz. }
  (* a loop y changes nothing *)
  assert (Hloop : forall y, In y (filter (fun y => negb (p y)) l) -> (g y == v)%Q).
  { intros y Hy. apply filter_In in Hy as (Hy & Hp). unfold p in Hp.
    apply negb_true_iff, Nat.ltb_ge in Hp.
    assert (Hly : r (y :: Y) = r Y) by (pose proof (r_cons r Hr y Y); lia).
    pose proof (same_loop r Hr y Y Hly) as Hsame.
    destruct (Hrest y Hy) as (R1 & R2 & R3).
    assert (Hrk : rk r L (y :: Y) = S m).
    { unfold rk. rewrite (Hsame L). rewrite Hly. unfold rk in Erk. exact Erk. }
    assert (Hgy : (g y == Exp (orders n (remove1 y l)) (missed (y :: Y) x))%Q).
    { apply Exp_ext. intros o _. unfold missed. cbn [greedy].
      replace (r Y <? r (y :: Y)) with false; [reflexivity|].
      symmetry. apply Nat.ltb_ge. lia. }
    rewrite Hgy, IH; auto.
    - rewrite Hrk. now apply pout_same.
    - intros z Hz. rewrite (nl_same r L _ _ Hsame) in Hz. apply In_remove1. split; auto.
      intros ->. apply In_nl in Hz; auto. lia.
    - rewrite (nl_same r L _ _ Hsame). auto. }
  (* a non-loop y is taken *)
  assert (Htaken : (sumQ g (filter p l) == qn (length (filter p l)) * v)%Q).
  { assert (Hset : forall y, In y (filter p l) <-> In y (nl r L Y)).
    { intros y. unfold nl, p. rewrite !filter_In. split; intros (H1 & H2); split; auto.
      apply Hnl. unfold nl. apply filter_In. auto. }
    assert (HNp : NoDup (filter p l)) by now apply NoDup_filter.
    assert (HNn : NoDup (nl r L Y)) by now apply nl_NoDup.
    assert (Hlen : length (filter p l) = length (nl r L Y)).
    { rewrite <- !card_NoDup by auto. now apply card_ext. }
    rewrite (sumQ_set g _ _ HNp HNn Hset), Hlen. unfold v. cbn [pout].
    assert (Hpos : (0 < qn (length (nl r L Y)))%Q).
    { destruct (nl r L Y); [easy|]. apply qn_pos. }
    rewrite Qmult_assoc, Qmult_inv_r, Qmult_1_l by lra.
    apply sumQ_ext. intros y Hy. pose proof (Hnl y Hy) as Hyl.
    assert (HyY : r (y :: Y) = S (r Y)) by (apply In_nl in Hy; tauto).
    destruct (Hrest y Hyl) as (R1 & R2 & R3).
    destruct (Nat.eqb_spec y x) as [->|Hne].
    - rewrite <- (Exp_const (orders n (remove1 x l)) 0%Q) by auto.
      apply Exp_ext. intros o _. unfold missed. cbn [greedy]. rewrite HyY.
      replace (r Y <? S (r Y)) with true by (symmetry; apply Nat.ltb_lt; lia).
      simpl. rewrite Nat.eqb_refl. reflexivity.
    - assert (Hgy : (g y == Exp (orders n (remove1 y l)) (missed (y :: Y) x))%Q).
      { apply Exp_ext. intros o _. unfold missed. cbn [greedy]. rewrite HyY.
        replace (r Y <? S (r Y)) with true by (symmetry; apply Nat.ltb_lt; lia).
        simpl. replace (x =? y) with false; [reflexivity|].
        symmetry. apply Nat.eqb_neq. auto. }
      rewrite Hgy. destruct (mem x (nl r L (y :: Y))) eqn:Em.
      + apply mem_In in Em. rewrite IH; auto.
        * assert (rk r L (y :: Y) = m) by (apply rk_cons in Hy; auto; lia).
          rewrite H. reflexivity.
        * intros z Hz. apply In_remove1. pose proof (nl_cons r Hr L y z Y Hy) as Hc.
          apply Hc in Hz as (Hz1 & Hz2). split; auto. intros ->.
          apply In_nl in Hz2 as (_ & Hz2); auto.
          rewrite (r_ext r Hr (y :: y :: Y) (y :: Y)) in Hz2 by (intros w; simpl; tauto).
          lia.
      + apply mem_not_In in Em.
        rewrite <- (Exp_const (orders n (remove1 y l)) 1%Q) by auto.
        apply Exp_ext. intros o _. unfold missed.
        replace (mem x (greedy r (y :: Y) o)) with false; [reflexivity|].
        symmetry. apply mem_not_In, greedy_loop.
        destruct (Nat.eq_dec (r (x :: y :: Y)) (r (y :: Y))) as [|Hn']; auto.
        exfalso. apply Em, In_nl; auto. split; [apply In_nl in Hx; tauto|].
        pose proof (r_cons r Hr x (y :: Y)). lia. }
  assert (Hsum : (sumQ g l == qn (length l) * v)%Q).
  { rewrite (sumQ_filter_split p g l), Htaken.
    rewrite (sumQ_ext g (fun _ => v) (filter (fun y => negb (p y)) l)) by auto.
    rewrite sumQ_const.
    assert (Hlen : (qn (length l) == qn (length (filter p l)) +
                    qn (length (filter (fun y => negb (p y)) l)))%Q).
    { pose proof (sumQ_filter_split p (fun _ => 1%Q) l) as G. rewrite !sumQ_const in G. lra. }
    rewrite Hlen. ring. }
  rewrite Hsum. assert (Hpos : (0 < qn (length l))%Q) by (rewrite Hl; apply qn_pos).
  rewrite Qmult_assoc, (Qmult_comm (/ qn (length l))), Qmult_inv_r by lra. lra.
Qed.
End Greedy.
