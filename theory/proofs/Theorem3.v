(** * Theorem 3: no randomised policy beats H_k, k = B - L - beta + 2

    Yao's argument on the broom of Theorem 2.  Ask for uniformly random leaves
    among k+1.  Any policy misses with probability at least 1/(k+1); an
    offline schedule misses once whenever all k+1 leaves have been seen, that
    is, in expectation once in (k+1) H_k steps (coupon collector). *)

From KVBounds Require Export Broom Dist.

Local Open Scope nat_scope.

(** [n] independent uniform draws from [l]. *)
Fixpoint draws (l : list nat) (n : nat) : dist (list nat) :=
  match n with
  | O => ret []
  | S n' => bind (uniform l) (fun x => bind (draws l n') (fun xs => ret (x :: xs)))
  end.

Lemma draws_proper l n : l <> [] -> proper (draws l n).
Proof.
  intros Hl. induction n as [|n IH]; [apply proper_ret|]. cbn [draws].
  apply proper_bind; [now apply proper_uniform|]. intros x _.
  apply proper_bind; auto. intros xs _. apply proper_ret.
Qed.

Lemma draws_support l n : forall xs, in_support xs (draws l n) ->
  length xs = n /\ incl xs l.
Proof.
  induction n as [|n IH]; intros xs Hxs.
  - apply support_ret in Hxs. subst. split; [reflexivity|intros x []].
  - cbn [draws] in Hxs. apply support_bind in Hxs as (x & Hx & Hxs).
    apply support_uniform in Hx. apply support_bind in Hxs as (ys & Hys & Hxs).
    apply support_ret in Hxs. subst xs. destruct (IH ys Hys) as (H1 & H2). split.
    + simpl. now rewrite H1.
    + intros y [<-|Hy]; auto.
Qed.

Lemma draws_cons l n f : l <> [] ->
  (qn (length l) * Exp (draws l (S n)) f ==
   sumQ (fun x => Exp (draws l n) (fun xs => f (x :: xs))) l)%Q.
Proof.
  intros Hl. cbn [draws]. rewrite Exp_bind, Exp_uniform.
  assert (Hpos : (0 < qn (length l))%Q) by (destruct l; [easy|apply qn_pos]).
  rewrite Qmult_assoc, Qmult_inv_r, Qmult_1_l by lra. apply sumQ_ext. intros x _.
  rewrite Exp_bind. apply Exp_ext. intros xs _. apply Exp_ret.
Qed.

Lemma Exp_swap {A C} (d : dist A) (e : dist C) f :
  (Exp d (fun a => Exp e (fun c => f a c)) == Exp e (fun c => Exp d (fun a => f a c)))%Q.
Proof.
  induction d as [|(p, a) d IH].
  - transitivity (0 * Exp e (fun _ => 0))%Q; [cbn; ring|].
    rewrite <- Exp_scale. apply Exp_ext. intros c _. cbn. ring.
  - change (p * Exp e (f a) + Exp d (fun a => Exp e (fun c => f a c)) ==
            Exp e (fun c => p * f a c + Exp d (fun a => f a c)))%Q.
    rewrite Exp_plus, Exp_scale, IH. reflexivity.
Qed.

Section Yao.
Variables B L beta : nat.
Hypothesis L1 : 1 <= L.
Hypothesis b1 : 1 <= beta.
Hypothesis room : L + beta - 1 <= B.

Let m := L + beta - 2.
Let k := B + 2 - L - beta.
Let fp (x : nat) : list nat := footprint (broom L) (broom_batch L beta x).

Definition leaves : list nat := seq (L + beta - 2) (B + 2 - L - beta + 1).

Lemma mk : m + k = B /\ 1 <= k.
Proof. unfold m, k. lia. Qed.

Lemma In_leaves x : In x leaves <-> m <= x <= B.
Proof. unfold leaves. rewrite in_seq. unfold m. lia. Qed.

Lemma leaves_length : length leaves = S k.
Proof. unfold leaves. rewrite seq_length. unfold k. lia. Qed.

Lemma leaves_nonempty : leaves <> [].
Proof. intros E. pose proof leaves_length as H. rewrite E in H. easy. Qed.

(** ** Every policy misses with probability 1/(k+1) *)

Lemma misses_one A : card A <= B -> (1 <= sumQ (fun x => qn (card (diff (fp x) A))) leaves)%Q.
Proof.
  intros HA. set (x := pick B L beta A).
  assert (Hx : In x leaves) by (apply In_leaves, pick_range; auto).
  assert (Hm : 1 <= card (diff (fp x) A)) by (apply pick_misses; auto).
  apply qn_le in Hm. change (qn 1) with 1%Q in Hm.
  apply in_split in Hx as (l1 & l2 & E). rewrite E, sumQ_app. cbn [sumQ].
  assert (H1 : (0 <= sumQ (fun y => qn (card (diff (fp y) A))) l1)%Q)
    by (apply sumQ_nonneg; intros; apply qn_nonneg).
  assert (H2 : (0 <= sumQ (fun y => qn (card (diff (fp y) A))) l2)%Q)
    by (apply sumQ_nonneg; intros; apply qn_nonneg).
  lra.
Qed.

Lemma policy_misses pol n : keeps_capacity B L pol -> forall past,
  (forall U, In U past -> closed (broom L) U /\ card U <= B) ->
  (qn n <= qn (S k) * Exp (draws leaves n) (fun xs =>
     qn (cost (pol past) (map fp xs) (run_from pol past (map fp xs)))))%Q.
Proof.
  intros Hpol. induction n as [|n IH]; intros past Hpast.
  - cbn [draws]. rewrite Exp_ret. cbn [map cost]. change (qn 0) with 0%Q. lra.
  - rewrite <- leaves_length, draws_cons by apply leaves_nonempty.
    cbn [map run_from cost].
    assert (Hstep : (sumQ (fun x => qn (card (diff (fp x) (pol past))) + qn n * / qn (S k)) leaves
       <= sumQ (fun x => Exp (draws leaves n) (fun xs =>
            qn (card (diff (fp x) (pol past)) +
                cost (pol (fp x :: past)) (map fp xs)
                     (run_from pol (fp x :: past) (map fp xs))))) leaves)%Q).
    { apply sumQ_le. intros x Hx. apply In_leaves in Hx.
      specialize (IH (fp x :: past)).
      assert (Hp : forall U, In U (fp x :: past) -> closed (broom L) U /\ card U <= B).
      { intros U [<-|HU]; auto. apply fp_admissible; auto. apply Hx. }
      specialize (IH Hp).
      set (e := Exp (draws leaves n) (fun xs => qn (cost (pol (fp x :: past)) (map fp xs)
                 (run_from pol (fp x :: past) (map fp xs))))) in *.
      assert (Ee : (Exp (draws leaves n) (fun xs =>
            qn (card (diff (fp x) (pol past)) +
                cost (pol (fp x :: past)) (map fp xs)
                     (run_from pol (fp x :: past) (map fp xs))))
            == qn (card (diff (fp x) (pol past))) + e)%Q).
      { rewrite <- (Exp_const (draws leaves n) (qn (card (diff (fp x) (pol past)))))
          by (apply draws_proper, leaves_nonempty).
        unfold e. rewrite <- Exp_plus. apply Exp_ext. intros xs _. apply qn_plus. }
      rewrite Ee. apply Qplus_le_compat; [lra|].
      pose proof (qn_pos k) as Hk. apply Qmult_lt_0_le_reg_r with (qn (S k)); auto.
      rewrite <- Qmult_assoc, (Qmult_comm (/ qn (S k))), Qmult_inv_r by lra. lra. }
    rewrite sumQ_plus, sumQ_const, leaves_length in Hstep.
    pose proof (misses_one (pol past) (Hpol past Hpast)) as H1.
    pose proof (qn_pos k) as Hk.
    assert (E1 : (qn (S k) * (qn n * / qn (S k)) == qn n)%Q) by (field; lra).
    rewrite E1 in Hstep. rewrite (qn_S n). lra.
Qed.

(** ** The offline schedule: one miss a phase *)

(** Phases completed, when [A] has been seen in this one. *)
Fixpoint phases (A xs : list nat) : nat :=
  match xs with
  | [] => 0
  | x :: xs' => if card (x :: A) <=? k then phases (x :: A) xs'
                else 1 + phases [x] xs'
  end.

Lemma phases_offline xs : forall A,
  incl A leaves -> card A <= k -> incl xs leaves ->
  exists z ss, In z leaves /\ ~ In z A /\
    schedule B (allbut B z) (map fp xs) ss /\ all_closed (broom L) ss /\
    cost (allbut B z) (map fp xs) ss <= phases A xs.
Proof.
  destruct mk as (Hmk & Hk).
  induction xs as [|x xs IH]; intros A HA HcA Hxs.
  - destruct (card_ge_exists leaves A) as (z & Hz & HzA).
    { unfold leaves. rewrite card_seq. fold k. lia. }
    exists z, []. repeat split; auto. intros D [].
  - assert (Hx : In x leaves) by (apply Hxs; now left).
    assert (Hxs' : incl xs leaves) by (intros y Hy; apply Hxs; now right).
    cbn [phases]. destruct (card (x :: A) <=? k) eqn:E.
    + apply Nat.leb_le in E.
      destruct (IH (x :: A)) as (z & ss & Hz & HzA & H1 & H2 & H3); auto.
      { intros y [<-|Hy]; auto. }
      apply In_leaves in Hz, Hx.
      assert (Hzx : z <> x) by (intros ->; apply HzA; now left).
      assert (Hin : incl (fp x) (allbut B z)).
      { intros y Hy. apply (In_fp B L beta L1 b1 room) in Hy; [|apply Hx].
        apply In_allbut. unfold m in *. lia. }
      exists z, (allbut B z :: ss). cbn [map schedule cost].
      split; [now apply In_leaves|]. split; [intros HzA'; apply HzA; now right|].
      split; [|split].
      * split; [exact Hin|]. split; [intros y Hy; apply in_app_iff; auto|].
        split; auto. rewrite card_allbut by lia. lia.
      * intros D [<-|HD]; auto. apply (allbut_closed B L beta); auto. apply Hz.
      * assert (Hd : card (diff (fp x) (allbut B z)) <= 0).
        { rewrite <- card_nil. apply card_incl. intros y Hy.
          apply In_diff in Hy as (Hy & Hn). exfalso. auto. }
        lia.
    + apply Nat.leb_gt in E.
      destruct (IH [x]) as (z & ss & Hz & Hzx & H1 & H2 & H3); auto.
      { intros y [<-|[]]; auto. }
      assert (HxA : ~ In x A).
      { intros HxA. assert (card (x :: A) <= card A); [|lia].
        apply card_incl. intros y [<-|Hy]; auto. }
      apply In_leaves in Hz, Hx.
      assert (Hne : z <> x) by (intros ->; apply Hzx; now left).
      exists x, (allbut B z :: ss). cbn [map schedule cost].
      split; [now apply In_leaves|]. split; [exact HxA|]. split; [|split].
      * split; [|split; [|split]]; auto.
        -- intros y Hy. apply (In_fp B L beta L1 b1 room) in Hy; [|apply Hx].
           apply In_allbut. unfold m in *. lia.
        -- intros y Hy. apply In_allbut in Hy. apply in_app_iff.
           destruct (Nat.eq_dec y x) as [->|Hyx].
           ++ right. apply (In_fp B L beta L1 b1 room); auto. apply Hx.
           ++ left. apply In_allbut. lia.
        -- rewrite card_allbut by lia. lia.
      * intros D [<-|HD]; auto. apply (allbut_closed B L beta); auto. apply Hz.
      * assert (Hd : card (diff (fp x) (allbut B x)) <= card [x]).
        { apply card_incl. intros y Hy. apply In_diff in Hy as (Hy & Hn).
          apply (In_fp B L beta L1 b1 room) in Hy; [|apply Hx].
          rewrite In_allbut in Hn. left. unfold m in *. lia. }
        rewrite card_single in Hd. lia.
Qed.

(** ** Coupon collector *)

Let W : Q := (qn (S k) * harmonic k)%Q.

(** Expected steps that a phase still lasts when [j] leaves have been seen. *)
Definition still (j : nat) : Q := (qn (S k) * harmonic (S k - j))%Q.

Lemma still_step j : j <= k ->
  (still j == 1 + qn j * / qn (S k) * still j + qn (S k - j) * / qn (S k) * still (S j))%Q.
Proof.
  intros Hj. unfold still. replace (S k - j) with (S (k - j)) by lia.
  replace (S k - S j) with (k - j) by lia. cbn [harmonic].
  assert (E : (qn j == qn (S k) - qn (S (k - j)))%Q).
  { assert (G : (qn j + qn (S (k - j)) == qn (S k))%Q).
    { rewrite <- qn_plus. replace (j + S (k - j)) with (S k) by lia. reflexivity. }
    lra. }
  rewrite E. pose proof (qn_pos k). pose proof (qn_pos (k - j)). field. lra.
Qed.

Lemma phases_expected n : forall A,
  NoDup A -> incl A leaves -> 1 <= length A <= k ->
  (W * Exp (draws leaves n) (fun xs => qn (phases A xs)) <= qn n + W - still (length A))%Q.
Proof.
  destruct mk as (Hmk & Hk). pose proof (qn_pos k) as HSk.
  assert (Hhk : (0 <= harmonic k)%Q) by apply harmonic_nonneg.
  assert (HW : (0 <= W)%Q) by (unfold W; nra).
  assert (Hstill1 : (still 1 == W)%Q).
  { unfold still, W. replace (S k - 1) with k by lia. reflexivity. }
  induction n as [|n IH]; intros A HN HA Hlen.
  - cbn [draws]. rewrite Exp_ret. cbn [phases]. change (qn 0) with 0%Q.
    assert (Hs : (still (length A) <= W)%Q).
    { unfold still, W. pose proof (harmonic_mono (S k - length A) k ltac:(lia)). nra. }
    lra.
  - set (j := length A) in *.
    apply Qmult_lt_0_le_reg_r with (qn (S k)); [exact HSk|].
    assert (E1 : (W * Exp (draws leaves (S n)) (fun xs => qn (phases A xs)) * qn (S k) ==
                  sumQ (fun x => W * Exp (draws leaves n) (fun xs => qn (phases A (x :: xs))))
                       leaves)%Q).
    { rewrite sumQ_scale.
      rewrite <- (draws_cons leaves n (fun xs => qn (phases A xs))) by apply leaves_nonempty.
      rewrite leaves_length. ring. }
    rewrite E1. rewrite (sumQ_filter_split (fun x => mem x A) _ leaves).
    set (old := filter (fun x => mem x A) leaves).
    set (new := filter (fun x => negb (mem x A)) leaves).
    assert (Hold : length old = j).
    { rewrite <- card_NoDup by (apply NoDup_filter, seq_NoDup).
      unfold j. rewrite <- (card_NoDup A HN). apply card_ext. intros x. unfold old.
      rewrite filter_In, mem_In. intuition. }
    assert (Hnew : length new = S k - j).
    { pose proof (sumQ_filter_split (fun x => mem x A) (fun _ => 1%Q) leaves) as G.
      rewrite !sumQ_const, leaves_length in G. cbv beta in G. fold old new in G.
      rewrite Hold in G.
      assert (G2 : (qn (S k) == qn (j + length new))%Q) by (rewrite qn_plus; lra).
      apply (proj1 (inject_Z_injective _ _)) in G2. lia. }
    (* a leaf seen before *)
    assert (Ho : (sumQ (fun x => W * Exp (draws leaves n) (fun xs => qn (phases A (x :: xs)))) old
                  <= qn j * (qn n + W - still j))%Q).
    { rewrite <- Hold, <- sumQ_const. rewrite Hold. apply sumQ_le. intros x Hx.
      unfold old in Hx. apply filter_In in Hx as (Hxl & Hx). apply mem_In in Hx.
      cbn [phases].
      assert (Hc : card (x :: A) = card A).
      { apply card_ext. intros y. simpl. intuition. subst. auto. }
      assert (Hle : card (x :: A) <= k) by (rewrite Hc, card_NoDup by auto; lia).
      apply Nat.leb_le in Hle. rewrite Hle.
      assert (Hext : forall xs A1 A2, (forall y, In y A1 <-> In y A2) ->
                phases A1 xs = phases A2 xs).
      { clear. induction xs as [|x xs IH]; intros A1 A2 H; [reflexivity|]. cbn [phases].
        rewrite (card_ext (x :: A1) (x :: A2)) by (intros y; simpl; now rewrite H).
        destruct (card (x :: A2) <=? k); auto. apply IH. intros y. simpl. now rewrite H. }
      rewrite (Exp_ext _ _ (fun xs => qn (phases A xs))).
      - apply IH; auto.
      - intros xs _. rewrite (Hext xs (x :: A) A); [reflexivity|].
        intros y. simpl. intuition. subst. auto. }
    (* a new leaf *)
    assert (Hn : (sumQ (fun x => W * Exp (draws leaves n) (fun xs => qn (phases A (x :: xs)))) new
                  <= qn (S k - j) * (qn n + W - still (S j)))%Q).
    { rewrite <- Hnew, <- sumQ_const. apply sumQ_le. intros x Hx.
      unfold new in Hx. apply filter_In in Hx as (Hxl & Hx).
      apply negb_true_iff, mem_not_In in Hx. cbn [phases].
      assert (HNx : NoDup (x :: A)) by (constructor; auto).
      rewrite (card_NoDup (x :: A) HNx). cbn [length]. fold j.
      destruct (S j <=? k) eqn:E.
      - apply Nat.leb_le in E. apply (IH (x :: A) HNx); [|simpl; fold j; lia].
        intros y [<-|Hy]; auto.
      - apply Nat.leb_gt in E. replace (S j) with (S k) by lia.
        assert (Hz : (still (S k) == 0)%Q).
        { unfold still. rewrite Nat.sub_diag. cbn [harmonic]. ring. }
        rewrite Hz.
        assert (Hone : (W * Exp (draws leaves n) (fun xs => qn (phases [x] xs)) <= qn n)%Q).
        { pose proof (IH [x] ltac:(repeat constructor; intros [])
                        ltac:(intros y [<-|[]]; auto) ltac:(simpl; lia)) as G.
          cbn [length] in G. lra. }
        rewrite (Exp_ext _ _ (fun xs => 1 + qn (phases [x] xs))%Q)
          by (intros xs _; apply (qn_plus 1)).
        rewrite Exp_plus, Exp_const by apply draws_proper, leaves_nonempty. lra. }
    pose proof (still_step j ltac:(lia)) as Hs.
    assert (Hs2 : (still j * qn (S k) ==
                   qn (S k) + qn j * still j + qn (S k - j) * still (S j))%Q).
    { rewrite Hs at 1. field. lra. }
    assert (Hjk : (qn j + qn (S k - j) == qn (S k))%Q).
    { rewrite <- qn_plus. replace (j + (S k - j)) with (S k) by lia. reflexivity. }
    assert (Hfin : (qn j * (qn n + W - still j) + qn (S k - j) * (qn n + W - still (S j)) ==
                    (qn (S n) + W - still j) * qn (S k))%Q).
    { rewrite (qn_S n).
      transitivity ((qn j + qn (S k - j)) * (qn n + W)
                    - (qn j * still j + qn (S k - j) * still (S j)))%Q; [ring|].
      transitivity (qn (S k) * (qn n + W) + qn (S k) - still j * qn (S k))%Q; [|ring].
      rewrite Hs2, Hjk. ring. }
    lra.
Qed.
End Yao.

(** ** Theorem 3 *)

(** Any algorithm whose expected cost is [alg]: if random leaves after a
    warm-up cost it at least 1/(k+1) a step, its ratio is at least H_k. *)
Lemma yao_bound : forall B L beta (alg : list (list nat) -> Q) c c0,
  1 <= L -> 1 <= beta -> L + beta - 1 <= B ->
  let k := B + 2 - L - beta in
  let fp := fun x => footprint (broom L) (broom_batch L beta x) in
  (forall n, (qn n <= qn (S k) * Exp (draws (leaves B L beta) n)
                (fun xs => alg (map fp (seq (L + beta - 2) k) ++ map fp xs)))%Q) ->
  (forall Qs os,
     (forall Q, In Q Qs -> batch_of (broom L) L beta Q /\
                           card (footprint (broom L) Q) <= B) ->
     schedule B [] (map (footprint (broom L)) Qs) os -> all_closed (broom L) os ->
     (alg (map (footprint (broom L)) Qs)
      <= c * qn (cost [] (map (footprint (broom L)) Qs) os) + c0)%Q) ->
  (harmonic k <= c)%Q.
Proof.
  intros B L beta alg c c0 HL Hb Hroom k fp Halg Hyp.
  set (m := L + beta - 2) in *.
  set (lv := leaves B L beta) in *. set (warm := seq m k) in *.
  assert (Hk : 1 <= k /\ m + k = B) by (unfold k, m; lia).
  set (W := (qn (S k) * harmonic k)%Q).
  assert (Hh1 : (1 <= harmonic k)%Q).
  { pose proof (harmonic_mono 1 k (proj1 Hk)) as G.
    assert (E : (harmonic 1 == 1)%Q) by reflexivity. lra. }
  pose proof (qn_pos k) as HSk.
  assert (HW : (0 < W)%Q) by (unfold W; nra).
  set (c1 := if Qlt_le_dec c 0 then 0%Q else c).
  assert (Hc1 : (0 <= c1)%Q /\ (c <= c1)%Q).
  { unfold c1. destruct (Qlt_le_dec c 0); lra. }
  (* one sequence *)
  assert (Hone : forall xs, incl xs lv ->
    (alg (map fp warm ++ map fp xs) <= c1 * (qn B + qn (phases B L beta warm xs)) + c0)%Q).
  { intros xs Hxs.
    destruct (warm_up B L beta HL Hb Hroom) as (s1 & G1 & G2 & G3 & G4).
    destruct (phases_offline B L beta HL Hb Hroom xs warm) as (z & ss & Hz & HzA & P1 & P2 & P3).
    { intros y Hy. apply In_leaves; auto. apply in_seq in Hy. unfold m in *. lia. }
    { unfold warm. rewrite card_seq. apply le_n. }
    { exact Hxs. }
    assert (z = B).
    { apply In_leaves in Hz; auto. destruct (Nat.eq_dec z B) as [|Hne]; auto.
      exfalso. apply HzA. apply in_seq. unfold m in *. lia. }
    subst z.
    change (map _ (seq (L + beta - 2) (B + 2 - L - beta))) with (map fp warm) in G1, G3.
    assert (Hall : forall x, In x (warm ++ xs) -> m <= x <= B).
    { intros x Hx. apply in_app_iff in Hx as [Hx|Hx].
      - apply in_seq in Hx. lia.
      - apply Hxs in Hx. apply In_leaves in Hx; auto. }
    specialize (Hyp (map (broom_batch L beta) (warm ++ xs)) (s1 ++ ss)).
    rewrite map_map in Hyp.
    change (fun x => footprint (broom L) (broom_batch L beta x)) with fp in Hyp.
    rewrite (map_app fp) in Hyp.
    assert (H1 : schedule B [] (map fp warm ++ map fp xs) (s1 ++ ss)).
    { apply schedule_app; auto. rewrite G4. exact P1. }
    assert (H2 : all_closed (broom L) (s1 ++ ss)).
    { intros A HA. apply in_app_iff in HA. destruct HA; auto. }
    assert (H3 : cost [] (map fp warm ++ map fp xs) (s1 ++ ss) <=
                 B + phases B L beta warm xs).
    { rewrite cost_app by (eapply schedule_length; eauto). rewrite G4.
      unfold fp in *. lia. }
    assert (HQ : forall Q, In Q (map (broom_batch L beta) (warm ++ xs)) ->
                   batch_of (broom L) L beta Q /\ card (footprint (broom L) Q) <= B).
    { intros Q HQ. apply in_map_iff in HQ as (x & <- & Hx). apply Hall in Hx. split.
      - exact (broom_batch_ok B L beta HL Hb Hroom x (proj1 Hx)).
      - apply (fp_admissible B L beta HL Hb Hroom x (proj1 Hx)). }
    specialize (Hyp HQ H1 H2).
    apply qn_le in H3. rewrite qn_plus in H3.
    pose proof (qn_nonneg (cost [] (map fp warm ++ map fp xs) (s1 ++ ss))).
    destruct Hc1. nra. }
  (* averages *)
  assert (Hn : forall n, (qn n * (harmonic k - c1) <= c1 * W * (qn B + 1) + c0 * W)%Q).
  { intros n.
    assert (Hlv : lv <> []) by now apply leaves_nonempty.
    pose proof (draws_proper lv n Hlv) as Hp.
    pose proof (Halg n) as Hleft.
    assert (Hright : (Exp (draws lv n) (fun xs => alg (map fp warm ++ map fp xs)) <=
       c1 * (qn B + Exp (draws lv n) (fun xs => qn (phases B L beta warm xs))) + c0)%Q).
    { apply Qle_trans with (Exp (draws lv n)
        (fun xs => c1 * (qn B + qn (phases B L beta warm xs)) + c0)%Q).
      - apply Exp_le; auto. intros xs Hxs. apply Hone. now apply draws_support in Hxs.
      - rewrite Exp_plus, Exp_scale, Exp_plus, !Exp_const by auto. lra. }
    assert (Hph : (W * Exp (draws lv n) (fun xs => qn (phases B L beta warm xs)) <= qn n + W)%Q).
    { pose proof (phases_expected B L beta HL Hb Hroom n warm) as G.
      assert (Hs : (0 <= still B L beta (length warm))%Q).
      { unfold still. fold k. pose proof (harmonic_nonneg (S k - length warm)). nra. }
      specialize (G (seq_NoDup _ _)). fold k W in G.
      assert (G' : incl warm (leaves B L beta)).
      { intros y Hy. apply In_leaves; auto. apply in_seq in Hy. unfold m in *. lia. }
      specialize (G G').
      assert (Hl : 1 <= length warm <= k) by (unfold warm; rewrite seq_length; lia).
      specialize (G Hl). fold lv in G. lra. }
    set (x := Exp (draws lv n) (fun xs => alg (map fp warm ++ map fp xs))) in *.
    set (y := Exp (draws lv n) (fun xs => qn (phases B L beta warm xs))) in *.
    destruct Hc1 as (Hc1 & _).
    assert (E1 : (qn n * harmonic k <= W * x)%Q) by (unfold W; nra).
    assert (E2 : (W * x <= c1 * W * qn B + c1 * (W * y) + c0 * W)%Q) by nra.
    assert (E3 : (c1 * (W * y) <= c1 * (qn n + W))%Q) by nra.
    assert (E4 : (qn n * (harmonic k - c1) == qn n * harmonic k - qn n * c1)%Q) by ring.
    assert (E5 : (c1 * W * (qn B + 1) == c1 * W * qn B + c1 * W)%Q) by ring.
    assert (E6 : (c1 * (qn n + W) == qn n * c1 + c1 * W)%Q) by ring.
    lra. }
  destruct (Qlt_le_dec c1 (harmonic k)) as [Hlt|Hle].
  - exfalso. destruct (archimedes (c1 * W * (qn B + 1) + c0 * W) (harmonic k - c1))
      as (n & Hlarge); [lra|]. specialize (Hn n). lra.
  - unfold c1 in Hle. destruct (Qlt_le_dec c 0); lra.
Qed.

(** A randomised policy is a finite distribution over deterministic ones.  If
    E[ALG] <= c * OPT + c0 on all sequences of batches of [beta] distinct
    queries of at least [L] tokens of the broom, then c >= H_k. *)
Theorem theorem_3 : forall B L beta (d : dist policy) c c0,
  1 <= L -> 1 <= beta -> L + beta - 1 <= B ->
  proper d -> (forall pol, in_support pol d -> keeps_capacity B L pol) ->
  (forall Qs os,
     (forall Q, In Q Qs -> batch_of (broom L) L beta Q /\
                           card (footprint (broom L) Q) <= B) ->
     schedule B [] (map (footprint (broom L)) Qs) os -> all_closed (broom L) os ->
     (Exp d (fun pol => qn (policy_cost pol (map (footprint (broom L)) Qs)))
      <= c * qn (cost [] (map (footprint (broom L)) Qs) os) + c0)%Q) ->
  (harmonic (B + 2 - L - beta) <= c)%Q.
Proof.
  intros B L beta d c c0 HL Hb Hroom Hd Hcap Hyp.
  apply (yao_bound B L beta (fun us => Exp d (fun pol => qn (policy_cost pol us))) c c0); auto.
  intros n. set (k := B + 2 - L - beta). set (m := L + beta - 2).
  set (fp := fun x => footprint (broom L) (broom_batch L beta x)).
  set (warm := seq m k). set (past := rev (map fp warm)).
  assert (Hlv : leaves B L beta <> []) by now apply leaves_nonempty.
  rewrite Exp_swap, <- Exp_scale, <- (Exp_const d (qn n) Hd).
  apply Exp_le; auto. intros pol Hpol.
  pose proof (policy_misses B L beta HL Hb Hroom pol n (Hcap pol Hpol) past) as G.
  assert (Hpast : forall U, In U past -> closed (broom L) U /\ card U <= B).
  { intros U HU. unfold past in HU. apply in_rev, in_map_iff in HU as (x & <- & Hx).
    apply fp_admissible; auto. apply in_seq in Hx. unfold m in *. lia. }
  specialize (G Hpast). fold k fp in G.
  eapply Qle_trans; [exact G|]. pose proof (qn_pos k).
  apply Qmult_le_l; [lra|]. apply Exp_le; [now apply draws_proper|].
  intros xs _. apply qn_le. unfold policy_cost, run.
  rewrite run_from_app, app_nil_r, cost_app by (now rewrite run_from_length). fold past.
  rewrite last_run_from, app_nil_r; [fold past; lia|].
  intros E. apply (f_equal (@length _)) in E. unfold warm in E.
  rewrite map_length, seq_length in E. unfold k in E. simpl in E. lia.
Qed.
