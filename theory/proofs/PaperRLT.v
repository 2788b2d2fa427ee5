(** * The paper's RLT is Theta(log(B - L - beta))

    Between H_k and 2 (1 + H_{k-1}), k = B - L - beta + 2: the upper bound is
    RLTLog.v through Lemma 3, the lower bound is Yao's of Theorem3.v. *)

From KVBounds Require Export Lemma3 RLTLog Theorem3.

Local Open Scope nat_scope.

(** ** RLT on random leaves of the broom *)

Section Lower.
Variables B L beta : nat.
Hypothesis L1 : 1 <= L.
Hypothesis b1 : 1 <= beta.
Hypothesis room : L + beta - 1 <= B.

Let k := B + 2 - L - beta.
Let fp (x : nat) : list nat := footprint (broom L) (broom_batch L beta x).
Let lv := leaves B L beta.

Lemma fp_ok xs : incl xs lv ->
  forall V, In V (map fp xs) -> closed (broom L) V /\ card V <= B.
Proof.
  intros H V HV. apply in_map_iff in HV as (x & <- & Hx). apply H in Hx.
  apply In_leaves in Hx; auto. apply fp_admissible; auto. apply Hx.
Qed.

Lemma after_step T S0 U Tp1 :
  closed (broom L) T -> incl T S0 -> closed (broom L) U -> card U <= B ->
  forall S1, in_support S1 (random_evict (broom L) B (next_marks B T U) Tp1
                              (card (union S0 U)) (union S0 U)) ->
  incl (next_marks B T U) S1 /\ card S1 <= B.
Proof.
  intros HT HTS HU HUB S1 HS1.
  destruct (random_evict_support (broom L) B (next_marks B T U) Tp1 (card (union S0 U)) (union S0 U) S1
              (next_marks_closed (broom L) B T U HT HU)
              (next_marks_cached B T S0 U HTS) (next_marks_card B T U HUB)
              ltac:(lia) HS1) as (_ & G2 & G3 & _).
  split; auto. lia.
Qed.

Lemma rlt_misses n : forall T Tp S0,
  closed (broom L) T -> incl T S0 -> card S0 <= B ->
  (qn n <= qn (S k) * Exp (draws lv n)
     (fun xs => future_cost (broom L) B true T Tp S0 (map fp xs)))%Q.
Proof.
  assert (Hlv : lv <> []) by now apply leaves_nonempty.
  pose proof (leaves_length B L beta L1 b1 room) as Hll. fold lv k in Hll.
  induction n as [|n IH]; intros T Tp S0 HT HTS HS0.
  - cbn [draws]. rewrite Exp_ret. unfold future_cost. cbn [map rlt_from]. rewrite Exp_ret.
    change (qn (cost S0 [] [])) with 0%Q. change (qn 0) with 0%Q. lra.
  - rewrite <- Hll, draws_cons by auto. cbn [map].
    assert (Hstep : (sumQ (fun x => qn (card (diff (fp x) S0)) + qn n * / qn (S k)) lv
       <= sumQ (fun x => Exp (draws lv n)
            (fun xs => future_cost (broom L) B true T Tp S0 (fp x :: map fp xs))) lv)%Q).
    { apply sumQ_le. intros x Hx.
      assert (Hxl : In x lv) by auto. apply In_leaves in Hx; auto.
      destruct (fp_admissible B L beta L1 b1 room x (proj1 Hx)) as (HU & HUB).
      change (footprint (broom L) (broom_batch L beta x)) with (fp x) in HU, HUB.
      set (T1 := next_marks B T (fp x)).
      set (Tp1 := if card (T ++ fp x) <=? B then Tp else T).
      set (ev := random_evict (broom L) B T1 Tp1 (card (union S0 (fp x))) (union S0 (fp x))).
      assert (Hpr : proper ev).
      { apply random_evict_proper.
        - now apply next_marks_closed.
        - now apply next_marks_cached.
        - now apply next_marks_card. }
      assert (E : (Exp (draws lv n)
            (fun xs => future_cost (broom L) B true T Tp S0 (fp x :: map fp xs)) ==
          qn (card (diff (fp x) S0)) + Exp ev (fun S1 => Exp (draws lv n)
            (fun xs => future_cost (broom L) B true T1 Tp1 S1 (map fp xs))))%Q).
      { rewrite <- Exp_swap.
        rewrite <- (Exp_const (draws lv n) (qn (card (diff (fp x) S0))))
          by now apply draws_proper.
        rewrite <- Exp_plus. apply Exp_ext. intros xs Hxs.
        apply draws_support in Hxs as (_ & Hxs).
        rewrite (future_cost_cons (broom L) B true T Tp S0 (fp x) (map fp xs)); auto.
        - reflexivity.
        - intros V [<-|HV]; auto. now apply (fp_ok xs). }
      rewrite E. apply Qplus_le_compat; [lra|].
      rewrite <- (Exp_const ev (qn n * / qn (S k))%Q Hpr). apply Exp_le; auto.
      intros S1 HS1. destruct (after_step T S0 (fp x) Tp1 HT HTS HU HUB S1 HS1) as (G2 & G3).
      specialize (IH T1 Tp1 S1 (next_marks_closed _ B T (fp x) HT HU) G2 G3).
      pose proof (qn_pos k) as Hk. apply Qmult_lt_0_le_reg_r with (qn (S k)); auto.
      rewrite <- Qmult_assoc, (Qmult_comm (/ qn (S k))), Qmult_inv_r by lra. lra. }
    rewrite sumQ_plus, sumQ_const, Hll in Hstep.
    assert (H1 : (1 <= sumQ (fun x => qn (card (diff (fp x) S0))) lv)%Q)
      by exact (misses_one B L beta L1 b1 room S0 HS0).
    pose proof (qn_pos k) as Hk.
    assert (E1 : (qn (S k) * (qn n * / qn (S k)) == qn n)%Q) by (field; lra).
    rewrite E1 in Hstep. rewrite (qn_S n). lra.
Qed.

(** Also after any other requests. *)
Lemma rlt_misses_after pre n : incl pre lv -> forall T Tp S0,
  closed (broom L) T -> incl T S0 -> card S0 <= B ->
  (qn n <= qn (S k) * Exp (draws lv n)
     (fun xs => future_cost (broom L) B true T Tp S0 (map fp pre ++ map fp xs)))%Q.
Proof.
  assert (Hlv : lv <> []) by now apply leaves_nonempty.
  intros Hpre. induction pre as [|x pre IH]; intros T Tp S0 HT HTS HS0; [now apply rlt_misses|].
  cbn [map app]. assert (Hx : In x lv) by (apply Hpre; now left).
  assert (Hpre' : incl pre lv) by (intros y Hy; apply Hpre; now right).
  apply In_leaves in Hx; auto.
  destruct (fp_admissible B L beta L1 b1 room x (proj1 Hx)) as (HU & HUB).
  change (footprint (broom L) (broom_batch L beta x)) with (fp x) in HU, HUB.
  set (T1 := next_marks B T (fp x)).
  set (Tp1 := if card (T ++ fp x) <=? B then Tp else T).
  set (ev := random_evict (broom L) B T1 Tp1 (card (union S0 (fp x))) (union S0 (fp x))).
  assert (Hpr : proper ev).
  { apply random_evict_proper.
    - now apply next_marks_closed.
    - now apply next_marks_cached.
    - now apply next_marks_card. }
  assert (E : (Exp (draws lv n) (fun xs => future_cost (broom L) B true T Tp S0
                 (fp x :: map fp pre ++ map fp xs)) ==
      qn (card (diff (fp x) S0)) + Exp ev (fun S1 => Exp (draws lv n)
        (fun xs => future_cost (broom L) B true T1 Tp1 S1 (map fp pre ++ map fp xs))))%Q).
  { rewrite <- Exp_swap.
    rewrite <- (Exp_const (draws lv n) (qn (card (diff (fp x) S0))))
      by now apply draws_proper.
    rewrite <- Exp_plus. apply Exp_ext. intros xs Hxs.
    apply draws_support in Hxs as (_ & Hxs).
    rewrite (future_cost_cons (broom L) B true T Tp S0 (fp x) (map fp pre ++ map fp xs)); auto.
    - reflexivity.
    - intros V [<-|HV]; auto. apply in_app_iff in HV as [HV|HV].
      + now apply (fp_ok pre).
      + now apply (fp_ok xs). }
  rewrite E. pose proof (qn_pos k) as Hk.
  assert (Hev : (qn n * / qn (S k) <= Exp ev (fun S1 => Exp (draws lv n)
     (fun xs => future_cost (broom L) B true T1 Tp1 S1 (map fp pre ++ map fp xs))))%Q).
  { rewrite <- (Exp_const ev (qn n * / qn (S k))%Q Hpr). apply Exp_le; auto.
    intros S1 HS1. destruct (after_step T S0 (fp x) Tp1 HT HTS HU HUB S1 HS1) as (G2 & G3).
    specialize (IH Hpre' T1 Tp1 S1 (next_marks_closed _ B T (fp x) HT HU) G2 G3).
    apply Qmult_lt_0_le_reg_r with (qn (S k)); auto.
    rewrite <- Qmult_assoc, (Qmult_comm (/ qn (S k))), Qmult_inv_r by lra. lra. }
  pose proof (qn_nonneg (card (diff (fp x) S0))).
  assert (E1 : (qn n == qn (S k) * (qn n * / qn (S k)))%Q) by (field; lra).
  rewrite E1. apply Qmult_le_l; lra.
Qed.
End Lower.

(** ** The theorem

    [ord]: any order in which the tokens of a footprint are processed. *)
Theorem paper_rlt_log : forall B L beta ord,
  (forall U, NoDup (ord U)) -> (forall U x, In x (ord U) <-> In x U) ->
  1 <= L -> 1 <= beta -> L + beta - 1 <= B ->
  let k := B + 2 - L - beta in
  (* at most 2 (1 + H_(k-1)) OPT + B on every forest *)
  (forall F Qs os,
     (forall Q, In Q Qs -> batch_of F L beta Q /\ card (footprint F Q) <= B) ->
     schedule B [] (map (footprint F) Qs) os ->
     (expected_cost (paper F B ord (map (footprint F) Qs)) (map (footprint F) Qs)
      <= 2 * (1 + harmonic (k - 1)) * qn (cost [] (map (footprint F) Qs) os) + qn B)%Q) /\
  (* and no ratio below H_k on the broom, with any additive constant *)
  (forall c c0,
     (forall Qs os,
        (forall Q, In Q Qs -> batch_of (broom L) L beta Q /\
                              card (footprint (broom L) Q) <= B) ->
        schedule B [] (map (footprint (broom L)) Qs) os -> all_closed (broom L) os ->
        (expected_cost (paper (broom L) B ord (map (footprint (broom L)) Qs))
                       (map (footprint (broom L)) Qs)
         <= c * qn (cost [] (map (footprint (broom L)) Qs) os) + c0)%Q) ->
     (harmonic k <= c)%Q).
Proof.
  intros B L beta ord HN HI HL Hb Hroom k.
  assert (Hadm : forall F Qs,
     (forall Q, In Q Qs -> batch_of F L beta Q /\ card (footprint F Q) <= B) ->
     admissible F B (L + beta - 1) (map (footprint F) Qs)).
  { intros F Qs HQ U HU. apply in_map_iff in HU as (Q & <- & HQin).
    destruct (HQ Q HQin) as (H1 & H2). split; [apply footprint_closed|].
    split; auto. now apply footprint_ge. }
  split.
  - intros F Qs os HQ Hos. rewrite (lemma_3_cost F B ord HN HI (L + beta - 1)) by auto.
    replace (k - 1) with (B - (L + beta - 1)) by (unfold k; lia).
    apply rlt_log; auto.
  - intros c c0 Hyp.
    apply (yao_bound B L beta (fun us => future_cost (broom L) B true [] [] [] us) c c0); auto.
    + intros n. apply rlt_misses_after; auto.
      * intros x Hx. apply In_leaves; auto. apply in_seq in Hx. lia.
      * intros t p [].
      * apply incl_refl.
      * rewrite card_nil. lia.
    + intros Qs os HQ Hos Hcl. specialize (Hyp Qs os HQ Hos Hcl).
      rewrite (lemma_3_cost (broom L) B ord HN HI (L + beta - 1)) in Hyp by auto. exact Hyp.
Qed.
