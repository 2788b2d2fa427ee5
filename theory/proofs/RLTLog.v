(** * RLT is O(log k): E[cost] <= 2 (1 + H_{k-1}) OPT + B, k = B - u + 1

    (Theorem R5 with a better constant: a clean miss costs 1 and raises the
    expected potential by H_N - 1 only, so H_{k-1} in all, not 1 + H_{k-1}.)
    One induction over the steps.  Besides the potential of
    Potential.v the induction keeps what the optimum has loaded since the
    first step of the previous phase ([f1], cache [G1] then) and since the
    first step of this phase ([f0], cache [G0] then): a phase that begins
    needs at most f1 more loads than fit, and every load is counted in two
    such windows. *)

From KVBounds Require Export Phase.

Local Open Scope nat_scope.

Section Log.
Variable F : forest.
Variables B u : nat.

Let H : Q := harmonic (B - u).

(** Expected misses from a state on. *)
Definition future : list nat -> list nat -> list nat -> list (list nat) -> Q :=
  future_cost F B true.

Lemma future_cons T Tp S0 U us :
  (forall V, In V (U :: us) -> closed F V /\ card V <= B) -> closed F T -> incl T S0 ->
  let T1 := next_marks B T U in
  let Tp1 := if card (T ++ U) <=? B then Tp else T in
  (future T Tp S0 (U :: us) ==
   qn (card (diff U S0)) +
   Exp (random_evict F B T1 Tp1 (card (union S0 U)) (union S0 U))
       (fun S1 => future T1 Tp1 S1 us))%Q.
Proof. apply future_cost_cons. Qed.

(** ** The induction *)

Lemma loaded_window G O O1 X U f :
  incl U O1 -> card (diff (X ++ O) G) <= f ->
  card (diff ((X ++ U) ++ O1) G) <= f + card (diff O1 O).
Proof.
  intros HU Hf. pose proof (loaded_step G O O1 X U HU). lia.
Qed.

Lemma fresh_window U O1 : incl U O1 -> card (diff (U ++ O1) O1) <= 0.
Proof.
  intros HU. rewrite <- card_nil. apply card_incl. intros x. rewrite In_diff, in_app_iff.
  intros [[?|?] Hn]; exfalso; auto.
Qed.

Lemma window_bound G X O f : card G <= B -> card (diff (X ++ O) G) <= f ->
  card X <= B + f.
Proof.
  intros HG Hf. transitivity (card (G ++ diff (X ++ O) G)).
  - apply card_incl. intros x Hx. rewrite in_app_iff, In_diff, in_app_iff.
    destruct (In_dec x G); tauto.
  - etransitivity; [apply card_app_le|]. lia.
Qed.

(** Phases 2, 3, ...: the cache is full and inside the last two phases. *)
Lemma steady us : forall os T Tp S0 O G1 G0 f1 f0,
  (forall V, In V us -> closed F V /\ u <= card V <= B) ->
  prefetching_schedule B us os ->
  closed F T -> closed F Tp -> closed F S0 ->
  incl T S0 -> incl S0 (Tp ++ T) -> card S0 = B -> u <= card T <= B ->
  card G1 <= B -> card G0 <= B ->
  card (diff ((Tp ++ T) ++ O) G1) <= f1 -> card (diff (T ++ O) G0) <= f0 ->
  (future T Tp S0 us + H * qn (card (Tp ++ T) - B)
   <= phi F (next_use us) T Tp S0
      + (1 + H) * (qn f1 + qn f0 + 2 * qn (loads O us os)))%Q.
Proof.
  assert (HH : (0 <= H)%Q) by apply harmonic_nonneg.
  induction us as [|U us IH];
    intros os T Tp S0 O G1 G0 f1 f0 Hus Hos HT HTp HS0 HTS HSTp HcS HcT HG1 HG0 Hf1 Hf0.
  - unfold future, future_cost. cbn [rlt_from]. rewrite Exp_ret.
    replace (cost S0 [] []) with 0 by reflexivity.
    replace (loads O [] os) with 0 by (destruct os; reflexivity).
    pose proof (window_bound G1 (Tp ++ T) O f1 HG1 Hf1) as He.
    assert (Hq : (qn (card (Tp ++ T) - B) <= qn f1)%Q) by (apply qn_le; lia).
    pose proof (phi_nonneg F (next_use []) T Tp S0). pose proof (qn_nonneg f0).
    pose proof (qn_nonneg f1). change (qn 0) with 0%Q. nra.
  - destruct os as [|O1 os]; [easy|]. cbn [prefetching_schedule loads] in *.
    destruct Hos as (HU1 & HO1 & Hos).
    destruct (Hus U) as (HU & HUB); [now left|].
    assert (Hus' : forall V, In V us -> closed F V /\ u <= card V <= B)
      by (intros V HV; apply Hus; now right).
    assert (Hus2 : forall V, In V (U :: us) -> closed F V /\ card V <= B).
    { intros V HV. destruct (Hus V HV). split; auto. lia. }
    set (l := card (diff O1 O)). rewrite (future_cons T Tp S0 U us Hus2 HT HTS).
    rewrite qn_plus. unfold next_marks. destruct (card (T ++ U) <=? B) eqn:Enew.
    + (* the phase goes on *)
      apply Nat.leb_le in Enew. set (A := union S0 U).
      pose proof (phi_step F B u T Tp S0 U us ltac:(intros V HV; apply Hus'; auto)
                    HT HU HTS HSTp HcS (proj1 HcT) Enew) as Hstep.
      cbn zeta in Hstep. fold A H in Hstep.
      set (c := card (diff U (Tp ++ T))) in *.
      assert (HTU : closed F (T ++ U)).
      { intros t p Ht Hp. apply in_app_iff in Ht. apply in_app_iff. destruct Ht; eauto. }
      assert (HTUA : incl (T ++ U) A).
      { intros x Hx. apply In_union. apply in_app_iff in Hx. destruct Hx; auto. }
      assert (HcA : B <= card A).
      { rewrite <- HcS. apply card_incl. intros x Hx. apply In_union. auto. }
      assert (Hassoc : forall x, In x (Tp ++ T ++ U) <-> In x ((Tp ++ T) ++ U))
        by (intros x; rewrite !in_app_iff; tauto).
      assert (He : card (Tp ++ T ++ U) - B = (card (Tp ++ T) - B) + c).
      { rewrite (card_ext _ _ Hassoc), card_app. fold c.
        apply card_incl in HSTp. lia. }
      set (rest := (phi F (next_use us) (T ++ U) Tp)).
      set (K := ((1 + H) * (qn (f1 + l) + qn (f0 + l) + 2 * qn (loads O1 us os))
                 - H * qn (card (Tp ++ T ++ U) - B))%Q).
      assert (Hall : (Exp (random_evict F B (T ++ U) Tp (card A) A)
                          (fun S1 => future (T ++ U) Tp S1 us)
                      <= Exp (random_evict F B (T ++ U) Tp (card A) A) rest + K)%Q).
      { rewrite <- (Exp_const (random_evict F B (T ++ U) Tp (card A) A) K)
          by (apply random_evict_proper; auto).
        rewrite <- Exp_plus. apply Exp_le; [apply random_evict_proper; auto|].
        intros S1 HS1. apply random_evict_support in HS1 as (G1' & G2 & G3 & G4 & _);
          auto; [|lia].
        assert (Hgoal : (future (T ++ U) Tp S1 us
                         + H * qn (card (Tp ++ T ++ U) - B)
                         <= rest S1 + (1 + H) * (qn (f1 + l) + qn (f0 + l)
                                                 + 2 * qn (loads O1 us os)))%Q);
          [|unfold K; lra].
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
      assert (HK : (K == (1 + H) * (qn f1 + qn f0 + 2 * (qn l + qn (loads O1 us os)))
                         - H * qn (card (Tp ++ T) - B) - H * qn c)%Q).
      { unfold K. rewrite He, !qn_plus. ring. }
      set (x1 := Exp (random_evict F B (T ++ U) Tp (card A) A)
                     (fun S1 => future (T ++ U) Tp S1 us)) in *.
      set (x2 := Exp (random_evict F B (T ++ U) Tp (card A) A) rest) in *.
      unfold rest in x2. fold x2 in Hstep. lra.
    + (* a new phase *)
      apply Nat.leb_gt in Enew. set (A := union S0 U).
      set (x := card (T ++ U) - B).
      set (c := card (diff U (Tp ++ T))). set (e := card (Tp ++ T) - B).
      assert (HUA : incl U A) by (intros y Hy; apply In_union; auto).
      set (K := ((1 + H) * (qn (f0 + l) + qn 0 + 2 * qn (loads O1 us os)))%Q).
      assert (Hall : (Exp (random_evict F B U T (card A) A) (fun S1 => future U T S1 us)
                      <= K)%Q).
      { rewrite <- (Exp_const (random_evict F B U T (card A) A) K)
          by (apply random_evict_proper; auto; lia).
        apply Exp_le; [apply random_evict_proper; auto; lia|].
        intros S1 HS1.
        destruct (new_phase F B u T S0 U S1 (next_use us) HT HU HTS HUB Enew HS1)
          as (N1 & N2 & N3 & N4 & N5).
        assert (Hgoal : (future U T S1 us + H * qn (card (T ++ U) - B)
                         <= phi F (next_use us) U T S1
                            + (1 + H) * (qn (f0 + l) + qn 0 + 2 * qn (loads O1 us os)))%Q).
        { apply IH with (G1 := G0) (G0 := O1); auto.
          - now apply loaded_window.
          - now apply fresh_window. }
        fold x in Hgoal. fold x H in N5. unfold K. lra. }
      (* misses of the first step, and the window that pays *)
      assert (Hmiss : card (diff U S0) <= c + e).
      { assert (He : card (Tp ++ T) = card S0 + card (diff (Tp ++ T) S0)).
        { rewrite <- card_app. apply card_ext. intros y. rewrite (in_app_iff S0).
          intuition. }
        replace e with (card (diff (Tp ++ T) S0)) by (unfold e; lia).
        etransitivity; [|apply card_app_le]. apply card_incl. intros y.
        rewrite in_app_iff, !In_diff. destruct (In_dec y (Tp ++ T)); tauto. }
      assert (Hpay : c + e <= f1 + l).
      { pose proof (window_bound G1 ((Tp ++ T) ++ U) O1 (f1 + l) HG1
                      (loaded_window G1 O O1 (Tp ++ T) U f1 HU1 Hf1)) as Hw.
        rewrite card_app in Hw. fold c in Hw. apply card_incl in HSTp.
        unfold e. lia. }
      assert (Hmq : (qn (card (diff U S0)) <= qn (c + e))%Q) by (apply qn_le; auto).
      assert (Hpq : (qn (c + e) <= qn (f1 + l))%Q) by (apply qn_le; auto).
      pose proof (phi_nonneg F (next_use (U :: us)) T Tp S0) as Hphi.
      assert (HK : (K == (1 + H) * (qn f0 + qn l + 2 * qn (loads O1 us os)))%Q).
      { unfold K. rewrite qn_plus. change (qn 0) with 0%Q. ring. }
      rewrite HK in Hall. rewrite qn_plus in Hmq, Hpq. rewrite (qn_plus f1 l) in Hpq.
      pose proof (qn_nonneg x). pose proof (qn_nonneg c). pose proof (qn_nonneg e).
      set (x1 := Exp (random_evict F B U T (card A) A) (fun S1 => future U T S1 us)) in *.
      fold l. clearbody x1 K. clear IH.
      assert (Hpq2 : ((1 + H) * (qn c + qn e) <= (1 + H) * (qn f1 + qn l))%Q) by nra.
      assert (Hc2 : (0 <= H * qn c)%Q) by nra.
      assert (E1 : ((1 + H) * (qn c + qn e) ==
                    qn c + qn e + H * qn e + H * qn c)%Q) by ring.
      lra.
Qed.

(** Phase 1: nothing is evicted. *)
Lemma first_phase us : forall os T S0 O G f,
  (forall V, In V us -> closed F V /\ u <= card V <= B) ->
  prefetching_schedule B us os ->
  closed F T -> incl T S0 -> incl S0 T -> card T <= B -> card G <= B ->
  card (diff (T ++ O) G) <= f ->
  (future T [] S0 us + qn (card T)
   <= qn B + (1 + H) * (2 * qn f + 2 * qn (loads O us os)))%Q.
Proof.
  assert (HH : (0 <= H)%Q) by apply harmonic_nonneg.
  induction us as [|U us IH]; intros os T S0 O G f Hus Hos HT HTS HST HcT HG Hf.
  - unfold future, future_cost. cbn [rlt_from]. rewrite Exp_ret.
    replace (cost S0 [] []) with 0 by reflexivity.
    replace (loads O [] os) with 0 by (destruct os; reflexivity).
    change (qn 0) with 0%Q. pose proof (qn_nonneg f).
    assert (Hq : (qn (card T) <= qn B)%Q) by (apply qn_le; auto).
    assert (Hrhs : (0 <= (1 + H) * (2 * qn f + 2 * 0))%Q) by nra. lra.
  - destruct os as [|O1 os]; [easy|]. cbn [prefetching_schedule loads] in *.
    destruct Hos as (HU1 & HO1 & Hos).
    destruct (Hus U) as (HU & HUB); [now left|].
    assert (Hus' : forall V, In V us -> closed F V /\ u <= card V <= B)
      by (intros V HV; apply Hus; now right).
    assert (Hus2 : forall V, In V (U :: us) -> closed F V /\ card V <= B).
    { intros V HV. destruct (Hus V HV). split; auto. lia. }
    set (l := card (diff O1 O)). rewrite (future_cons T [] S0 U us Hus2 HT HTS).
    assert (Hmiss : card (diff U S0) + card T = card (T ++ U)).
    { rewrite card_app. rewrite Nat.add_comm. f_equal. apply card_ext.
      intros x. rewrite !In_diff. intuition. }
    rewrite qn_plus. unfold next_marks. destruct (card (T ++ U) <=? B) eqn:Enew.
    + apply Nat.leb_le in Enew. set (A := union S0 U).
      assert (HcA : card A = card (T ++ U)).
      { apply card_ext. intros x. unfold A. rewrite In_union, in_app_iff.
        split; intros [Hx|Hx]; auto. }
      assert (Hev : random_evict F B (T ++ U) [] (card A) A = ret A).
      { destruct (card A) as [|n] eqn:En; [reflexivity|]. cbn [random_evict].
        replace (card A <=? B) with true; [reflexivity|]. symmetry. apply Nat.leb_le. lia. }
      rewrite Hev, Exp_ret.
      assert (Hgoal : (future (T ++ U) [] A us + qn (card (T ++ U))
                       <= qn B + (1 + H) * (2 * qn (f + l) + 2 * qn (loads O1 us os)))%Q).
      { apply IH with (G := G); auto.
        - intros t p Ht Hp. apply in_app_iff in Ht. apply in_app_iff. destruct Ht; eauto.
        - intros x Hx. apply In_union. apply in_app_iff in Hx. destruct Hx; auto.
        - intros x Hx. apply In_union in Hx. apply in_app_iff. destruct Hx; auto.
        - now apply loaded_window. }
      rewrite <- Hmiss, qn_plus, (qn_plus f l) in Hgoal.
      pose proof (qn_nonneg l). fold l. nra.
    + apply Nat.leb_gt in Enew. set (A := union S0 U).
      set (x := card (T ++ U) - B).
      assert (HUA : incl U A) by (intros y Hy; apply In_union; auto).
      set (K := ((1 + H) * (qn (f + l) + qn 0 + 2 * qn (loads O1 us os)))%Q).
      assert (Hall : (Exp (random_evict F B U T (card A) A) (fun S1 => future U T S1 us)
                      <= K)%Q).
      { rewrite <- (Exp_const (random_evict F B U T (card A) A) K)
          by (apply random_evict_proper; auto; lia).
        apply Exp_le; [apply random_evict_proper; auto; lia|].
        intros S1 HS1.
        destruct (new_phase F B u T S0 U S1 (next_use us) HT HU HTS HUB Enew HS1)
          as (N1 & N2 & N3 & N4 & N5).
        assert (HS0 : closed F S0).
        { intros t p Ht Hp. apply HTS. eapply HT; eauto. }
        assert (Hgoal : (future U T S1 us + H * qn (card (T ++ U) - B)
                         <= phi F (next_use us) U T S1
                            + (1 + H) * (qn (f + l) + qn 0 + 2 * qn (loads O1 us os)))%Q).
        { apply steady with (G1 := G) (G0 := O1); auto.
          - now apply loaded_window.
          - now apply fresh_window. }
        fold x in Hgoal. fold x H in N5. unfold K. lra. }
      assert (Hx : (qn (card (diff U S0)) + qn (card T) == qn B + qn x)%Q).
      { rewrite <- !qn_plus. replace (card (diff U S0) + card T) with (B + x)
          by (unfold x; lia). reflexivity. }
      assert (Hxf : (qn x <= qn f + qn l)%Q).
      { rewrite <- qn_plus. apply qn_le. unfold x.
        pose proof (window_bound G (T ++ U) O1 (f + l) HG
                      (loaded_window G O O1 T U f HU1 Hf)). lia. }
      unfold K in Hall. rewrite qn_plus in Hall. change (qn 0) with 0%Q in Hall.
      set (x1 := Exp (random_evict F B U T (card A) A) (fun S1 => future U T S1 us)) in *.
      fold l. pose proof (qn_nonneg l). pose proof (qn_nonneg f). clearbody x1 x. clear IH.
      assert (HHf : (0 <= H * (qn f + qn l))%Q) by nra.
      assert (E1 : ((1 + H) * (2 * qn f + 2 * (qn l + qn (loads O1 us os))) ==
                    (1 + H) * (qn f + qn l + 0 + 2 * qn (loads O1 us os))
                    + (qn f + qn l) + H * (qn f + qn l))%Q) by ring.
      lra.
Qed.
End Log.

(** ** Theorem R5

    From an empty cache, against every offline schedule, prefix-closed or
    not, from any cache of at most B tokens and with prefetching. *)
Theorem rlt_log_prefetching : forall F B u us os O0,
  admissible F B u us -> prefetching_schedule B us os -> card O0 <= B ->
  (expected_cost (rlt F B us) us
   <= 2 * (1 + harmonic (B - u)) * qn (loads O0 us os) + qn B)%Q.
Proof.
  intros F B u us os O0 Hus Hos HO.
  pose proof (first_phase F B u us os [] [] O0 O0 0 Hus Hos ltac:(intros t p [])
                (incl_refl _) (incl_refl _) ltac:(rewrite card_nil; lia) HO) as G.
  assert (Hd : card (diff ([] ++ O0) O0) <= 0).
  { rewrite <- card_nil. apply card_incl. intros x. rewrite In_diff. tauto. }
  specialize (G Hd). rewrite card_nil in G. change (qn 0) with 0%Q in G.
  change (future F B [] [] [] us) with (expected_cost (rlt F B us) us) in G.
  assert (E1 : ((1 + harmonic (B - u)) * (2 * 0 + 2 * qn (loads O0 us os)) ==
                2 * (1 + harmonic (B - u)) * qn (loads O0 us os))%Q) by ring.
  lra.
Qed.

Theorem rlt_log : forall F B u us os,
  admissible F B u us -> schedule B [] us os ->
  (expected_cost (rlt F B us) us
   <= 2 * (1 + harmonic (B - u)) * qn (cost [] us os) + qn B)%Q.
Proof.
  intros F B u us os Hus Hos. rewrite <- (schedule_loads B us [] os Hos).
  apply rlt_log_prefetching; auto; [|rewrite card_nil; lia].
  eapply schedule_prefetching; eauto.
Qed.

(** The bound as the text states it. *)
Corollary rlt_log_text : forall F B u us os,
  admissible F B u us -> schedule B [] us os ->
  (expected_cost (rlt F B us) us
   <= 2 * (2 + harmonic (B - u)) * qn (cost [] us os) + qn B)%Q.
Proof.
  intros F B u us os Hus Hos. pose proof (rlt_log F B u us os Hus Hos).
  pose proof (qn_nonneg (cost [] us os)). nra.
Qed.
