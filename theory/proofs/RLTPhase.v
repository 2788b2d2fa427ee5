(** * The phase lemma for rlt-step (Lemma R1)

    Whatever the cache is when a phase starts: if M tokens of the phase are
    not in it, the phase costs at most M (1 + H_{k-1}) in expectation, and at
    most M H_k if its first step evicts at most one token. *)

From KVBounds Require Export Phase.

Local Open Scope nat_scope.

(** Without leaves outside [Tp] the preference for them does nothing. *)
Lemma random_evict_same F B T Tp n : forall A, incl A (Tp ++ T) ->
  random_evict F B T [] n A = random_evict F B T Tp n A.
Proof.
  induction n as [|n IH]; intros A HA; [reflexivity|]. cbn [random_evict].
  destruct (card A <=? B); [reflexivity|]. rewrite (pool_all F T Tp A HA).
  assert (E : pool F T [] A = nodup Nat.eq_dec (candidates F T A)).
  { unfold pool.
    assert (G : forall l, diff l [] = l) by (induction l; simpl; congruence).
    rewrite G. destruct (nodup Nat.eq_dec (candidates F T A)); reflexivity. }
  rewrite E. unfold bind. apply flat_map_ext. intros (p, v). cbn [fst snd].
  rewrite IH; [reflexivity|]. intros x Hx. apply HA. now apply In_remove1 in Hx.
Qed.

Lemma incl_card_eq A A' : incl A' A -> card A' = card A -> incl A A'.
Proof.
  intros Hi Hc x Hx. destruct (In_dec x A') as [|Hn]; auto. exfalso.
  assert (card A' <= card (remove1 x A)).
  { apply card_incl. intros y Hy. apply In_remove1. split; auto. intros ->. auto. }
  rewrite (card_remove1 x A Hx) in Hc. lia.
Qed.

Section R1.
Variable F : forest.
Variables B u : nat.
Hypothesis u_B : u <= B.

Let H : Q := harmonic (B - u).            (* H_{k-1} *)
Let K : Q := harmonic (B - u + 1).        (* H_k *)

Lemma HK : (0 <= H)%Q /\ (H <= K)%Q /\ (1 <= K)%Q /\ (K <= 1 + H)%Q.
Proof.
  unfold K, H. split; [apply harmonic_nonneg|]. split; [apply harmonic_mono; lia|].
  split.
  - pose proof (harmonic_mono 1 (B - u + 1) ltac:(lia)) as G.
    assert (E : (harmonic 1 == 1)%Q) by reflexivity. lra.
  - rewrite Nat.add_1_r. cbn [harmonic].
    assert (Hi : (/ qn (S (B - u)) <= 1)%Q).
    { apply Qmult_lt_0_le_reg_r with (qn (S (B - u))); [apply qn_pos|].
      rewrite Qmult_comm, Qmult_inv_r by (pose proof (qn_pos (B - u)); lra).
      rewrite qn_S. pose proof (qn_nonneg (B - u)). lra. }
    lra.
Qed.

(** A step after the first: the cache may still have room, but then there
    is no hole. *)
Lemma step_any T Sp S0 U us :
  (forall V, In V us -> closed F V) ->
  closed F T -> closed F U -> incl T S0 -> incl S0 (Sp ++ T) -> card S0 <= B ->
  (holes Sp S0 = [] \/ card S0 = B) ->
  u <= card T -> card (T ++ U) <= B ->
  let A := union S0 U in
  (Exp (random_evict F B (T ++ U) Sp (card A) A) (phi F (next_use us) (T ++ U) Sp)
   + qn (card (diff U S0))
   <= phi F (next_use (U :: us)) T Sp S0 + qn (card (diff U (Sp ++ T))) * K)%Q.
Proof.
  intros Hus HT HU HTS HSSp HS Hfull Hu HTU. cbn zeta. destruct HK as (H0 & H1 & H2 & _).
  set (c := card (diff U (Sp ++ T))). set (A := union S0 U).
  pose proof (qn_nonneg c) as Hc0.
  destruct (Nat.eq_dec (card S0) B) as [Hb|Hb].
  - pose proof (phi_step F B u T Sp S0 U us Hus HT HU HTS HSSp Hb Hu HTU) as G.
    cbn zeta in G. fold A in G. fold c in G.
    assert (HcK : (qn c * harmonic (B - u) <= qn c * K)%Q) by (fold H; nra). lra.
  - destruct Hfull as [Hholes|Hf]; [|easy].
    assert (Hsub : incl Sp S0).
    { intros x Hx. destruct (In_dec x S0) as [|Hn]; auto. exfalso.
      assert (Hin : In x (holes Sp S0)) by (apply In_holes; auto).
      rewrite Hholes in Hin. easy. }
    assert (Hmiss : card (diff U S0) = c).
    { apply card_ext. intros x. rewrite !In_diff, in_app_iff. split; intros (Hx & Hn);
        split; auto.
      - intros [?|?]; auto.
      - intros HxS. apply Hn, in_app_iff, HSSp, HxS. }
    assert (HphiA : (phi F (next_use us) (T ++ U) Sp A == 0)%Q).
    { unfold phi. replace (holes Sp A) with (@nil nat); [reflexivity|].
      symmetry. apply card_zero, Nat.le_0_r. rewrite <- card_nil. apply card_incl.
      intros x Hx. apply In_holes in Hx as (Hx & Hn). exfalso. apply Hn, In_union. auto. }
    assert (Hphi0 : (0 <= phi F (next_use (U :: us)) T Sp S0)%Q) by apply phi_nonneg.
    rewrite Hmiss.
    assert (HTc : closed F (T ++ U)).
    { intros t p Ht Hp. apply in_app_iff in Ht. apply in_app_iff. destruct Ht; eauto. }
    assert (HTA : incl (T ++ U) A).
    { intros x Hx. apply In_union. apply in_app_iff in Hx. destruct Hx; auto. }
    assert (HcA : card A = card S0 + c).
    { unfold A. rewrite card_union, card_app. lia. }
    destruct (le_lt_dec (card A) B) as [Hle|Hgt].
    + assert (Hev : random_evict F B (T ++ U) Sp (card A) A = ret A).
      { destruct (card A) as [|n] eqn:En; [reflexivity|]. cbn [random_evict].
        replace (card A <=? B) with true; [reflexivity|]. symmetry. apply Nat.leb_le. lia. }
      rewrite Hev, Exp_ret, HphiA. nra.
    + assert (HATp : incl A (Sp ++ T ++ U)).
      { intros x Hx. rewrite !in_app_iff. apply In_union in Hx as [Hx|Hx]; auto.
        apply HSSp, in_app_iff in Hx. tauto. }
      set (N := card (candidates F (T ++ U) A)).
      assert (HN1 : 1 <= N).
      { pose proof (pool_nonempty F B (T ++ U) Sp A HTc HTA ltac:(lia)) as Hne.
        rewrite (pool_all F (T ++ U) Sp A HATp) in Hne. unfold N.
        destruct (candidates F (T ++ U) A) as [|z l]; [easy|].
        apply card_pos with (x := z). now left. }
      assert (HNk : N <= B - u).
      { assert (N <= card (diff S0 T)).
        { apply card_incl. intros z Hz. apply In_candidates in Hz as (Hz1 & Hz2 & _).
          rewrite in_app_iff in Hz2. apply In_union in Hz1. apply In_diff. tauto. }
        assert (card S0 = card T + card (diff S0 T)); [|lia].
        rewrite <- card_app. apply card_ext. intros z. rewrite in_app_iff. intuition. }
      assert (Hmono : forall y p, parent F y = Some p -> next_use us p <= next_use us y).
      { intros y p Hp. unfold next_use. now apply age_monotone with (F := F). }
      pose proof (phi_random_evict F B (next_use us) Hmono (T ++ U) Sp N (card A) HTc HTU A
                    HTA HATp ltac:(lia) HN1 (le_n _)) as Hev.
      assert (HNH : (harmonic N <= H)%Q) by (apply harmonic_mono; auto).
      assert (HN0 : (1 <= harmonic N)%Q).
      { pose proof (harmonic_mono 1 N HN1) as G. assert (E : (harmonic 1 == 1)%Q) by reflexivity.
        lra. }
      assert (Hm : (qn (card A - B) <= qn c)%Q) by (apply qn_le; lia).
      pose proof (qn_nonneg (card A - B)). nra.
Qed.

Lemma phase_rest us : forall T Sp S0,
  (forall V, In V us -> closed F V) ->
  closed F T -> incl T S0 -> incl S0 (Sp ++ T) -> card S0 <= B ->
  (holes Sp S0 = [] \/ card S0 = B) ->
  u <= card T -> card (T ++ concat us) <= B ->
  (future_cost F B false T [] S0 us
   <= phi F (next_use us) T Sp S0 + qn (card (diff (concat us) (Sp ++ T))) * K)%Q.
Proof.
  destruct HK as (H0 & H1 & H2 & _).
  induction us as [|U us IH]; intros T Sp S0 Hus HT HTS HSSp HS Hfull Hu HTB.
  - unfold future_cost. cbn [rlt_from]. rewrite Exp_ret. change (qn (cost S0 [] [])) with 0%Q.
    pose proof (phi_nonneg F (next_use []) T Sp S0).
    pose proof (qn_nonneg (card (diff (concat []) (Sp ++ T)))). nra.
  - cbn [concat] in *.
    assert (HTU : card (T ++ U) <= B).
    { etransitivity; [|exact HTB]. apply card_incl. intros x. rewrite !in_app_iff. tauto. }
    assert (HUc : closed F U) by (apply Hus; now left).
    assert (Hus2 : forall V, In V (U :: us) -> closed F V /\ card V <= B).
    { intros V HV. split; auto. etransitivity; [|exact HTB]. apply card_incl. intros x Hx.
      rewrite !in_app_iff. destruct HV as [->|HV]; auto. right. right. apply in_concat. eauto. }
    assert (Hus' : forall V, In V us -> closed F V) by (intros V HV; apply Hus; now right).
    rewrite future_cost_cons by auto.
    assert (Hnm : next_marks B T U = T ++ U).
    { unfold next_marks. apply Nat.leb_le in HTU. now rewrite HTU. }
    rewrite Hnm. pose proof (proj2 (Nat.leb_le _ _) HTU) as Hleb. rewrite Hleb.
    set (A := union S0 U).
    assert (HTc : closed F (T ++ U)).
    { intros t p Ht Hp. apply in_app_iff in Ht. apply in_app_iff. destruct Ht; eauto. }
    assert (HTA : incl (T ++ U) A).
    { intros x Hx. apply In_union. apply in_app_iff in Hx. destruct Hx; auto. }
    assert (HATp : incl A (Sp ++ T ++ U)).
    { intros x Hx. rewrite !in_app_iff. apply In_union in Hx as [Hx|Hx]; auto.
      apply HSSp, in_app_iff in Hx. tauto. }
    rewrite (random_evict_same F B (T ++ U) Sp (card A) A HATp).
    pose proof (step_any T Sp S0 U us Hus' HT HUc HTS HSSp HS Hfull Hu HTU) as Hstep.
    cbn zeta in Hstep. fold A in Hstep.
    set (c := card (diff U (Sp ++ T))) in *.
    set (c' := card (diff (concat us) (Sp ++ T ++ U))).
    assert (Hc : card (diff (U ++ concat us) (Sp ++ T)) = c + c').
    { unfold c, c'. rewrite <- card_app_disjoint.
      - apply card_ext. intros x. rewrite in_app_iff, !In_diff, !in_app_iff.
        destruct (In_dec x U); tauto.
      - intros x. rewrite !In_diff, !in_app_iff. tauto. }
    rewrite Hc, qn_plus.
    assert (Hall : (Exp (random_evict F B (T ++ U) Sp (card A) A)
                        (fun S1 => future_cost F B false (T ++ U) [] S1 us)
                    <= Exp (random_evict F B (T ++ U) Sp (card A) A)
                           (phi F (next_use us) (T ++ U) Sp) + qn c' * K)%Q).
    { rewrite <- (Exp_const (random_evict F B (T ++ U) Sp (card A) A) (qn c' * K)%Q)
        by (apply random_evict_proper; auto).
      rewrite <- Exp_plus. apply Exp_le; [apply random_evict_proper; auto|].
      intros S1 HS1.
      destruct (random_evict_support F B (T ++ U) Sp (card A) A S1 HTc HTA HTU ltac:(lia) HS1)
        as (G1 & G2 & G3 & _).
      apply IH; auto.
      - intros x Hx. now apply HATp, G1.
      - lia.
      - destruct (le_lt_dec B (card A)) as [Hle|Hlt]; [right; lia|]. left.
        destruct Hfull as [Hh|Hb].
        + apply card_zero, Nat.le_0_r. rewrite <- card_nil, <- Hh. apply card_incl.
          intros x Hx. apply In_holes in Hx as (Hx & Hn). apply In_holes. split; auto.
          intros HxS. apply Hn. apply (incl_card_eq A S1 G1 ltac:(lia)). apply In_union. auto.
        + exfalso. assert (card S0 <= card A); [|lia]. apply card_incl.
          intros x Hx. apply In_union. auto.
      - etransitivity; [exact Hu|]. apply card_incl. intros x Hx. apply in_app_iff. auto.
      - now rewrite <- app_assoc. }
    lra.
Qed.

(** The cache after the first step. *)
Lemma first_step U us Sp :
  (forall V, In V (U :: us) -> closed F V) -> card Sp <= B -> u <= card U ->
  card (concat (U :: us)) <= B ->
  let A := union Sp U in
  (future_cost F B false [] [] Sp (U :: us) <=
   qn (card (diff U Sp)) +
   (Exp (random_evict F B U Sp (card A) A) (phi F (next_use us) U Sp)
    + qn (card (diff (concat us) (Sp ++ U))) * K))%Q /\
  (forall S1, in_support S1 (random_evict F B U Sp (card A) A) ->
     (phi F (next_use us) U Sp S1 <= qn (card A - B) * H)%Q).
Proof.
  intros Hus HSp Hu HB. cbn zeta. cbn [concat] in HB. set (A := union Sp U).
  assert (HUB : card U <= B).
  { etransitivity; [|exact HB]. apply card_incl. intros x Hx. apply in_app_iff. auto. }
  assert (HU : closed F U) by (apply Hus; now left).
  assert (Hus2 : forall V, In V (U :: us) -> closed F V /\ card V <= B).
  { intros V HV. split; auto. etransitivity; [|exact HB]. apply card_incl. intros x Hx.
    rewrite in_app_iff. destruct HV as [->|HV]; auto. right. apply in_concat. eauto. }
  assert (HUA : incl U A) by (intros x Hx; apply In_union; auto).
  assert (HASp : incl A (Sp ++ U)).
  { intros x Hx. apply In_union in Hx. apply in_app_iff. tauto. }
  assert (Hsup : forall S1, in_support S1 (random_evict F B U Sp (card A) A) ->
            incl S1 A /\ incl U S1 /\ card S1 = Nat.min (card A) B).
  { intros S1 HS1.
    destruct (random_evict_support F B U Sp (card A) A S1 HU HUA HUB ltac:(lia) HS1)
      as (G1 & G2 & G3 & _). auto. }
  split.
  - rewrite future_cost_cons; auto; [|intros t p []|intros x []].
    assert (Hnm : next_marks B [] U = U).
    { unfold next_marks. simpl. destruct (card U <=? B); reflexivity. }
    rewrite Hnm. cbn [app]. pose proof (proj2 (Nat.leb_le _ _) HUB) as Hleb. rewrite Hleb.
    fold A. rewrite (random_evict_same F B U Sp (card A) A HASp).
    apply Qplus_le_compat; [lra|].
    rewrite <- (Exp_const (random_evict F B U Sp (card A) A)
                  (qn (card (diff (concat us) (Sp ++ U))) * K)%Q)
      by (apply random_evict_proper; auto).
    rewrite <- Exp_plus. apply Exp_le; [apply random_evict_proper; auto|].
    intros S1 HS1. destruct (Hsup S1 HS1) as (G1 & G2 & G3).
    apply phase_rest; auto.
    + intros V HV. apply Hus. now right.
    + intros x Hx. now apply HASp, G1.
    + lia.
    + destruct (le_lt_dec B (card A)) as [Hle|Hlt]; [right; lia|]. left.
      apply card_zero, Nat.le_0_r. rewrite <- card_nil. apply card_incl.
      intros x Hx. apply In_holes in Hx as (Hx & Hn). exfalso. apply Hn.
      apply (incl_card_eq A S1 G1 ltac:(lia)). apply In_union. auto.
  - intros S1 HS1. destruct (Hsup S1 HS1) as (G1 & G2 & G3).
    assert (Hh : length (holes Sp S1) <= card A - B).
    { rewrite <- card_NoDup by apply holes_NoDup.
      assert (E : card (S1 ++ holes Sp S1) = card S1 + card (holes Sp S1)).
      { apply card_app_disjoint. intros x Hx. rewrite In_holes. tauto. }
      assert (card (S1 ++ holes Sp S1) <= card A).
      { apply card_incl. intros x Hx. apply in_app_iff in Hx as [Hx|Hx]; auto.
        apply In_holes in Hx. apply In_union. tauto. }
      lia. }
    apply qn_le in Hh. destruct HK as (H0 & _).
    apply Qle_trans with (qn (length (holes Sp S1)) * H)%Q; [|nra].
    rewrite <- sumQ_const. unfold phi. apply sumQ_le. intros x _.
    apply harmonic_mono. unfold above, count.
    assert (Hle : card (filter (fun z => next_use us x <? next_use us z) (candidates F U S1))
                  <= card (diff S1 U)).
    { apply card_incl. intros z Hz. apply filter_In in Hz as (Hz & _).
      apply In_candidates in Hz. apply In_diff. tauto. }
    assert (card S1 = card U + card (diff S1 U)); [|lia].
    rewrite <- card_app. apply card_ext. intros z. rewrite in_app_iff. intuition.
Qed.

(** ** Lemma R1 *)
Theorem phase_lemma : forall Sp us,
  (forall U, In U us -> closed F U /\ u <= card U) ->
  card Sp <= B -> card (concat us) <= B ->
  (future_cost F B false [] [] Sp us <= qn (card (diff (concat us) Sp)) * (1 + H))%Q.
Proof.
  intros Sp us Hus HSp HB. destruct HK as (H0 & H1 & H2 & H3).
  destruct us as [|U us].
  - unfold future_cost. cbn [rlt_from]. rewrite Exp_ret. change (qn (cost Sp [] [])) with 0%Q.
    pose proof (qn_nonneg (card (diff (concat []) Sp))). nra.
  - assert (Hc : forall V, In V (U :: us) -> closed F V) by (intros V HV; apply (Hus V HV)).
    destruct (first_step U us Sp Hc HSp) as (G1 & G2); auto.
    { apply (Hus U). now left. }
    set (A := union Sp U) in *.
    set (c1 := card (diff U Sp)) in *. set (c2 := card (diff (concat us) (Sp ++ U))) in *.
    assert (HM : card (diff (concat (U :: us)) Sp) = c1 + c2).
    { unfold c1, c2. cbn [concat]. rewrite <- card_app_disjoint.
      - apply card_ext. intros x. rewrite in_app_iff, !In_diff, !in_app_iff.
        destruct (In_dec x U); tauto.
      - intros x. rewrite !In_diff, !in_app_iff. tauto. }
    rewrite HM, qn_plus.
    assert (HUB : card U <= B).
    { etransitivity; [|exact HB]. cbn [concat]. apply card_incl. intros x Hx.
      apply in_app_iff. auto. }
    assert (HcA : card A = card Sp + c1) by (unfold A; rewrite card_union, card_app; lia).
    assert (Hphi : (Exp (random_evict F B U Sp (card A) A) (phi F (next_use us) U Sp)
                    <= qn c1 * H)%Q).
    { assert (Hpr : proper (random_evict F B U Sp (card A) A)).
      { apply random_evict_proper; auto; [apply Hc; now left|].
        intros x Hx. apply In_union. auto. }
      rewrite <- (Exp_const (random_evict F B U Sp (card A) A) (qn c1 * H)%Q) by auto.
      apply Exp_le; auto. intros S1 HS1. specialize (G2 S1 HS1).
      assert (Hq : (qn (card A - B) <= qn c1)%Q) by (apply qn_le; lia). nra. }
    assert (Hc2 : (qn c2 * K <= qn c2 * (1 + H))%Q) by (pose proof (qn_nonneg c2); nra).
    assert (E : ((qn c1 + qn c2) * (1 + H) == qn c1 + qn c1 * H + qn c2 * (1 + H))%Q) by ring.
    lra.
Qed.

Theorem phase_lemma_one_eviction : forall Sp U us,
  (forall V, In V (U :: us) -> closed F V /\ u <= card V) ->
  card Sp <= B -> card (concat (U :: us)) <= B -> card (Sp ++ U) <= B + 1 ->
  (future_cost F B false [] [] Sp (U :: us) <=
   qn (card (diff (concat (U :: us)) Sp)) * K)%Q.
Proof.
  intros Sp U us Hus HSp HB Hone. destruct HK as (H0 & H1 & H2 & H3).
  assert (Hc : forall V, In V (U :: us) -> closed F V) by (intros V HV; apply (Hus V HV)).
  destruct (Hus U) as (HU & HUu); [now left|].
  destruct (first_step U us Sp Hc HSp HUu HB) as (G1 & _).
  set (A := union Sp U) in *.
  set (c1 := card (diff U Sp)) in *. set (c2 := card (diff (concat us) (Sp ++ U))) in *.
  assert (HM : card (diff (concat (U :: us)) Sp) = c1 + c2).
  { unfold c1, c2. cbn [concat]. rewrite <- card_app_disjoint.
    - apply card_ext. intros x. rewrite in_app_iff, !In_diff, !in_app_iff.
      destruct (In_dec x U); tauto.
    - intros x. rewrite !In_diff, !in_app_iff. tauto. }
  rewrite HM, qn_plus.
  assert (HUB : card U <= B).
  { etransitivity; [|exact HB]. cbn [concat]. apply card_incl. intros x Hx.
    apply in_app_iff. auto. }
  assert (HcA : card A = card Sp + c1) by (unfold A; rewrite card_union, card_app; lia).
  assert (HcA1 : card A <= B + 1) by (unfold A; now rewrite card_union).
  assert (HphiA : (phi F (next_use us) U Sp A == 0)%Q).
  { unfold phi. replace (holes Sp A) with (@nil nat); [reflexivity|].
    symmetry. apply card_zero, Nat.le_0_r. rewrite <- card_nil. apply card_incl.
    intros x Hx. apply In_holes in Hx as (Hx & Hn). exfalso. apply Hn, In_union. auto. }
  assert (HUA : incl U A) by (intros x Hx; apply In_union; auto).
  assert (HASp : incl A (Sp ++ U)).
  { intros x Hx. apply In_union in Hx. apply in_app_iff. tauto. }
  assert (Hphi : (qn c1 + Exp (random_evict F B U Sp (card A) A) (phi F (next_use us) U Sp)
                  <= qn c1 * K)%Q).
  { destruct (le_lt_dec (card A) B) as [Hle|Hgt].
    - assert (Hev : random_evict F B U Sp (card A) A = ret A).
      { destruct (card A) as [|n] eqn:En; [reflexivity|]. cbn [random_evict].
        replace (card A <=? B) with true; [reflexivity|]. symmetry. apply Nat.leb_le. lia. }
      rewrite Hev, Exp_ret, HphiA. pose proof (qn_nonneg c1). nra.
    - set (N := card (candidates F U A)).
      assert (HN1 : 1 <= N).
      { pose proof (pool_nonempty F B U Sp A HU HUA ltac:(lia)) as Hne.
        rewrite (pool_all F U Sp A HASp) in Hne. unfold N.
        destruct (candidates F U A) as [|z l]; [easy|].
        apply card_pos with (x := z). now left. }
      assert (HNk : N <= B - u + 1).
      { assert (N <= card (diff A U)).
        { apply card_incl. intros z Hz. apply In_candidates in Hz. apply In_diff. tauto. }
        assert (card A = card U + card (diff A U)); [|lia].
        rewrite <- card_app. apply card_ext. intros z. rewrite in_app_iff. intuition. }
      assert (Hmono : forall y p, parent F y = Some p -> next_use us p <= next_use us y).
      { intros y p Hp. unfold next_use. apply age_monotone with (F := F); auto.
        intros V HV. apply Hc. now right. }
      pose proof (phi_random_evict F B (next_use us) Hmono U Sp N (card A) HU HUB A
                    HUA HASp ltac:(lia) HN1 (le_n _)) as Hev.
      replace (card A - B) with 1 in Hev by lia. change (qn 1) with 1%Q in Hev.
      assert (HNK : (harmonic N <= K)%Q) by (apply harmonic_mono; auto).
      assert (Hc1 : (1 <= qn c1)%Q) by (apply (qn_le 1); lia). nra. }
  assert (E : ((qn c1 + qn c2) * K == qn c1 * K + qn c2 * K)%Q) by ring. lra.
Qed.
End R1.
