(** * rlt-step is not O(log k) with batches (Theorem R4)

    k = 2h.  J is a chain of h-1 tokens, A and C are 2h single tokens each,
    B = 4h-1; every footprint has at least k tokens, so k = B - u + 1.  A
    cycle asks for R = J u A u (part of C), which fills the cache, then for
    C, A, C, A, ...  Each of these steps begins a phase.  J has one leaf among
    many, so a uniform choice among leaves takes long to get rid of J; as long
    as j tokens of J are cached, each step costs j + 1.  The optimum drops J
    at once and pays 1 a step. *)

From KVBounds Require Export RLTPhase.

Local Open Scope nat_scope.

Definition slack_parent (h t : nat) : option nat :=
  if (1 <=? t) && (t <? h - 1) then Some (t - 1) else None.

Lemma slack_lt h t p : slack_parent h t = Some p -> p < t.
Proof.
  unfold slack_parent. destruct (1 <=? t) eqn:E; [|easy]. apply Nat.leb_le in E.
  destruct (t <? h - 1); [|easy]. intros H. injection H as <-. lia.
Qed.

Definition slack_forest (h : nat) : forest := Forest (slack_parent h) (slack_lt h).

Section Slack.
Variable h : nat.
Hypothesis h1 : 1 <= h.

Let l := 2 * h.
Let g := h - 1.
Let B := 4 * h - 1.
Let F := slack_forest h.

Definition junk : list nat := seq 0 (h - 1).
(** [side false] is A, [side true] is C. *)
Definition side (b : bool) : list nat := seq (if b then h - 1 + 2 * h else h - 1) (2 * h).
Definition full : list nat := seq 0 (4 * h - 1).
Let univ : list nat := seq 0 (g + 2 * l).

Lemma In_junk x : In x junk <-> x < g.
Proof. unfold junk. rewrite in_seq. unfold g. lia. Qed.

Lemma In_side b x :
  In x (side b) <-> if b then g + l <= x < g + 2 * l else g <= x < g + l.
Proof. unfold side. destruct b; rewrite in_seq; unfold g, l; lia. Qed.

Lemma side_card b : card (side b) = l.
Proof. apply card_seq. Qed.

Lemma parent_some t p : parent F t = Some p -> t < g /\ t = S p.
Proof.
  simpl. unfold slack_parent. destruct (1 <=? t) eqn:E; [|easy]. apply Nat.leb_le in E.
  destruct (t <? h - 1) eqn:E2; [|easy]. apply Nat.ltb_lt in E2.
  intros H. injection H as <-. unfold g. lia.
Qed.

Lemma side_closed b : closed F (side b).
Proof.
  intros t p Ht Hp. apply parent_some in Hp. apply In_side in Ht. destruct b; lia.
Qed.

Lemma full_closed : closed F full.
Proof.
  intros t p Ht Hp. apply parent_some in Hp. unfold full in *. rewrite in_seq in *. lia.
Qed.

(** In a closed cache the tokens of J are a prefix of the chain. *)
Lemma junk_prefix A w x : closed F A -> In w A -> w < g -> x <= w -> In x A.
Proof.
  intros HA. revert x. induction w as [|w IH]; intros x Hw Hg Hx.
  - replace x with 0 by lia. auto.
  - destruct (Nat.eq_dec x (S w)) as [->|]; auto. apply (IH x); try lia.
    apply (HA (S w)); auto. simpl. unfold slack_parent.
    replace (1 <=? S w) with true by (symmetry; apply Nat.leb_le; lia).
    replace (S w <? h - 1) with true by (symmetry; apply Nat.ltb_lt; unfold g in *; lia).
    simpl. f_equal. lia.
Qed.

Definition jj (A : list nat) : nat := card (inter A junk).

(** ** The evictions of a step hit J rarely *)

Lemma evict_junk b n : forall A m,
  closed F A -> incl (side (negb b)) A -> incl A univ ->
  card A = B + m -> m <= n -> h + m <= card (inter A (side b)) ->
  (qn (jj A) - qn m * / qn (S h) <=
   Exp (random_evict F B (side (negb b)) [] n A) (fun S1 => qn (jj S1)))%Q.
Proof.
  set (X := side (negb b)). set (Y := side b).
  induction n as [|n IH]; intros A m HA HXA HAu HcA Hmn HmY.
  { replace m with 0 by lia. cbn [random_evict]. rewrite Exp_ret. change (qn 0) with 0%Q. lra. }
  cbn [random_evict]. destruct m as [|m].
  { replace (card A <=? B) with true by (symmetry; apply Nat.leb_le; lia).
    rewrite Exp_ret. change (qn 0) with 0%Q. lra. }
  replace (card A <=? B) with false by (symmetry; apply Nat.leb_gt; lia).
  rewrite Exp_bind, Exp_uniform.
  set (P := pool F X [] A).
  assert (HP : forall v, In v P -> In v (candidates F X A))
    by (intros v; apply pool_candidates).
  assert (HNP : NoDup P).
  { unfold P, pool. destruct (diff (nodup Nat.eq_dec (candidates F X A)) []) eqn:E.
    - apply NoDup_nodup.
    - rewrite <- E. apply NoDup_filter, NoDup_nodup. }
  assert (Hall : forall v, In v (candidates F X A) -> In v P).
  { intros v Hv. unfold P.
    assert (E : pool F X [] A = nodup Nat.eq_dec (candidates F X A)).
    { unfold pool.
      assert (G : forall l0 : list nat, diff l0 [] = l0) by (induction l0; simpl; congruence).
      rewrite G. destruct (nodup Nat.eq_dec (candidates F X A)); reflexivity. }
    rewrite E. now apply nodup_In. }
  (* all cached tokens of Y are leaves *)
  assert (HPlen : S h <= length P).
  { rewrite <- (card_NoDup P HNP). apply Nat.le_trans with (card (inter A Y)); [lia|].
    apply card_incl. intros y Hy. apply In_inter in Hy as (HyA & HyY). apply Hall.
    apply In_candidates. split; auto. unfold X, Y in *. split.
    - rewrite In_side in *. destruct b; simpl; lia.
    - intros c _ Hp. apply parent_some in Hp. rewrite In_side in HyY. destruct b; lia. }
  (* at most one leaf in J *)
  assert (HPJ : card (filter (fun v => mem v junk) P) <= 1).
  { destruct (filter (fun v => mem v junk) P) as [|v rest] eqn:Ef; [rewrite card_nil; lia|].
    rewrite <- Ef. transitivity (card [v]); [|rewrite card_single; lia].
    assert (Hv : In v (filter (fun v => mem v junk) P)) by (rewrite Ef; now left).
    apply card_incl. intros w Hw. left.
    apply filter_In in Hv as (Hv & HvJ). apply filter_In in Hw as (Hw & HwJ).
    apply mem_In, In_junk in HvJ, HwJ.
    apply HP, In_candidates in Hv as (HvA & _ & Hvl).
    apply HP, In_candidates in Hw as (HwA & _ & Hwl).
    assert (Hpar : forall t, S t < g -> parent F (S t) = Some t).
    { intros t Ht. simpl. unfold slack_parent.
      replace (S t <? h - 1) with true by (symmetry; apply Nat.ltb_lt; unfold g in *; lia).
      simpl. f_equal. lia. }
    destruct (lt_eq_lt_dec v w) as [[Hlt|Heq]|Hlt]; auto; exfalso.
    - apply (Hvl (S v)); [|apply Hpar; lia]. apply (junk_prefix A w (S v)); auto.
    - apply (Hwl (S w)); [|apply Hpar; lia]. apply (junk_prefix A v (S w)); auto. }
  set (e := / qn (S h)).
  assert (Hsum : (sumQ (fun v => (qn (jj A) - qn m * e) - (if mem v junk then 1 else 0)) P <=
     sumQ (fun v => Exp (random_evict F B X [] n (remove1 v A)) (fun S1 => qn (jj S1))) P)%Q).
  { apply sumQ_le. intros v Hv. pose proof (HP v Hv) as Hc.
    pose proof (proj1 (In_candidates F X A v) Hc) as (HvA & HvX & _).
    pose proof (card_remove1 v A HvA) as Hcr.
    assert (G : (qn (jj (remove1 v A)) - qn m * e <=
       Exp (random_evict F B X [] n (remove1 v A)) (fun S1 => qn (jj S1)))%Q).
    { apply IH; try lia.
      - now apply remove1_closed with (U := X).
      - intros x Hx. apply In_remove1. split; auto. intros ->. auto.
      - intros x Hx. apply In_remove1 in Hx. apply HAu. tauto.
      - assert (card (inter A Y) <= S (card (inter (remove1 v A) Y))); [|lia].
        transitivity (card (v :: inter (remove1 v A) Y)).
        + apply card_incl. intros x Hx. apply In_inter in Hx as (H1 & H2).
          destruct (Nat.eq_dec x v) as [->|]; [now left|]. right.
          apply In_inter. rewrite In_remove1. auto.
        + change (v :: inter (remove1 v A) Y) with ([v] ++ inter (remove1 v A) Y).
          etransitivity; [apply card_app_le|]. rewrite card_single. lia. }
    assert (Hj : (qn (jj A) <= qn (jj (remove1 v A)) + (if mem v junk then 1 else 0))%Q).
    { destruct (mem v junk) eqn:Ev.
      - change 1%Q with (qn 1). rewrite <- qn_plus. apply qn_le. unfold jj.
        transitivity (card (v :: inter (remove1 v A) junk)).
        + apply card_incl. intros x Hx. apply In_inter in Hx as (H1 & H2).
          destruct (Nat.eq_dec x v) as [->|]; [now left|]. right.
          apply In_inter. rewrite In_remove1. auto.
        + change (v :: inter (remove1 v A) junk) with ([v] ++ inter (remove1 v A) junk).
          etransitivity; [apply card_app_le|]. rewrite card_single. lia.
      - apply mem_not_In in Ev. rewrite Qplus_0_r. apply qn_le, card_incl.
        intros x Hx. apply In_inter in Hx as (H1 & H2). apply In_inter.
        rewrite In_remove1. repeat split; auto. intros ->. auto. }
    lra. }
  assert (HJ : (sumQ (fun v => if mem v junk then 1 else 0) P <= 1)%Q).
  { rewrite (sumQ_filter_split (fun v => mem v junk) _ P).
    rewrite (sumQ_ext _ (fun _ => 1%Q) (filter (fun v => mem v junk) P)).
    2:{ intros v Hv. apply filter_In in Hv as (_ & Hv). now rewrite Hv. }
    rewrite (sumQ_ext _ (fun _ => 0%Q) (filter (fun v => negb (mem v junk)) P)).
    2:{ intros v Hv. apply filter_In in Hv as (_ & Hv). apply negb_true_iff in Hv.
        now rewrite Hv. }
    rewrite !sumQ_const.
    assert (Hq : (qn (length (filter (fun v => mem v junk) P)) <= 1)%Q).
    { apply (qn_le _ 1). rewrite <- card_NoDup by now apply NoDup_filter. exact HPJ. }
    lra. }
  assert (Hsplit : (sumQ (fun v => (qn (jj A) - qn m * e) - (if mem v junk then 1 else 0)) P ==
     qn (length P) * (qn (jj A) - qn m * e) - sumQ (fun v => if mem v junk then 1 else 0) P)%Q).
  { rewrite <- sumQ_const. clear. induction P as [|v P IH]; cbn [sumQ]; [ring|].
    rewrite IH. ring. }
  rewrite Hsplit in Hsum.
  set (s := sumQ (fun v => Exp (random_evict F B X [] n (remove1 v A))
                               (fun S1 => qn (jj S1))) P) in *.
  assert (Hp : (0 < qn (length P))%Q) by (destruct P; [simpl in HPlen; lia|apply qn_pos]).
  assert (Hsh : (0 < qn (S h))%Q) by apply qn_pos.
  assert (Hle : (qn (S h) <= qn (length P))%Q) by (apply qn_le; lia).
  assert (He : (1 <= qn (length P) * e)%Q).
  { unfold e. apply Qmult_lt_0_le_reg_r with (qn (S h)); auto.
    rewrite <- Qmult_assoc, (Qmult_comm (/ qn (S h))), Qmult_inv_r by lra. lra. }
  apply Qmult_lt_0_le_reg_r with (qn (length P)); auto.
  assert (E : (/ qn (length P) * s * qn (length P) == s)%Q) by (field; lra).
  rewrite E, (qn_S m). lra.
Qed.

(** ** Lower bound: alternating C and A *)

Fixpoint alt (b : bool) (n : nat) : list (list nat) :=
  match n with O => [] | S n' => side (negb b) :: alt (negb b) n' end.

Fixpoint geo (n : nat) : Q :=
  match n with O => 0 | S n' => 1 + qn h * / qn (S h) * geo n' end.

Lemma geo_nonneg n : (0 <= geo n)%Q.
Proof.
  induction n as [|n IH]; cbn [geo]; [lra|].
  assert (H1 : (0 <= qn h * / qn (S h))%Q).
  { pose proof (qn_nonneg h). pose proof (inv_qn_pos h). nra. }
  nra.
Qed.

Record ok (T S0 : list nat) : Prop := {
  ok_T : closed F T;
  ok_TS : incl T S0;
  ok_S : closed F S0;
  ok_univ : incl S0 univ;
  ok_card : card S0 <= B
}.

Definition steps_ok (us : list (list nat)) : Prop :=
  forall V, In V us -> closed F V /\ card V <= B /\ incl V univ.

Let V (T S0 : list nat) (us : list (list nat)) : Q := future_cost F B false T [] S0 us.

Lemma ok_step T S0 U S1 : ok T S0 -> closed F U -> card U <= B -> incl U univ ->
  in_support S1 (random_evict F B (next_marks B T U) [] (card (union S0 U)) (union S0 U)) ->
  ok (next_marks B T U) S1 /\ card S1 = Nat.min (card (union S0 U)) B.
Proof.
  intros [H1 H2 H3 H4 H5] HU HUB HUu HS1.
  destruct (random_evict_support F B (next_marks B T U) [] (card (union S0 U)) (union S0 U) S1
              (next_marks_closed F B T U H1 HU) (next_marks_cached B T S0 U H2)
              (next_marks_card B T U HUB) ltac:(lia) HS1) as (G1 & G2 & G3 & G4 & _).
  split; [|exact G3]. split; auto.
  - now apply next_marks_closed.
  - apply G4. intros t p Ht Hp. apply In_union in Ht. apply In_union. destruct Ht; eauto.
  - intros x Hx. apply G1, In_union in Hx as [Hx|Hx]; auto.
  - lia.
Qed.

Lemma V_step T S0 U us : ok T S0 -> steps_ok (U :: us) ->
  (V T S0 (U :: us) == qn (card (diff U S0)) +
   Exp (random_evict F B (next_marks B T U) [] (card (union S0 U)) (union S0 U))
       (fun S1 => V (next_marks B T U) S1 us))%Q.
Proof.
  intros [H1 H2 H3 H4 H5] Hus. unfold V. rewrite future_cost_cons; auto.
  - destruct (card (T ++ U) <=? B); reflexivity.
  - intros W HW. destruct (Hus W HW) as (? & ? & ?). auto.
Qed.

Lemma side_univ b : incl (side b) univ.
Proof. intros x Hx. apply In_side in Hx. apply in_seq. destruct b; lia. Qed.

Lemma side_small b : card (side b) <= B.
Proof. rewrite side_card. unfold l, B. lia. Qed.

Lemma alt_ok n : forall b, steps_ok (alt b n).
Proof.
  induction n as [|n IH]; intros b W HW; [easy|]. destruct HW as [<-|HW].
  - split; [apply side_closed|]. split; [apply side_small|apply side_univ].
  - now apply (IH (negb b)).
Qed.

Lemma alt_lower W rest : steps_ok rest -> (forall T S0, ok T S0 -> (W <= V T S0 rest)%Q) ->
  forall n b T S0, ok T S0 -> card S0 = B -> incl (side b) S0 ->
  B < card (T ++ side (negb b)) ->
  ((qn (jj S0) + 1) * geo n + W <= V T S0 (alt b n ++ rest))%Q.
Proof.
  intros Hrest HW. induction n as [|n IH]; intros b T S0 Hok HcS HY Hnew.
  { cbn [alt app geo]. specialize (HW T S0 Hok). lra. }
  cbn [alt app]. set (X := side (negb b)) in *.
  assert (Hsteps : steps_ok (X :: alt (negb b) n ++ rest)).
  { intros U [<-|HU].
    - split; [apply side_closed|]. split; [apply side_small|apply side_univ].
    - apply in_app_iff in HU as [HU|HU]; [now apply (alt_ok n (negb b))|now apply Hrest]. }
  rewrite (V_step T S0 X _ Hok Hsteps).
  assert (Hnm : next_marks B T X = X).
  { unfold next_marks. now rewrite (proj2 (Nat.leb_gt _ _) Hnew). }
  rewrite Hnm. set (A := union S0 X).
  destruct Hok as [H1 H2 H3 H4 H5].
  (* where the cached tokens are *)
  assert (Hparts : card S0 = jj S0 + l + card (inter X S0)).
  { rewrite (card_split2 S0 junk). unfold jj. rewrite <- Nat.add_assoc. f_equal.
    rewrite (card_split2 (diff S0 junk) (side b)). f_equal.
    - rewrite <- (side_card b). apply card_ext. intros x. rewrite In_inter, In_diff.
      split; [tauto|]. intros Hx. repeat split; auto. rewrite In_junk.
      apply In_side in Hx. destruct b; lia.
    - apply card_ext. intros x. rewrite !In_diff, In_inter. unfold X.
      rewrite In_junk, !In_side. split.
      + intros ((Hx & Hj) & Hn). split; auto. apply H4, in_seq in Hx. destruct b; simpl; lia.
      + intros (Hx & HxS). repeat split; auto; destruct b; simpl in *; lia. }
  assert (Hmiss : card (diff X S0) = jj S0 + 1).
  { pose proof (card_diff_inter X S0) as E. unfold X in E at 1. rewrite side_card in E.
    unfold l, B in *. lia. }
  assert (HcA : card A = B + (jj S0 + 1)) by (unfold A; rewrite card_union, card_app; lia).
  assert (Hjj : jj S0 <= h - 1).
  { transitivity (card junk); [|unfold junk; rewrite card_seq; lia].
    apply card_incl. intros x Hx. now apply In_inter in Hx. }
  assert (HXA : incl X A) by (intros x Hx; apply In_union; auto).
  assert (Hev : (qn (jj A) - qn (jj S0 + 1) * / qn (S h) <=
     Exp (random_evict F B X [] (card A) A) (fun S1 => qn (jj S1)))%Q).
  { apply (evict_junk b (card A) A (jj S0 + 1)); auto; try lia.
    - intros t p Ht Hp. apply In_union in Ht. apply In_union.
      destruct Ht as [Ht|Ht]; [left; eauto|]. right. eapply (side_closed (negb b)); eauto.
    - intros x Hx. apply In_union in Hx as [Hx|Hx]; auto. now apply side_univ in Hx.
    - assert (card (side b) <= card (inter A (side b))).
      { apply card_incl. intros x Hx. apply In_inter. split; auto. apply In_union. auto. }
      rewrite side_card in *. unfold l in *. lia. }
  assert (HjA : jj A = jj S0).
  { apply card_ext. intros x. rewrite !In_inter. unfold A. rewrite In_union, In_junk. unfold X.
    rewrite In_side. split; [|tauto]. intros ([Hx|Hx] & Hj); auto. destruct b; simpl in *; lia. }
  rewrite HjA in Hev.
  assert (Hpr : proper (random_evict F B X [] (card A) A)).
  { apply random_evict_proper; auto; [apply side_closed|apply side_small]. }
  assert (Hall : (Exp (random_evict F B X [] (card A) A)
       (fun S1 => geo n * qn (jj S1) + (geo n + W)) <=
     Exp (random_evict F B X [] (card A) A) (fun S1 => V X S1 (alt (negb b) n ++ rest)))%Q).
  { apply Exp_le; auto. intros S1 HS1.
    assert (HS1' : in_support S1 (random_evict F B (next_marks B T X) [] (card A) A))
      by now rewrite Hnm.
    destruct (ok_step T S0 X S1 ltac:(split; auto) (side_closed _) (side_small _)
                (side_univ _) HS1') as (Hok1 & Hc1).
    rewrite Hnm in Hok1. fold A in Hc1.
    assert (Hih : ((qn (jj S1) + 1) * geo n + W <= V X S1 (alt (negb b) n ++ rest))%Q).
    { apply IH; auto; [lia|apply (ok_TS X S1 Hok1)|].
      rewrite Bool.negb_involutive. rewrite card_app_disjoint.
      - unfold X. rewrite !side_card. unfold l, B. lia.
      - intros x Hx Hx2. unfold X in Hx. rewrite In_side in Hx, Hx2. destruct b; simpl in *; lia. }
    lra. }
  rewrite Exp_plus, Exp_scale, Exp_const in Hall by auto.
  rewrite Hmiss, qn_plus. change (qn 1) with 1%Q. cbn [geo].
  rewrite qn_plus in Hev. change (qn 1) with 1%Q in Hev.
  pose proof (geo_nonneg n) as Hg.
  set (ej := Exp (random_evict F B X [] (card A) A) (fun S1 => qn (jj S1))) in *.
  set (j := qn (jj S0)) in *.
  assert (Hq : (qn h * / qn (S h) == 1 - / qn (S h))%Q).
  { pose proof (qn_pos h) as Hp. rewrite (qn_S h) in *. field. lra. }
  rewrite Hq.
  assert (Hstep : (geo n * ((j + 1) * (1 - / qn (S h))) <= geo n * (ej + 1))%Q).
  { set (e := / qn (S h)) in *. assert (G : ((j + 1) * (1 - e) <= ej + 1)%Q) by lra. nra. }
  assert (E : ((j + 1) * (1 + (1 - / qn (S h)) * geo n) ==
               (j + 1) + geo n * ((j + 1) * (1 - / qn (S h))))%Q) by ring.
  lra.
Qed.

Definition cycle (n : nat) : list (list nat) := full :: alt false n.

Lemma full_card : card full = B.
Proof. unfold full. now rewrite card_seq. Qed.

Lemma cycle_ok n : steps_ok (cycle n).
Proof.
  intros U [<-|HU]; [|now apply (alt_ok n false)].
  split; [apply full_closed|]. rewrite full_card. split; auto.
  intros x Hx. unfold full in Hx. apply in_seq in Hx. apply in_seq. unfold g, l. lia.
Qed.

Lemma cycle_lower n W rest : steps_ok rest ->
  (forall T S0, ok T S0 -> (W <= V T S0 rest)%Q) ->
  forall T S0, ok T S0 -> (qn h * geo n + W <= V T S0 (cycle n ++ rest))%Q.
Proof.
  intros Hrest HW T S0 Hok. cbn [cycle app].
  assert (Hsteps : steps_ok (full :: alt false n ++ rest)).
  { intros U [<-|HU]; [apply (cycle_ok n); now left|].
    apply in_app_iff in HU as [HU|HU]; [now apply (alt_ok n false)|now apply Hrest]. }
  rewrite (V_step T S0 full _ Hok Hsteps).
  destruct (Hsteps full (or_introl eq_refl)) as (Hf1 & Hf2 & Hf3).
  set (T1 := next_marks B T full). set (A := union S0 full).
  assert (Hpr : proper (random_evict F B T1 [] (card A) A)).
  { destruct Hok. apply random_evict_proper; [now apply next_marks_closed
      |now apply next_marks_cached|now apply next_marks_card]. }
  assert (Hall : (qn h * geo n + W <=
     Exp (random_evict F B T1 [] (card A) A) (fun S1 => V T1 S1 (alt false n ++ rest)))%Q).
  { rewrite <- (Exp_const (random_evict F B T1 [] (card A) A) (qn h * geo n + W)%Q Hpr).
    apply Exp_le; auto. intros S1 HS1.
    destruct (ok_step T S0 full S1 Hok Hf1 Hf2 Hf3 HS1) as (Hok1 & _). fold T1 in Hok1.
    assert (HfS : incl full S1).
    { intros x Hx. apply (ok_TS T1 S1 Hok1). unfold T1. now apply next_marks_has_U. }
    assert (Hc1 : card S1 = B).
    { pose proof (ok_card T1 S1 Hok1). apply card_incl in HfS. rewrite full_card in HfS. lia. }
    assert (Hj : jj S1 = h - 1).
    { unfold jj. transitivity (card junk); [|unfold junk; apply card_seq].
      apply card_ext. intros x. rewrite In_inter. split; [tauto|]. intros Hx. split; auto.
      apply HfS. unfold full. apply In_junk in Hx. apply in_seq. unfold g in *. lia. }
    assert (Hqh : (qn h == qn (jj S1) + 1)%Q).
    { rewrite Hj. change 1%Q with (qn 1). rewrite <- qn_plus.
      replace (h - 1 + 1) with h by lia. reflexivity. }
    rewrite Hqh. apply (alt_lower W rest Hrest HW n false T1 S1 Hok1 Hc1).
    - intros x Hx. apply HfS. apply In_side in Hx. unfold full. apply in_seq.
      unfold g, l in *. lia.
    - assert (Hle : card (seq 0 (g + 2 * l)) <= card (T1 ++ side true)).
      { apply card_incl. intros x Hx. apply in_seq in Hx. apply in_app_iff.
        destruct (lt_dec x (4 * h - 1)) as [Hlt|Hge].
        - left. unfold T1. apply next_marks_has_U. unfold full. apply in_seq. lia.
        - right. apply In_side. unfold g, l in *. lia. }
      rewrite card_seq in Hle. unfold g, l, B in *. simpl negb. lia. }
  pose proof (qn_nonneg (card (diff full S0))). lra.
Qed.

Definition requests (n N : nat) : list (list nat) := concat (repeat (cycle n) N).

Lemma requests_ok n N : steps_ok (requests n N).
Proof.
  unfold requests. induction N as [|N IH]; cbn [repeat concat]; intros U HU; [easy|].
  apply in_app_iff in HU as [HU|HU]; [now apply (cycle_ok n)|now apply IH].
Qed.

Lemma requests_lower n N : forall T S0, ok T S0 ->
  (qn N * (qn h * geo n) <= V T S0 (requests n N))%Q.
Proof.
  induction N as [|N IH]; intros T S0 Hok.
  - unfold requests. cbn [repeat concat]. unfold V, future_cost. cbn [rlt_from].
    rewrite Exp_ret. change (qn (cost S0 [] [])) with 0%Q. change (qn 0) with 0%Q. lra.
  - unfold requests in *. cbn [repeat concat].
    pose proof (cycle_lower n _ _ (requests_ok n N) IH T S0 Hok) as G.
    unfold requests in G. rewrite (qn_S N). lra.
Qed.

(** The first h+1 terms and as many again: at least 2/3 of the limit h + 1. *)
Lemma geo_bound n :
  ((1 - geo n * / qn (S h)) * qn (h + n) <= qn h)%Q /\ (geo n <= qn (S h))%Q.
Proof.
  pose proof (qn_pos h) as Hp. pose proof (qn_nonneg h) as Hh.
  induction n as [|n (IH1 & IH2)]; cbn [geo].
  - rewrite Nat.add_0_r. split; lra.
  - set (e := / qn (S h)) in *.
    assert (Hq : (qn h * e == 1 - e)%Q).
    { unfold e. rewrite (qn_S h) in *. field. lra. }
    assert (He : (e * qn (S h) == 1)%Q) by (unfold e; field; lra).
    assert (Hqn : (qn (h + S n) == qn (h + n) + 1)%Q).
    { replace (h + S n) with (S (h + n)) by lia. rewrite qn_S. ring. }
    assert (Hhn : (qn (h + n) == qn h + qn n)%Q) by apply qn_plus.
    assert (He0 : (0 < e)%Q) by (apply Qinv_lt_0_compat; exact Hp).
    pose proof (qn_nonneg n) as Hn0. rewrite (qn_S h) in *.
    assert (Hg : (0 <= 1 - geo n * e)%Q) by nra.
    split; [|rewrite Hq; nra].
    rewrite Hqn, Hq.
    assert (E1 : ((1 - (1 + (1 - e) * geo n) * e) == (1 - e) * (1 - geo n * e))%Q) by ring.
    rewrite E1.
    assert (E2 : ((1 - e) * (qn (h + n) + 1) <= qn (h + n))%Q).
    { assert (Hx : (1 <= e * (qn (h + n) + 1))%Q).
      { rewrite Hhn. assert (e * (1 + qn h) == 1)%Q by lra. nra. }
      lra. }
    assert (E3 : ((1 - e) * (1 - geo n * e) * (qn (h + n) + 1) ==
                  (1 - geo n * e) * ((1 - e) * (qn (h + n) + 1)))%Q) by ring.
    rewrite E3. eapply Qle_trans; [|exact IH1]. nra.
Qed.

Lemma geo_two_thirds : ((2 # 3) * qn (S h) <= geo (2 * S h))%Q.
Proof.
  destruct (geo_bound (2 * S h)) as (G1 & G2). pose proof (qn_pos h) as Hp.
  pose proof (qn_nonneg h) as Hh.
  assert (E : (qn (h + 2 * S h) == 3 * qn h + 2)%Q).
  { rewrite qn_plus, qn_mult, (qn_S h). change (qn 2) with 2%Q. ring. }
  rewrite E in G1. set (x := (geo (2 * S h) * / qn (S h))%Q) in *.
  assert (Hx : (geo (2 * S h) == x * qn (S h))%Q) by (unfold x; field; lra).
  assert (Hx1 : ((2 # 3) <= x)%Q) by nra. rewrite Hx. nra.
Qed.

(** ** The offline schedule *)

Definition no_first : list nat := remove1 (h - 1) (seq (h - 1) (4 * h)).
Definition no_last : list nat := remove1 (5 * h - 2) (seq (h - 1) (4 * h)).

Lemma In_no_first x : In x no_first <-> h <= x < 5 * h - 1.
Proof. unfold no_first. rewrite In_remove1, in_seq. lia. Qed.

Lemma In_no_last x : In x no_last <-> h - 1 <= x < 5 * h - 2.
Proof. unfold no_last. rewrite In_remove1, in_seq. lia. Qed.

Lemma no_first_card : card no_first <= B.
Proof.
  unfold no_first. assert (Hin : In (h - 1) (seq (h - 1) (4 * h))) by (apply in_seq; lia).
  apply card_remove1 in Hin. rewrite card_seq in Hin. unfold B. lia.
Qed.

Lemma no_last_card : card no_last <= B.
Proof.
  unfold no_last. assert (Hin : In (5 * h - 2) (seq (h - 1) (4 * h))) by (apply in_seq; lia).
  apply card_remove1 in Hin. rewrite card_seq in Hin. unfold B. lia.
Qed.

Lemma no_first_closed : closed F no_first.
Proof.
  intros t p Ht Hp. apply parent_some in Hp. apply In_no_first in Ht. unfold g in *. lia.
Qed.

Lemma no_last_closed : closed F no_last.
Proof.
  intros t p Ht Hp. apply parent_some in Hp. apply In_no_last in Ht. unfold g in *. lia.
Qed.

Lemma diff_le P Q s n : (forall x, In x P -> ~ In x Q -> s <= x < s + n) -> card (diff P Q) <= n.
Proof.
  intros H. rewrite <- (card_seq s n). apply card_incl. intros x Hx.
  apply In_diff in Hx as (H1 & H2). apply in_seq. auto.
Qed.

Fixpoint pairs (p : nat) : list (list nat) :=
  match p with O => [] | S p' => no_first :: no_last :: pairs p' end.

Lemma pairs_closed p A : In A (pairs p) -> closed F A.
Proof.
  induction p as [|p IH]; cbn [pairs]; [easy|].
  intros [<-|[<-|HA]]; [apply no_first_closed|apply no_last_closed|auto].
Qed.

Lemma alt_two p : alt false (2 * S p) = side true :: side false :: alt false (2 * p).
Proof. replace (2 * S p) with (S (S (2 * p))) by lia. reflexivity. Qed.

Ltac in_sides := rewrite ?in_app_iff, ?In_no_first, ?In_no_last, ?In_side; unfold full;
  rewrite ?in_seq; unfold g, l; lia.

Lemma pairs_ok p :
  schedule B no_last (alt false (2 * p)) (pairs p) /\
  cost no_last (alt false (2 * p)) (pairs p) <= 2 * p /\
  last (pairs p) no_last = no_last.
Proof.
  induction p as [|p (H1 & H2 & H3)]; [repeat split; auto|].
  rewrite alt_two. cbn [pairs schedule cost]. rewrite !last_cons.
  assert (D1 : card (diff (side true) no_last) <= 1).
  { apply (diff_le _ _ (5 * h - 2)). intros x. rewrite In_side, In_no_last. unfold g, l. lia. }
  assert (D2 : card (diff (side false) no_first) <= 1).
  { apply (diff_le _ _ (h - 1)). intros x. rewrite In_side, In_no_first. unfold g, l. lia. }
  split; [|split; [lia|exact H3]].
  split; [intros x Hx; revert Hx; in_sides|]. split; [intros x Hx; revert Hx; in_sides|].
  split; [apply no_first_card|].
  split; [intros x Hx; revert Hx; in_sides|]. split; [intros x Hx; revert Hx; in_sides|].
  split; [apply no_last_card|exact H1].
Qed.

Lemma pairs_first p S0 : card (diff full S0) <= B ->
  let ss := full :: no_first :: no_last :: pairs p in
  schedule B S0 (cycle (2 * S p)) ss /\
  cost S0 (cycle (2 * S p)) ss <= card (diff full S0) + h + 1 + 2 * p /\
  last ss S0 = no_last.
Proof.
  intros _. cbn zeta. destruct (pairs_ok p) as (H1 & H2 & H3). unfold cycle.
  rewrite alt_two. cbn [schedule cost]. rewrite !last_cons.
  assert (D1 : card (diff (side true) full) <= h).
  { apply (diff_le _ _ (4 * h - 1)). intros x. rewrite In_side. unfold full. rewrite in_seq.
    unfold g, l. lia. }
  assert (D2 : card (diff (side false) no_first) <= 1).
  { apply (diff_le _ _ (h - 1)). intros x. rewrite In_side, In_no_first. unfold g, l. lia. }
  split; [|split; [lia|exact H3]].
  split; [apply incl_refl|]. split; [intros x Hx; apply in_app_iff; auto|].
  split; [rewrite full_card; lia|].
  split; [intros x Hx; revert Hx; in_sides|]. split; [intros x Hx; revert Hx; in_sides|].
  split; [apply no_first_card|].
  split; [intros x Hx; revert Hx; in_sides|]. split; [intros x Hx; revert Hx; in_sides|].
  split; [apply no_last_card|exact H1].
Qed.

Lemma offline_cycles p N :
  exists ss, schedule B no_last (requests (2 * S p) N) ss /\ all_closed F ss /\
             cost no_last (requests (2 * S p) N) ss <= N * (2 * h + 2 * p).
Proof.
  unfold requests. induction N as [|N (ss & H1 & H2 & H3)]; cbn [repeat concat].
  - exists []. repeat split; auto. intros A [].
  - destruct (pairs_first p no_last) as (G1 & G2 & G3).
    { etransitivity; [|apply Nat.eq_le_incl, full_card]. apply card_incl. intros x Hx.
      now apply In_diff in Hx. }
    exists ((full :: no_first :: no_last :: pairs p) ++ ss). split; [|split].
    + apply schedule_app; auto. now rewrite G3.
    + intros A HA. apply in_app_iff in HA as [HA|HA]; auto.
      destruct HA as [<-|[<-|[<-|HA]]]; [apply full_closed|apply no_first_closed
        |apply no_last_closed|now apply (pairs_closed p)].
    + rewrite cost_app by (eapply schedule_length; eauto). rewrite G3.
      assert (D : card (diff full no_last) <= h - 1).
      { apply (diff_le _ _ 0). intros x. unfold full. rewrite in_seq, In_no_last. lia. }
      lia.
Qed.

Lemma offline_all p N :
  exists ss, schedule B [] (requests (2 * S p) N) ss /\ all_closed F ss /\
             cost [] (requests (2 * S p) N) ss <= 4 * h + N * (2 * h + 2 * p).
Proof.
  destruct N as [|N].
  - exists []. repeat split; [intros A []|cbn; lia].
  - destruct (offline_cycles p N) as (ss & H1 & H2 & H3).
    destruct (pairs_first p []) as (G1 & G2 & G3).
    { etransitivity; [|apply Nat.eq_le_incl, full_card]. apply card_incl. intros x Hx.
      now apply In_diff in Hx. }
    unfold requests in *. cbn [repeat concat].
    exists ((full :: no_first :: no_last :: pairs p) ++ ss). split; [|split].
    + apply schedule_app; auto. now rewrite G3.
    + intros A HA. apply in_app_iff in HA as [HA|HA]; auto.
      destruct HA as [<-|[<-|[<-|HA]]]; [apply full_closed|apply no_first_closed
        |apply no_last_closed|now apply (pairs_closed p)].
    + rewrite cost_app by (eapply schedule_length; eauto). rewrite G3.
      assert (D : card (diff full []) <= 4 * h - 1).
      { apply (diff_le _ _ 0). intros x. unfold full. rewrite in_seq. lia. }
      lia.
Qed.
End Slack.

(** ** The theorem: for k = 2h the ratio of rlt-step is at least (k + 2)/12 *)
Theorem rlt_step_linear : forall h c c0,
  1 <= h ->
  (forall us os,
     admissible (slack_forest h) (4 * h - 1) (2 * h) us ->
     schedule (4 * h - 1) [] us os -> all_closed (slack_forest h) os ->
     (expected_cost (rlt_step (slack_forest h) (4 * h - 1) us) us
      <= c * qn (cost [] us os) + c0)%Q) ->
  (qn (2 * h + 2) * (1 # 12) <= c)%Q.
Proof.
  intros h c c0 h1 Hyp.
  set (c1 := if Qlt_le_dec c 0 then 0%Q else c).
  assert (Hc1 : (0 <= c1)%Q /\ (c <= c1)%Q).
  { unfold c1. destruct (Qlt_le_dec c 0); lra. }
  pose proof (geo_two_thirds h h1) as Hgeo. set (n := 2 * S h) in *.
  assert (HN : forall N, (qn N * (qn h * geo h n) <=
                          c1 * (4 * qn h + qn N * (4 * qn h)) + c0)%Q).
  { intros N. destruct (offline_all h h1 h N) as (os & H1 & H2 & H3). fold n in H1, H3.
    assert (Hadm : admissible (slack_forest h) (4 * h - 1) (2 * h) (requests h n N)).
    { intros U HU. destruct (requests_ok h h1 n N U HU) as (G1 & G2 & _). split; auto.
      split; auto. unfold requests in HU. apply in_concat in HU as (D & HD & HU).
      apply repeat_spec in HD. subst D. destruct HU as [<-|HU].
      - unfold full. rewrite card_seq. lia.
      - assert (G : forall m b, In U (alt h b m) -> card U = 2 * h).
        { clear. induction m as [|m IH]; intros b HU; [easy|].
          destruct HU as [<-|HU]; [apply card_seq|]. eapply IH; eauto. }
        rewrite (G _ _ HU). auto. }
    specialize (Hyp (requests h n N) os Hadm H1 H2).
    pose proof (requests_lower h h1 n N [] []) as Hlow.
    assert (Hok : ok h [] []).
    { split; [intros t p []|intros x []|intros t p []|intros x []|].
      rewrite card_nil. lia. }
    specialize (Hlow Hok).
    assert (Hlow' : (qn N * (qn h * geo h n) <=
       expected_cost (rlt_step (slack_forest h) (4 * h - 1) (requests h n N))
                     (requests h n N))%Q) by exact Hlow.
    clear Hlow. rename Hlow' into Hlow.
    apply qn_le in H3. rewrite qn_plus, qn_mult, (qn_mult N), qn_plus, !qn_mult in H3.
    change (qn 4) with 4%Q in H3. change (qn 2) with 2%Q in H3.
    pose proof (qn_nonneg (cost [] (requests h n N) os)) as Hc0.
    destruct Hc1 as (Hc1 & Hc2).
    set (o := qn (cost [] (requests h n N) os)) in *.
    assert (E1 : (c * o <= c1 * o)%Q) by nra.
    assert (E2 : (c1 * o <= c1 * (4 * qn h + qn N * (4 * qn h)))%Q).
    { assert (Ho : (o <= 4 * qn h + qn N * (4 * qn h))%Q) by lra. nra. }
    lra. }
  assert (Hh0 : (0 < qn h)%Q).
  { destruct h; [lia|]. apply qn_pos. }
  destruct (Qlt_le_dec (4 * c1) (geo h n)) as [Hlt|Hle].
  - exfalso.
    destruct (archimedes (c1 * (4 * qn h) + c0) (qn h * (geo h n - 4 * c1))) as (N & Hlarge).
    { nra. }
    specialize (HN N).
    assert (E : (qn N * (qn h * (geo h n - 4 * c1)) ==
                 qn N * (qn h * geo h n) - c1 * (qn N * (4 * qn h)))%Q) by ring.
    assert (E2 : (c1 * (4 * qn h + qn N * (4 * qn h)) ==
                  c1 * (4 * qn h) + c1 * (qn N * (4 * qn h)))%Q) by ring.
    lra.
  - assert (E : (qn (2 * h + 2) == 2 * qn (S h))%Q).
    { rewrite qn_plus, qn_mult, (qn_S h). change (qn 2) with 2%Q. ring. }
    rewrite E. pose proof (qn_pos h).
    assert (Hc : (qn (S h) * (1 # 6) <= c1)%Q) by lra.
    unfold c1 in Hc. destruct (Qlt_le_dec c 0); lra.
Qed.
