(** * Theorem 1: every marking policy is (B-u+1)-competitive

    The proof needs no forest: it holds for arbitrary footprints, and against
    every offline schedule, also one whose caches are not prefix-closed and
    one that prefetches (paying for every load). *)

From KVBounds Require Export Evict.

Lemma next_marks_incl B T U : incl (next_marks B T U) (T ++ U).
Proof.
  unfold next_marks. destruct (card (T ++ U) <=? B).
  - apply incl_refl.
  - intros x Hx. apply in_app_iff. auto.
Qed.

(** The misses of a step are at most its new tokens, if the marked tokens
    are cached. *)
Lemma misses_le_new T S0 U :
  incl T S0 -> card (diff U S0) + card T <= card (T ++ U).
Proof.
  intros H. rewrite card_app. assert (card (diff U S0) <= card (diff U T)); [|lia].
  apply card_incl. intros x. rewrite !In_diff. intuition.
Qed.

(** What the optimum has loaded since its cache was [G] grows with its loads. *)
Lemma loaded_step G O O1 T U :
  incl U O1 ->
  card (diff ((T ++ U) ++ O1) G) <= card (diff (T ++ O) G) + card (diff O1 O).
Proof.
  intros HU. etransitivity; [|apply card_app_le]. apply card_incl. intros x.
  rewrite in_app_iff, !In_diff, !in_app_iff.
  intros [[[?|Hx]|Hx] HG]; auto.
  - apply HU in Hx. destruct (In_dec x O); auto.
  - destruct (In_dec x O); auto.
Qed.

Section Bound.
Variables B u : nat.

(** Between steps: [T] the marked tokens, [S0] our cache, [O] the optimum's
    cache, [G] the optimum's cache at the start of the present stretch, [f]
    what the optimum has paid since. *)
Lemma marking_bound_gen us : forall ss os T S0 O G f,
  (forall U, In U us -> u <= card U <= B) ->
  prefetching_schedule B us os ->
  marking B T S0 us ss ->
  incl T S0 -> card T <= B -> card G <= B ->
  card (diff (T ++ O) G) <= f ->
  cost S0 us ss + card T <= (B - u + 1) * (f + loads O us os) + B.
Proof.
  induction us as [|U us IH];
    intros ss os T S0 O G f Hus Hos Hm HTS HTB HG Hf.
  { destruct ss; simpl; nia. }
  destruct os as [|O1 os]; [easy|].
  destruct ss as [|S1 ss]; [cbn [cost]; nia|].
  cbn [cost loads prefetching_schedule marking] in *.
  destruct Hos as (HU1 & HO1 & Hos), Hm as (Hkeep & Hm).
  assert (HUB : u <= card U <= B) by (apply Hus; now left).
  assert (Hus' : forall V, In V us -> u <= card V <= B)
    by (intros V HV; apply Hus; now right).
  assert (HTS' : incl (next_marks B T U) S1).
  { intros x Hx. apply Hkeep; auto. apply next_marks_incl in Hx.
    apply in_app_iff in Hx. apply in_app_iff. destruct Hx; auto. }
  pose proof (misses_le_new T S0 U HTS) as Hmiss.
  pose proof (loaded_step G O O1 T U HU1) as Hload.
  unfold next_marks in *. destruct (card (T ++ U) <=? B) eqn:E.
  - (* the phase goes on *)
    apply Nat.leb_le in E.
    pose proof (IH ss os (T ++ U) S1 O1 G (f + card (diff O1 O))
                  Hus' Hos Hm HTS' E HG ltac:(lia)) as H.
    rewrite Nat.add_assoc. lia.
  - (* a new phase: the optimum has loaded at least x = |T u U| - B *)
    apply Nat.leb_gt in E.
    assert (Hstart : card (diff (U ++ O1) O1) <= 0).
    { replace (diff (U ++ O1) O1) with (@nil nat); [apply Nat.le_refl|].
      symmetry. apply card_zero. apply Nat.le_0_r. rewrite <- card_nil.
      apply card_incl. intros x. rewrite In_diff, in_app_iff.
      intros [[?|?] Hn]; exfalso; auto. }
    pose proof (IH ss os U S1 O1 O1 0
                  Hus' Hos Hm HTS' (proj2 HUB) HO1 Hstart) as H.
    assert (Hx : card (T ++ U) <= B + (f + card (diff O1 O))).
    { transitivity (card (G ++ diff ((T ++ U) ++ O1) G)).
      - apply card_incl. intros x Hx. rewrite in_app_iff, In_diff.
        destruct (In_dec x G); auto. right. split; auto. apply in_app_iff. auto.
      - etransitivity; [apply card_app_le|]. lia. }
    remember (f + card (diff O1 O)) as g.
    remember (card (T ++ U) - B) as x.
    assert (1 <= x <= g) by lia.
    assert (x + (B - u) <= (B - u + 1) * g) by nia.
    rewrite Nat.add_assoc, <- Heqg, Nat.mul_add_distr_l. lia.
Qed.

(** From an empty cache: in the first phase the optimum loads all of [T]. *)
Lemma marking_bound_empty_gen us : forall ss os T S0 O f,
  1 <= u ->
  (forall U, In U us -> u <= card U <= B) ->
  prefetching_schedule B us os ->
  marking B T S0 us ss ->
  incl T S0 -> card T <= B ->
  card (T ++ O) <= f ->
  cost S0 us ss + card T <= (B - u + 1) * (f + loads O us os).
Proof.
  induction us as [|U us IH]; intros ss os T S0 O f Hu Hus Hos Hm HTS HTB Hf.
  { assert (card T <= f).
    { etransitivity; [|exact Hf]. apply card_incl. intros x Hx. apply in_app_iff. auto. }
    destruct ss; simpl; nia. }
  assert (HT : card T <= f).
  { etransitivity; [|exact Hf]. apply card_incl. intros x Hx. apply in_app_iff. auto. }
  destruct os as [|O1 os]; [easy|].
  destruct ss as [|S1 ss]; [cbn [cost]; nia|].
  cbn [cost loads prefetching_schedule marking] in *.
  destruct Hos as (HU1 & HO1 & Hos), Hm as (Hkeep & Hm).
  assert (HUB : u <= card U <= B) by (apply Hus; now left).
  assert (Hus' : forall V, In V us -> u <= card V <= B)
    by (intros V HV; apply Hus; now right).
  assert (HTS' : incl (next_marks B T U) S1).
  { intros x Hx. apply Hkeep; auto. apply next_marks_incl in Hx.
    apply in_app_iff in Hx. apply in_app_iff. destruct Hx; auto. }
  pose proof (misses_le_new T S0 U HTS) as Hmiss.
  assert (Hload : card ((T ++ U) ++ O1) <= f + card (diff O1 O)).
  { etransitivity; [|apply Nat.add_le_mono_r; exact Hf].
    etransitivity; [|apply card_app_le]. apply card_incl. intros x.
    rewrite !in_app_iff, In_diff. intros [[?|Hx]|Hx]; auto.
    - apply HU1 in Hx. destruct (In_dec x O); auto.
    - destruct (In_dec x O); auto. }
  unfold next_marks in *. destruct (card (T ++ U) <=? B) eqn:E.
  - apply Nat.leb_le in E.
    pose proof (IH ss os (T ++ U) S1 O1 (f + card (diff O1 O))
                  Hu Hus' Hos Hm HTS' E Hload) as H.
    rewrite Nat.add_assoc. lia.
  - apply Nat.leb_gt in E.
    assert (Hstart : card (diff (U ++ O1) O1) <= 0).
    { rewrite <- card_nil. apply card_incl. intros x. rewrite In_diff, in_app_iff.
      intros [[?|?] Hn]; exfalso; auto. }
    pose proof (marking_bound_gen us ss os U S1 O1 O1 0
                  Hus' Hos Hm HTS' (proj2 HUB) HO1 Hstart) as H.
    assert (Hx : card (T ++ U) <= f + card (diff O1 O)).
    { etransitivity; [|exact Hload]. apply card_incl. intros x Hx.
      apply in_app_iff. auto. }
    remember (f + card (diff O1 O)) as g.
    assert (card (T ++ U) + (B - u) <= (B - u + 1) * g) by nia.
    rewrite Nat.add_assoc, <- Heqg, Nat.mul_add_distr_l. lia.
Qed.
End Bound.

(** ** Theorem 1 *)

(** Against every offline schedule, from any caches, with prefetching. *)
Theorem theorem_1_prefetching : forall B u us ss os S0 O0,
  (forall U, In U us -> u <= card U <= B) ->
  marking B [] S0 us ss ->
  prefetching_schedule B us os -> card O0 <= B ->
  cost S0 us ss <= (B - u + 1) * loads O0 us os + B.
Proof.
  intros B u us ss os S0 O0 Hus Hm Hos HO.
  pose proof (marking_bound_gen B u us ss os [] S0 O0 O0 0 Hus Hos Hm) as H.
  rewrite card_nil in H. simpl in H.
  assert (Hd : card (diff O0 O0) <= 0).
  { rewrite <- card_nil. apply card_incl. intros x. rewrite In_diff. tauto. }
  specialize (H ltac:(intros x []) ltac:(lia) HO Hd). lia.
Qed.

Theorem theorem_1 : forall B u us ss os S0 O0,
  (forall U, In U us -> u <= card U <= B) ->
  marking B [] S0 us ss ->
  schedule B O0 us os -> card O0 <= B ->
  cost S0 us ss <= (B - u + 1) * cost O0 us os + B.
Proof.
  intros B u us ss os S0 O0 Hus Hm Hos HO.
  rewrite <- (schedule_loads B us O0 os Hos).
  apply theorem_1_prefetching; auto. eapply schedule_prefetching; eauto.
Qed.

(** If the optimum starts with an empty cache there is no additive constant
    (ours may start with any). *)
Theorem theorem_1_empty_prefetching : forall B u us ss os S0,
  1 <= u -> (forall U, In U us -> u <= card U <= B) ->
  marking B [] S0 us ss ->
  prefetching_schedule B us os ->
  cost S0 us ss <= (B - u + 1) * loads [] us os.
Proof.
  intros B u us ss os S0 Hu Hus Hm Hos.
  pose proof (marking_bound_empty_gen B u us ss os [] S0 [] 0 Hu Hus Hos Hm) as H.
  rewrite card_nil in H. simpl in H. rewrite card_nil in H.
  specialize (H ltac:(intros x []) ltac:(lia) ltac:(lia)). lia.
Qed.

Theorem theorem_1_empty : forall B u us ss os S0,
  1 <= u -> (forall U, In U us -> u <= card U <= B) ->
  marking B [] S0 us ss ->
  schedule B [] us os ->
  cost S0 us ss <= (B - u + 1) * cost [] us os.
Proof.
  intros B u us ss os S0 Hu Hus Hm Hos.
  rewrite <- (schedule_loads B us [] os Hos).
  apply theorem_1_empty_prefetching; auto. eapply schedule_prefetching; eauto.
Qed.
