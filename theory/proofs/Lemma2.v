(** * Lemma 2: Leaf-LRU is a stack policy

    Order the tokens by last use, the newest first, and tokens last used in
    the same step by their number.  For every capacity B that is at least the
    largest footprint, the cache of Leaf-LRU is the first B tokens of this
    list; so a token hits exactly when its position before the step is below
    B, and one pass counts the misses of every capacity. *)

From KVBounds Require Export LeafLRU.

(** Tokens used so far, and how many of them stand before [x] in the list. *)
Definition used (past : list (list nat)) : list nat := concat past.
Definition position (past : list (list nat)) (x : nat) : nat :=
  card (filter (fun y => before (age past) y x) (used past)).

Lemma In_used_cons U past x : In x (used (U :: past)) <-> In x U \/ In x (used past).
Proof. unfold used. simpl. apply in_app_iff. Qed.

Lemma age_cons_in U past x : In x U -> age (U :: past) x = 0.
Proof. intros H. simpl. replace (mem x U) with true; auto. symmetry. now apply mem_In. Qed.

Lemma age_cons_out U past x : ~ In x U -> age (U :: past) x = S (age past x).
Proof. intros H. simpl. replace (mem x U) with false; auto. symmetry. now apply mem_not_In. Qed.

(** Tokens of U stand at the front. *)
Lemma position_in U past x : In x U -> position (U :: past) x < card U.
Proof.
  intros Hx. rewrite (card_remove1 x U Hx). apply Nat.lt_succ_r.
  apply card_incl. intros y Hy. apply filter_In in Hy as (_ & Hb).
  apply before_true in Hb. rewrite (age_cons_in U past x Hx) in Hb.
  apply In_remove1. destruct (In_dec y U) as [|Hn].
  - split; auto. intros ->. lia.
  - rewrite (age_cons_out U past y Hn) in Hb. lia.
Qed.

(** Every other token: all of U stands before it, the rest is as before. *)
Lemma position_out U past x : ~ In x U ->
  position (U :: past) x =
  card U + card (filter (fun y => before (age past) y x) (diff (used past) U)).
Proof.
  intros Hx. unfold position. rewrite <- card_app_disjoint.
  - apply card_ext. intros y. rewrite in_app_iff, !filter_In, In_diff, In_used_cons.
    rewrite !before_true, (age_cons_out U past x Hx).
    destruct (In_dec y U) as [Hy|Hy].
    + rewrite (age_cons_in U past y Hy). intuition lia.
    + rewrite (age_cons_out U past y Hy). intuition lia.
  - intros y Hy. rewrite filter_In, In_diff. tauto.
Qed.

Lemma position_lt past y x : In y (used past) -> before (age past) y x = true ->
  position past y < position past x.
Proof.
  intros Hy Hyx. unfold position. apply before_true in Hyx.
  assert (Hin : In y (filter (fun z => before (age past) z x) (used past))).
  { apply filter_In. split; auto. now apply before_true. }
  rewrite (card_remove1 y _ Hin). apply Nat.lt_succ_r, card_incl.
  intros z Hz. apply filter_In in Hz as (Hz & Hzy). apply before_true in Hzy.
  apply In_remove1. split.
  - apply filter_In. split; auto. apply before_true. lia.
  - intros ->. lia.
Qed.

Theorem lemma_2 : forall F B past,
  (forall U, In U past -> closed F U /\ card U <= B) ->
  forall x, In x (leaf_lru F B past) <-> In x (used past) /\ position past x < B.
Proof.
  intros F B past. induction past as [|U past IH]; intros Hall x.
  - simpl. tauto.
  - destruct (Hall U) as (HU & HUB); [now left|].
    assert (Hall' : forall V, In V past -> closed F V /\ card V <= B)
      by (intros V HV; apply Hall; now right).
    specialize (IH Hall'). rewrite leaf_lru_step.
    set (S0 := leaf_lru F B past) in *. set (r := age past).
    assert (HhasU : incl U (serve F B r S0 U)) by (apply serve_has_U; auto).
    pose proof (serve_card F B r S0 U HU HUB) as Hcard.
    pose proof (serve_demand F B r S0 U) as Hdem.
    assert (Hlex : forall v y, In v (S0 ++ U) -> ~ In v (serve F B r S0 U) ->
              In y (serve F B r S0 U) -> ~ In y U -> le_lex r y v).
    { intros v y. apply serve_lex; auto. intros c p _ Hp. unfold r.
      apply age_monotone with (F := F); auto. intros V HV. now apply Hall'. }
    set (S1 := serve F B r S0 U) in *.
    rewrite In_used_cons. destruct (In_dec x U) as [HxU|HxU].
    + split; [|intros _; auto]. intros _. split; auto.
      pose proof (position_in U past x HxU). lia.
    + rewrite (position_out U past x HxU).
      set (D := filter (fun y => before (age past) y x) (diff (used past) U)).
      split.
      * (* cached: everything before x is cached, too *)
        intros Hx. assert (HxS : In x S0).
        { apply Hdem, in_app_iff in Hx. tauto. }
        apply IH in HxS as (Hxu & Hpos). split; auto.
        assert (HD : incl D S1).
        { intros y Hy. apply filter_In in Hy as (Hy & Hyx). apply In_diff in Hy as (Hy & HyU).
          destruct (In_dec y S1) as [|Hn]; auto. exfalso.
          assert (HyS : In y S0).
          { apply IH. split; auto. pose proof (position_lt past y x Hy Hyx). lia. }
          assert (Hle : le_lex r x y) by (apply Hlex; auto; apply in_app_iff; auto).
          apply before_true in Hyx. unfold le_lex, r in Hle. lia. }
        assert (Hc : card (x :: U ++ D) <= card S1).
        { apply card_incl. intros y [<-|Hy]; auto. apply in_app_iff in Hy.
          destruct Hy; auto. }
        assert (HxUD : ~ In x (U ++ D)).
        { rewrite in_app_iff. unfold D. rewrite filter_In, before_true. intros [?|(_ & ?)]; auto.
          lia. }
        assert (E1 : card (x :: U ++ D) = S (card (U ++ D))).
        { rewrite (card_remove1 x); [|now left]. f_equal. apply card_ext. intros y.
          rewrite In_remove1. simpl. split; [intros ([->|?] & ?); tauto|].
          intros Hy. split; auto. intros ->. auto. }
        assert (E2 : card (U ++ D) = card U + card D).
        { apply card_app_disjoint. intros y Hy. unfold D. rewrite filter_In, In_diff. tauto. }
        lia.
      * (* early in the list: not evicted before *)
        intros ([?|Hxu] & Hpos); [easy|].
        assert (HxS : In x S0).
        { apply IH. split; auto. eapply Nat.le_lt_trans; [|exact Hpos].
          unfold position. rewrite (card_split2 _ U). apply Nat.add_le_mono.
          - apply card_incl. intros y Hy. apply In_inter in Hy. tauto.
          - apply card_incl. intros y Hy. apply In_diff in Hy as (Hy & HyU).
            apply filter_In in Hy as (Hy & Hyx). apply filter_In. split; auto.
            apply In_diff. auto. }
        destruct (In_dec x S1) as [|Hn]; auto. exfalso.
        assert (HxA : In x (S0 ++ U)) by (apply in_app_iff; auto).
        assert (Hsub : incl (diff S1 U) D).
        { intros y Hy. apply In_diff in Hy as (Hy & HyU).
          assert (HyS : In y S0) by (apply Hdem, in_app_iff in Hy; tauto).
          pose proof (Hlex x y HxA Hn Hy HyU) as Hle. apply filter_In. split.
          - apply In_diff. split; auto. now apply IH in HyS.
          - apply before_true. unfold le_lex, r in Hle.
            assert (y <> x) by (intros ->; auto). lia. }
        apply card_incl in Hsub.
        assert (E1 : card S1 = card U + card (diff S1 U)).
        { rewrite <- card_app. apply card_ext. intros y. rewrite in_app_iff. intuition. }
        assert (E2 : card S1 < card (S0 ++ U)).
        { rewrite (card_remove1 x (S0 ++ U) HxA). apply Nat.lt_succ_r, card_incl.
          intros y Hy. apply In_remove1. split; [now apply Hdem|]. intros ->. auto. }
        lia.
Qed.

(** A token of the next footprint misses exactly when it is new or its
    position before the step is at least B. *)
Theorem stack_distances : forall F B U past,
  (forall V, In V (U :: past) -> closed F V /\ card V <= B) ->
  card (diff U (leaf_lru F B past)) =
  card (filter (fun x => negb (mem x (used past)) || (B <=? position past x)) U).
Proof.
  intros F B U past Hall. apply card_ext. intros x.
  rewrite In_diff, filter_In, orb_true_iff, negb_true_iff, mem_not_In, Nat.leb_le.
  rewrite lemma_2 by (intros V HV; apply Hall; now right).
  destruct (In_dec x (used past)); destruct (le_lt_dec B (position past x)); intuition lia.
Qed.
