(** * Lemma 1: evicting the leaf used farthest in the future is optimal

    ... also among all schedules whose caches are not prefix-closed, and among
    those that prefetch and pay for every load.  So prefix-closure costs an
    offline schedule nothing.

    The proof follows one invariant instead of exchanging steps.  Let N(n) be
    the number of cached tokens whose next use is less than n steps away.
    Then for every n, at every time,

        our misses - our N(n)  <=  their loads - their N(n).

    Serving a step changes both sides alike.  Their evictions can only help
    us.  If we evict a token used in less than n steps, then all that we keep
    outside the footprint is used in less than n steps as well, and our cache
    is full: no cache of B tokens has a larger N(n). *)

From KVBounds Require Export LeafLRU.

(** Steps until the next use; if there is none, the number of steps left. *)
Definition next_use (future : list (list nat)) (t : nat) : nat := age future t.

Fixpoint farthest (F : forest) (B : nat) (S0 : list nat) (us : list (list nat))
  : list (list nat) :=
  match us with
  | [] => []
  | U :: us' => let S1 := serve F B (next_use us') S0 U in
                S1 :: farthest F B S1 us'
  end.

(** The optimum of a sequence, from an empty cache. *)
Definition opt (F : forest) (B : nat) (us : list (list nat)) : nat :=
  cost [] us (farthest F B [] us).

(** Cached tokens that are used again in less than [n] steps. *)
Definition soon (us : list (list nat)) (n : nat) (A : list nat) : nat :=
  card (filter (fun t => next_use us t <? n) A).

Lemma soon_app us n A A' :
  soon us n (A ++ A') = soon us n A + soon us n (diff A' A).
Proof.
  unfold soon. rewrite filter_app, card_app. f_equal.
  apply card_ext. intros x. rewrite In_diff, !filter_In, In_diff. intuition.
Qed.

Lemma soon_ext us n A A' : (forall x, In x A <-> In x A') -> soon us n A = soon us n A'.
Proof.
  intros H. unfold soon. apply card_ext. intros x. rewrite !filter_In. now rewrite H.
Qed.

Lemma soon_incl us n A A' : incl A A' -> soon us n A <= soon us n A'.
Proof.
  intros H. unfold soon. apply card_incl. intros x. rewrite !filter_In. intuition.
Qed.

Lemma soon_le_card us n A : soon us n A <= card A.
Proof. unfold soon. apply card_incl. intros x Hx. now apply filter_In in Hx. Qed.

Lemma soon_all us n A : (forall x, In x A -> next_use us x < n) -> soon us n A = card A.
Proof.
  intros H. unfold soon. apply card_ext. intros x. rewrite filter_In, Nat.ltb_lt.
  intuition.
Qed.

Lemma soon_0 us A : soon us 0 A = 0.
Proof.
  unfold soon. replace (filter _ A) with (@nil nat); [reflexivity|].
  induction A; simpl; auto.
Qed.

(** One step earlier: the tokens of U are used at once. *)
Lemma soon_cons U us n A :
  soon (U :: us) (S n) A = card (inter A U) + soon us n (diff A U).
Proof.
  unfold soon. rewrite (card_filter_split (fun x => mem x U)). f_equal.
  - apply card_ext. intros x. rewrite In_inter, !filter_In, mem_In.
    unfold next_use. simpl. split; [tauto|]. intros (H1 & H2).
    replace (mem x U) with true by (symmetry; now apply mem_In). auto.
  - apply card_ext. intros x. rewrite !filter_In, In_diff, negb_true_iff, mem_not_In.
    unfold next_use. simpl. split.
    + intros ((H1 & H2) & H3). replace (mem x U) with false in H2
        by (symmetry; now apply mem_not_In). auto.
    + intros ((H1 & H2) & H3). replace (mem x U) with false
        by (symmetry; now apply mem_not_In). auto.
Qed.

(** Any cache that holds U: U and the rest. *)
Lemma soon_split us n U A : incl U A -> soon us n A = soon us n U + soon us n (diff A U).
Proof.
  intros H. rewrite <- soon_app. apply soon_ext. intros x. rewrite in_app_iff.
  split; [intros Hx; destruct (In_dec x U); auto; right; auto|intros [Hx|Hx]; auto].
Qed.

(** Their step, whatever they load and evict. *)
Lemma their_step us n U O O1 : incl U O1 ->
  soon us n O1 + card U <= card (diff O1 O) + soon us n U + soon (U :: us) (S n) O.
Proof.
  intros HU. rewrite (soon_split us n U O1 HU), soon_cons.
  assert (H1 : soon us n (diff O1 U) <= soon us n (diff O U) + card (diff (diff O1 O) U)).
  { transitivity (soon us n (diff O U ++ diff (diff O1 O) U)).
    - apply soon_incl. intros x. rewrite in_app_iff, !In_diff.
      destruct (In_dec x O); tauto.
    - rewrite soon_app. apply Nat.add_le_mono_l.
      etransitivity; [apply soon_le_card|]. apply card_incl. intros x Hx.
      now apply In_diff in Hx. }
  assert (H2 : card (diff O1 O) = card (diff U O) + card (diff (diff O1 O) U)).
  { rewrite (card_split2 (diff O1 O) U). f_equal. apply card_ext. intros x.
    rewrite In_inter, !In_diff. intuition. }
  pose proof (card_split2 U O). rewrite (card_inter_comm O U). lia.
Qed.

(** Ours, before we evict. *)
Lemma our_step us n U D :
  soon us n (D ++ U) + card U = card (diff U D) + soon us n U + soon (U :: us) (S n) D.
Proof.
  rewrite (soon_split us n U (D ++ U)), soon_cons.
  - assert (H1 : soon us n (diff (D ++ U) U) = soon us n (diff D U)).
    { apply soon_ext. intros x. rewrite !In_diff, in_app_iff. tauto. }
    rewrite H1. pose proof (card_split2 U D). rewrite (card_inter_comm D U). lia.
  - intros x Hx. apply in_app_iff. auto.
Qed.

Lemma farthest_optimal_gen F B us : forall os D O mD mO,
  (forall U, In U us -> closed F U /\ card U <= B) ->
  prefetching_schedule B us os ->
  (forall n, mD + soon us n O <= mO + soon us n D) ->
  mD + cost D us (farthest F B D us) <= mO + loads O us os.
Proof.
  induction us as [|U us IH]; intros os D O mD mO Hus Hos Hinv.
  - specialize (Hinv 0). rewrite !soon_0 in Hinv. destruct os; simpl; lia.
  - destruct os as [|O1 os]; [easy|]. cbn [prefetching_schedule farthest cost loads] in *.
    destruct Hos as (HU1 & HO1 & Hos).
    destruct (Hus U) as (HUc & HUB); [now left|].
    assert (Hfut : forall V, In V us -> closed F V) by (intros V HV; apply Hus; now right).
    set (D1 := serve F B (next_use us) D U).
    rewrite !Nat.add_assoc. apply IH; auto.
    { intros V HV. apply Hus. now right. }
    (* before our eviction *)
    assert (Hplus : forall n, mD + card (diff U D) + soon us n O1 <=
                              mO + card (diff O1 O) + soon us n (D ++ U)).
    { intros n. specialize (Hinv (S n)). pose proof (their_step us n U O O1 HU1).
      pose proof (our_step us n U D). lia. }
    intros n.
    (* does some victim have its next use in less than n steps? *)
    destruct (card (filter (fun t => next_use us t <? n) (diff (D ++ U) D1))) eqn:Ev.
    + (* none: our N(n) is unchanged *)
      assert (Hsame : soon us n (D ++ U) <= soon us n D1).
      { apply card_incl. intros x Hx. apply filter_In in Hx as (Hx & Hs).
        apply filter_In. split; auto. destruct (In_dec x D1) as [|Hn]; auto.
        exfalso. apply card_zero in Ev.
        assert (Hin : In x (filter (fun t => next_use us t <? n) (diff (D ++ U) D1)))
          by (apply filter_In; split; auto; apply In_diff; auto).
        rewrite Ev in Hin. easy. }
      specialize (Hplus n). lia.
    + (* some: all that we keep is used as soon, and our cache is full *)
      assert (Hx : exists x, In x (filter (fun t => next_use us t <? n) (diff (D ++ U) D1))).
      { destruct (filter (fun t => next_use us t <? n) (diff (D ++ U) D1)) as [|x l];
          [discriminate Ev|]. exists x. now left. }
      destruct Hx as (x & Hx). apply filter_In in Hx as (Hx & Hxn).
      apply In_diff in Hx as (Hx & HxD1). apply Nat.ltb_lt in Hxn.
      assert (HhasU : incl U D1) by (apply serve_has_U; auto).
      assert (Hfull : card D1 = B).
      { unfold D1. rewrite serve_card by auto.
        assert (card D1 < card (D ++ U)).
        { rewrite (card_remove1 x (D ++ U) Hx). apply Nat.lt_succ_r, card_incl.
          intros y Hy. apply In_remove1. split; [exact (serve_demand F B _ D U y Hy)|].
          intros ->. auto. }
        unfold D1 in *. rewrite serve_card in * by auto. lia. }
      assert (Hkeep : soon us n (diff D1 U) = card (diff D1 U)).
      { apply soon_all. intros y Hy. apply In_diff in Hy as (Hy & HyU).
        eapply Nat.le_lt_trans; [|exact Hxn].
        apply (serve_rank F B (next_use us) D U HUc); auto.
        intros c p _ Hp. unfold next_use. eapply age_monotone; eauto. }
      rewrite (soon_split us n U D1 HhasU), Hkeep.
      rewrite (soon_split us n U O1 HU1).
      pose proof (soon_le_card us n (diff O1 U)).
      assert (card O1 = card U + card (diff O1 U)).
      { rewrite <- card_app. apply card_ext. intros y. rewrite in_app_iff.
        intuition. }
      assert (card D1 = card U + card (diff D1 U)).
      { rewrite <- card_app. apply card_ext. intros y. rewrite in_app_iff.
        intuition. }
      specialize (Hplus 0). rewrite !soon_0 in Hplus. lia.
Qed.

(** ** Lemma 1 *)

Theorem farthest_well_defined : forall F B us S0,
  (forall U, In U us -> closed F U /\ card U <= B) -> closed F S0 ->
  schedule B S0 us (farthest F B S0 us) /\ all_closed F (farthest F B S0 us).
Proof.
  intros F B us. induction us as [|U us IH]; intros S0 Hus HS0.
  - split; [exact I|intros A []].
  - destruct (Hus U) as (HU1 & HU2); [now left|].
    assert (Hc : closed F (serve F B (next_use us) S0 U)) by (apply serve_closed; auto).
    destruct (IH (serve F B (next_use us) S0 U)) as (H1 & H2); auto.
    { intros V HV. apply Hus. now right. }
    cbn [farthest schedule]. split.
    + split; [apply serve_has_U; auto|]. split; [apply serve_demand|].
      split; auto. rewrite serve_card; auto. lia.
    + intros A [<-|HA]; auto.
Qed.

(** From any cache, against every schedule from that cache, prefix-closed or
    not, prefetching or not. *)
Theorem farthest_optimal : forall F B us os S0,
  (forall U, In U us -> closed F U /\ card U <= B) ->
  prefetching_schedule B us os ->
  cost S0 us (farthest F B S0 us) <= loads S0 us os.
Proof.
  intros F B us os S0 Hus Hos.
  apply (farthest_optimal_gen F B us os S0 S0 0 0); auto.
Qed.

(** [opt] is the minimum over all demand schedules from an empty cache, and a
    schedule of prefix-closed caches attains it. *)
Theorem lemma_1 : forall F B u us,
  admissible F B u us ->
  (exists os, schedule B [] us os /\ all_closed F os /\ cost [] us os = opt F B us) /\
  (forall os, schedule B [] us os -> opt F B us <= cost [] us os) /\
  (forall os, prefetching_schedule B us os -> opt F B us <= loads [] us os).
Proof.
  intros F B u us H.
  assert (Hus : forall U, In U us -> closed F U /\ card U <= B).
  { intros U HU. destruct (H U HU). split; auto. lia. }
  split; [|split].
  - exists (farthest F B [] us). destruct (farthest_well_defined F B us [] Hus);
      [intros t p []|]. auto.
  - intros os Hos. rewrite <- (schedule_loads B us [] os Hos).
    apply farthest_optimal; auto. eapply schedule_prefetching; eauto.
  - intros os Hos. now apply farthest_optimal.
Qed.

(** Theorem 1 with the optimum as a number. *)
Theorem leaf_lru_vs_opt : forall F B u us,
  1 <= u -> admissible F B u us ->
  policy_cost (leaf_lru F B) us <= (B - u + 1) * opt F B us.
Proof.
  intros F B u us Hu H. destruct (lemma_1 F B u us H) as ((os & H1 & _ & H3) & _).
  rewrite <- H3. now apply leaf_lru_bound.
Qed.
