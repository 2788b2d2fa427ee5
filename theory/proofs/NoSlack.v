(** * Without slack rlt-step is rlt, and pays at most 2 (1 + H_{k-1}) OPT + B

    (Theorem R2.)  "No slack": every completed phase ends with exactly B
    distinct tokens.  If moreover each phase begins with one new token, both
    pay at most 2 H_k OPT + B. *)

From KVBounds Require Export RLTLog RLTPhase.

Local Open Scope nat_scope.

(** [T]: the marks so far. *)
Fixpoint no_slack (B : nat) (T : list nat) (us : list (list nat)) : Prop :=
  match us with
  | [] => True
  | U :: us' => (B < card (T ++ U) -> card T = B) /\ no_slack B (next_marks B T U) us'
  end.

(** The first step of each phase brings one token that is not marked. *)
Fixpoint one_new (B : nat) (T : list nat) (us : list (list nat)) : Prop :=
  match us with
  | [] => True
  | U :: us' => (B < card (T ++ U) -> card (T ++ U) = B + 1) /\
                one_new B (next_marks B T U) us'
  end.

Lemma bind_ext_support {A C} (d : dist A) (f g : A -> dist C) :
  (forall a, in_support a d -> f a = g a) -> bind d f = bind d g.
Proof.
  unfold bind. induction d as [|(p, a) d IH]; intros H; [reflexivity|]. cbn [flat_map fst snd].
  rewrite (H a) by (exists p; now left). f_equal. apply IH.
  intros b (q & Hq). apply H. exists q. now right.
Qed.

Lemma full_marks T S0 B : incl T S0 -> card S0 <= B -> card T = B -> incl S0 T.
Proof.
  intros HTS HS HT. apply incl_card_eq; auto. pose proof (card_incl _ _ HTS). lia.
Qed.

(** Without slack the two rules are the same distribution. *)
Lemma rlt_step_eq F B us : forall T Tp S0,
  (forall U, In U us -> closed F U /\ card U <= B) ->
  closed F T -> incl T S0 -> incl S0 (Tp ++ T) -> card S0 <= B -> no_slack B T us ->
  rlt_from F B false T [] S0 us = rlt_from F B true T Tp S0 us.
Proof.
  induction us as [|U us IH]; intros T Tp S0 Hus HT HTS HSTp HS Hns; [reflexivity|].
  destruct (Hus U) as (HU & HUB); [now left|]. destruct Hns as (Hfull & Hns).
  cbn [rlt_from]. set (T1 := next_marks B T U) in *.
  assert (H0 : (if card (T ++ U) <=? B then @nil nat else []) = [])
    by (destruct (card (T ++ U) <=? B); reflexivity).
  rewrite H0. set (Tp1 := if card (T ++ U) <=? B then Tp else T).
  assert (HA : incl (union S0 U) (Tp1 ++ T1)).
  { unfold Tp1, T1, next_marks. intros x Hx. apply In_union in Hx.
    destruct (card (T ++ U) <=? B) eqn:E; rewrite !in_app_iff.
    - destruct Hx as [Hx|Hx]; auto. apply HSTp, in_app_iff in Hx. tauto.
    - apply Nat.leb_gt in E. destruct Hx as [Hx|Hx]; auto. left.
      apply (full_marks T S0 B); auto. }
  rewrite (random_evict_same F B T1 Tp1 _ _ HA). apply bind_ext_support. intros S1 HS1.
  destruct (random_evict_support F B T1 Tp1 (card (union S0 U)) (union S0 U) S1
              (next_marks_closed F B T U HT HU) (next_marks_cached B T S0 U HTS)
              (next_marks_card B T U HUB) ltac:(lia) HS1) as (G1 & G2 & G3 & _).
  rewrite (IH T1 Tp1 S1); auto.
  - intros V HV. apply Hus. now right.
  - now apply next_marks_closed.
  - intros x Hx. now apply HA, G1.
  - lia.
Qed.

Theorem rlt_step_no_slack : forall F B u us os,
  admissible F B u us -> no_slack B [] us -> schedule B [] us os ->
  (expected_cost (rlt_step F B us) us
   <= 2 * (1 + harmonic (B - u)) * qn (cost [] us os) + qn B)%Q.
Proof.
  intros F B u us os Hus Hns Hos. unfold rlt_step.
  rewrite (rlt_step_eq F B us [] [] []); auto.
  - now apply rlt_log.
  - intros U HU. destruct (Hus U HU). split; auto. lia.
  - intros t p [].
  - apply incl_refl.
  - apply incl_refl.
  - rewrite card_nil. lia.
Qed.

(** ** One new token *)

Section OneNew.
Variable F : forest.
Variables B u : nat.
Hypothesis u_B : u <= B.

Let H : Q := harmonic (B - u).
Let K : Q := harmonic (B - u + 1).

Lemma HK_le : (0 <= H)%Q /\ (H <= K)%Q /\ (1 <= K)%Q.
Proof. destruct (HK B u u_B) as (H0 & H1 & H2 & _). auto. Qed.

(** A first step with one new token in a full cache of marked tokens. *)
Lemma new_phase_one T S0 U us :
  (forall V, In V us -> closed F V) ->
  closed F T -> closed F U -> incl T S0 -> card S0 <= B -> card T = B ->
  u <= card U <= B -> card (T ++ U) = B + 1 ->
  let A := union S0 U in
  card (diff U S0) = 1 /\
  (Exp (random_evict F B U T (card A) A) (phi F (next_use us) U T) <= K - 1)%Q.
Proof.
  intros Hus HT HU HTS HS HcT HUB Hone. cbn zeta. set (A := union S0 U).
  pose proof (full_marks T S0 B HTS HS HcT) as HST.
  assert (Hmiss : card (diff U S0) = 1).
  { assert (E : card (diff U S0) = card (diff U T)).
    { apply card_ext. intros x. rewrite !In_diff. intuition. }
    rewrite E. rewrite card_app in Hone. lia. }
  assert (HcA : card A = B + 1).
  { rewrite <- Hone. apply card_ext. intros x. unfold A. rewrite In_union, in_app_iff.
    split; intros [Hx|Hx]; auto. }
  split; [exact Hmiss|].
  assert (HUA : incl U A) by (intros x Hx; apply In_union; auto).
  assert (HAT : incl A (T ++ U)).
  { intros x Hx. apply In_union in Hx. apply in_app_iff. destruct Hx; auto. }
  set (N := card (candidates F U A)).
  assert (HN1 : 1 <= N).
  { pose proof (pool_nonempty F B U T A HU HUA ltac:(lia)) as Hne.
    rewrite (pool_all F U T A HAT) in Hne. unfold N.
    destruct (candidates F U A) as [|z l]; [easy|]. apply card_pos with (x := z). now left. }
  assert (HNk : N <= B - u + 1).
  { assert (N <= card (diff A U)).
    { apply card_incl. intros z Hz. apply In_candidates in Hz. apply In_diff. tauto. }
    assert (card A = card U + card (diff A U)); [|lia].
    rewrite <- card_app. apply card_ext. intros z. rewrite in_app_iff. intuition. }
  assert (Hmono : forall y p, parent F y = Some p -> next_use us p <= next_use us y).
  { intros y p Hp. unfold next_use. now apply age_monotone with (F := F). }
  pose proof (phi_random_evict F B (next_use us) Hmono U T N (card A) HU (proj2 HUB) A
                HUA HAT ltac:(lia) HN1 (le_n _)) as Hev.
  replace (card A - B) with 1 in Hev by lia. change (qn 1) with 1%Q in Hev.
  assert (HphiA : (phi F (next_use us) U T A == 0)%Q).
  { unfold phi. replace (holes T A) with (@nil nat); [reflexivity|].
    symmetry. apply card_zero, Nat.le_0_r. rewrite <- card_nil. apply card_incl.
    intros x Hx. apply In_holes in Hx as (Hx & Hn). exfalso. apply Hn, In_union. auto. }
  assert (HNK : (harmonic N <= K)%Q) by (apply harmonic_mono; auto). lra.
Qed.

Lemma steady_one us : forall os T Tp S0 O G1 G0 f1 f0,
  (forall V, In V us -> closed F V /\ u <= card V <= B) ->
  prefetching_schedule B us os -> no_slack B T us -> one_new B T us ->
  closed F T -> closed F Tp -> closed F S0 ->
  incl T S0 -> incl S0 (Tp ++ T) -> card S0 = B -> u <= card T <= B ->
  card G1 <= B -> card G0 <= B ->
  card (diff ((Tp ++ T) ++ O) G1) <= f1 -> card (diff (T ++ O) G0) <= f0 ->
  (future F B T Tp S0 us + K * qn (card (Tp ++ T) - B)
   <= phi F (next_use us) T Tp S0 + K * (qn f1 + qn f0 + 2 * qn (loads O us os)))%Q.
Proof.
  destruct HK_le as (H0 & H1 & H2).
  induction us as [|U us IH];
    intros os T Tp S0 O G1 G0 f1 f0 Hus Hos Hns Hon HT HTp HS0 HTS HSTp HcS HcT HG1 HG0 Hf1 Hf0.
  - unfold future, future_cost. cbn [rlt_from]. rewrite Exp_ret.
    replace (cost S0 [] []) with 0 by reflexivity.
    replace (loads O [] os) with 0 by (destruct os; reflexivity).
    pose proof (window_bound B G1 (Tp ++ T) O f1 HG1 Hf1) as He.
    assert (Hq : (qn (card (Tp ++ T) - B) <= qn f1)%Q) by (apply qn_le; lia).
    pose proof (phi_nonneg F (next_use []) T Tp S0). pose proof (qn_nonneg f0).
    pose proof (qn_nonneg f1). change (qn 0) with 0%Q. nra.
  - destruct os as [|O1 os]; [easy|].
    cbn [prefetching_schedule loads no_slack one_new] in *.
    destruct Hos as (HU1 & HO1 & Hos), Hns as (Hfull & Hns), Hon as (Hnew1 & Hon).
    destruct (Hus U) as (HU & HUB); [now left|].
    assert (Hus' : forall V, In V us -> closed F V /\ u <= card V <= B)
      by (intros V HV; apply Hus; now right).
    assert (Husc : forall V, In V us -> closed F V) by (intros V HV; now apply Hus').
    assert (Hus2 : forall V, In V (U :: us) -> closed F V /\ card V <= B).
    { intros V HV. destruct (Hus V HV). split; auto. lia. }
    set (l := card (diff O1 O)). rewrite (future_cons F B T Tp S0 U us Hus2 HT HTS).
    rewrite qn_plus. unfold next_marks in *. destruct (card (T ++ U) <=? B) eqn:Enew.
    + apply Nat.leb_le in Enew. set (A := union S0 U).
      pose proof (phi_step F B u T Tp S0 U us Husc HT HU HTS HSTp HcS (proj1 HcT) Enew) as Hstep.
      cbn zeta in Hstep. fold A H in Hstep.
      set (c := card (diff U (Tp ++ T))) in *.
      assert (HTU : closed F (T ++ U)).
      { intros t p Ht Hp. apply in_app_iff in Ht. apply in_app_iff. destruct Ht; eauto. }
      assert (HTUA : incl (T ++ U) A).
      { intros x Hx. apply In_union. apply in_app_iff in Hx. destruct Hx; auto. }
      assert (HcA : B <= card A).
      { rewrite <- HcS. apply card_incl. intros x Hx. apply In_union. auto. }
      assert (He : card (Tp ++ T ++ U) - B = (card (Tp ++ T) - B) + c).
      { rewrite (card_ext (Tp ++ T ++ U) ((Tp ++ T) ++ U))
          by (intros x; rewrite !in_app_iff; tauto).
        rewrite card_app. fold c. apply card_incl in HSTp. lia. }
      set (rest := (phi F (next_use us) (T ++ U) Tp)).
      set (C := (K * (qn (f1 + l) + qn (f0 + l) + 2 * qn (loads O1 us os))
                 - K * qn (card (Tp ++ T ++ U) - B))%Q).
      assert (Hall : (Exp (random_evict F B (T ++ U) Tp (card A) A)
                          (fun S1 => future F B (T ++ U) Tp S1 us)
                      <= Exp (random_evict F B (T ++ U) Tp (card A) A) rest + C)%Q).
      { rewrite <- (Exp_const (random_evict F B (T ++ U) Tp (card A) A) C)
          by (apply random_evict_proper; auto).
        rewrite <- Exp_plus. apply Exp_le; [apply random_evict_proper; auto|].
        intros S1 HS1.
        destruct (random_evict_support F B (T ++ U) Tp (card A) A S1 HTU HTUA Enew ltac:(lia)
                    HS1) as (G1' & G2 & G3 & G4 & _).
        assert (Hgoal : (future F B (T ++ U) Tp S1 us + K * qn (card (Tp ++ T ++ U) - B)
                         <= rest S1 + K * (qn (f1 + l) + qn (f0 + l)
                                           + 2 * qn (loads O1 us os)))%Q);
          [|unfold C; lra].
        apply IH with (G1 := G1) (G0 := G0); auto.
        - apply G4. intros t p Ht Hp. apply In_union in Ht. apply In_union.
          destruct Ht; eauto.
        - intros x Hx. apply G1', In_union in Hx. rewrite !in_app_iff.
          destruct Hx as [Hx|Hx]; auto. apply HSTp, in_app_iff in Hx. tauto.
        - lia.
        - split; auto. transitivity (card T); [lia|]. apply card_incl.
          intros x Hx. apply in_app_iff. auto.
        - rewrite (card_ext _ (diff (((Tp ++ T) ++ U) ++ O1) G1)).
          + now apply loaded_window.
          + intros x. rewrite !In_diff, !in_app_iff. tauto.
        - now apply loaded_window. }
      assert (HC : (C == K * (qn f1 + qn f0 + 2 * (qn l + qn (loads O1 us os)))
                         - K * qn (card (Tp ++ T) - B) - K * qn c)%Q).
      { unfold C. rewrite He, !qn_plus. ring. }
      assert (HcK : (qn c * H <= K * qn c)%Q) by (pose proof (qn_nonneg c); nra).
      set (x1 := Exp (random_evict F B (T ++ U) Tp (card A) A)
                     (fun S1 => future F B (T ++ U) Tp S1 us)) in *.
      set (x2 := Exp (random_evict F B (T ++ U) Tp (card A) A) rest) in *.
      unfold rest in x2. fold x2 in Hstep. lra.
    + apply Nat.leb_gt in Enew. specialize (Hfull Enew). specialize (Hnew1 Enew).
      set (A := union S0 U).
      destruct (new_phase_one T S0 U us Husc HT HU HTS ltac:(lia) Hfull HUB Hnew1)
        as (Hmiss & Hphi).
      fold A in Hphi. set (e := card (Tp ++ T) - B).
      assert (HUA : incl U A) by (intros y Hy; apply In_union; auto).
      set (C := (K * (qn (f0 + l) + qn 0 + 2 * qn (loads O1 us os)) - K * 1)%Q).
      assert (Hall : (Exp (random_evict F B U T (card A) A) (fun S1 => future F B U T S1 us)
                      <= Exp (random_evict F B U T (card A) A) (phi F (next_use us) U T) + C)%Q).
      { rewrite <- (Exp_const (random_evict F B U T (card A) A) C)
          by (apply random_evict_proper; auto; lia).
        rewrite <- Exp_plus. apply Exp_le; [apply random_evict_proper; auto; lia|].
        intros S1 HS1.
        destruct (new_phase F B u T S0 U S1 (next_use us) HT HU HTS HUB Enew HS1)
          as (N1 & N2 & N3 & N4 & _).
        assert (Hgoal : (future F B U T S1 us + K * qn (card (T ++ U) - B)
                         <= phi F (next_use us) U T S1
                            + K * (qn (f0 + l) + qn 0 + 2 * qn (loads O1 us os)))%Q).
        { apply IH with (G1 := G0) (G0 := O1); auto.
          - now apply loaded_window.
          - now apply fresh_window. }
        replace (card (T ++ U) - B) with 1 in Hgoal by lia.
        change (qn 1) with 1%Q in Hgoal. unfold C. lra. }
      pose proof (window_bound B G1 (Tp ++ T) O f1 HG1 Hf1) as He.
      assert (Heq : (qn e <= qn f1)%Q) by (apply qn_le; unfold e; lia).
      pose proof (phi_nonneg F (next_use (U :: us)) T Tp S0) as Hphi0.
      rewrite Hmiss. change (qn 1) with 1%Q.
      assert (HC : (C == K * (qn f0 + qn l + 2 * qn (loads O1 us os)) - K)%Q).
      { unfold C. rewrite qn_plus. change (qn 0) with 0%Q. ring. }
      assert (HeK : (K * qn e <= K * qn f1)%Q) by nra.
      assert (Hl : (0 <= K * qn l)%Q) by (pose proof (qn_nonneg l); nra).
      fold l. lra.
Qed.

Lemma first_phase_one us : forall os T S0 O G f,
  (forall V, In V us -> closed F V /\ u <= card V <= B) ->
  prefetching_schedule B us os -> no_slack B T us -> one_new B T us ->
  closed F T -> incl T S0 -> incl S0 T -> card T <= B -> card G <= B ->
  card (diff (T ++ O) G) <= f ->
  (future F B T [] S0 us + qn (card T)
   <= qn B + K * (2 * qn f + 2 * qn (loads O us os)))%Q.
Proof.
  destruct HK_le as (H0 & H1 & H2).
  induction us as [|U us IH]; intros os T S0 O G f Hus Hos Hns Hon HT HTS HST HcT HG Hf.
  - unfold future, future_cost. cbn [rlt_from]. rewrite Exp_ret.
    replace (cost S0 [] []) with 0 by reflexivity.
    replace (loads O [] os) with 0 by (destruct os; reflexivity).
    change (qn 0) with 0%Q. pose proof (qn_nonneg f).
    assert (Hq : (qn (card T) <= qn B)%Q) by (apply qn_le; auto). nra.
  - destruct os as [|O1 os]; [easy|].
    cbn [prefetching_schedule loads no_slack one_new] in *.
    destruct Hos as (HU1 & HO1 & Hos), Hns as (Hfull & Hns), Hon as (Hnew1 & Hon).
    destruct (Hus U) as (HU & HUB); [now left|].
    assert (Hus' : forall V, In V us -> closed F V /\ u <= card V <= B)
      by (intros V HV; apply Hus; now right).
    assert (Husc : forall V, In V us -> closed F V) by (intros V HV; now apply Hus').
    assert (Hus2 : forall V, In V (U :: us) -> closed F V /\ card V <= B).
    { intros V HV. destruct (Hus V HV). split; auto. lia. }
    set (l := card (diff O1 O)). rewrite (future_cons F B T [] S0 U us Hus2 HT HTS).
    assert (Hmt : card (diff U S0) + card T = card (T ++ U)).
    { rewrite card_app. rewrite Nat.add_comm. f_equal. apply card_ext.
      intros x. rewrite !In_diff. intuition. }
    rewrite qn_plus. unfold next_marks in *. destruct (card (T ++ U) <=? B) eqn:Enew.
    + apply Nat.leb_le in Enew. set (A := union S0 U).
      assert (HcA : card A = card (T ++ U)).
      { apply card_ext. intros x. unfold A. rewrite In_union, in_app_iff.
        split; intros [Hx|Hx]; auto. }
      assert (Hev : random_evict F B (T ++ U) [] (card A) A = ret A).
      { destruct (card A) as [|n] eqn:En; [reflexivity|]. cbn [random_evict].
        replace (card A <=? B) with true; [reflexivity|]. symmetry. apply Nat.leb_le. lia. }
      rewrite Hev, Exp_ret.
      assert (Hgoal : (future F B (T ++ U) [] A us + qn (card (T ++ U))
                       <= qn B + K * (2 * qn (f + l) + 2 * qn (loads O1 us os)))%Q).
      { apply IH with (G := G); auto.
        - intros t p Ht Hp. apply in_app_iff in Ht. apply in_app_iff. destruct Ht; eauto.
        - intros x Hx. apply In_union. apply in_app_iff in Hx. destruct Hx; auto.
        - intros x Hx. apply In_union in Hx. apply in_app_iff. destruct Hx; auto.
        - now apply loaded_window. }
      rewrite <- Hmt, qn_plus, (qn_plus f l) in Hgoal. fold l. lra.
    + apply Nat.leb_gt in Enew. specialize (Hfull Enew). specialize (Hnew1 Enew).
      set (A := union S0 U).
      assert (HcS : card S0 <= B) by (apply card_incl in HST; lia).
      destruct (new_phase_one T S0 U us Husc HT HU HTS HcS Hfull HUB Hnew1) as (Hmiss & Hphi).
      fold A in Hphi.
      assert (HUA : incl U A) by (intros y Hy; apply In_union; auto).
      set (C := (K * (qn (f + l) + qn 0 + 2 * qn (loads O1 us os)) - K * 1)%Q).
      assert (Hall : (Exp (random_evict F B U T (card A) A) (fun S1 => future F B U T S1 us)
                      <= Exp (random_evict F B U T (card A) A) (phi F (next_use us) U T) + C)%Q).
      { rewrite <- (Exp_const (random_evict F B U T (card A) A) C)
          by (apply random_evict_proper; auto; lia).
        rewrite <- Exp_plus. apply Exp_le; [apply random_evict_proper; auto; lia|].
        intros S1 HS1.
        destruct (new_phase F B u T S0 U S1 (next_use us) HT HU HTS HUB Enew HS1)
          as (N1 & N2 & N3 & N4 & _).
        assert (HS0 : closed F S0) by (intros t p Ht Hp; apply HTS; eapply HT; eauto).
        assert (Hgoal : (future F B U T S1 us + K * qn (card (T ++ U) - B)
                         <= phi F (next_use us) U T S1
                            + K * (qn (f + l) + qn 0 + 2 * qn (loads O1 us os)))%Q).
        { apply steady_one with (G1 := G) (G0 := O1); auto.
          - now apply loaded_window.
          - now apply fresh_window. }
        replace (card (T ++ U) - B) with 1 in Hgoal by lia.
        change (qn 1) with 1%Q in Hgoal. unfold C. lra. }
      rewrite Hmiss, Hfull. change (qn 1) with 1%Q.
      assert (HC : (C == K * (qn f + qn l + 2 * qn (loads O1 us os)) - K)%Q).
      { unfold C. rewrite qn_plus. change (qn 0) with 0%Q. ring. }
      assert (Hl : (0 <= K * qn l)%Q) by (pose proof (qn_nonneg l); nra).
      assert (Hf0 : (0 <= K * qn f)%Q) by (pose proof (qn_nonneg f); nra).
      fold l. lra.
Qed.
End OneNew.

Theorem rlt_one_new : forall F B u prefer us os,
  admissible F B u us -> no_slack B [] us -> one_new B [] us -> schedule B [] us os ->
  (expected_cost (rlt_from F B prefer [] [] [] us) us
   <= 2 * harmonic (B - u + 1) * qn (cost [] us os) + qn B)%Q.
Proof.
  intros F B u prefer us os Hus Hns Hon Hos.
  assert (E : rlt_from F B prefer [] [] [] us = rlt_from F B true [] [] [] us).
  { destruct prefer; auto. apply (rlt_step_eq F B us [] [] []); auto.
    - intros U HU. destruct (Hus U HU). split; auto. lia.
    - intros t p [].
    - apply incl_refl.
    - apply incl_refl.
    - rewrite card_nil. lia. }
  rewrite E. rewrite <- (schedule_loads B us [] os Hos).
  destruct us as [|U us].
  { unfold expected_cost. cbn [rlt_from]. rewrite Exp_ret. change (qn (cost [] [] [])) with 0%Q.
    destruct os; [|easy]. change (qn (loads [] [] [])) with 0%Q. pose proof (qn_nonneg B). lra. }
  assert (HuB : u <= B) by (destruct (Hus U); [now left|lia]).
  pose proof (first_phase_one F B u HuB (U :: us) os [] [] [] [] 0 Hus
                (schedule_prefetching B _ _ _ Hos) Hns Hon ltac:(intros t p [])
                (incl_refl _) (incl_refl _) ltac:(rewrite card_nil; lia)
                ltac:(rewrite card_nil; lia) ltac:(cbn; lia)) as G.
  rewrite card_nil in G. change (qn 0) with 0%Q in G.
  change (future F B [] [] [] (U :: us)) with
    (expected_cost (rlt_from F B true [] [] [] (U :: us)) (U :: us)) in G.
  assert (E1 : (harmonic (B - u + 1) * (2 * 0 + 2 * qn (loads [] (U :: us) os)) ==
                2 * harmonic (B - u + 1) * qn (loads [] (U :: us) os))%Q) by ring.
  lra.
Qed.
