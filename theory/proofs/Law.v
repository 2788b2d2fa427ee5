(** * The exact law of RLT on one instance, computed by the kernel

    [rlt_from] lists every sequence of coin tosses.  Equal caches have equal
    futures, so the law of the cache is carried along instead, equal caches
    merged; [law_correct] says that this gives the same expected cost. *)

From KVBounds Require Export RLT.

Local Open Scope nat_scope.

Section Law.
Variable F : forest.
Variable B : nat.
Variable n : nat.                     (* the tokens are 0 .. n-1 *)

Definition canon (A : list nat) : list nat := filter (fun x => mem x A) (seq 0 n).

Fixpoint add (p : Q) (A : list nat) (d : dist (list nat)) : dist (list nat) :=
  match d with
  | [] => [(p, A)]
  | (q, A') :: d' => if list_eq_dec Nat.eq_dec A A' then (Qred (p + q), A') :: d'
                     else (q, A') :: add p A d'
  end.

Definition collapse (d : dist (list nat)) : dist (list nat) :=
  fold_right (fun pa acc => add (fst pa) (canon (snd pa)) acc) [] d.

Definition state := (list nat * list nat * dist (list nat))%type.

(** One step: the marks, the marks before, the law of the cache. *)
Definition law_step (prefer : bool) (s : state) (U : list nat) : Q * state :=
  let '(T, Tp, d) := s in
  let T1 := next_marks B T U in
  let Tp1 := if card (T ++ U) <=? B then Tp else if prefer then T else [] in
  (Qred (Exp d (fun S0 => qn (card (diff U S0)))),
   (T1, Tp1,
    collapse (bind d (fun S0 => random_evict F B T1 Tp1 (card (union S0 U)) (union S0 U))))).

Fixpoint law_run (prefer : bool) (s : state) (us : list (list nat)) : Q * state :=
  match us with
  | [] => (0%Q, s)
  | U :: us' => let '(c, s1) := law_step prefer s U in
                let '(c', s2) := law_run prefer s1 us' in
                (Qred (c + c'), s2)
  end.

Lemma law_run_app prefer us1 : forall s us2,
  (fst (law_run prefer s (us1 ++ us2)) ==
   fst (law_run prefer s us1) +
   fst (law_run prefer (snd (law_run prefer s us1)) us2))%Q /\
  snd (law_run prefer s (us1 ++ us2)) =
  snd (law_run prefer (snd (law_run prefer s us1)) us2).
Proof.
  induction us1 as [|U us1 IH]; intros s us2; cbn [app law_run].
  - split; [cbn; ring|reflexivity].
  - destruct (law_step prefer s U) as (c, s1). specialize (IH s1 us2).
    destruct (law_run prefer s1 us1) as (c1, s2).
    destruct (law_run prefer s1 (us1 ++ us2)) as (c2, s3). cbn [fst snd] in *.
    destruct IH as (IH1 & IH2). split; [|exact IH2].
    rewrite !Qred_correct, IH1. ring.
Qed.

(** ** Only the set of cached tokens matters *)

Definition eqset (A A' : list nat) : Prop := forall x, In x A <-> In x A'.
Definition respects (f : list nat -> Q) : Prop :=
  forall A A', eqset A A' -> (f A == f A')%Q.

Lemma candidates_eqset T A A' z : eqset A A' ->
  In z (candidates F T A) -> In z (candidates F T A').
Proof.
  intros H Hz. apply In_candidates in Hz as (H1 & H2 & H3). apply In_candidates.
  repeat split; auto; [now apply H|]. intros c Hc. apply H3. now apply H.
Qed.

Lemma eqset_sym A A' : eqset A A' -> eqset A' A.
Proof. intros H x. symmetry. apply H. Qed.

Lemma In_pool T Tp A v :
  In v (pool F T Tp A) <->
  In v (candidates F T A) /\
  (In v Tp -> forall z, In z (candidates F T A) -> In z Tp).
Proof.
  unfold pool. destruct (diff (nodup Nat.eq_dec (candidates F T A)) Tp) as [|y l] eqn:E.
  - rewrite nodup_In. split; [|tauto]. intros Hv. split; auto. intros _ z Hz.
    destruct (In_dec z Tp) as [|Hn]; auto. exfalso.
    assert (Hin : In z (diff (nodup Nat.eq_dec (candidates F T A)) Tp))
      by (apply In_diff; split; auto; now apply nodup_In).
    rewrite E in Hin. easy.
  - assert (Hy : In y (diff (nodup Nat.eq_dec (candidates F T A)) Tp))
      by (rewrite E; now left).
    apply In_diff in Hy as (Hy & HyTp). apply nodup_In in Hy.
    rewrite <- E, In_diff, nodup_In. split.
    + intros (Hv & HvTp). split; [auto|intros; easy].
    + intros (Hv & Hall). split; [auto|]. intros HvTp. apply HyTp. now apply Hall.
Qed.

Lemma pool_NoDup T Tp A : NoDup (pool F T Tp A).
Proof.
  unfold pool. destruct (diff (nodup Nat.eq_dec (candidates F T A)) Tp) eqn:E.
  - apply NoDup_nodup.
  - rewrite <- E. apply NoDup_filter, NoDup_nodup.
Qed.

Lemma pool_eqset T Tp A A' : eqset A A' -> eqset (pool F T Tp A) (pool F T Tp A').
Proof.
  intros H v. rewrite !In_pool. pose proof (eqset_sym _ _ H) as H'.
  split; intros (H1 & H2); (split; [eapply candidates_eqset; eauto|]);
    intros Hv z Hz; apply H2; auto; eapply candidates_eqset; eauto.
Qed.

Lemma random_evict_respects T Tp f : respects f -> forall m A A', eqset A A' ->
  (Exp (random_evict F B T Tp m A) f == Exp (random_evict F B T Tp m A') f)%Q.
Proof.
  intros Hf. induction m as [|m IH]; intros A A' HA; cbn [random_evict].
  - rewrite !Exp_ret. now apply Hf.
  - rewrite (card_ext A A' HA). destruct (card A' <=? B).
    + rewrite !Exp_ret. now apply Hf.
    + rewrite !Exp_bind, !Exp_uniform.
      pose proof (pool_eqset T Tp A A' HA) as Hp.
      assert (Hl : length (pool F T Tp A) = length (pool F T Tp A')).
      { rewrite <- !card_NoDup by apply pool_NoDup. now apply card_ext. }
      rewrite Hl. apply Qmult_comp; [reflexivity|].
      rewrite (sumQ_set _ _ _ (pool_NoDup T Tp A) (pool_NoDup T Tp A') Hp).
      apply sumQ_ext. intros v _. apply IH. intros x. rewrite !In_remove1.
      rewrite (HA x). tauto.
Qed.

Lemma union_eqset A A' U : eqset A A' -> eqset (union A U) (union A' U).
Proof. intros H x. rewrite !In_union. now rewrite (H x). Qed.

Lemma future_respects prefer us : forall T Tp A A',
  (forall V, In V us -> closed F V /\ card V <= B) -> closed F T -> incl T A ->
  eqset A A' -> (future_cost F B prefer T Tp A us == future_cost F B prefer T Tp A' us)%Q.
Proof.
  induction us as [|U us IH]; intros T Tp A A' Hus HT HTA HA.
  - unfold future_cost. cbn [rlt_from]. rewrite !Exp_ret. reflexivity.
  - assert (HTA' : incl T A') by (intros x Hx; apply HA; auto).
    rewrite !future_cost_cons by auto.
    destruct (Hus U) as (HU1 & HU2); [now left|].
    set (T1 := next_marks B T U).
    set (Tp1 := if card (T ++ U) <=? B then Tp else if prefer then T else (@nil nat)).
    assert (Hd : card (diff U A) = card (diff U A')).
    { apply card_ext. intros x. rewrite !In_diff. now rewrite (HA x). }
    rewrite Hd. apply Qplus_comp; [reflexivity|].
    pose proof (union_eqset A A' U HA) as HAU.
    rewrite (card_ext _ _ HAU).
    (* outcomes always hold T1 *)
    set (g := fun S1 => if forallb (fun x => mem x S1) T1
                        then future_cost F B prefer T1 Tp1 S1 us else 0%Q).
    assert (Hinc : forall S1, forallb (fun x => mem x S1) T1 = true <-> incl T1 S1).
    { intros S1. rewrite forallb_forall. split; intros H x Hx; apply mem_In; auto. }
    assert (Hg : respects g).
    { intros S1 S2 H12. unfold g.
      destruct (forallb (fun x => mem x S1) T1) eqn:E1;
        destruct (forallb (fun x => mem x S2) T1) eqn:E2; try reflexivity.
      - apply IH; auto.
        + intros V HV. apply Hus. now right.
        + now apply next_marks_closed.
        + now apply Hinc.
      - apply Hinc in E1. exfalso. apply not_true_iff_false in E2. apply E2, Hinc.
        intros x Hx. apply H12. auto.
      - apply Hinc in E2. exfalso. apply not_true_iff_false in E1. apply E1, Hinc.
        intros x Hx. apply H12. auto. }
    assert (Hsame : forall D, incl T1 D -> (Exp (random_evict F B T1 Tp1 (card (union A' U)) D)
        (fun S1 => future_cost F B prefer T1 Tp1 S1 us) ==
        Exp (random_evict F B T1 Tp1 (card (union A' U)) D) g)%Q \/ B + card (union A' U) < card D).
    { intros D HD. destruct (le_lt_dec (card D) (card (union A' U) + B)) as [Hle|]; [|right; lia].
      left. apply Exp_ext. intros S1 HS1.
      destruct (random_evict_support F B T1 Tp1 _ D S1 (next_marks_closed F B T U HT HU1)
                  HD (next_marks_card B T U HU2) Hle HS1) as (_ & G & _).
      unfold g. replace (forallb (fun x => mem x S1) T1) with true; [reflexivity|].
      symmetry. now apply Hinc. }
    destruct (Hsame (union A U) (next_marks_cached B T A U HTA)) as [E1|E1];
      [|rewrite (card_ext _ _ HAU) in E1; lia].
    destruct (Hsame (union A' U) (next_marks_cached B T A' U HTA')) as [E2|E2]; [|lia].
    rewrite E1, E2. now apply random_evict_respects.
Qed.

(** ** Merging keeps expectations *)

Lemma Exp_add p A d f : (Exp (add p A d) f == p * f A + Exp d f)%Q.
Proof.
  unfold Exp. induction d as [|(q, A') d IH]; cbn [add sumQ fst snd]; [ring|].
  destruct (list_eq_dec Nat.eq_dec A A') as [->|]; cbn [sumQ fst snd].
  - rewrite Qred_correct. ring.
  - rewrite IH. ring.
Qed.

Lemma canon_eqset A : incl A (seq 0 n) -> eqset (canon A) A.
Proof.
  intros H x. unfold canon. rewrite filter_In, mem_In. split; [tauto|]. auto.
Qed.

Lemma support_collapse d A : in_support A (collapse d) ->
  exists A', in_support A' d /\ A = canon A'.
Proof.
  assert (Hadd : forall p C e, in_support A (add p C e) -> A = C \/ in_support A e).
  { intros p C e. induction e as [|(q, A') e IH]; cbn [add].
    - intros (w & [E|[]]). injection E as _ ->. auto.
    - destruct (list_eq_dec Nat.eq_dec C A') as [->|]; intros (w & [E|Hin]).
      + injection E as _ ->. auto.
      + right. exists w. now right.
      + injection E as _ ->. right. exists q. now left.
      + destruct IH as [|(w' & Hw')]; [now exists w|auto|]. right. exists w'. now right. }
  induction d as [|(p, C) d IH]; cbn [collapse fold_right fst snd].
  - intros (w & []).
  - intros Hin. apply Hadd in Hin as [->|Hin].
    + exists C. split; auto. exists p. now left.
    + destruct (IH Hin) as (A' & (w & Hw) & E). exists A'. split; auto.
      exists w. now right.
Qed.

Lemma Exp_collapse d f :
  (forall A, in_support A d -> (f (canon A) == f A)%Q) ->
  (Exp (collapse d) f == Exp d f)%Q.
Proof.
  induction d as [|(p, A) d IH]; intros Hf; [reflexivity|].
  cbn [collapse fold_right fst snd]. fold (collapse d). rewrite Exp_add.
  rewrite IH, (Hf A).
  - reflexivity.
  - exists p. now left.
  - intros A' (q & Hq). apply Hf. exists q. now right.
Qed.

(** ** The computation is right *)

Definition good (s : state) : Prop :=
  let '(T, Tp, d) := s in
  closed F T /\ forall A, in_support A d -> incl T A /\ incl A (seq 0 n).

Lemma law_correct prefer us : forall T Tp d,
  (forall U, In U us -> closed F U /\ card U <= B /\ incl U (seq 0 n)) ->
  good (T, Tp, d) ->
  (Exp d (fun A => future_cost F B prefer T Tp A us) ==
   fst (law_run prefer (T, Tp, d) us))%Q.
Proof.
  induction us as [|U us IH]; intros T Tp d Hus (HT & Hd).
  - cbn [law_run fst]. transitivity (Exp d (fun _ => 0 * 0)%Q).
    + apply Exp_ext. intros A _. unfold future_cost. cbn [rlt_from]. rewrite Exp_ret.
      reflexivity.
    + rewrite Exp_scale. ring.
  - destruct (Hus U) as (HU1 & HU2 & HU3); [now left|].
    assert (Hus' : forall V, In V us -> closed F V /\ card V <= B /\ incl V (seq 0 n))
      by (intros V HV; apply Hus; now right).
    cbn [law_run]. unfold law_step.
    set (T1 := next_marks B T U).
    set (Tp1 := if card (T ++ U) <=? B then Tp else if prefer then T else (@nil nat)).
    set (d' := bind d (fun S0 => random_evict F B T1 Tp1 (card (union S0 U)) (union S0 U))).
    assert (HT1 : closed F T1) by now apply next_marks_closed.
    assert (Hd' : forall A, in_support A d' -> incl T1 A /\ incl A (seq 0 n)).
    { intros A HA. apply support_bind in HA as (S0 & HS0 & HA).
      destruct (Hd S0 HS0) as (HTS & HSn).
      destruct (random_evict_support F B T1 Tp1 (card (union S0 U)) (union S0 U) A HT1
                  (next_marks_cached B T S0 U HTS) (next_marks_card B T U HU2)
                  ltac:(lia) HA) as (G1 & G2 & _).
      split; auto. intros x Hx. apply G1, In_union in Hx as [Hx|Hx]; auto. }
    assert (Hgood : good (T1, Tp1, collapse d')).
    { split; auto. intros A HA. apply support_collapse in HA as (A' & HA' & ->).
      destruct (Hd' A' HA') as (H1 & H2). pose proof (canon_eqset A' H2) as Hc.
      split; intros x Hx; [apply Hc; auto|apply H2, Hc, Hx]. }
    specialize (IH T1 Tp1 (collapse d') Hus' Hgood).
    destruct (law_run prefer (T1, Tp1, collapse d') us) as (c', s2) eqn:Erun.
    cbn [fst] in *. rewrite !Qred_correct, <- IH.
    rewrite Exp_collapse.
    2:{ intros A HA. destruct (Hd' A HA) as (H1 & H2).
        pose proof (canon_eqset A H2) as Hc.
        apply future_respects; auto.
        - intros V HV. destruct (Hus' V HV) as (? & ? & ?). auto.
        - intros x Hx. apply Hc. auto. }
    unfold d'. rewrite Exp_bind, <- Exp_plus. apply Exp_ext. intros S0 HS0.
    destruct (Hd S0 HS0) as (HTS & HSn).
    rewrite future_cost_cons; auto; [reflexivity|].
    intros V HV. destruct (Hus V HV) as (? & ? & ?). auto.
Qed.
End Law.
