(** * RLT: evicting random leaves

    A step with footprint U marks U (a new phase starts if the marks would be
    more than B) and then evicts, one at a time, uniformly among the unmarked
    leaves.  [rlt] prefers leaves that were not marked in the previous phase
    either; [rlt_step] does not.

    Here: both are well defined (weights are nonnegative and add up to one, a
    leaf always exists), every outcome is a marking schedule, and so the
    expected cost is at most (B-u+1) * OPT.  RLTLog.v has the logarithmic
    bound for [rlt]. *)

From KVBounds Require Export Dist LeafLRU.

Section Rlt.
Variable F : forest.
Variable B : nat.

(** The leaves to draw from: [T] is marked now, [Tp] was marked in the
    previous phase. *)
Definition pool (T Tp A : list nat) : list nat :=
  let c := nodup Nat.eq_dec (candidates F T A) in
  match diff c Tp with [] => c | c' => c' end.

Fixpoint random_evict (T Tp : list nat) (n : nat) (A : list nat) : dist (list nat) :=
  match n with
  | O => ret A
  | S n' => if card A <=? B then ret A
            else bind (uniform (pool T Tp A))
                      (fun v => random_evict T Tp n' (remove1 v A))
  end.

(** Distribution of the schedule.  [prefer]: remember the previous phase. *)
Fixpoint rlt_from (prefer : bool) (T Tp S0 : list nat) (us : list (list nat))
  : dist (list (list nat)) :=
  match us with
  | [] => ret []
  | U :: us' =>
      let T1 := next_marks B T U in
      let Tp1 := if card (T ++ U) <=? B then Tp else if prefer then T else [] in
      let A := union S0 U in
      bind (random_evict T1 Tp1 (card A) A)
           (fun S1 => bind (rlt_from prefer T1 Tp1 S1 us')
                           (fun ss => ret (S1 :: ss)))
  end.

Definition rlt (us : list (list nat)) := rlt_from true [] [] [] us.
Definition rlt_step (us : list (list nat)) := rlt_from false [] [] [] us.

(** Expected misses from an empty cache. *)
Definition expected_cost (d : dist (list (list nat))) (us : list (list nat)) : Q :=
  Exp d (fun ss => qn (cost [] us ss)).

(** ** Evictions *)

Lemma pool_candidates T Tp A v : In v (pool T Tp A) -> In v (candidates F T A).
Proof.
  unfold pool. destruct (diff (nodup Nat.eq_dec (candidates F T A)) Tp) as [|x l] eqn:E;
    intros H; apply (nodup_In Nat.eq_dec); auto.
  rewrite <- E in H. now apply In_diff in H.
Qed.

Lemma pool_prefers T Tp A y : closed F T -> closed F Tp ->
  In y A -> ~ In y (Tp ++ T) -> forall v, In v (pool T Tp A) -> ~ In v Tp.
Proof.
  intros HT HTp Hy HyT v Hv.
  assert (Hc : closed F (Tp ++ T)).
  { intros t p Ht Hp. apply in_app_iff in Ht. apply in_app_iff. destruct Ht; eauto. }
  destruct (leaf_below F (Tp ++ T) Hc (fun _ => 0%nat) A y) as (z & Hz & _); auto.
  apply In_candidates in Hz as (Hz1 & Hz2 & Hz3). rewrite in_app_iff in Hz2.
  assert (Hin : In z (diff (nodup Nat.eq_dec (candidates F T A)) Tp)).
  { apply In_diff. split; [|tauto]. apply nodup_In, In_candidates. tauto. }
  unfold pool in Hv. destruct (diff (nodup Nat.eq_dec (candidates F T A)) Tp) as [|x l] eqn:E.
  - easy.
  - rewrite <- E in Hv. now apply In_diff in Hv.
Qed.

Lemma pool_nonempty T Tp A : closed F T -> incl T A -> (card T <= B < card A)%nat ->
  pool T Tp A <> [].
Proof.
  intros HT HTA Hc. destruct (card_ge_exists A T) as (y & Hy & HyT); [lia|].
  destruct (leaf_below F T HT (fun _ => 0%nat) A y) as (z & Hz & _); auto.
  apply (nodup_In Nat.eq_dec) in Hz. unfold pool.
  destruct (diff (nodup Nat.eq_dec (candidates F T A)) Tp) as [|x l]; [|easy].
  intros E. rewrite E in Hz. easy.
Qed.

Lemma random_evict_proper T Tp n : forall A,
  closed F T -> incl T A -> (card T <= B)%nat -> proper (random_evict T Tp n A).
Proof.
  induction n as [|n IH]; intros A HT HTA HTB; [apply proper_ret|].
  cbn [random_evict]. destruct (card A <=? B) eqn:E; [apply proper_ret|].
  apply Nat.leb_gt in E. apply proper_bind.
  - apply proper_uniform, pool_nonempty; auto.
  - intros v Hv. apply support_uniform, pool_candidates, In_candidates in Hv.
    apply IH; auto. intros x Hx. apply In_remove1. split; auto. intros ->. tauto.
Qed.

(** Every outcome: what is marked stays, exactly the excess goes, the rest is
    closed; what was not marked in either phase goes first. *)
Lemma random_evict_support T Tp n : forall A S1,
  closed F T -> incl T A -> (card T <= B)%nat -> (card A <= n + B)%nat ->
  in_support S1 (random_evict T Tp n A) ->
  incl S1 A /\ incl T S1 /\ card S1 = Nat.min (card A) B /\
  (closed F A -> closed F S1) /\
  (closed F Tp -> incl S1 (Tp ++ T) \/
                  (forall x, In x A -> In x (Tp ++ T) -> In x S1)).
Proof.
  induction n as [|n IH]; intros A S1 HT HTA HTB Hn Hs; cbn [random_evict] in Hs.
  - apply support_ret in Hs. subst. repeat split; auto; [apply incl_refl|lia].
  - destruct (card A <=? B) eqn:E.
    { apply support_ret in Hs. subst. apply Nat.leb_le in E.
      repeat split; auto; [apply incl_refl|lia]. }
    apply Nat.leb_gt in E. apply support_bind in Hs as (v & Hv & Hs).
    apply support_uniform in Hv. pose proof (pool_candidates _ _ _ _ Hv) as Hc.
    pose proof (proj1 (In_candidates F T A v) Hc) as (HvA & HvT & Hleaf).
    pose proof (card_remove1 v A HvA) as Hcard.
    assert (HT' : incl T (remove1 v A)).
    { intros x Hx. apply In_remove1. split; auto. intros ->. auto. }
    destruct (IH (remove1 v A) S1 HT HT' HTB ltac:(lia) Hs) as (G1 & G2 & G3 & G4 & G5).
    split; [|split; [|split; [|split]]]; auto.
    + intros x Hx. apply G1, In_remove1 in Hx. tauto.
    + lia.
    + intros HA. apply G4. now apply remove1_closed with (U := T).
    + intros HTp. destruct (G5 HTp) as [G|G]; auto.
      destruct (In_dec v Tp) as [HvTp|HvTp].
      * (* the victim was marked in the previous phase: nothing else is left *)
        left. intros x Hx. destruct (In_dec x (Tp ++ T)) as [|Hn']; auto. exfalso.
        apply G1, In_remove1 in Hx as (Hx & _).
        exact (pool_prefers T Tp A x HT HTp Hx Hn' v Hv HvTp).
      * right. intros x Hx HxT. apply G; auto. apply In_remove1. split; auto.
        intros ->. apply in_app_iff in HxT. tauto.
Qed.

(** ** Runs *)

Lemma next_marks_closed T U : closed F T -> closed F U -> closed F (next_marks B T U).
Proof.
  intros HT HU. unfold next_marks. destruct (card (T ++ U) <=? B); auto.
  intros t p Ht Hp. apply in_app_iff in Ht. apply in_app_iff. destruct Ht; eauto.
Qed.

Lemma next_marks_card T U : (card U <= B)%nat -> (card (next_marks B T U) <= B)%nat.
Proof.
  intros HU. unfold next_marks. destruct (card (T ++ U) <=? B) eqn:E; auto.
  now apply Nat.leb_le.
Qed.

Lemma next_marks_has_U T U : incl U (next_marks B T U).
Proof.
  unfold next_marks. destruct (card (T ++ U) <=? B); [|apply incl_refl].
  intros x Hx. apply in_app_iff. auto.
Qed.

Lemma next_marks_cached T S0 U : incl T S0 -> incl (next_marks B T U) (union S0 U).
Proof.
  intros H x Hx. apply next_marks_incl in Hx. apply in_app_iff in Hx. apply In_union.
  destruct Hx; auto.
Qed.

Lemma rlt_from_proper prefer us : forall T Tp S0,
  (forall U, In U us -> closed F U /\ (card U <= B)%nat) -> closed F T -> incl T S0 ->
  proper (rlt_from prefer T Tp S0 us).
Proof.
  induction us as [|U us IH]; intros T Tp S0 Hus HT HTS; [apply proper_ret|].
  destruct (Hus U) as (HU1 & HU2); [now left|]. cbn [rlt_from].
  pose proof (next_marks_closed T U HT HU1). pose proof (next_marks_card T U HU2).
  pose proof (next_marks_cached T S0 U HTS).
  apply proper_bind; [apply random_evict_proper; auto|].
  intros S1 HS1. apply random_evict_support in HS1; auto; [|lia].
  apply proper_bind.
  - apply IH; auto; [|tauto]. intros V HV. apply Hus. now right.
  - intros ss _. apply proper_ret.
Qed.

Lemma rlt_from_support prefer us : forall T Tp S0 ss,
  (forall U, In U us -> closed F U /\ (card U <= B)%nat) ->
  closed F T -> incl T S0 -> closed F S0 ->
  in_support ss (rlt_from prefer T Tp S0 us) ->
  schedule B S0 us ss /\ all_closed F ss /\ marking B T S0 us ss.
Proof.
  induction us as [|U us IH]; intros T Tp S0 ss Hus HT HTS HS0 Hss.
  - apply support_ret in Hss. subst. repeat split; auto; intros A [].
  - destruct (Hus U) as (HU1 & HU2); [now left|]. cbn [rlt_from] in Hss.
    pose proof (next_marks_closed T U HT HU1) as N1.
    pose proof (next_marks_card T U HU2) as N2.
    pose proof (next_marks_cached T S0 U HTS) as N3.
    apply support_bind in Hss as (S1 & HS1 & Hss).
    apply support_bind in Hss as (ss' & Hss' & Hss). apply support_ret in Hss. subst ss.
    apply random_evict_support in HS1 as (G1 & G2 & G3 & G4 & _); auto; [|lia].
    assert (HAc : closed F (union S0 U)).
    { intros t p Ht Hp. apply In_union in Ht. apply In_union. destruct Ht; eauto. }
    destruct (IH _ _ _ _ ltac:(intros V HV; apply Hus; now right) N1 G2 (G4 HAc) Hss')
      as (I1 & I2 & I3).
    cbn [schedule marking]. split; [|split].
    + split; [|split; [|split]]; auto.
      * intros x Hx. apply G2. now apply next_marks_has_U.
      * intros x Hx. apply G1, In_union in Hx. apply in_app_iff. tauto.
      * lia.
    + intros A [<-|HA]; auto.
    + split; auto.
Qed.

(** Expected misses from a state on, and how they unfold. *)
Definition future_cost (prefer : bool) (T Tp S0 : list nat) (us : list (list nat)) : Q :=
  Exp (rlt_from prefer T Tp S0 us) (fun ss => qn (cost S0 us ss)).

Lemma future_cost_cons (prefer : bool) T Tp S0 U us :
  (forall V, In V (U :: us) -> closed F V /\ (card V <= B)%nat) -> closed F T -> incl T S0 ->
  let T1 := next_marks B T U in
  let Tp1 := if card (T ++ U) <=? B then Tp else if prefer then T else [] in
  (future_cost prefer T Tp S0 (U :: us) ==
   qn (card (diff U S0)) +
   Exp (random_evict T1 Tp1 (card (union S0 U)) (union S0 U))
       (fun S1 => future_cost prefer T1 Tp1 S1 us))%Q.
Proof.
  intros Hus HT HTS. cbn zeta. unfold future_cost at 1. cbn [rlt_from].
  destruct (Hus U) as (HU1 & HU2); [now left|].
  pose proof (next_marks_closed T U HT HU1) as N1.
  pose proof (next_marks_card T U HU2) as N2.
  pose proof (next_marks_cached T S0 U HTS) as N3.
  set (T1 := next_marks B T U) in *.
  set (Tp1 := if card (T ++ U) <=? B then Tp else if prefer then T else (@nil nat)).
  rewrite Exp_bind.
  rewrite <- (Exp_const (random_evict T1 Tp1 (card (union S0 U)) (union S0 U))
                        (qn (card (diff U S0))))
    by (apply random_evict_proper; auto).
  rewrite <- Exp_plus. apply Exp_ext. intros S1 HS1.
  apply random_evict_support in HS1 as (_ & G2 & _); auto; [|lia].
  rewrite Exp_bind. unfold future_cost.
  rewrite <- (Exp_const (rlt_from prefer T1 Tp1 S1 us) (qn (card (diff U S0)))).
  - rewrite <- Exp_plus. apply Exp_ext. intros ss _. rewrite Exp_ret. cbn [cost].
    apply qn_plus.
  - apply rlt_from_proper; auto. intros V HV. apply Hus. now right.
Qed.

(** Well defined: proper weights, and every outcome is a demand schedule of
    closed caches that is marking. *)
Theorem rlt_well_defined : forall prefer u us,
  admissible F B u us ->
  proper (rlt_from prefer [] [] [] us) /\
  forall ss, in_support ss (rlt_from prefer [] [] [] us) ->
    schedule B [] us ss /\ all_closed F ss /\ marking B [] [] us ss.
Proof.
  intros prefer u us H.
  assert (Hus : forall U, In U us -> closed F U /\ (card U <= B)%nat).
  { intros U HU. destruct (H U HU). split; auto. lia. }
  assert (Hnil : closed F []) by (intros t p []).
  split; [apply rlt_from_proper|intros ss Hss; eapply rlt_from_support; eauto]; auto;
    apply incl_refl.
Qed.

(** Hence, outcome by outcome, Theorem 1. *)
Theorem rlt_bound : forall prefer u us os,
  (1 <= u)%nat -> admissible F B u us -> schedule B [] us os ->
  (expected_cost (rlt_from prefer [] [] [] us) us <= qn ((B - u + 1) * cost [] us os))%Q.
Proof.
  intros prefer u us os Hu H Hos. destruct (rlt_well_defined prefer u us H) as (Hp & Hs).
  unfold expected_cost.
  rewrite <- (Exp_const (rlt_from prefer [] [] [] us) (qn ((B - u + 1) * cost [] us os)) Hp).
  apply Exp_le; auto. intros ss Hss. destruct (Hs ss Hss) as (_ & _ & Hm).
  apply qn_le. apply theorem_1_empty with (u := u); auto.
  intros U HU. apply (H U HU).
Qed.
End Rlt.
