(** * The potential of a phase of RLT

    Fix ranks [r] that never decrease going down the forest (the next use of a
    token).  A *hole* is a token of the previous phase that is not cached.
    The potential adds up H_{n(x)} over the holes x, where n(x) counts the
    unmarked cached leaves whose rank is above that of x.

    - n(x) never grows: an eviction can only uncover the victim's parent, and
      its rank is not above the victim's.
    - A uniform victim among N leaves brings an expected new term of at most
      H_N - 1.
    - A hole that is requested now has all N leaves above it: it gives H_N
      back when it is loaded, which pays for its miss. *)

From KVBounds Require Export RLT Lemma1.

Local Open Scope nat_scope.

Section Potential.
Variable F : forest.
Variable B : nat.

Definition count (P : nat -> bool) (T A : list nat) : nat :=
  card (filter P (candidates F T A)).

Definition above (r : nat -> nat) (T A : list nat) (x : nat) : nat :=
  count (fun z => r x <? r z) T A.

Definition holes (Tp A : list nat) : list nat := diff (nodup Nat.eq_dec Tp) A.

Definition phi (r : nat -> nat) (T Tp A : list nat) : Q :=
  sumQ (fun x => harmonic (above r T A x)) (holes Tp A).

Lemma In_holes Tp A x : In x (holes Tp A) <-> In x Tp /\ ~ In x A.
Proof. unfold holes. now rewrite In_diff, nodup_In. Qed.

Lemma holes_NoDup Tp A : NoDup (holes Tp A).
Proof. apply NoDup_filter, NoDup_nodup. Qed.

Lemma phi_nonneg r T Tp A : (0 <= phi r T Tp A)%Q.
Proof. apply sumQ_nonneg. intros x _. apply harmonic_nonneg. Qed.

(** ** One eviction *)

Lemma new_leaf T A v z :
  In v (candidates F T A) -> In z (candidates F T (remove1 v A)) ->
  In z (candidates F T A) \/ parent F v = Some z.
Proof.
  intros Hv Hz. apply In_candidates in Hz as (HzA & HzT & Hc).
  apply In_remove1 in HzA as (HzA & Hne).
  destruct (is_leaf F A z) eqn:E.
  - left. rewrite is_leaf_true in E. apply In_candidates. auto.
  - right. apply not_leaf in E as (c & HcA & Hp).
    destruct (Nat.eq_dec c v) as [->|Hcv]; auto. exfalso.
    apply (Hc c); auto. apply In_remove1. auto.
Qed.

(** Leaves with a property that the victim has whenever its parent has it do
    not get more. *)
Lemma count_evict P T A v :
  In v (candidates F T A) ->
  (forall z, parent F v = Some z -> P z = true -> P v = true) ->
  count P T (remove1 v A) <= count P T A.
Proof.
  intros Hv HP. unfold count.
  apply card_map_inj with (f := fun z => if mem z (candidates F T A) then z else v).
  - intros x y Hx Hy E. apply filter_In in Hx as (Hx & _). apply filter_In in Hy as (Hy & _).
    assert (Hne : forall z, In z (candidates F T (remove1 v A)) -> z <> v).
    { intros z Hz. apply In_candidates in Hz as (Hz & _). now apply In_remove1 in Hz. }
    destruct (mem x (candidates F T A)) eqn:Ex, (mem y (candidates F T A)) eqn:Ey; auto.
    + now apply Hne in Hx.
    + subst. now apply Hne in Hy.
    + apply mem_not_In in Ex, Ey.
      destruct (new_leaf T A v x Hv Hx); [easy|]. destruct (new_leaf T A v y Hv Hy); [easy|].
      congruence.
  - intros z Hz. apply filter_In in Hz as (Hz & HPz). apply filter_In.
    destruct (mem z (candidates F T A)) eqn:Ez.
    + apply mem_In in Ez. auto.
    + apply mem_not_In in Ez. destruct (new_leaf T A v z Hv Hz); [easy|].
      split; auto. eapply HP; eauto.
Qed.

Section Ranks.
Variable r : nat -> nat.
Hypothesis r_mono : forall c p, parent F c = Some p -> r p <= r c.

Lemma above_evict T A v x : In v (candidates F T A) ->
  above r T (remove1 v A) x <= above r T A x.
Proof.
  intros Hv. apply count_evict; auto. intros z Hp. rewrite !Nat.ltb_lt.
  apply r_mono in Hp. lia.
Qed.

Lemma leaves_evict T A v : In v (candidates F T A) ->
  card (candidates F T (remove1 v A)) <= card (candidates F T A).
Proof.
  intros Hv. pose proof (count_evict (fun _ => true) T A v Hv ltac:(auto)) as H.
  unfold count in H.
  assert (E : forall l : list nat, filter (fun _ => true) l = l)
    by (induction l; simpl; congruence).
  now rewrite !E in H.
Qed.

(** The victim becomes a hole. *)
Lemma phi_evict T Tp A v : In v (candidates F T A) -> In v Tp ->
  (phi r T Tp (remove1 v A) <= phi r T Tp A + harmonic (above r T A v))%Q.
Proof.
  intros Hv HvTp. unfold phi.
  assert (HvA : In v A) by (apply In_candidates in Hv; tauto).
  rewrite (sumQ_set _ (holes Tp (remove1 v A)) (v :: holes Tp A)).
  - cbn [sumQ]. pose proof (harmonic_mono _ _ (above_evict T A v v Hv)) as H1.
    assert (H2 : (sumQ (fun x => harmonic (above r T (remove1 v A) x)) (holes Tp A) <=
                  sumQ (fun x => harmonic (above r T A x)) (holes Tp A))%Q).
    { apply sumQ_le. intros x _. now apply harmonic_mono, above_evict. }
    lra.
  - apply holes_NoDup.
  - constructor; [|apply holes_NoDup]. rewrite In_holes. tauto.
  - intros x. cbn [In]. rewrite !In_holes, In_remove1.
    destruct (Nat.eq_dec x v); destruct (In_dec x A); subst; intuition congruence.
Qed.

(** Sorted by rank, the j-th highest has at most j-1 above it. *)
Lemma sum_by_rank : forall n l, length l = n -> NoDup l ->
  (sumQ (fun v => harmonic (card (filter (fun z => (r v <? r z)%nat) l))) l
   <= sum_harmonic n)%Q.
Proof.
  induction n as [|n IH]; intros l Hl HN.
  { destruct l; [cbn; lra|easy]. }
  assert (Hmin : exists v, In v l /\ forall z, In z l -> r v <= r z).
  { destruct l as [|a l]; [easy|]. clear. revert a. induction l as [|b l IH]; intros a.
    - exists a. split; [now left|]. intros z [->|[]]; auto.
    - destruct (IH b) as (v & Hv & Hmin). destruct (le_lt_dec (r a) (r v)).
      + exists a. split; [now left|]. intros z [->|Hz]; auto. apply Hmin in Hz. lia.
      + exists v. split; [now right|]. intros z [->|Hz]; auto. lia. }
  destruct Hmin as (v & Hv & Hmin).
  assert (HN' : NoDup (remove1 v l)) by (now apply NoDup_filter).
  assert (Hl' : length (remove1 v l) = n).
  { pose proof (card_remove1 v l Hv) as Hc. rewrite !card_NoDup in Hc by auto. lia. }
  rewrite (sumQ_set _ l (v :: remove1 v l)); auto.
  - cbn [sumQ sum_harmonic]. specialize (IH (remove1 v l) Hl' HN').
    assert (H1 : (harmonic (card (filter (fun z => (r v <? r z)%nat) l)) <= harmonic n)%Q).
    { apply harmonic_mono. rewrite <- Hl', <- card_NoDup by auto. apply card_incl.
      intros z Hz. apply filter_In in Hz as (Hz & Hlt). apply Nat.ltb_lt in Hlt.
      apply In_remove1. split; auto. intros ->. lia. }
    assert (H2 : (sumQ (fun x => harmonic (card (filter (fun z => (r x <? r z)%nat) l)))
                    (remove1 v l) ==
                  sumQ (fun x => harmonic (card (filter (fun z => (r x <? r z)%nat)
                                                   (remove1 v l)))) (remove1 v l))%Q).
    { apply sumQ_ext. intros x Hx. apply In_remove1 in Hx as (Hx & _).
      replace (card (filter (fun z => r x <? r z) (remove1 v l)))
        with (card (filter (fun z => r x <? r z) l)); [reflexivity|].
      apply card_ext. intros z. rewrite !filter_In, In_remove1, Nat.ltb_lt.
      split; [|tauto]. intros (Hz & Hlt). repeat split; auto. intros ->.
      apply Hmin in Hx. lia. }
    rewrite H2. lra.
  - constructor; auto. rewrite In_remove1. tauto.
  - intros x. cbn [In]. rewrite In_remove1. destruct (Nat.eq_dec x v) as [->|Hne].
    + tauto.
    + split; [tauto|]. intros [<-|Hx]; tauto.
Qed.

(** ** The evictions of a step *)

Lemma pool_all T Tp A : incl A (Tp ++ T) ->
  pool F T Tp A = nodup Nat.eq_dec (candidates F T A).
Proof.
  intros H. unfold pool.
  destruct (diff (nodup Nat.eq_dec (candidates F T A)) Tp) as [|x l] eqn:E; auto.
  exfalso. assert (Hx : In x (diff (nodup Nat.eq_dec (candidates F T A)) Tp))
    by (rewrite E; now left).
  apply In_diff in Hx as (Hx & HxTp). apply nodup_In, In_candidates in Hx as (Hx & HxT & _).
  apply H, in_app_iff in Hx. tauto.
Qed.

Lemma phi_random_evict T Tp N n : closed F T -> (card T <= B)%nat -> forall A,
  incl T A -> incl A (Tp ++ T) -> (card A <= n + B)%nat ->
  (1 <= N)%nat -> (card (candidates F T A) <= N)%nat ->
  (Exp (random_evict F B T Tp n A) (phi r T Tp)
   <= phi r T Tp A + qn (card A - B) * (harmonic N - 1))%Q.
Proof.
  intros HT HTB. induction n as [|n IH]; intros A HTA HATp Hn HN1 HN.
  { cbn [random_evict]. rewrite Exp_ret. replace (card A - B) with 0 by lia.
    change (qn 0) with 0%Q. lra. }
  cbn [random_evict]. destruct (card A <=? B) eqn:E.
  { apply Nat.leb_le in E. rewrite Exp_ret. replace (card A - B) with 0 by lia.
    change (qn 0) with 0%Q. lra. }
  apply Nat.leb_gt in E.
  rewrite Exp_bind, Exp_uniform, (pool_all T Tp A HATp).
  pose proof (pool_nonempty F B T Tp A HT HTA ltac:(lia)) as Hne.
  rewrite (pool_all T Tp A HATp) in Hne.
  set (l := nodup Nat.eq_dec (candidates F T A)) in *.
  assert (Hlen : length l = card (candidates F T A)) by reflexivity.
  assert (HNl : NoDup l) by apply NoDup_nodup.
  set (m := (card A - S B)%nat).
  assert (Hstep : (sumQ (fun v => Exp (random_evict F B T Tp n (remove1 v A)) (phi r T Tp)) l <=
     sumQ (fun v => (phi r T Tp A + qn m * (harmonic N - 1)) +
                    harmonic (card (filter (fun z => (r v <? r z)%nat) l))) l)%Q).
  { apply sumQ_le. intros v Hv. apply nodup_In in Hv.
    pose proof (proj1 (In_candidates F T A v) Hv) as (HvA & HvT & _).
    assert (HvTp : In v Tp).
    { apply HATp, in_app_iff in HvA. tauto. }
    pose proof (card_remove1 v A HvA) as Hc.
    assert (HTA' : incl T (remove1 v A)).
    { intros x Hx. apply In_remove1. split; auto. intros ->. auto. }
    assert (HATp' : incl (remove1 v A) (Tp ++ T)).
    { intros x Hx. apply In_remove1 in Hx. apply HATp. tauto. }
    pose proof (leaves_evict T A v Hv) as Hlv.
    specialize (IH (remove1 v A) HTA' HATp' ltac:(lia) HN1 ltac:(lia)).
    replace (card (remove1 v A) - B)%nat with m in IH by (unfold m; lia).
    pose proof (phi_evict T Tp A v Hv HvTp) as Hphi.
    assert (Habove : above r T A v = card (filter (fun z => (r v <? r z)%nat) l)).
    { unfold above, count. apply card_ext. intros z. unfold l.
      rewrite !filter_In, nodup_In. tauto. }
    rewrite Habove in Hphi. lra. }
  rewrite sumQ_plus, sumQ_const in Hstep.
  pose proof (sum_by_rank (length l) l eq_refl HNl) as Hsum.
  rewrite sum_harmonic_eq in Hsum.
  assert (Hpos : (0 < qn (length l))%Q).
  { destruct l as [|a l0]; [easy|]. apply qn_pos. }
  assert (Hm : (qn (card A - B) == 1 + qn m)%Q).
  { replace (card A - B) with (S m) by (unfold m; lia). apply qn_S. }
  assert (HlN : (harmonic (length l) <= harmonic N)%Q) by (apply harmonic_mono; lia).
  set (s := sumQ (fun v => Exp (random_evict F B T Tp n (remove1 v A)) (phi r T Tp)) l) in *.
  set (p := phi r T Tp A) in *. rewrite Hm.
  assert (Hs : (s <= qn (length l) *
                    (p + qn m * (harmonic N - 1) + (harmonic (length l) - 1)))%Q) by lra.
  assert (Hi : (/ qn (length l) * s <=
                p + qn m * (harmonic N - 1) + (harmonic (length l) - 1))%Q).
  { apply Qmult_lt_0_le_reg_r with (qn (length l)); auto.
    rewrite Qmult_comm, Qmult_assoc, Qmult_inv_r by lra. lra. }
  lra.
Qed.
End Ranks.
End Potential.
