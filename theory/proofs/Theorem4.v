(** * Theorem 4: an online policy with expected cost at most H_k * OPT

    Seated OnlineMIN: OnlineMin.v chooses the virtual cache by random
    priorities, Seats.v turns it into a prefix-closed real cache that costs
    no more.  k = B - u + 1; no additive constant. *)

From KVBounds Require Export OnlineMin ClosureFree.

Local Open Scope nat_scope.

Lemma Exp_sumQ {A} (d : dist A) (f : A -> nat -> Q) l :
  (Exp d (fun a => sumQ (f a) l) == sumQ (fun x => Exp d (fun a => f a x)) l)%Q.
Proof.
  induction l as [|x l IH]; cbn [sumQ].
  - transitivity (Exp d (fun _ => 0 * 1)%Q); [apply Exp_ext; intros; ring|].
    rewrite Exp_scale. ring.
  - rewrite Exp_plus, IH. reflexivity.
Qed.

(** Misses, counted token by token. *)
Lemma misses_sum r U o :
  (qn (card (diff U (greedy r [] o))) ==
   sumQ (fun x => missed r [] x o) (nodup Nat.eq_dec U))%Q.
Proof.
  set (C := greedy r [] o).
  rewrite (sumQ_filter_split (fun x => mem x C) _ (nodup Nat.eq_dec U)).
  rewrite (sumQ_ext _ (fun _ => 0%Q) (filter (fun x => mem x C) _)).
  - rewrite (sumQ_ext _ (fun _ => 1%Q) (filter (fun x => negb (mem x C)) _)).
    + rewrite !sumQ_const.
      replace (length (filter (fun x => negb (mem x C)) (nodup Nat.eq_dec U)))
        with (card (diff U C)); [ring|].
      rewrite <- card_NoDup by apply NoDup_filter, NoDup_nodup. apply card_ext.
      intros x. rewrite In_diff, filter_In, nodup_In, negb_true_iff, mem_not_In. tauto.
    + intros x Hx. apply filter_In in Hx as (_ & Hx). apply negb_true_iff in Hx.
      unfold missed. fold C. now rewrite Hx.
  - intros x Hx. apply filter_In in Hx as (_ & Hx). unfold missed. fold C. now rewrite Hx.
Qed.

(** Theorem O1: one step, with q = B - |U|. *)
Theorem online_min_step : forall B r L U,
  matroid r -> (forall A, r A <= B) -> NoDup L -> incl U L -> card U <= B ->
  (expected_misses r L (nodup Nat.eq_dec U)
   + pot (next_rank B r U) L (rk (next_rank B r U) L []) []
   <= pot r L (rk r L []) []
      + qn (delta r U) * (1 + harmonic (B - card U + delta r U) - harmonic (delta r U)))%Q.
Proof.
  intros B r L U Hr HB HL HUL HU. set (V := nodup Nat.eq_dec U). set (r' := next_rank B r U).
  set (q := B - card U).
  assert (HVU : forall x, In x V <-> In x U) by (intros x; apply nodup_In).
  assert (HrevV : forall x, In x (rev V ++ []) <-> In x U).
  { intros x. rewrite app_nil_r, <- in_rev. apply HVU. }
  assert (Hsame : same r (rev V ++ []) U) by now apply same_ext.
  assert (Hr' : matroid r') by now apply next_matroid.
  assert (Hsame' : same r' (rev V ++ []) U) by now apply same_ext.
  assert (HrU : r (rev V ++ []) = r U) by (apply (Hsame [])).
  pose proof (contract_all B r Hr L HL U HU V [] ltac:(intros x Hx; apply HUL, HVU, Hx)) as H1.
  pose proof (free_all B r Hr L HL U HUL V [] ltac:(intros x Hx; apply HVU, Hx)
                (NoDup_nodup _ _) ltac:(intros x _ [])) as H2.
  rewrite (pot_same r L _ _ _ Hsame) in H1. fold r' in H2.
  rewrite (pot_same r' L _ _ _ Hsame') in H2.
  replace (rk r L (rev V ++ [])) with (rk r L U) in H1
    by (unfold rk; now rewrite (Hsame L), HrU).
  replace (rk r' L (rev V ++ [])) with (rk r' L U) in H2
    by (unfold rk; now rewrite (Hsame' L), (Hsame' [] : r' (rev V ++ []) = r' U)).
  assert (HrV : r (V ++ []) = r U).
  { apply r_ext; auto. intros x. rewrite app_nil_r. apply HVU. }
  rewrite HrV in H1.
  assert (Hr0 : r [] = 0).
  { pose proof (rank_card r (m_rank r Hr) []) as G. rewrite card_nil in G. lia. }
  rewrite Hr0 in H1.
  change (length V) with (card U) in H1. change (qn 0) with 0%Q in H1.
  assert (Hrk : rk r' L U = Nat.min q (rk r L U)).
  { assert (EU : forall A, incl U A -> card (inter A U) = card U).
    { intros A HA. apply card_ext. intros x. rewrite In_inter. intuition. }
    unfold rk, r', next_rank. fold q.
    rewrite EU by (intros x Hx; apply in_app_iff; auto).
    rewrite EU by apply incl_refl.
    rewrite (r_ext r Hr ((L ++ U) ++ U) (L ++ U))
      by (intros x; rewrite !in_app_iff; tauto).
    rewrite (r_ext r Hr (U ++ U) U) by (intros x; rewrite in_app_iff; tauto). lia. }
  rewrite Hrk in H2.
  pose proof (pot_next B r Hr L U HU (Nat.min q (rk r L U)) U (incl_refl _)
                ltac:(unfold q; lia)) as Hpn.
  fold r' in Hpn. rewrite Hpn in H2.
  pose proof (rank_card r (m_rank r Hr) U) as HrUc.
  set (Delta := delta r U).
  assert (HDelta : (qn (card U) == qn (r U) + qn Delta)%Q).
  { rewrite <- qn_plus. unfold Delta, delta. replace (r U + (card U - r U)) with (card U)
      by lia. reflexivity. }
  assert (Hgoal : (expected_misses r L V + pot r' L (rk r' L []) [] <=
                   pot r L (rk r L []) [] + qn Delta + trunc_sum q Delta)%Q).
  { destruct (le_lt_dec (rk r L U) q) as [Hle|Hgt].
    - rewrite Nat.min_r in H2 by auto.
      pose proof (trunc_sum_mono q 0 Delta ltac:(lia)) as H0.
      rewrite (trunc_sum_eq q 0) in H0. change (qn 0) with 0%Q in H0. lra.
    - rewrite Nat.min_l in H2 by lia.
      set (D := rk r L U - q).
      pose proof (pot_trunc B r Hr L HL U HU q D U ltac:(unfold D; lia)) as H3.
      replace (q + D) with (rk r L U) in H3 by (unfold D; lia).
      assert (HDD : D <= Delta).
      { unfold D, Delta, delta, rk. pose proof (HB (L ++ U)). fold q. unfold q. lia. }
      pose proof (trunc_sum_mono q D Delta HDD) as H4. lra. }
  rewrite trunc_sum_eq in Hgoal.
  assert (E : (qn Delta * (1 + harmonic (q + Delta) - harmonic Delta) ==
               qn Delta + qn Delta * (harmonic (q + Delta) - harmonic Delta))%Q) by ring.
  rewrite E. lra.
Qed.

Lemma step_bound B r L U :
  matroid r -> (forall A, r A <= B) -> NoDup L -> incl U L -> card U <= B ->
  (expected_misses r L (nodup Nat.eq_dec U)
   + pot (next_rank B r U) L (rk (next_rank B r U) L []) []
   <= pot r L (rk r L []) [] + qn (delta r U) * harmonic (S (B - card U)))%Q.
Proof.
  intros Hr HB HL HUL HU. pose proof (online_min_step B r L U Hr HB HL HUL HU) as H1.
  pose proof (trunc_sum_bound (B - card U) (delta r U)) as H2.
  rewrite trunc_sum_eq in H2.
  set (Delta := delta r U) in *. set (q := B - card U) in *.
  assert (E : (qn Delta * (1 + harmonic (q + Delta) - harmonic Delta) ==
               qn Delta + qn Delta * (harmonic (q + Delta) - harmonic Delta))%Q) by ring.
  rewrite E in H1. lra.
Qed.

(** Theorem O2 for the virtual cache. *)
Lemma online_min_cost_gen B u L us : forall r,
  (forall U, In U us -> incl U L /\ u <= card U <= B) ->
  matroid r -> (forall A, r A <= B) -> NoDup L ->
  (Exp (random_order L) (fun o => qn (cost (greedy r [] o) us (online_min B o r us)))
   <= qn (sum_delta B r us) * harmonic (B - u + 1) + pot r L (rk r L []) [])%Q.
Proof.
  induction us as [|U us IH]; intros r Hus Hr HB HL.
  - cbn [online_min sum_delta cost].
    rewrite Exp_const by now apply order_proper. change (qn 0) with 0%Q.
    pose proof (pot_nonneg r Hr L HL (rk r L []) [] (le_n _)). lra.
  - destruct (Hus U) as (HUL & HUB); [now left|]. cbn [online_min sum_delta cost].
    set (r' := next_rank B r U).
    rewrite (Exp_ext _ _ (fun o => sumQ (fun x => missed r [] x o) (nodup Nat.eq_dec U)
        + qn (cost (greedy r' [] o) us (online_min B o r' us)))%Q).
    2:{ intros o _. rewrite qn_plus, <- misses_sum. reflexivity. }
    rewrite Exp_plus, Exp_sumQ.
    pose proof (step_bound B r L U Hr HB HL HUL (proj2 HUB)) as H1. fold r' in H1.
    specialize (IH r' ltac:(intros V HV; apply Hus; now right)
                  (next_matroid B r Hr U)
                  (next_le_B B r U (proj2 HUB)) HL).
    unfold expected_misses in H1. rewrite qn_plus, Qmult_plus_distr_l. fold r'.
    change (sumQ (fun x => Exp (random_order L) (fun a => missed r [] x a)) (nodup Nat.eq_dec U))
      with (sumQ (fun x => Exp (random_order L) (missed r [] x)) (nodup Nat.eq_dec U)).
    assert (Hh : (qn (delta r U) * harmonic (S (B - card U)) <=
                  qn (delta r U) * harmonic (B - u + 1))%Q).
    { pose proof (qn_nonneg (delta r U)).
      pose proof (harmonic_mono (S (B - card U)) (B - u + 1) ltac:(lia)). nra. }
    lra.
Qed.

Lemma online_min_schedule B o us : forall r,
  (forall U, In U us -> incl U o /\ card U <= B) ->
  matroid r ->
  schedule B (greedy r [] o) us (online_min B o r us).
Proof.
  induction us as [|U us IH]; intros r Hus Hr; [exact I|].
  destruct (Hus U) as (HUo & HUB); [now left|]. cbn [online_min schedule].
  split; [|split; [|split]].
  - apply next_has_U; auto.
  - intros x Hx. apply in_app_iff. eapply next_lazy; eauto.
  - now apply next_card.
  - apply IH; [|now apply next_matroid]. intros V HV. apply Hus. now right.
Qed.

Lemma greedy_rank_0 o : forall Y, greedy rank_0 Y o = [].
Proof. induction o as [|y o IH]; intros Y; simpl; auto. Qed.

(** ** The policy and the theorem *)

(** The rank function after the steps so far, the newest first. *)
Definition rank_after (B : nat) (past : list (list nat)) : list nat -> nat :=
  fold_right (fun U r => next_rank B r U) rank_0 past.

(** OnlineMIN for one order of priorities, as a policy; and seated: *)
Definition virtual_min (B : nat) (order : list nat) : policy :=
  fun past => greedy (rank_after B past) [] order.

Definition seated_online_min (F : forest) (B : nat) (choose : list nat -> nat)
  (order : list nat) : policy := closed_version F B choose (virtual_min B order).

(** The randomised policy: a uniformly random order of all tokens [L]. *)
Definition random_seated (F : forest) (B : nat) (choose : list nat -> nat)
  (L : list nat) : dist policy :=
  bind (random_order L) (fun o => ret (seated_online_min F B choose o)).

Lemma run_virtual_min B o us : forall past,
  run_from (virtual_min B o) past us = online_min B o (rank_after B past) us.
Proof.
  induction us as [|U us IH]; intros past; [reflexivity|].
  cbn [run_from online_min]. rewrite IH. reflexivity.
Qed.

Theorem theorem_4 : forall F B u choose L us,
  (forall A, A <> [] -> In (choose A) A) ->
  NoDup L -> (forall U, In U us -> incl U L) ->
  admissible F B u us ->
  proper (random_seated F B choose L) /\
  (forall pol, in_support pol (random_seated F B choose L) ->
     schedule B [] us (run pol us) /\ all_closed F (run pol us)) /\
  (Exp (random_seated F B choose L) (fun pol => qn (policy_cost pol us))
   <= harmonic (B - u + 1) * qn (deltas B us))%Q /\
  (forall os, schedule B [] us os ->
     Exp (random_seated F B choose L) (fun pol => qn (policy_cost pol us))
     <= harmonic (B - u + 1) * qn (cost [] us os))%Q.
Proof.
  intros F B u choose L us Hch HL HUL H.
  assert (Hsched : forall o, in_support o (random_order L) ->
            schedule B [] us (run (virtual_min B o) us)).
  { intros o Ho. apply orders_support in Ho as (_ & Ho); auto.
    unfold run. rewrite run_virtual_min.
    pose proof (online_min_schedule B o us rank_0) as G. rewrite greedy_rank_0 in G.
    apply G; [|apply rank_0_matroid]. intros U HU. split.
    - intros x Hx. apply Ho. now apply (HUL U).
    - destruct (H U HU). lia. }
  assert (Hclosed : forall U, In U us -> closed F U) by (intros U HU; apply (H U HU)).
  assert (Hreal : forall o, in_support o (random_order L) ->
     schedule B [] us (run (seated_online_min F B choose o) us) /\
     all_closed F (run (seated_online_min F B choose o) us) /\
     policy_cost (seated_online_min F B choose o) us <= policy_cost (virtual_min B o) us).
  { intros o Ho. apply closed_version_no_worse; auto. }
  assert (Hbound : (Exp (random_seated F B choose L) (fun pol => qn (policy_cost pol us))
                    <= harmonic (B - u + 1) * qn (deltas B us))%Q).
  { unfold random_seated. rewrite Exp_bind.
    pose proof (online_min_cost_gen B u L us rank_0) as G.
    specialize (G ltac:(intros U HU; destruct (H U HU); split; auto)
                  rank_0_matroid ltac:(intros; unfold rank_0; lia) HL).
    assert (Hp0 : (pot rank_0 L (rk rank_0 L []) [] == 0)%Q) by reflexivity.
    rewrite Hp0 in G. unfold deltas.
    assert (Hle : (Exp (random_order L) (fun o => Exp (ret (seated_online_min F B choose o))
                                                      (fun pol => qn (policy_cost pol us)))
              <= Exp (random_order L)
                  (fun o => qn (cost (greedy rank_0 [] o) us (online_min B o rank_0 us))))%Q).
    { apply Exp_le; [now apply order_proper|]. intros o Ho. rewrite Exp_ret.
      apply qn_le. rewrite greedy_rank_0. destruct (Hreal o Ho) as (_ & _ & Hc).
      unfold policy_cost at 2 in Hc. unfold run in Hc. rewrite run_virtual_min in Hc.
      exact Hc. }
    lra. }
  split; [|split; [|split]]; auto.
  - apply proper_bind; [now apply order_proper|]. intros o _. apply proper_ret.
  - intros pol Hp. apply support_bind in Hp as (o & Ho & Hp). apply support_ret in Hp.
    subst pol. destruct (Hreal o Ho) as (H1 & H2 & _). auto.
  - intros os Hos. eapply Qle_trans; [exact Hbound|].
    pose proof (opt_ge_sum_delta B us os Hos) as Hd. apply qn_le in Hd.
    pose proof (harmonic_nonneg (B - u + 1)). nra.
Qed.

(** Also against schedules that prefetch and pay for it. *)
Theorem theorem_4_prefetching : forall F B u choose L us os,
  (forall A, A <> [] -> In (choose A) A) ->
  NoDup L -> (forall U, In U us -> incl U L) ->
  admissible F B u us -> prefetching_schedule B us os ->
  (Exp (random_seated F B choose L) (fun pol => qn (policy_cost pol us))
   <= harmonic (B - u + 1) * qn (loads [] us os))%Q.
Proof.
  intros F B u choose L us os Hch HL HUL H Hos.
  destruct (lemma_1 F B u us H) as ((os' & H1 & _ & H3) & _ & Hopt).
  destruct (theorem_4 F B u choose L us Hch HL HUL H) as (_ & _ & _ & Hb).
  specialize (Hb os' H1). rewrite H3 in Hb. specialize (Hopt os Hos). apply qn_le in Hopt.
  pose proof (harmonic_nonneg (B - u + 1)). nra.
Qed.
