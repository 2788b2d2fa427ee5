(** * One step of RLT and the potential

    The first step of a phase, and every other step. *)

From KVBounds Require Export Potential.

Local Open Scope nat_scope.

Section Phase.
Variable F : forest.
Variables B u : nat.

Let H : Q := harmonic (B - u).

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
   <= phi F (next_use (U :: us)) T Tp S0 + qn (card (diff U (Tp ++ T))) * H)%Q.
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
    rewrite E1 in Hev. lra.
Qed.
End Phase.
