(** * RLT is O(log k): E[cost] <= 2 (2 + H_{k-1}) OPT + B, k = B - u + 1

    (Theorem R5.)  One induction over the steps.  Besides the potential of
    Potential.v the induction keeps what the optimum has loaded since the
    first step of the previous phase ([f1], cache [G1] then) and since the
    first step of this phase ([f0], cache [G0] then): a phase that begins
    needs at most f1 more loads than fit, and every load is counted in two
    such windows. *)

From KVBounds Require Export Potential.

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

(** ** The first step of a phase *)

(** Everything that was not marked in the phase before is evicted; what is
    then missing of that phase are |T u U| - B holes. *)
Lemma new_phase T S0 U S1 r :
  closed F T -> closed F U -> incl T S0 -> u <= card U <= B -> B < card (T ++ U) ->
  in_support S1 (random_evict F B U T (card (union S0 U)) (union S0 U)) ->
  incl U S1 /\ incl S1 (T ++ U) /\ card S1 = B /\ (closed F S0 -> closed F S1) /\
  (phi F r U T S1 <= qn (card (T ++ U) - B) * H)%Q.
Proof.
  intros HT HU HTS HUB Hnew HS1.
  assert (HUA : incl U (union S0 U)) by (intros x Hx; apply In_union; auto).
  assert (HTUA : incl (T ++ U) (union S0 U)).
  { intros x Hx. apply in_app_iff in Hx. apply In_union. destruct Hx; auto. }
  pose proof (card_incl _ _ HTUA) as HcA.
  apply random_evict_support in HS1 as (G1 & G2 & G3 & G4 & G5); auto; try lia.
  assert (Hc1 : card S1 = B) by lia.
  assert (Hsub : incl S1 (T ++ U)).
  { destruct (G5 HT) as [G|G]; auto. exfalso.
    assert (Hall : incl (T ++ U) S1) by (intros x Hx; apply G; auto).
    apply card_incl in Hall. lia. }
  split; [|split; [|split; [|split]]]; auto.
  - intros HS0. apply G4. intros t p Ht Hp. apply In_union in Ht. apply In_union.
    destruct Ht; eauto.
  - assert (Hholes : length (holes T S1) = card (T ++ U) - B).
    { rewrite <- card_NoDup by apply holes_NoDup.
      assert (Heq : card (T ++ U) = card S1 + card (holes T S1)).
      { rewrite <- card_app_disjoint.
        - apply card_ext. intros x. rewrite !in_app_iff, In_holes.
          split; [intros [Hx|Hx]; auto; destruct (In_dec x S1); auto|].
          intros [Hx|(Hx & _)]; auto. apply Hsub, in_app_iff in Hx. auto.
        - intros x Hx. rewrite In_holes. tauto. }
      lia. }
    rewrite <- Hholes, <- sumQ_const. unfold phi. apply sumQ_le. intros x _.
    apply harmonic_mono. unfold above, count.
    assert (Hle : card (filter (fun z => r x <? r z) (candidates F U S1)) <= card (diff S1 U)).
    { apply card_incl. intros z Hz. apply filter_In in Hz as (Hz & _).
      apply In_candidates in Hz. apply In_diff. tauto. }
    assert (card S1 = card U + card (diff S1 U)); [|lia].
    rewrite <- card_app. apply card_ext. intros z. rewrite in_app_iff. intuition.
Qed.

(** ** Every other step *)

Lemma phi_step T Tp S0 U us :
  (forall V, In V us -> closed F V) ->
  closed F T -> closed F U -> incl T S0 -> incl S0 (Tp ++ T) -> card S0 = B ->
  u <= card T -> card (T ++ U) <= B ->
  let A := union S0 U in
  (Exp (random_evict F B (T ++ U) Tp (card A) A) (phi F (next_use us) (T ++ U) Tp)
   + qn (card (diff U S0))
   <= phi F (next_use (U :: us)) T Tp S0 + qn (card (diff U (Tp ++ T))) * (1 + H))%Q.
Proof.
  intros Hus HT HU HTS HSTp HS Hu HTU A.
  set (T1 := T ++ U) in *. set (r := next_use us). set (r0 := next_use (U :: us)).
  set (c := card (diff U (Tp ++ T))).
  set (d := card (inter U (holes Tp S0))).
  set (N := card (candidates F T1 A)).
  assert (HT1 : closed F T1).
  { intros t p Ht Hp. unfold T1 in *. apply in_app_iff in Ht. apply in_app_iff.
    destruct Ht; eauto. }
  assert (HT1A : incl T1 A).
  { intros x Hx. apply In_union. unfold T1 in Hx. apply in_app_iff in Hx. destruct Hx; auto. }
  assert (HATp : incl A (Tp ++ T1)).
  { intros x Hx. unfold T1. rewrite !in_app_iff. apply In_union in Hx as [Hx|Hx]; auto.
    apply HSTp, in_app_iff in Hx. tauto. }
  (* misses: clean and stale ones *)
  assert (Hmiss : card (diff U S0) = c + d).
  { unfold c, d. rewrite <- card_app_disjoint.
    - apply card_ext. intros x. rewrite in_app_iff, !In_diff, In_inter, In_holes, in_app_iff.
      split; [|intros [(Hx & Hn)|Hx]; [|tauto]].
      + intros (Hx & Hn). destruct (In_dec x Tp); [tauto|]. left. split; auto.
        intros [?|?]; auto.
      + split; auto. intros HxS. apply Hn, in_app_iff, HSTp, HxS.
    - intros x. rewrite In_diff, In_inter, In_holes, in_app_iff. tauto. }
  assert (HcA : card A = B + (c + d)).
  { unfold A. rewrite card_union, card_app. lia. }
  (* marking: requested holes give H_N back *)
  assert (Hcand : forall z, In z (candidates F T1 A) ->
                    In z (candidates F T S0) /\ ~ In z U).
  { intros z Hz. apply In_candidates in Hz as (HzA & HzT & Hc). unfold T1 in HzT.
    rewrite in_app_iff in HzT. apply In_union in HzA. split; [|tauto].
    apply In_candidates. repeat split; try tauto. intros y Hy. apply Hc, In_union. auto. }
  assert (Hr0 : forall z, ~ In z U -> r0 z = S (r z)).
  { intros z Hz. unfold r0, r, next_use. simpl.
    replace (mem z U) with false; auto. symmetry. now apply mem_not_In. }
  assert (Hr1 : forall z, In z U -> r0 z = 0).
  { intros z Hz. unfold r0, next_use. simpl.
    replace (mem z U) with true; auto. symmetry. now apply mem_In. }
  assert (Hmark : (phi F r T1 Tp A + qn d * harmonic N <= phi F r0 T Tp S0)%Q).
  { unfold phi at 2. rewrite (sumQ_filter_split (fun x => mem x U) _ (holes Tp S0)).
    assert (Hd : length (filter (fun x => mem x U) (holes Tp S0)) = d).
    { rewrite <- card_NoDup by apply NoDup_filter, holes_NoDup.
      unfold d. apply card_ext. intros x. rewrite filter_In, In_inter, mem_In. tauto. }
    assert (G1 : (qn d * harmonic N <=
       sumQ (fun x => harmonic (above F r0 T S0 x))
            (filter (fun x => mem x U) (holes Tp S0)))%Q).
    { rewrite <- Hd, <- sumQ_const. apply sumQ_le. intros x Hx.
      apply filter_In in Hx as (_ & HxU). apply mem_In in HxU.
      apply harmonic_mono. unfold N, above, count. apply card_incl. intros z Hz.
      apply Hcand in Hz as (Hz & HzU). apply filter_In. split; auto.
      apply Nat.ltb_lt. rewrite (Hr1 x HxU), (Hr0 z HzU). lia. }
    assert (G2 : (phi F r T1 Tp A <=
       sumQ (fun x => harmonic (above F r0 T S0 x))
            (filter (fun x => negb (mem x U)) (holes Tp S0)))%Q).
    { unfold phi. rewrite (sumQ_set _ (holes Tp A)
                             (filter (fun x => negb (mem x U)) (holes Tp S0))).
      - apply sumQ_le. intros x Hx. apply filter_In in Hx as (_ & HxU).
        apply negb_true_iff, mem_not_In in HxU. apply harmonic_mono.
        unfold above, count. apply card_incl. intros z Hz. apply filter_In in Hz as (Hz & Hlt).
        apply Hcand in Hz as (Hz & HzU). apply filter_In. split; auto.
        apply Nat.ltb_lt in Hlt. apply Nat.ltb_lt. rewrite !Hr0 by auto. lia.
      - apply holes_NoDup.
      - apply NoDup_filter, holes_NoDup.
      - intros x. rewrite filter_In, !In_holes, negb_true_iff, mem_not_In.
        unfold A. rewrite In_union. tauto. }
    lra. }
  assert (Hmono : forall y p, parent F y = Some p -> r p <= r y).
  { intros y p Hp. unfold r, next_use. now apply age_monotone with (F := F). }
  rewrite Hmiss, qn_plus. fold r r0 c.
  destruct (Nat.eq_dec (c + d) 0) as [Hz|Hz].
  - (* no miss: nothing happens *)
    assert (c = 0) by lia. assert (d = 0) by lia.
    assert (Hev : random_evict F B T1 Tp (card A) A = ret A).
    { destruct (card A) as [|n] eqn:En; [reflexivity|]. cbn [random_evict].
      replace (card A <=? B) with true; [reflexivity|]. symmetry. apply Nat.leb_le. lia. }
    rewrite Hev, Exp_ret. replace d with 0 in * by lia. replace c with 0 by lia.
    change (qn 0) with 0%Q in *. lra.
  - assert (HN1 : 1 <= N).
    { pose proof (pool_nonempty F B T1 Tp A HT1 HT1A ltac:(lia)) as Hne.
      rewrite (pool_all F T1 Tp A HATp) in Hne. unfold N.
      destruct (candidates F T1 A) as [|z l]; [easy|].
      apply card_pos with (x := z). now left. }
    assert (HNk : N <= B - u).
    { assert (N <= card (diff S0 T)).
      { apply card_incl. intros z Hz'. apply Hcand in Hz' as (Hz' & _).
        apply In_candidates in Hz'. apply In_diff. tauto. }
      assert (card S0 = card T + card (diff S0 T)); [|lia].
      rewrite <- card_app. apply card_ext. intros z. rewrite in_app_iff. intuition. }
    pose proof (phi_random_evict F B r Hmono T1 Tp N (card A) HT1 HTU A HT1A HATp
                  ltac:(lia) HN1 (le_n _)) as Hev.
    replace (card A - B) with (c + d) in Hev by lia. rewrite qn_plus in Hev.
    assert (HH : (harmonic N <= H)%Q) by (apply harmonic_mono; auto).
    assert (Hc0 : (qn c * harmonic N <= qn c * H)%Q).
    { pose proof (qn_nonneg c). nra. }
    set (e := Exp (random_evict F B T1 Tp (card A) A) (phi F r T1 Tp)) in *.
    set (p0 := phi F r0 T Tp S0) in *. set (p := phi F r T1 Tp A) in *.
    assert (E1 : ((qn c + qn d) * (harmonic N - 1) ==
                  qn c * harmonic N + qn d * harmonic N - qn c - qn d)%Q) by ring.
    assert (E2 : (qn c * (1 + H) == qn c + qn c * H)%Q) by ring.
    rewrite E1 in Hev. rewrite E2. pose proof (qn_nonneg c). lra.
Qed.

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
  (future T Tp S0 us + (1 + H) * qn (card (Tp ++ T) - B)
   <= phi F (next_use us) T Tp S0
      + (2 + H) * (qn f1 + qn f0 + 2 * qn (loads O us os)))%Q.
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
      pose proof (phi_step T Tp S0 U us ltac:(intros V HV; apply Hus'; auto)
                    HT HU HTS HSTp HcS (proj1 HcT) Enew) as Hstep.
      cbn zeta in Hstep. fold A in Hstep.
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
      set (K := ((2 + H) * (qn (f1 + l) + qn (f0 + l) + 2 * qn (loads O1 us os))
                 - (1 + H) * qn (card (Tp ++ T ++ U) - B))%Q).
      assert (Hall : (Exp (random_evict F B (T ++ U) Tp (card A) A)
                          (fun S1 => future (T ++ U) Tp S1 us)
                      <= Exp (random_evict F B (T ++ U) Tp (card A) A) rest + K)%Q).
      { rewrite <- (Exp_const (random_evict F B (T ++ U) Tp (card A) A) K)
          by (apply random_evict_proper; auto).
        rewrite <- Exp_plus. apply Exp_le; [apply random_evict_proper; auto|].
        intros S1 HS1. apply random_evict_support in HS1 as (G1' & G2 & G3 & G4 & _);
          auto; [|lia].
        assert (Hgoal : (future (T ++ U) Tp S1 us
                         + (1 + H) * qn (card (Tp ++ T ++ U) - B)
                         <= rest S1 + (2 + H) * (qn (f1 + l) + qn (f0 + l)
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
      assert (HK : (K == (2 + H) * (qn f1 + qn f0 + 2 * (qn l + qn (loads O1 us os)))
                         - (1 + H) * qn (card (Tp ++ T) - B) - (1 + H) * qn c)%Q).
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
      set (K := ((2 + H) * (qn (f0 + l) + qn 0 + 2 * qn (loads O1 us os)) - qn x)%Q).
      assert (Hall : (Exp (random_evict F B U T (card A) A) (fun S1 => future U T S1 us)
                      <= K)%Q).
      { rewrite <- (Exp_const (random_evict F B U T (card A) A) K)
          by (apply random_evict_proper; auto; lia).
        apply Exp_le; [apply random_evict_proper; auto; lia|].
        intros S1 HS1.
        destruct (new_phase T S0 U S1 (next_use us) HT HU HTS HUB Enew HS1)
          as (N1 & N2 & N3 & N4 & N5).
        assert (Hgoal : (future U T S1 us + (1 + H) * qn (card (T ++ U) - B)
                         <= phi F (next_use us) U T S1
                            + (2 + H) * (qn (f0 + l) + qn 0 + 2 * qn (loads O1 us os)))%Q).
        { apply IH with (G1 := G0) (G0 := O1); auto.
          - now apply loaded_window.
          - now apply fresh_window. }
        fold x in Hgoal, N5. unfold K. lra. }
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
      assert (HK : (K == (2 + H) * (qn f0 + qn l + 2 * qn (loads O1 us os)) - qn x)%Q).
      { unfold K. rewrite qn_plus. change (qn 0) with 0%Q. ring. }
      rewrite HK in Hall. rewrite qn_plus in Hmq, Hpq. rewrite (qn_plus f1 l) in Hpq.
      pose proof (qn_nonneg x). pose proof (qn_nonneg c). pose proof (qn_nonneg e).
      set (x1 := Exp (random_evict F B U T (card A) A) (fun S1 => future U T S1 us)) in *.
      fold l. clearbody x1 K. clear IH.
      assert (Hpq2 : ((2 + H) * (qn c + qn e) <= (2 + H) * (qn f1 + qn l))%Q) by nra.
      assert (Hc2 : (0 <= H * qn c)%Q) by nra.
      assert (E1 : ((2 + H) * (qn c + qn e) ==
                    qn c + qn e + (1 + H) * qn e + qn c + H * qn c)%Q) by ring.
      lra.
Qed.

(** Phase 1: nothing is evicted. *)
Lemma first_phase us : forall os T S0 O G f,
  (forall V, In V us -> closed F V /\ u <= card V <= B) ->
  prefetching_schedule B us os ->
  closed F T -> incl T S0 -> incl S0 T -> card T <= B -> card G <= B ->
  card (diff (T ++ O) G) <= f ->
  (future T [] S0 us + qn (card T)
   <= qn B + (2 + H) * (qn f + 2 * qn (loads O us os)))%Q.
Proof.
  assert (HH : (0 <= H)%Q) by apply harmonic_nonneg.
  induction us as [|U us IH]; intros os T S0 O G f Hus Hos HT HTS HST HcT HG Hf.
  - unfold future, future_cost. cbn [rlt_from]. rewrite Exp_ret.
    replace (cost S0 [] []) with 0 by reflexivity.
    replace (loads O [] os) with 0 by (destruct os; reflexivity).
    change (qn 0) with 0%Q. pose proof (qn_nonneg f).
    assert (Hq : (qn (card T) <= qn B)%Q) by (apply qn_le; auto).
    assert (Hrhs : (0 <= (2 + H) * (qn f + 2 * 0))%Q) by nra. lra.
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
                       <= qn B + (2 + H) * (qn (f + l) + 2 * qn (loads O1 us os)))%Q).
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
      set (K := ((2 + H) * (qn (f + l) + qn 0 + 2 * qn (loads O1 us os)) - qn x)%Q).
      assert (Hall : (Exp (random_evict F B U T (card A) A) (fun S1 => future U T S1 us)
                      <= K)%Q).
      { rewrite <- (Exp_const (random_evict F B U T (card A) A) K)
          by (apply random_evict_proper; auto; lia).
        apply Exp_le; [apply random_evict_proper; auto; lia|].
        intros S1 HS1.
        destruct (new_phase T S0 U S1 (next_use us) HT HU HTS HUB Enew HS1)
          as (N1 & N2 & N3 & N4 & N5).
        assert (HS0 : closed F S0).
        { intros t p Ht Hp. apply HTS. eapply HT; eauto. }
        assert (Hgoal : (future U T S1 us + (1 + H) * qn (card (T ++ U) - B)
                         <= phi F (next_use us) U T S1
                            + (2 + H) * (qn (f + l) + qn 0 + 2 * qn (loads O1 us os)))%Q).
        { apply steady with (G1 := G) (G0 := O1); auto.
          - now apply loaded_window.
          - now apply fresh_window. }
        fold x in Hgoal, N5. unfold K. lra. }
      assert (Hx : (qn (card (diff U S0)) + qn (card T) == qn B + qn x)%Q).
      { rewrite <- !qn_plus. replace (card (diff U S0) + card T) with (B + x)
          by (unfold x; lia). reflexivity. }
      unfold K in Hall. rewrite qn_plus in Hall. change (qn 0) with 0%Q in Hall.
      set (x1 := Exp (random_evict F B U T (card A) A) (fun S1 => future U T S1 us)) in *.
      fold l. pose proof (qn_nonneg l). clearbody x1 x. clear IH. nra.
Qed.
End Log.

(** ** Theorem R5

    From an empty cache, against every offline schedule, prefix-closed or
    not, from any cache of at most B tokens and with prefetching. *)
Theorem rlt_log_prefetching : forall F B u us os O0,
  admissible F B u us -> prefetching_schedule B us os -> card O0 <= B ->
  (expected_cost (rlt F B us) us
   <= 2 * (2 + harmonic (B - u)) * qn (loads O0 us os) + qn B)%Q.
Proof.
  intros F B u us os O0 Hus Hos HO.
  pose proof (first_phase F B u us os [] [] O0 O0 0 Hus Hos ltac:(intros t p [])
                (incl_refl _) (incl_refl _) ltac:(rewrite card_nil; lia) HO) as G.
  assert (Hd : card (diff ([] ++ O0) O0) <= 0).
  { rewrite <- card_nil. apply card_incl. intros x. rewrite In_diff. tauto. }
  specialize (G Hd). rewrite card_nil in G. change (qn 0) with 0%Q in G.
  change (future F B [] [] [] us) with (expected_cost (rlt F B us) us) in G.
  assert (E1 : ((2 + harmonic (B - u)) * (0 + 2 * qn (loads O0 us os)) ==
                2 * (2 + harmonic (B - u)) * qn (loads O0 us os))%Q) by ring.
  lra.
Qed.

Theorem rlt_log : forall F B u us os,
  admissible F B u us -> schedule B [] us os ->
  (expected_cost (rlt F B us) us
   <= 2 * (2 + harmonic (B - u)) * qn (cost [] us os) + qn B)%Q.
Proof.
  intros F B u us os Hus Hos. rewrite <- (schedule_loads B us [] os Hos).
  apply rlt_log_prefetching; auto; [|rewrite card_nil; lia].
  eapply schedule_prefetching; eauto.
Qed.
