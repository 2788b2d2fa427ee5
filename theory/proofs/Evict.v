(** * The leaf-eviction loop

    It never gets stuck, removes exactly the excess, keeps the cache closed,
    and, if the rank never decreases going down the forest, every victim
    ranks at least as high as everything outside the footprint that stays. *)

From KVBounds Require Export Basics.

Section Loop.
Variable F : forest.
Variable B : nat.
Variable U : list nat.
Hypothesis closed_U : closed F U.

Lemma is_child_true t c : is_child F t c = true <-> parent F c = Some t.
Proof.
  unfold is_child. destruct (parent F c) as [p|]; [|intuition congruence].
  rewrite Nat.eqb_eq. intuition congruence.
Qed.

Lemma is_leaf_true A t :
  is_leaf F A t = true <-> forall c, In c A -> parent F c <> Some t.
Proof.
  unfold is_leaf. rewrite forallb_forall. split; intros H c Hc.
  - specialize (H c Hc). apply negb_true_iff in H. intros E.
    apply is_child_true in E. congruence.
  - apply negb_true_iff. destruct (is_child F t c) eqn:E; auto.
    apply is_child_true in E. now apply H in E.
Qed.

Lemma In_candidates A t :
  In t (candidates F U A) <->
  In t A /\ ~ In t U /\ forall c, In c A -> parent F c <> Some t.
Proof. unfold candidates. rewrite filter_In, In_diff, is_leaf_true. tauto. Qed.

Lemma not_leaf A t :
  is_leaf F A t = false -> exists c, In c A /\ parent F c = Some t.
Proof.
  unfold is_leaf. intros H.
  induction A as [|a A IH]; simpl in H; [easy|].
  apply andb_false_iff in H as [H|H].
  - apply negb_false_iff, is_child_true in H. exists a. split; auto. now left.
  - destruct (IH H) as (c & Hc & E). exists c. split; auto. now right.
Qed.

(** The loop's order: rank first, then number. *)
Definition le_lex (r : nat -> nat) x y := r x < r y \/ (r x = r y /\ x <= y).

Lemma before_true r x y : before r x y = true <-> r x < r y \/ (r x = r y /\ x < y).
Proof.
  unfold before. rewrite orb_true_iff, andb_true_iff, !Nat.ltb_lt, Nat.eqb_eq. tauto.
Qed.

Lemma argmax_spec r A v :
  argmax r A = Some v -> In v A /\ forall x, In x A -> le_lex r x v.
Proof.
  revert v. induction A as [|a A IH]; simpl; intros v; [easy|].
  destruct (argmax r A) as [y|] eqn:E.
  - destruct (IH y eq_refl) as (Hy & Hmax).
    destruct (before r a y) eqn:Eb; intros Hv; injection Hv as <-.
    + apply before_true in Eb. split; auto. intros x [<-|Hx]; auto.
      unfold le_lex. lia.
    + assert (~ (r a < r y \/ (r a = r y /\ a < y)))
        by (rewrite <- before_true; congruence).
      split; auto. intros x [<-|Hx]; [unfold le_lex; lia|].
      apply Hmax in Hx. unfold le_lex in *. lia.
  - intros Hv. injection Hv as <-. split; auto.
    intros x [<-|Hx]; [unfold le_lex; lia|].
    destruct A; [easy|]. simpl in E.
    destruct (argmax r A); [destruct (before r n n0)|]; congruence.
Qed.

Lemma argmax_none r A : argmax r A = None -> A = [].
Proof.
  destruct A as [|a A]; auto. simpl.
  destruct (argmax r A); [destruct (before r a n)|]; congruence.
Qed.

(** Below every cached token outside U there is a candidate; if ranks do not
    decrease downwards, one that the loop prefers to it. *)
Lemma leaf_below r A y :
  (forall c p, In c A -> parent F c = Some p -> r p <= r c) ->
  In y A -> ~ In y U ->
  exists z, In z (candidates F U A) /\ le_lex r y z.
Proof.
  intros Hr. destruct A as [|a0 A0] eqn:EA; [easy|]. rewrite <- EA in *.
  destruct (exists_max A) as (m & Hm & Hmax); [congruence|]. clear EA a0 A0.
  remember (m - y) as d eqn:Ed. revert y Ed.
  induction d as [d IH] using lt_wf_ind. intros y Ed Hy HyU.
  destruct (is_leaf F A y) eqn:E.
  - exists y. split; [|unfold le_lex; lia].
    apply In_candidates. rewrite is_leaf_true in E. auto.
  - apply not_leaf in E as (c & Hc & Hp).
    pose proof (parent_lt F _ _ Hp). pose proof (Hmax c Hc).
    destruct (IH (m - c)) with (y := c) as (z & Hz & Hle); auto; try lia.
    + intros HcU. apply HyU. eapply closed_U; eauto.
    + exists z. split; auto. specialize (Hr c y Hc Hp). unfold le_lex in *. lia.
Qed.

Lemma remove1_closed A v :
  closed F A -> In v (candidates F U A) -> closed F (remove1 v A).
Proof.
  intros HA Hv t p Ht Hp. apply In_remove1 in Ht as (Ht & Hne).
  apply In_candidates in Hv as (_ & _ & Hc). apply In_remove1. split.
  - eapply HA; eauto.
  - intros ->. exact (Hc t Ht Hp).
Qed.

(** ** What the loop does *)

Lemma evict_incl r n : forall A, incl (evict F B U r n A) A.
Proof.
  induction n as [|n IH]; simpl; intros A; [apply incl_refl|].
  destruct (card A <=? B); [apply incl_refl|].
  destruct (argmax r (candidates F U A)) as [v|]; [|apply incl_refl].
  intros x Hx. apply IH, In_remove1 in Hx. tauto.
Qed.

Lemma evict_keeps_U r n : forall A, incl U A -> incl U (evict F B U r n A).
Proof.
  induction n as [|n IH]; simpl; intros A HA; auto.
  destruct (card A <=? B); auto.
  destruct (argmax r (candidates F U A)) as [v|] eqn:E; auto.
  apply IH. intros x Hx. apply In_remove1. split; auto. intros ->.
  apply argmax_spec in E as (E & _). apply In_candidates in E. tauto.
Qed.

Lemma evict_closed r n : forall A, closed F A -> closed F (evict F B U r n A).
Proof.
  induction n as [|n IH]; simpl; intros A HA; auto.
  destruct (card A <=? B); auto.
  destruct (argmax r (candidates F U A)) as [v|] eqn:E; auto.
  apply IH. apply remove1_closed; auto. now apply argmax_spec in E.
Qed.

(** A victim always exists: some token outside U is cached, below it a leaf. *)
Lemma victim_exists r A :
  card U <= B -> incl U A -> B < card A ->
  exists v, argmax r (candidates F U A) = Some v /\ In v A.
Proof.
  intros HU HA HB. destruct (argmax r (candidates F U A)) as [v|] eqn:E.
  - exists v. split; auto. apply argmax_spec in E as (E & _).
    apply In_candidates in E. tauto.
  - exfalso. apply argmax_none in E.
    destruct (card_ge_exists A U) as (y & Hy & HyU); [lia|].
    destruct (leaf_below (fun _ => 0) A y) as (z & Hz & _); auto.
    rewrite E in Hz. easy.
Qed.

(** Exactly the excess is evicted. *)
Lemma evict_card r n : forall A,
  card U <= B -> incl U A -> card A <= n + B ->
  card (evict F B U r n A) = Nat.min (card A) B.
Proof.
  induction n as [|n IH]; simpl; intros A HU HA Hn; [lia|].
  destruct (card A <=? B) eqn:E; [apply Nat.leb_le in E; lia|].
  apply Nat.leb_gt in E.
  destruct (victim_exists r A HU HA E) as (v & Ev & Hv). rewrite Ev.
  pose proof (card_remove1 v A Hv). rewrite IH; [lia|auto| |lia].
  intros x Hx. apply In_remove1. split; auto. intros ->.
  apply argmax_spec in Ev as (Ev & _). apply In_candidates in Ev. tauto.
Qed.

(** Victims come last in the loop's order. *)
Lemma evict_lex r n : forall A x y,
  (forall c p, In c A -> parent F c = Some p -> r p <= r c) ->
  In x A -> ~ In x (evict F B U r n A) ->
  In y (evict F B U r n A) -> ~ In y U -> le_lex r y x.
Proof.
  induction n as [|n IH]; simpl; intros A x y Hr Hx Hx' Hy HyU; [easy|].
  destruct (card A <=? B); [easy|].
  destruct (argmax r (candidates F U A)) as [v|] eqn:E; [|easy].
  destruct (Nat.eq_dec x v) as [->|Hne].
  - assert (HyA : In y A).
    { apply evict_incl, In_remove1 in Hy. tauto. }
    destruct (leaf_below r A y Hr HyA HyU) as (z & Hz & Hle).
    apply argmax_spec in E as (_ & Hmax). apply Hmax in Hz.
    unfold le_lex in *. lia.
  - apply (IH (remove1 v A) x y); auto.
    + intros c p Hc. apply In_remove1 in Hc. apply Hr. tauto.
    + apply In_remove1. auto.
Qed.
End Loop.

(** ** One step of a leaf policy *)

Section Serve.
Variable F : forest.
Variables (B : nat) (r : nat -> nat) (S0 U : list nat).
Hypothesis closed_U : closed F U.
Hypothesis small_U : card U <= B.

Lemma serve_has_U : incl U (serve F B r S0 U).
Proof. apply evict_keeps_U. intros x Hx. apply In_union. auto. Qed.

Lemma serve_demand : incl (serve F B r S0 U) (S0 ++ U).
Proof.
  intros x Hx. apply evict_incl, In_union in Hx. apply in_app_iff. auto.
Qed.

Lemma serve_card : card (serve F B r S0 U) = Nat.min (card (S0 ++ U)) B.
Proof.
  unfold serve. rewrite evict_card; auto.
  - now rewrite card_union.
  - intros x Hx. apply In_union. auto.
  - lia.
Qed.

Lemma serve_closed : closed F S0 -> closed F (serve F B r S0 U).
Proof.
  intros HS. apply evict_closed; auto. intros t p Ht Hp.
  apply In_union in Ht. apply In_union. destruct Ht; eauto.
Qed.

Lemma serve_lex x y :
  (forall c p, In c (S0 ++ U) -> parent F c = Some p -> r p <= r c) ->
  In x (S0 ++ U) -> ~ In x (serve F B r S0 U) ->
  In y (serve F B r S0 U) -> ~ In y U -> le_lex r y x.
Proof.
  intros Hr Hx Hx' Hy HyU.
  eapply (evict_lex F B U closed_U r) with (A := union S0 U); eauto.
  - intros c p Hc. apply Hr. apply in_app_iff. apply In_union in Hc. tauto.
  - apply In_union. apply in_app_iff in Hx. tauto.
Qed.

Lemma serve_rank x y :
  (forall c p, In c (S0 ++ U) -> parent F c = Some p -> r p <= r c) ->
  In x (S0 ++ U) -> ~ In x (serve F B r S0 U) ->
  In y (serve F B r S0 U) -> ~ In y U -> r y <= r x.
Proof.
  intros Hr Hx Hx' Hy HyU. pose proof (serve_lex x y Hr Hx Hx' Hy HyU) as H.
  unfold le_lex in H. lia.
Qed.
End Serve.

(** ** Every leaf policy yields a demand schedule of closed caches *)

Lemma rank_policy_step F B rank U past :
  rank_policy F B rank (U :: past) =
  serve F B (rank (history_of F B rank past)) (rank_policy F B rank past) U.
Proof. reflexivity. Qed.

Lemma rank_policy_schedule F B rank us : forall past,
  (forall U, In U us -> closed F U /\ card U <= B) ->
  closed F (rank_policy F B rank past) ->
  schedule B (rank_policy F B rank past) us
           (run_from (rank_policy F B rank) past us) /\
  all_closed F (run_from (rank_policy F B rank) past us).
Proof.
  induction us as [|U us IH]; intros past Hus Hc.
  - split; [exact I|easy].
  - destruct (Hus U) as (HU1 & HU2); [now left|].
    assert (Hc' : closed F (rank_policy F B rank (U :: past))).
    { rewrite rank_policy_step. now apply serve_closed. }
    destruct (IH (U :: past)) as (H1 & H2); auto.
    { intros V HV. apply Hus. now right. }
    split.
    + change (incl U (rank_policy F B rank (U :: past)) /\
              incl (rank_policy F B rank (U :: past)) (rank_policy F B rank past ++ U) /\
              card (rank_policy F B rank (U :: past)) <= B /\
              schedule B (rank_policy F B rank (U :: past)) us
                (run_from (rank_policy F B rank) (U :: past) us)).
      rewrite rank_policy_step at 1 2 3. repeat split; auto.
      * now apply serve_has_U.
      * apply serve_demand.
      * rewrite serve_card by auto. lia.
    + intros A [<-|HA]; auto.
Qed.

Theorem rank_policy_well_defined F B u rank us :
  admissible F B u us ->
  schedule B [] us (run (rank_policy F B rank) us) /\
  all_closed F (run (rank_policy F B rank) us).
Proof.
  intros H. apply (rank_policy_schedule F B rank us []).
  - intros U HU. destruct (H U HU). split; auto. lia.
  - intros t p [].
Qed.
