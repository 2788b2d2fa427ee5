(** * Lemma 3: the paper's token-by-token rule has the law of [rlt]

    The paper's rule marks visited tokens; when mark B+1 is set the marks are
    cleared and only the newest is kept; an eviction takes a random unmarked
    leaf.  Completed for a step with footprint U: U is locked; its tokens are
    processed one by one; clearing keeps the tokens of U processed so far; the
    marks are also cleared when an eviction is needed and no unmarked,
    unlocked leaf exists.

    From an empty cache the caches after all steps have the same joint law as
    those of [rlt], and the marks are the same sets.  The idea: loading tokens
    of U never makes or destroys a leaf outside U, so loads and evictions may
    be exchanged; and the marks are cleared exactly when no leaf outside the
    old marks is left. *)

From KVBounds Require Export Law.

Local Open Scope nat_scope.

Section Lemma3.
Variable F : forest.
Variable B : nat.

(** ** The paper's rule *)

(** Marks, cache, tokens of U processed so far. *)
Definition mid := (list nat * list nat * list nat)%type.

Definition free_leaves (U T S0 : list nat) : list nat :=
  nodup Nat.eq_dec (diff (candidates F U S0) T).

Definition paper_token (U : list nat) (st : mid) (x : nat) : dist mid :=
  let '(T, S0, don) := st in
  let don1 := x :: don in
  let T1 := if card (x :: T) <=? B then x :: T else don1 in
  if mem x S0 then ret (T1, S0, don1)
  else if card S0 <? B then ret (T1, x :: S0, don1)
  else let T2 := match free_leaves U T1 S0 with [] => don1 | _ => T1 end in
       bind (uniform (free_leaves U T2 S0))
            (fun v => ret (T2, x :: remove1 v S0, don1)).

Fixpoint paper_tokens (U order : list nat) (st : mid) : dist mid :=
  match order with
  | [] => ret st
  | x :: order' => bind (paper_token U st x) (paper_tokens U order')
  end.

(** [ord U]: the tokens of U, each once, in the order of processing. *)
Variable ord : list nat -> list nat.
Hypothesis ord_NoDup : forall U, NoDup (ord U).
Hypothesis ord_In : forall U x, In x (ord U) <-> In x U.

Fixpoint paper_from (T S0 : list nat) (us : list (list nat)) : dist (list (list nat)) :=
  match us with
  | [] => ret []
  | U :: us' =>
      bind (paper_tokens U (ord U) (T, S0, []))
           (fun st => let '(T1, S1, _) := st in
                      bind (paper_from T1 S1 us') (fun ss => ret (S1 :: ss)))
  end.

Definition paper (us : list (list nat)) : dist (list (list nat)) := paper_from [] [] us.

(** ** Functions of whole runs that look at sets only *)

Definition same_run (ss ss' : list (list nat)) : Prop := Forall2 eqset ss ss'.
Definition respects_run (g : list (list nat) -> Q) : Prop :=
  forall ss ss', same_run ss ss' -> (g ss == g ss')%Q.

Lemma eqset_refl A : eqset A A.
Proof. intros x. tauto. Qed.

Lemma eqset_trans A1 A2 A3 : eqset A1 A2 -> eqset A2 A3 -> eqset A1 A3.
Proof. intros H1 H2 x. rewrite (H1 x). apply H2. Qed.

Lemma respects_run_cons g A : respects_run g -> respects_run (fun ss => g (A :: ss)).
Proof. intros Hg ss ss' H. apply Hg. constructor; auto. apply eqset_refl. Qed.

(** What [rlt] does depends on marks and cache as sets. *)
Lemma candidates_same T T' A A' z : eqset T T' -> eqset A A' ->
  In z (candidates F T A) -> In z (candidates F T' A').
Proof.
  intros HT HA Hz. apply In_candidates in Hz as (H1 & H2 & H3). apply In_candidates.
  repeat split.
  - now apply HA.
  - intros H. apply H2. now apply HT.
  - intros c Hc. apply H3. now apply HA.
Qed.

Lemma pool_same T T' Tp Tp' A A' : eqset T T' -> eqset Tp Tp' -> eqset A A' ->
  eqset (pool F T Tp A) (pool F T' Tp' A').
Proof.
  intros HT HTp HA v. rewrite !In_pool.
  assert (G : forall T T' Tp Tp' A A', eqset T T' -> eqset Tp Tp' -> eqset A A' ->
     In v (candidates F T A) /\ (In v Tp -> forall z, In z (candidates F T A) -> In z Tp) ->
     In v (candidates F T' A') /\ (In v Tp' -> forall z, In z (candidates F T' A') -> In z Tp')).
  { clear. intros T T' Tp Tp' A A' HT HTp HA (H1 & H2). split.
    - eapply candidates_same; eauto.
    - intros Hv z Hz. apply HTp. apply H2; [now apply HTp|].
      eapply candidates_same; [apply eqset_sym, HT|apply eqset_sym, HA|exact Hz]. }
  split; apply G; auto using eqset_sym.
Qed.

Lemma random_evict_same_sets f n : respects f -> forall T T' Tp Tp' A A',
  eqset T T' -> eqset Tp Tp' -> eqset A A' ->
  (Exp (random_evict F B T Tp n A) f == Exp (random_evict F B T' Tp' n A') f)%Q.
Proof.
  intros Hf. induction n as [|n IH]; intros T T' Tp Tp' A A' HT HTp HA; cbn [random_evict].
  - rewrite !Exp_ret. now apply Hf.
  - rewrite (card_ext A A' HA). destruct (card A' <=? B).
    + rewrite !Exp_ret. now apply Hf.
    + rewrite !Exp_bind, !Exp_uniform.
      pose proof (pool_same T T' Tp Tp' A A' HT HTp HA) as Hp.
      assert (Hl : length (pool F T Tp A) = length (pool F T' Tp' A')).
      { rewrite <- !card_NoDup by apply pool_NoDup. now apply card_ext. }
      rewrite Hl. apply Qmult_comp; [reflexivity|].
      rewrite (sumQ_set _ _ _ (pool_NoDup F T Tp A) (pool_NoDup F T' Tp' A') Hp).
      apply sumQ_ext. intros v _. apply IH; auto. intros x. rewrite !In_remove1.
      rewrite (HA x). tauto.
Qed.

Lemma rlt_same_sets us : forall g T T' Tp Tp' A A',
  respects_run g -> eqset T T' -> eqset Tp Tp' -> eqset A A' ->
  (Exp (rlt_from F B true T Tp A us) g == Exp (rlt_from F B true T' Tp' A' us) g)%Q.
Proof.
  induction us as [|U us IH]; intros g T T' Tp Tp' A A' Hg HT HTp HA; cbn [rlt_from].
  { reflexivity. }
  assert (HTU : eqset (T ++ U) (T' ++ U)).
  { intros x. rewrite !in_app_iff. now rewrite (HT x). }
  assert (HT1 : eqset (next_marks B T U) (next_marks B T' U)).
  { unfold next_marks. rewrite (card_ext _ _ HTU). destruct (card (T' ++ U) <=? B); auto.
    apply eqset_refl. }
  assert (HTp1 : eqset (if card (T ++ U) <=? B then Tp else T)
                       (if card (T' ++ U) <=? B then Tp' else T')).
  { rewrite (card_ext _ _ HTU). destruct (card (T' ++ U) <=? B); auto. }
  pose proof (union_eqset A A' U HA) as HAU. rewrite (card_ext _ _ HAU).
  set (T1 := next_marks B T U) in *. set (T1' := next_marks B T' U) in *.
  set (Tp1 := if card (T ++ U) <=? B then Tp else T) in *.
  set (Tp1' := if card (T' ++ U) <=? B then Tp' else T') in *.
  rewrite !Exp_bind.
  assert (E : forall (T T' Tp Tp' : list nat) S1 S1', eqset T T' -> eqset Tp Tp' -> eqset S1 S1' ->
     (Exp (bind (rlt_from F B true T Tp S1 us) (fun ss => ret (S1 :: ss))) g ==
      Exp (bind (rlt_from F B true T' Tp' S1' us) (fun ss => ret (S1' :: ss))) g)%Q).
  { intros T2 T2' Tp2 Tp2' S1 S1' HT2 HTp2 HS. rewrite !Exp_bind.
    transitivity (Exp (rlt_from F B true T2 Tp2 S1 us) (fun ss => g (S1 :: ss))).
    { apply Exp_ext. intros ss _. apply Exp_ret. }
    transitivity (Exp (rlt_from F B true T2' Tp2' S1' us) (fun ss => g (S1 :: ss))).
    { apply IH; auto. now apply respects_run_cons. }
    apply Exp_ext. intros ss _. rewrite Exp_ret. apply Hg. constructor; auto.
    clear. induction ss; constructor; auto. apply eqset_refl. }
  transitivity (Exp (random_evict F B T1 Tp1 (card (union A' U)) (union A U))
                 (fun S1 => Exp (bind (rlt_from F B true T1' Tp1' S1 us)
                                      (fun ss => ret (S1 :: ss))) g)).
  { apply Exp_ext. intros S1 _. apply E; auto. apply eqset_refl. }
  apply random_evict_same_sets; auto.
  intros S1 S1' HS. apply E; auto using eqset_refl.
Qed.

(** ** One step of the paper's rule *)

Lemma In_free_leaves U T A v :
  In v (free_leaves U T A) <-> In v (candidates F U A) /\ ~ In v T.
Proof. unfold free_leaves. rewrite nodup_In, In_diff. tauto. Qed.

(** Leaves outside a closed U: with or without all of U in the cache. *)
Lemma candidates_union U A z : closed F U ->
  (In z (candidates F U (union A U)) <-> In z (candidates F U A)).
Proof.
  intros HU. rewrite !In_candidates, In_union. split.
  - intros (H1 & H2 & H3). repeat split; auto; [tauto|]. intros c Hc. apply H3, In_union. auto.
  - intros (H1 & H2 & H3). repeat split; auto. intros c Hc Hp.
    apply In_union in Hc as [Hc|Hc]; [now apply (H3 c)|]. apply H2. eapply HU; eauto.
Qed.

(** The marks during a step: [T0] before it. Either nothing has been cleared
    ([T] = T0 and what is processed), or it has been ([T] is what is
    processed), and then nothing outside T0 and U is left. *)
Definition marks_ok (T0 U T S0 don : list nat) : Prop :=
  (eqset T (don ++ T0) /\ card (don ++ T0) <= B) \/
  (eqset T don /\ B < card (T0 ++ U) /\ incl S0 (T0 ++ U)).

Section OneStep.
Variables T0 Tp0 U : list nat.
Hypothesis closed_T0 : closed F T0.
Hypothesis closed_U : closed F U.
Hypothesis small_U : card U <= B.

Let T1 := next_marks B T0 U.
Let Tp1 := if card (T0 ++ U) <=? B then Tp0 else T0.

Lemma closed_T0U : closed F (T0 ++ U).
Proof.
  intros t p Ht Hp. apply in_app_iff in Ht. apply in_app_iff. destruct Ht; eauto.
Qed.

(** The leaves that the paper's rule draws from are the pool of [rlt]. *)
Lemma same_pool T S0 don x :
  incl don U -> In x U -> ~ In x S0 -> card S0 = B ->
  incl don S0 -> incl T S0 -> (eqset T (don ++ T0) -> incl T0 S0) ->
  (card (T0 ++ U) <= B -> incl S0 (Tp0 ++ T0 ++ U) /\ incl T0 S0) ->
  marks_ok T0 U T S0 don ->
  let M := if card (x :: T) <=? B then x :: T else x :: don in
  let M2 := match free_leaves U M S0 with [] => x :: don | _ => M end in
  eqset (free_leaves U M2 S0) (pool F T1 Tp1 (union S0 U)) /\
  marks_ok T0 U M2 S0 (x :: don).
Proof.
  intros HdU HxU HxS HcS HdS HTS HT0S Hold Hmarks. cbn zeta.
  assert (HxT : ~ In x T) by (intros H; apply HxS, HTS, H).
  assert (HcxT : card (x :: T) = S (card T)).
  { rewrite (card_remove1 x); [|now left]. f_equal. apply card_ext. intros y.
    rewrite In_remove1. simpl. split; [intros ([->|?] & ?); tauto|].
    intros Hy. split; auto. intros ->. auto. }
  assert (HcT : card T <= B) by (rewrite <- HcS; now apply card_incl).
  destruct (le_lt_dec (card (T0 ++ U)) B) as [Hsame|Hnew].
  - (* the phase goes on: a leaf outside T0 u U exists *)
    destruct Hmarks as [(HT & _)|(_ & Hbad & _)]; [|lia].
    destruct (Hold Hsame) as (HSold & HT0).
    assert (Hsub : incl (x :: T) (T0 ++ U)).
    { intros y [<-|Hy]; [apply in_app_iff; auto|]. apply HT, in_app_iff in Hy.
      apply in_app_iff. destruct Hy; auto. }
    assert (Hle : card (x :: T) <= B) by (apply card_incl in Hsub; lia).
    rewrite (proj2 (Nat.leb_le _ _) Hle).
    assert (Hex : exists z, In z (free_leaves U (x :: T) S0)).
    { destruct (card_ge_exists (x :: S0) (T0 ++ U)) as (y & Hy & HyT).
      { assert (card (x :: S0) = S (card S0)); [|lia].
        rewrite (card_remove1 x); [|now left]. f_equal. apply card_ext. intros y.
        rewrite In_remove1. simpl. split; [intros ([->|?] & ?); tauto|].
        intros Hy. split; auto. intros ->. auto. }
      assert (HyS : In y S0).
      { destruct Hy as [->|Hy]; auto. exfalso. apply HyT, in_app_iff. auto. }
      destruct (leaf_below F (T0 ++ U) closed_T0U (fun _ => 0) S0 y) as (z & Hz & _); auto.
      apply In_candidates in Hz as (Hz1 & Hz2 & Hz3). exists z. apply In_free_leaves.
      split; [|intros Hz; apply Hz2, Hsub, Hz]. apply In_candidates.
      repeat split; auto. intros HzU. apply Hz2, in_app_iff. auto. }
    destruct Hex as (z0 & Hz0).
    destruct (free_leaves U (x :: T) S0) as [|z1 l] eqn:Ef; [easy|]. split.
    + unfold T1, Tp1, next_marks. rewrite (proj2 (Nat.leb_le _ _) Hsame).
      intros v. rewrite In_free_leaves, In_pool, !In_candidates, In_union.
      assert (HvT : In v S0 -> (~ In v U /\ ~ In v (x :: T) <-> ~ In v (T0 ++ U))).
      { intros _. rewrite in_app_iff. simpl. rewrite (HT v), in_app_iff.
        split; [tauto|]. intros Hn. split; [tauto|].
        intros [->|[Hd|Hd]]; [tauto| |tauto]. apply Hn. auto. }
      split.
      * intros ((H1 & H2 & H3) & H4). split; [split; [auto|split]|].
        -- now apply HvT.
        -- intros c Hc Hp. apply In_union in Hc as [Hc|Hc]; [now apply (H3 c)|].
           apply H2. eapply closed_U; eauto.
        -- intros _ z Hz. apply In_candidates in Hz as (Hz1 & Hz2 & _).
           apply In_union in Hz1. rewrite in_app_iff in Hz2.
           destruct Hz1 as [Hz1|Hz1]; [|tauto]. apply HSold in Hz1.
           rewrite !in_app_iff in Hz1. tauto.
      * intros ((H1 & H2 & H3) & _). rewrite in_app_iff in H2.
        destruct H1 as [H1|H1]; [|tauto]. apply and_comm. apply HvT in H1 as Hv.
        rewrite in_app_iff in Hv. destruct (proj2 Hv H2) as (Hv1 & Hv2).
        split; auto. repeat split; auto. intros c Hc. apply H3, In_union. auto.
    + left. split.
      * intros y. simpl. rewrite (HT y). tauto.
      * rewrite (card_ext ((x :: don) ++ T0) (x :: T)); auto.
        intros y. simpl. rewrite (HT y). tauto.
  - (* a new phase: leaves outside T0 first, then all outside U *)
    assert (HT1 : T1 = U /\ Tp1 = T0).
    { unfold T1, Tp1, next_marks. apply Nat.leb_gt in Hnew. rewrite Hnew. auto. }
    destruct HT1 as (-> & ->).
    (* once no leaf outside T0 u U is left, nothing is *)
    assert (Hnone : (forall z, In z (candidates F U S0) -> In z T0) -> incl S0 (T0 ++ U)).
    { intros Hall y Hy. destruct (In_dec y (T0 ++ U)) as [|Hn]; auto. exfalso.
      destruct (leaf_below F (T0 ++ U) closed_T0U (fun _ => 0) S0 y) as (z & Hz & _); auto.
      apply In_candidates in Hz as (Hz1 & Hz2 & Hz3). apply Hz2, in_app_iff. left.
      apply Hall, In_candidates. repeat split; auto. intros HzU. apply Hz2, in_app_iff. auto. }
    assert (Hpool : forall v, In v (pool F U T0 (union S0 U)) <->
              In v (candidates F U S0) /\
              (In v T0 -> forall z, In z (candidates F U S0) -> In z T0)).
    { intros v. rewrite In_pool, (candidates_union U S0 v closed_U).
      split; intros (H1 & H2); (split; [exact H1|]); intros Hv z Hz; apply H2; auto.
      - exact (proj2 (candidates_union U S0 z closed_U) Hz).
      - exact (proj1 (candidates_union U S0 z closed_U) Hz). }
    assert (Hafter : incl S0 (T0 ++ U) ->
              eqset (free_leaves U (x :: don) S0) (pool F U T0 (union S0 U)) /\
              marks_ok T0 U (x :: don) S0 (x :: don)).
    { intros Hin. split.
      - intros v. rewrite In_free_leaves, Hpool. split; intros (H1 & H2); split; auto.
        + intros _ z Hz. apply In_candidates in Hz as (Hz1 & Hz2 & _).
          apply Hin, in_app_iff in Hz1. tauto.
        + apply In_candidates in H1 as (_ & H1 & _). intros [->|Hd]; auto.
      - right. repeat split; auto. }
    destruct Hmarks as [(HT & Hc)|(HT & _ & Hin)].
    + destruct (card (x :: T) <=? B) eqn:Em.
      * destruct (free_leaves U (x :: T) S0) as [|z1 l] eqn:Ef.
        -- (* stuck *)
           apply Hafter, Hnone. intros z Hz. destruct (In_dec z T0) as [|Hn]; auto. exfalso.
           assert (Hzf : In z (free_leaves U (x :: T) S0)).
           { apply In_free_leaves. split; auto. apply In_candidates in Hz as (_ & HzU & _).
             intros [->|Hz]; auto. apply HT, in_app_iff in Hz. destruct Hz; auto. }
           rewrite Ef in Hzf. easy.
        -- apply Nat.leb_le in Em.
           assert (Hz1 : In z1 (free_leaves U (x :: T) S0)) by (rewrite Ef; now left).
           split.
           ++ intros v. rewrite In_free_leaves, Hpool. split; intros (H1 & H2); split; auto.
              ** intros Hv. exfalso. apply H2. right. apply HT, in_app_iff. auto.
              ** apply In_free_leaves in Hz1 as (Hz1 & Hz2). intros Hv.
                 assert (HvT0 : In v T0).
                 { apply In_candidates in H1 as (_ & HvU & _). destruct Hv as [->|Hv]; [easy|].
                   apply HT, in_app_iff in Hv. destruct Hv; auto. exfalso. auto. }
                 apply Hz2. right. apply HT, in_app_iff. right. now apply (H2 HvT0).
           ++ left. split; [intros y; simpl; rewrite (HT y); tauto|].
              rewrite (card_ext ((x :: don) ++ T0) (x :: T)); auto.
              intros y. simpl. rewrite (HT y). tauto.
      * (* mark B+1: the cache is full of marked tokens *)
        apply Nat.leb_gt in Em.
        assert (HSsub : incl S0 T).
        { assert (HcTB : card T = card S0) by lia.
          intros y Hy. destruct (In_dec y T) as [|Hn]; auto. exfalso.
          assert (card T <= card (remove1 y S0)).
          { apply card_incl. intros z Hz. apply In_remove1. split; auto. intros ->. auto. }
          rewrite (card_remove1 y S0 Hy) in HcTB. lia. }
        assert (Hin : incl S0 (T0 ++ U)).
        { intros y Hy. apply HSsub, HT, in_app_iff in Hy. apply in_app_iff. destruct Hy; auto. }
        assert (Hm2 : match free_leaves U (x :: don) S0 with
                      | [] => x :: don | _ => x :: don end = x :: don)
          by (destruct (free_leaves U (x :: don) S0); reflexivity).
        rewrite Hm2. exact (Hafter Hin).
    + destruct (Hafter Hin) as (A1 & A2).
      assert (HM : eqset (x :: T) (x :: don)) by (intros y; simpl; now rewrite (HT y)).
      assert (HcM : card (x :: T) <= B).
      { rewrite (card_ext _ _ HM). etransitivity; [|exact small_U]. apply card_incl.
        intros y [<-|Hy]; auto. }
      rewrite (proj2 (Nat.leb_le _ _) HcM).
      assert (Hfr : forall v, In v (free_leaves U (x :: T) S0) <->
                              In v (free_leaves U (x :: don) S0)).
      { intros v. rewrite !In_free_leaves, (HM v). tauto. }
      destruct (free_leaves U (x :: T) S0) as [|z1 l] eqn:Ef; auto. split.
      * eapply eqset_trans; [|exact A1]. intros v. rewrite Ef. apply Hfr.
      * right. repeat split; auto; apply HM.
Qed.

(** What holds while the step is processed. *)
Record inv (T S0 don : list nat) : Prop := {
  inv_don_U : incl don U;
  inv_don : incl don S0;
  inv_T : incl T S0;
  inv_card : card S0 <= B;
  inv_marks : marks_ok T0 U T S0 don;
  inv_old : card (T0 ++ U) <= B -> incl S0 (Tp0 ++ T0 ++ U)
}.

Lemma card_cons x A : ~ In x A -> card (x :: A) = S (card A).
Proof.
  intros Hx. rewrite (card_remove1 x); [|now left]. f_equal. apply card_ext. intros y.
  rewrite In_remove1. simpl. split; [intros ([->|?] & ?); tauto|].
  intros Hy. split; auto. intros ->. auto.
Qed.

(** The token is cached, or there is room for it. *)
Lemma inv_room T S0 don x S1 :
  inv T S0 don -> In x U -> eqset S1 (x :: S0) -> card S1 <= B ->
  (if card (x :: T) <=? B then x :: T else x :: don) = x :: T /\
  inv (x :: T) S1 (x :: don).
Proof.
  intros [I1 I2 I3 I4 I5 I6] Hx HS1 Hc.
  assert (HT : incl (x :: T) S1).
  { intros y [<-|Hy]; apply HS1; simpl; auto. }
  assert (HcT : card (x :: T) <= B) by (apply card_incl in HT; lia).
  rewrite (proj2 (Nat.leb_le _ _) HcT). split; auto. split; auto.
  - intros y [<-|Hy]; auto.
  - intros y [<-|Hy]; apply HS1; simpl; auto.
  - destruct I5 as [(E & Hle)|(E & Hgt & Hin)]; [left|right].
    + split; [intros y; simpl; rewrite (E y); tauto|].
      rewrite (card_ext ((x :: don) ++ T0) (x :: T)); auto.
      intros y. simpl. rewrite (E y). tauto.
    + repeat split; auto; try (intros y; simpl; rewrite (E y); tauto).
      * simpl. intros [->|Hy]; auto. right. now apply E.
      * simpl. intros [->|Hy]; auto. right. now apply E.
      * intros y Hy. apply HS1 in Hy as [<-|Hy]; auto. apply in_app_iff. auto.
  - intros Hle y Hy. apply HS1 in Hy as [<-|Hy]; [rewrite !in_app_iff; auto|].
    now apply I6.
Qed.

(** The cache is full: a leaf goes. *)
Lemma inv_full T S0 don x v :
  inv T S0 don -> In x U -> ~ In x S0 -> card S0 = B ->
  let M := if card (x :: T) <=? B then x :: T else x :: don in
  let M2 := match free_leaves U M S0 with [] => x :: don | _ => M end in
  In v (free_leaves U M2 S0) ->
  ~ In v U /\ In v S0 /\ inv M2 (x :: remove1 v S0) (x :: don).
Proof.
  intros [I1 I2 I3 I4 I5 I6] Hx HxS HcS M M2 Hv.
  assert (HT0 : card (T0 ++ U) <= B -> incl T0 S0).
  { intros Hle. destruct I5 as [(E & _)|(_ & Hgt & _)]; [|lia].
    intros y Hy. apply I3, E, in_app_iff. auto. }
  destruct (same_pool T S0 don x I1 Hx HxS HcS I2 I3) as (_ & Hmarks); auto.
  { intros E y Hy. apply I3, E, in_app_iff. auto. }
  fold M M2 in Hmarks.
  assert (HM2 : incl M2 (x :: S0)).
  { assert (HM : incl M (x :: S0)).
    { unfold M. destruct (card (x :: T) <=? B); intros y [<-|Hy]; simpl; auto. }
    unfold M2. destruct (free_leaves U M S0); auto. intros y [<-|Hy]; simpl; auto. }
  apply In_free_leaves in Hv as (Hv & HvM). apply In_candidates in Hv as (HvS & HvU & _).
  assert (Hvx : v <> x) by (intros ->; auto).
  split; [exact HvU|]. split; [exact HvS|]. split.
  - intros y [<-|Hy]; auto.
  - intros y [<-|Hy]; [now left|]. right. apply In_remove1. split; auto.
    intros ->. auto.
  - intros y Hy. pose proof (HM2 y Hy) as [<-|Hy']; [now left|]. right.
    apply In_remove1. split; auto. intros ->. auto.
  - rewrite card_cons by (rewrite In_remove1; tauto).
    rewrite (card_remove1 v S0 HvS) in HcS. lia.
  - destruct Hmarks as [Hl|(E & Hgt & Hin)]; [left; auto|right].
    split; auto. split; auto. intros y [<-|Hy]; [apply in_app_iff; auto|].
    apply In_remove1 in Hy. apply Hin. tauto.
  - intros Hle y [<-|Hy]; [rewrite !in_app_iff; auto|].
    apply In_remove1 in Hy. apply I6; tauto.
Qed.

Lemma tokens_support l : forall T S0 don st,
  inv T S0 don -> incl l U -> in_support st (paper_tokens U l (T, S0, don)) ->
  let '(T', S1, don') := st in inv T' S1 don' /\ (forall x, In x don' <-> In x l \/ In x don).
Proof.
  induction l as [|x l IH]; intros T S0 don st Hinv Hl Hst; cbn [paper_tokens] in Hst.
  - apply support_ret in Hst. subst. split; auto. intros x. simpl. tauto.
  - apply support_bind in Hst as (st1 & H1 & Hst).
    assert (Hx : In x U) by (apply Hl; now left).
    assert (Hl' : incl l U) by (intros y Hy; apply Hl; now right).
    assert (G : forall T9 S1, st1 = (T9, S1, x :: don) -> inv T9 S1 (x :: don) ->
              let '(T', S2, don') := st in
              inv T' S2 don' /\ (forall y, In y don' <-> In y (x :: l) \/ In y don)).
    { intros T9 S1 -> Hi. specialize (IH T9 S1 (x :: don) st Hi Hl' Hst).
      destruct st as ((T', S2), don'). destruct IH as (A1 & A2). split; auto.
      intros y. rewrite A2. simpl. tauto. }
    unfold paper_token in H1.
    destruct (mem x S0) eqn:Em; [|destruct (card S0 <? B) eqn:Ec].
    + apply mem_In in Em. apply support_ret in H1.
      destruct (inv_room T S0 don x S0 Hinv Hx) as (E & Hi).
      { intros y. simpl. split; [auto|]. intros [<-|?]; auto. }
      { apply (inv_card T S0 don Hinv). }
      rewrite E in H1. eapply G; eauto.
    + apply mem_not_In in Em. apply Nat.ltb_lt in Ec. apply support_ret in H1.
      destruct (inv_room T S0 don x (x :: S0) Hinv Hx (eqset_refl _)) as (E & Hi).
      { rewrite card_cons; auto. }
      rewrite E in H1. eapply G; eauto.
    + apply mem_not_In in Em. apply Nat.ltb_ge in Ec.
      apply support_bind in H1 as (v & Hv & H1). apply support_uniform in Hv.
      apply support_ret in H1.
      pose proof (inv_card T S0 don Hinv).
      destruct (inv_full T S0 don x v Hinv Hx Em ltac:(lia) Hv) as (_ & _ & Hi).
      eapply G; eauto.
Qed.

(** The law after the step, for any function of the cache as a set. *)
Lemma tokens_law h l : respects h -> forall n T S0 don,
  inv T S0 don -> NoDup l -> (forall x, In x U <-> In x don \/ In x l) ->
  (forall x, In x l -> ~ In x don) ->
  card (union S0 U) <= n + B ->
  (Exp (paper_tokens U l (T, S0, don)) (fun st => h (snd (fst st))) ==
   Exp (random_evict F B T1 Tp1 n (union S0 U)) h)%Q.
Proof.
  intros Hh. induction l as [|x l IH]; intros n T S0 don Hinv HN HU Hdis Hn;
    cbn [paper_tokens].
  - rewrite Exp_ret. cbn [fst snd].
    assert (E : eqset S0 (union S0 U)).
    { intros y. rewrite In_union. split; auto. intros [Hy|Hy]; auto.
      apply HU in Hy as [Hy|[]]. now apply (inv_don T S0 don Hinv). }
    pose proof (inv_card T S0 don Hinv) as Hc. rewrite (card_ext _ _ E) in Hc.
    assert (Hev : random_evict F B T1 Tp1 n (union S0 U) = ret (union S0 U)).
    { destruct n as [|n]; [reflexivity|]. cbn [random_evict].
      now rewrite (proj2 (Nat.leb_le _ _) Hc). }
    rewrite Hev, Exp_ret. now apply Hh.
  - rewrite Exp_bind. assert (Hx : In x U) by (apply HU; right; now left).
    inversion HN as [|? ? Hxl HN']; subst.
    assert (HU' : forall y, In y U <-> In y (x :: don) \/ In y l).
    { intros y. rewrite HU. simpl. tauto. }
    assert (Hdis' : forall y, In y l -> ~ In y (x :: don)).
    { intros y Hy [<-|Hd]; auto. apply (Hdis y); auto. now right. }
    unfold paper_token.
    destruct (mem x S0) eqn:Em; [|destruct (card S0 <? B) eqn:Ec].
    + apply mem_In in Em.
      destruct (inv_room T S0 don x S0 Hinv Hx) as (E & Hi).
      { intros y. simpl. split; [auto|]. intros [<-|?]; auto. }
      { apply (inv_card T S0 don Hinv). }
      rewrite E, Exp_ret. now apply IH.
    + apply mem_not_In in Em. apply Nat.ltb_lt in Ec.
      destruct (inv_room T S0 don x (x :: S0) Hinv Hx (eqset_refl _)) as (E & Hi).
      { rewrite card_cons; auto. }
      rewrite E, Exp_ret.
      assert (EU : eqset (union (x :: S0) U) (union S0 U)).
      { intros y. rewrite !In_union. simpl. intuition. subst. auto. }
      rewrite (IH n (x :: T) (x :: S0) (x :: don)); auto.
      * now apply random_evict_respects.
      * now rewrite (card_ext _ _ EU).
    + apply mem_not_In in Em. apply Nat.ltb_ge in Ec.
      pose proof (inv_card T S0 don Hinv) as HcB.
      assert (HcS : card S0 = B) by lia.
      assert (HcU : B < card (union S0 U)).
      { assert (card (x :: S0) <= card (union S0 U)).
        { apply card_incl. intros y [<-|Hy]; apply In_union; auto. }
        rewrite card_cons in *; auto. lia. }
      destruct n as [|n]; [lia|]. cbn [random_evict].
      rewrite (proj2 (Nat.leb_gt _ _) HcU).
      set (M := if card (x :: T) <=? B then x :: T else x :: don).
      set (M2 := match free_leaves U M S0 with [] => x :: don | _ => M end).
      destruct Hinv as [I1 I2 I3 I4 I5 I6] eqn:EI. clear EI.
      assert (Hinv' : inv T S0 don) by (split; auto).
      destruct (same_pool T S0 don x I1 Hx Em HcS I2 I3) as (Hpool & _); auto.
      { intros E y Hy. apply I3, E, in_app_iff. auto. }
      { intros Hle. split; auto. destruct I5 as [(E & _)|(_ & Hgt & _)]; [|lia].
        intros y Hy. apply I3, E, in_app_iff. auto. }
      cbn zeta in Hpool. fold M in Hpool. fold M2 in Hpool.
      rewrite Exp_bind, !Exp_bind, !Exp_uniform.
      assert (HNf : NoDup (free_leaves U M2 S0)) by apply NoDup_nodup.
      assert (Hlen : length (free_leaves U M2 S0) = length (pool F T1 Tp1 (union S0 U))).
      { rewrite <- !card_NoDup by (auto; apply pool_NoDup). now apply card_ext. }
      rewrite Hlen. apply Qmult_comp; [reflexivity|].
      rewrite <- (sumQ_set _ _ _ HNf (pool_NoDup F T1 Tp1 (union S0 U)) Hpool).
      apply sumQ_ext. intros v Hv. rewrite Exp_ret.
      destruct (inv_full T S0 don x v Hinv' Hx Em HcS Hv) as (HvU & HvS & Hi).
      assert (EU : eqset (union (x :: remove1 v S0) U) (remove1 v (union S0 U))).
      { intros y. rewrite In_union, In_remove1, In_union. simpl. rewrite In_remove1.
        split.
        - intros [[<-|(H1 & H2)]|H1].
          + split; auto. intros ->. auto.
          + auto.
          + split; auto. intros ->. auto.
        - intros ([H1|H1] & H2); auto. }
      rewrite (IH n M2 (x :: remove1 v S0) (x :: don)); auto.
      * now apply random_evict_respects.
      * rewrite (card_ext _ _ EU).
        assert (HvA : In v (union S0 U)) by (apply In_union; auto).
        rewrite (card_remove1 v _ HvA) in Hn. lia.
Qed.

(** After the step the marks are the ones of [rlt], as a set, whatever was
    drawn, and the cache lies within the two last phases. *)
Lemma step_marks T S0 T2 S1 don order :
  NoDup order -> (forall x, In x order <-> In x U) -> inv T S0 [] ->
  in_support (T2, S1, don) (paper_tokens U order (T, S0, [])) ->
  eqset T2 T1 /\ incl T2 S1 /\ card S1 <= B /\ incl S1 (Tp1 ++ T1).
Proof.
  intros HN Ho Hinv Hst.
  pose proof (tokens_support order T S0 [] _ Hinv ltac:(intros y Hy; now apply Ho) Hst)
    as ([I1 I2 I3 I4 I5 I6] & Hdon).
  assert (HdU : eqset don U).
  { intros y. rewrite Hdon, Ho. simpl. tauto. }
  assert (Hsw : card (don ++ T0) = card (T0 ++ U)).
  { apply card_ext. intros y. rewrite !in_app_iff, (HdU y). tauto. }
  enough (eqset T2 T1 /\ incl S1 (Tp1 ++ T1)) by tauto.
  unfold T1, Tp1, next_marks. destruct I5 as [(E & Hle)|(E & Hgt & Hin)].
  - rewrite Hsw in Hle. rewrite (proj2 (Nat.leb_le _ _) Hle). split; [|now apply I6].
    intros y. rewrite (E y), !in_app_iff, (HdU y). tauto.
  - rewrite (proj2 (Nat.leb_gt _ _) Hgt). split; auto.
    intros y. rewrite (E y). apply HdU.
Qed.
End OneStep.

(** ** Whole runs *)

Lemma paper_run us : forall g T T' Tp S0,
  respects_run g ->
  (forall U, In U us -> closed F U /\ card U <= B) ->
  closed F T' -> eqset T T' -> incl T' S0 -> incl S0 (Tp ++ T') -> card S0 <= B ->
  (Exp (paper_from T S0 us) g == Exp (rlt_from F B true T' Tp S0 us) g)%Q.
Proof.
  induction us as [|U us IH]; intros g T T' Tp S0 Hg Hus HT' HTT HTS HSTp HcS;
    cbn [paper_from rlt_from]; [reflexivity|].
  destruct (Hus U) as (HU & HUB); [now left|].
  assert (Hus' : forall V, In V us -> closed F V /\ card V <= B)
    by (intros V HV; apply Hus; now right).
  set (T1 := next_marks B T' U).
  set (Tp1 := if card (T' ++ U) <=? B then Tp else T').
  assert (HT1 : closed F T1) by now apply next_marks_closed.
  assert (Hinv0 : inv T' Tp U T S0 []).
  { split; auto.
    - intros y [].
    - intros y [].
    - intros y Hy. apply HTS. now apply HTT.
    - left. split; [intros y; simpl; apply HTT|]. simpl.
      etransitivity; [|exact HcS]. now apply card_incl.
    - intros _ y Hy. apply HSTp in Hy. rewrite !in_app_iff in *. tauto. }
  rewrite !Exp_bind.
  (* the rest of the run, as a function of the cache *)
  set (h := fun S1 => Exp (bind (rlt_from F B true T1 Tp1 S1 us)
                                (fun ss => ret (S1 :: ss))) g).
  assert (Hh : respects h).
  { intros S1 S1' HS. unfold h. rewrite !Exp_bind.
    transitivity (Exp (rlt_from F B true T1 Tp1 S1 us) (fun ss => g (S1 :: ss))).
    { apply Exp_ext. intros ss _. apply Exp_ret. }
    transitivity (Exp (rlt_from F B true T1 Tp1 S1' us) (fun ss => g (S1 :: ss))).
    { apply rlt_same_sets; auto using eqset_refl. now apply respects_run_cons. }
    apply Exp_ext. intros ss _. rewrite Exp_ret. apply Hg. constructor; auto.
    clear. induction ss; constructor; auto. apply eqset_refl. }
  transitivity (Exp (paper_tokens U (ord U) (T, S0, [])) (fun st => h (snd (fst st)))).
  - apply Exp_ext. intros ((T2, S1), don) Hst. cbn [fst snd].
    destruct (step_marks T' Tp U HT' HU HUB T S0 T2 S1 don (ord U) (ord_NoDup U) (ord_In U)
                Hinv0 Hst) as (HT2 & I3 & I4 & HS1).
    fold T1 Tp1 in HS1. fold T1 in HT2.
    unfold h. rewrite !Exp_bind.
    transitivity (Exp (paper_from T2 S1 us) (fun ss => g (S1 :: ss))).
    { apply Exp_ext. intros ss _. apply Exp_ret. }
    transitivity (Exp (rlt_from F B true T1 Tp1 S1 us) (fun ss => g (S1 :: ss))).
    { apply IH; auto; [now apply respects_run_cons|].
      intros y Hy. apply I3. now apply HT2. }
    apply Exp_ext. intros ss _. symmetry. apply Exp_ret.
  - apply (tokens_law T' Tp U HT' HU HUB h (ord U) Hh); auto.
    + intros x. rewrite ord_In. simpl. tauto.
    + lia.
Qed.

(** Lemma 3: the joint law of the caches after all steps is the same, read by
    any function [g] that looks at caches as sets. *)
Theorem lemma_3 : forall u us g,
  admissible F B u us -> respects_run g ->
  (Exp (paper us) g == Exp (rlt F B us) g)%Q.
Proof.
  intros u us g H Hg. apply paper_run; auto using eqset_refl, incl_refl.
  - intros U HU. destruct (H U HU). split; auto. lia.
  - intros t p [].
  - rewrite card_nil. lia.
Qed.

(** In particular the expected costs are equal. *)
Theorem lemma_3_cost : forall u us,
  admissible F B u us ->
  (expected_cost (paper us) us == expected_cost (rlt F B us) us)%Q.
Proof.
  intros u us H. apply lemma_3 with (u := u); auto.
  intros ss ss' Hs. enough (E : forall A A', eqset A A' -> cost A us ss = cost A' us ss').
  { rewrite (E [] [] (eqset_refl [])). reflexivity. }
  clear H. revert us. induction Hs as [|S1 S1' ss ss' HS Hs IH]; intros [|U us] A A' HA;
    cbn [cost]; auto.
  rewrite (IH us S1 S1' HS). f_equal. apply card_ext. intros x.
  rewrite !In_diff, (HA x). tauto.
Qed.
End Lemma3.
