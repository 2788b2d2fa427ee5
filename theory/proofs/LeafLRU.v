(** * Leaf-LRU is a marking policy, hence (B-u+1)-competitive *)

From KVBounds Require Export Theorem1.

(** A use of a token is a use of its parent. *)
Lemma age_monotone F us c p :
  (forall U, In U us -> closed F U) -> parent F c = Some p -> age us p <= age us c.
Proof.
  intros HU Hp. induction us as [|U us IH]; simpl; auto.
  destruct (mem c U) eqn:Ec.
  - apply mem_In in Ec.
    assert (In p U) by (eapply (HU U); eauto; now left).
    replace (mem p U) with true by (symmetry; now apply mem_In). lia.
  - destruct (mem p U); [lia|]. apply le_n_S, IH. intros V HV. apply HU. now right.
Qed.

Lemma map_fst_history F B rank past : map fst (history_of F B rank past) = past.
Proof. induction past; simpl; congruence. Qed.

Lemma leaf_lru_step F B U past :
  leaf_lru F B (U :: past) = serve F B (age past) (leaf_lru F B past) U.
Proof.
  unfold leaf_lru. rewrite rank_policy_step. now rewrite map_fst_history.
Qed.

(** The tokens of the current phase are the ones of age below some [a]: they
    are younger than all others.  If Leaf-LRU dropped one of them, every
    cached token would be one of them too; so at least B+1 in all. *)
Lemma leaf_lru_marking_gen F B us : forall past T a,
  (forall U, In U (us ++ past) -> closed F U /\ card U <= B) ->
  (forall t, In t T <-> age past t < a) ->
  a <= length past ->
  marking B T (leaf_lru F B past) us (run_from (leaf_lru F B) past us).
Proof.
  induction us as [|U us IH]; intros past T a Hall HT Ha; [exact I|].
  assert (HU : closed F U /\ card U <= B) by (apply Hall; now left).
  assert (Hpast : forall V, In V past -> closed F V).
  { intros V HV. apply Hall. right. apply in_app_iff. auto. }
  cbn [run_from marking]. split.
  - intros x Hx HxT. rewrite leaf_lru_step.
    destruct (In_dec x (serve F B (age past) (leaf_lru F B past) U)) as [|Hx']; auto.
    exfalso. pose proof (serve_has_U F B (age past) (leaf_lru F B past) U) as HhasU.
    pose proof (serve_card F B (age past) (leaf_lru F B past) U (proj1 HU) (proj2 HU))
      as Hcard.
    set (S1 := serve F B (age past) (leaf_lru F B past) U) in *.
    assert (HxU : ~ In x U) by (intros H; apply Hx', HhasU, H).
    unfold next_marks in HxT. destruct (card (T ++ U) <=? B) eqn:E; [|easy].
    apply Nat.leb_le in E. apply in_app_iff in HxT as [HxT|]; [|easy].
    assert (Hsub : incl S1 (T ++ U)).
    { intros y Hy. apply in_app_iff. destruct (In_dec y U) as [|HyU]; auto. left.
      apply HT. apply HT in HxT. eapply Nat.le_lt_trans; [|exact HxT].
      eapply (serve_rank F B (age past) (leaf_lru F B past) U); eauto; try apply HU.
      intros c p _ Hp. eapply age_monotone; eauto. }
    assert (Hlt : forall A, In x A -> incl S1 A -> card S1 < card A).
    { intros A HxA HA. rewrite (card_remove1 x A HxA). apply Nat.lt_succ_r, card_incl.
      intros y Hy. apply In_remove1. split; auto. intros ->. auto. }
    pose proof (Hlt (leaf_lru F B past ++ U) Hx (serve_demand F B _ _ _)).
    assert (card S1 < card (T ++ U)) by (apply Hlt; auto; apply in_app_iff; auto).
    lia.
  - apply (IH _ _ (if card (T ++ U) <=? B then S a else 1)).
    + intros V HV. apply Hall. apply in_app_iff in HV.
      destruct HV as [HV|[<-|HV]]; [right; apply in_app_iff; auto|now left|].
      right. apply in_app_iff. auto.
    + intros t. unfold next_marks. destruct (card (T ++ U) <=? B); cbn [age].
      * rewrite in_app_iff, HT. destruct (mem t U) eqn:Et.
        -- apply mem_In in Et. split; auto. lia.
        -- apply mem_not_In in Et. split; [intros [?|?]; [lia|easy]|left; lia].
      * destruct (mem t U) eqn:Et.
        -- apply mem_In in Et. split; auto.
        -- apply mem_not_In in Et. split; [easy|lia].
    + simpl. destruct (card (T ++ U) <=? B); lia.
Qed.

Theorem leaf_lru_well_defined : forall F B u us,
  admissible F B u us ->
  schedule B [] us (run (leaf_lru F B) us) /\
  all_closed F (run (leaf_lru F B) us).
Proof. intros F B u us H. eapply rank_policy_well_defined; eauto. Qed.

Theorem leaf_lru_marking : forall F B u us,
  admissible F B u us -> marking B [] [] us (run (leaf_lru F B) us).
Proof.
  intros F B u us H. apply (leaf_lru_marking_gen F B us [] [] 0).
  - intros U HU. rewrite app_nil_r in HU. destruct (H U HU). split; auto. lia.
  - intros t. simpl. split; [easy|lia].
  - auto.
Qed.

(** The bound, against every offline schedule from an empty cache. *)
Theorem leaf_lru_bound : forall F B u us os,
  1 <= u -> admissible F B u us -> schedule B [] us os ->
  policy_cost (leaf_lru F B) us <= (B - u + 1) * cost [] us os.
Proof.
  intros F B u us os Hu H Hos. apply theorem_1_empty with (u := u); auto.
  - intros U HU. apply (H U HU).
  - now apply leaf_lru_marking with (u := u).
Qed.

(** Against every offline schedule from any cache, with prefetching. *)
Theorem leaf_lru_bound_prefetching : forall F B u us os O0,
  admissible F B u us -> prefetching_schedule B us os -> card O0 <= B ->
  policy_cost (leaf_lru F B) us <= (B - u + 1) * loads O0 us os + B.
Proof.
  intros F B u us os O0 H Hos HO. apply theorem_1_prefetching with (u := u); auto.
  - intros U HU. apply (H U HU).
  - now apply leaf_lru_marking with (u := u).
Qed.

(** For batches of [beta] distinct queries of at least [L] tokens,
    B - u + 1 = B - L - beta + 2. *)
Theorem leaf_lru_batch_bound : forall F B L beta Qs os,
  1 <= L -> 1 <= beta ->
  (forall Q, In Q Qs -> batch_of F L beta Q /\ card (footprint F Q) <= B) ->
  schedule B [] (map (footprint F) Qs) os ->
  policy_cost (leaf_lru F B) (map (footprint F) Qs)
  <= (B + 2 - L - beta) * cost [] (map (footprint F) Qs) os.
Proof.
  intros F B L beta Qs os HL Hb HQ Hos.
  destruct Qs as [|Q0 Qs0] eqn:EQ; [apply Nat.le_0_l|]. rewrite <- EQ in *.
  assert (L + beta - 1 <= B).
  { destruct (HQ Q0) as (H1 & H2); [subst; now left|].
    apply footprint_ge in H1; lia. }
  replace (B + 2 - L - beta) with (B - (L + beta - 1) + 1) by lia.
  apply leaf_lru_bound; auto; [lia|].
  intros U HU. apply in_map_iff in HU as (Q & <- & HQin).
  destruct (HQ Q HQin) as (H1 & H2). split; [apply footprint_closed|].
  split; auto. apply footprint_ge; auto.
Qed.

(** Equal queries of a batch count once: [d] distinct ones in each batch. *)
Theorem leaf_lru_distinct_bound : forall F B L d Qs os,
  1 <= L -> 1 <= d ->
  (forall Q, In Q Qs -> d <= card Q /\ (forall q, In q Q -> L <= length (path F q)) /\
                        card (footprint F Q) <= B) ->
  schedule B [] (map (footprint F) Qs) os ->
  policy_cost (leaf_lru F B) (map (footprint F) Qs)
  <= (B + 2 - L - d) * cost [] (map (footprint F) Qs) os.
Proof.
  intros F B L d Qs os HL Hd HQ Hos.
  assert (Hge : forall Q, In Q Qs -> L + d - 1 <= card (footprint F Q)).
  { intros Q HQin. destruct (HQ Q HQin) as (H1 & H2 & _).
    assert (H4 : batch_of F L (card Q) (nodup Nat.eq_dec Q)).
    { repeat split; [apply NoDup_nodup|]. intros q Hq. apply nodup_In in Hq. auto. }
    apply footprint_ge in H4; [|lia].
    replace (card (footprint F Q)) with (card (footprint F (nodup Nat.eq_dec Q))); [lia|].
    apply card_ext. intros x. unfold footprint. rewrite !in_flat_map.
    split; intros (q & Hq & Hx); exists q; split; auto.
    - now apply nodup_In in Hq.
    - now apply nodup_In. }
  destruct Qs as [|Q0 Qs0] eqn:EQ; [apply Nat.le_0_l|]. rewrite <- EQ in *.
  assert (L + d - 1 <= B).
  { assert (HQ0 : In Q0 Qs) by (subst; now left).
    pose proof (Hge Q0 HQ0). destruct (HQ Q0 HQ0) as (_ & _ & ?). lia. }
  replace (B + 2 - L - d) with (B - (L + d - 1) + 1) by lia.
  apply leaf_lru_bound; auto; [lia|].
  intros U HU. apply in_map_iff in HU as (Q & <- & HQin).
  destruct (HQ Q HQin) as (_ & _ & H2). split; [apply footprint_closed|]. auto.
Qed.
