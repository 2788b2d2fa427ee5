(** * The broom: the instance of Theorems 2 and 3

    A chain of L-1 tokens with leaves below.  Every batch asks for the same
    beta-1 leaves and for one more.  There are B-L-beta+3 = k+1 leaves for
    "one more" and the cache has room for k of them, so the adversary can
    always ask for one that is missing; the offline schedule misses once in k
    steps. *)

From KVBounds Require Export LeafLRU.

(** Tokens 0 .. L-2 are the chain; all others are leaves below its end. *)
Definition broom_parent (h t : nat) : option nat :=
  match Nat.min t h with 0 => None | S p => Some p end.

Lemma broom_lt h t p : broom_parent h t = Some p -> p < t.
Proof.
  unfold broom_parent. destruct (Nat.min t h) as [|q] eqn:E; [easy|].
  intros H. injection H as <-. lia.
Qed.

Definition broom (L : nat) : forest :=
  Forest (broom_parent (L - 1)) (broom_lt (L - 1)).

(** The batch that asks for the first beta-1 leaves and for leaf [x]. *)
Definition broom_batch (L beta x : nat) : list nat := seq (L - 1) (beta - 1) ++ [x].

Lemma In_broom_path L t y :
  In y (path (broom L) t) <-> y = t \/ y < Nat.min t (L - 1).
Proof.
  induction t as [t IH] using lt_wf_ind. rewrite path_unfold. simpl.
  unfold broom_parent. destruct (Nat.min t (L - 1)) as [|p] eqn:E.
  - simpl. intuition lia.
  - rewrite IH by lia. intuition lia.
Qed.

Lemma broom_path_length L t : L - 1 <= t -> length (path (broom L) t) = L - 1 + 1.
Proof.
  intros Ht. rewrite <- card_NoDup by apply path_NoDup.
  transitivity (card (seq 0 (L - 1) ++ [t])).
  - apply card_ext. intros y. rewrite In_broom_path, in_app_iff, in_seq. simpl.
    intuition lia.
  - rewrite card_app_disjoint, card_seq; [reflexivity|].
    intros y Hy [<-|[]]. apply in_seq in Hy. lia.
Qed.

(** Everything from 0 to B but [z]. *)
Definition allbut (B z : nat) : list nat := remove1 z (seq 0 (B + 1)).

Lemma In_allbut B z y : In y (allbut B z) <-> y <= B /\ y <> z.
Proof. unfold allbut. rewrite In_remove1, in_seq. intuition lia. Qed.

Lemma card_allbut B z : z <= B -> card (allbut B z) = B.
Proof.
  intros Hz. assert (H : In z (seq 0 (B + 1))) by (apply in_seq; lia).
  apply card_remove1 in H. rewrite card_seq in H. unfold allbut. lia.
Qed.

Section Broom.
Variables B L beta : nat.
Hypothesis L1 : 1 <= L.
Hypothesis b1 : 1 <= beta.
Hypothesis room : L + beta - 1 <= B.

Let m := L + beta - 2.          (* tokens below m are in every footprint *)
Let k := B + 2 - L - beta.      (* leaves m .. B are free: k + 1 of them *)
Let fp (x : nat) : list nat := footprint (broom L) (broom_batch L beta x).

Lemma km : m + k = B /\ 1 <= k.
Proof. unfold k, m. lia. Qed.

Lemma In_fp x y : m <= x -> (In y (fp x) <-> y < m \/ y = x).
Proof.
  intros Hx. unfold fp, footprint, broom_batch. rewrite in_flat_map. split.
  - intros (q & Hq & Hy). apply In_broom_path in Hy.
    apply in_app_iff in Hq as [Hq|[<-|[]]].
    + apply in_seq in Hq. unfold m in *. lia.
    + unfold m in *. lia.
  - intros [Hy | ->].
    + destruct (lt_dec y (L - 1)) as [Hlt|Hge].
      * exists x. split; [apply in_app_iff; right; now left|].
        apply In_broom_path. unfold m in *. lia.
      * exists y. split; [|apply path_self]. apply in_app_iff. left.
        apply in_seq. unfold m in *. lia.
    + exists x. split; [apply in_app_iff; right; now left|]. apply path_self.
Qed.

Lemma card_fp x : m <= x -> card (fp x) = m + 1.
Proof.
  intros Hx. transitivity (card (seq 0 m ++ [x])).
  - apply card_ext. intros y. rewrite In_fp, in_app_iff, in_seq by auto. simpl.
    intuition lia.
  - rewrite card_app_disjoint, card_seq; [reflexivity|].
    intros y Hy [<-|[]]. apply in_seq in Hy. lia.
Qed.

Lemma broom_batch_ok x : m <= x ->
  batch_of (broom L) L beta (broom_batch L beta x).
Proof.
  intros Hx. unfold broom_batch. repeat split.
  - rewrite app_length, seq_length. simpl. lia.
  - apply (NoDup_Add (Add_app x (seq (L - 1) (beta - 1)) [])). rewrite app_nil_r.
    split; [apply seq_NoDup|]. rewrite in_seq. unfold m in *. lia.
  - intros q Hq. rewrite broom_path_length; [lia|].
    apply in_app_iff in Hq as [Hq|[<-|[]]]; [apply in_seq in Hq; lia|].
    unfold m in *. lia.
Qed.

Lemma fp_admissible x : m <= x -> closed (broom L) (fp x) /\ card (fp x) <= B.
Proof.
  intros Hx. split; [apply footprint_closed|]. rewrite card_fp by auto.
  destruct km. lia.
Qed.

(** ** The adversary *)

(** Any cache of at most B tokens lacks one of the tokens 0 .. B. *)
Definition pick (A : list nat) : nat :=
  match diff (seq m (k + 1)) A with [] => m | x :: _ => x end.

Lemma pick_range A : m <= pick A <= B.
Proof.
  unfold pick. destruct km. destruct (diff (seq m (k + 1)) A) as [|x D] eqn:E; [lia|].
  assert (Hx : In x (diff (seq m (k + 1)) A)) by (rewrite E; now left).
  apply In_diff in Hx as (Hx & _). apply in_seq in Hx. lia.
Qed.

Lemma pick_misses A : card A <= B -> 1 <= card (diff (fp (pick A)) A).
Proof.
  intros HA. destruct km as (Hkm & Hk).
  destruct (card_ge_exists (seq 0 (B + 1)) A) as (y & Hy & HyA).
  { rewrite card_seq. lia. }
  apply in_seq in Hy. destruct (lt_dec y m) as [Hlt|Hge].
  - apply card_pos with (x := y). apply In_diff. split; auto.
    apply In_fp; [apply pick_range|]. auto.
  - apply card_pos with (x := pick A). apply In_diff. split.
    + apply In_fp; [apply pick_range|]. auto.
    + unfold pick. destruct (diff (seq m (k + 1)) A) as [|x D] eqn:E.
      * exfalso. assert (Hin : In y (diff (seq m (k + 1)) A)).
        { apply In_diff. split; auto. apply in_seq. lia. }
        rewrite E in Hin. easy.
      * assert (Hx : In x (diff (seq m (k + 1)) A)) by (rewrite E; now left).
        apply In_diff in Hx. tauto.
Qed.

Fixpoint attack (pol : policy) (n : nat) (past : list (list nat)) : list nat :=
  match n with
  | 0 => []
  | S n' => let x := pick (pol past) in x :: attack pol n' (fp x :: past)
  end.

Definition keeps_capacity (pol : policy) : Prop :=
  forall past, (forall U, In U past -> closed (broom L) U /\ card U <= B) ->
  card (pol past) <= B.

Lemma attack_range pol n : forall past x, In x (attack pol n past) -> m <= x <= B.
Proof.
  induction n as [|n IH]; simpl; intros past x; [easy|].
  intros [<-|H]; eauto. apply pick_range.
Qed.

Lemma attack_length pol n : forall past, length (attack pol n past) = n.
Proof. induction n; simpl; auto. Qed.

Lemma attack_cost pol n : keeps_capacity pol -> forall past,
  (forall U, In U past -> closed (broom L) U /\ card U <= B) ->
  n <= cost (pol past) (map fp (attack pol n past))
            (run_from pol past (map fp (attack pol n past))).
Proof.
  intros Hpol. induction n as [|n IH]; intros past Hpast; [simpl; lia|].
  cbn [attack map run_from cost].
  pose proof (pick_misses (pol past) (Hpol past Hpast)).
  assert (n <= cost (pol (fp (pick (pol past)) :: past))
    (map fp (attack pol n (fp (pick (pol past)) :: past)))
    (run_from pol (fp (pick (pol past)) :: past)
       (map fp (attack pol n (fp (pick (pol past)) :: past))))); [|lia].
  apply IH. intros U [<-|HU]; auto. apply fp_admissible. apply pick_range.
Qed.

(** ** The offline schedule *)

Lemma allbut_closed z : m <= z -> closed (broom L) (allbut B z).
Proof.
  intros Hz t p Ht Hp. apply In_allbut in Ht as (Ht & Hne). apply In_allbut.
  pose proof (parent_lt _ _ _ Hp). simpl in Hp. unfold broom_parent in Hp.
  destruct (Nat.min t (L - 1)) as [|q] eqn:E; [easy|].
  injection Hp as <-. unfold m in *. lia.
Qed.

(** A stretch without [z] is free. *)
Lemma stretch_free z xs : m <= z <= B ->
  (forall x, In x xs -> m <= x <= B /\ x <> z) ->
  exists ss, schedule B (allbut B z) (map fp xs) ss /\ all_closed (broom L) ss /\
             cost (allbut B z) (map fp xs) ss = 0 /\ last ss (allbut B z) = allbut B z.
Proof.
  intros Hz. induction xs as [|x xs IH]; intros Hxs.
  - exists []. repeat split; auto. intros A [].
  - destruct IH as (ss & H1 & H2 & H3 & H4); [intros y Hy; apply Hxs; now right|].
    destruct (Hxs x) as (Hx & Hxz); [now left|].
    assert (Hin : incl (fp x) (allbut B z)).
    { intros y Hy. apply In_fp in Hy; [|lia]. apply In_allbut. destruct km. lia. }
    exists (allbut B z :: ss). rewrite last_cons. cbn [map schedule cost].
    repeat split; auto.
    + intros y Hy. apply in_app_iff. auto.
    + rewrite card_allbut; lia.
    + intros A [<-|HA]; auto. apply allbut_closed. lia.
    + rewrite H3. assert (card (diff (fp x) (allbut B z)) <= card []); [|rewrite card_nil in *; lia].
      apply card_incl. intros y Hy. apply In_diff in Hy as (Hy & Hn). exfalso. auto.
Qed.

(** At most one miss in k steps: when the missing leaf is asked for, drop one
    that the rest of the stretch does not need. *)
Lemma stretch z xs : m <= z <= B -> length xs <= k ->
  (forall x, In x xs -> m <= x <= B) ->
  exists ss z', m <= z' <= B /\
    schedule B (allbut B z) (map fp xs) ss /\ all_closed (broom L) ss /\
    cost (allbut B z) (map fp xs) ss <= 1 /\ last ss (allbut B z) = allbut B z'.
Proof.
  intros Hz. destruct km as (Hkm & Hk). induction xs as [|x xs IH]; intros Hlen Hxs.
  - exists [], z. simpl. repeat split; auto; try lia. intros A [].
  - assert (Hx : m <= x <= B) by (apply Hxs; now left).
    destruct (Nat.eq_dec x z) as [->|Hne].
    + destruct (card_ge_exists (seq m (k + 1)) (z :: xs)) as (y & Hy & Hyn).
      { rewrite card_seq. pose proof (card_le_length (z :: xs)). lia. }
      apply in_seq in Hy.
      assert (Hyz : y <> z) by (intros ->; apply Hyn; now left).
      destruct (stretch_free y xs) as (ss & H1 & H2 & H3 & H4); [lia| |].
      { intros x Hx'. split; [apply Hxs; now right|]. intros ->. apply Hyn. now right. }
      exists (allbut B y :: ss), y. rewrite last_cons. cbn [map schedule cost].
      repeat split; auto; try lia.
      * intros t Ht. apply In_fp in Ht; [|lia]. apply In_allbut. lia.
      * intros t Ht. apply In_allbut in Ht. apply in_app_iff.
        destruct (Nat.eq_dec t z) as [->|]; [right; apply In_fp; auto; lia|].
        left. apply In_allbut. lia.
      * rewrite card_allbut; lia.
      * intros A [<-|HA]; auto. apply allbut_closed. lia.
      * rewrite H3. assert (card (diff (fp z) (allbut B z)) <= card [z]);
          [|rewrite card_single in *; lia].
        apply card_incl. intros t Ht. apply In_diff in Ht as (Ht & Hn).
        apply In_fp in Ht; [|lia]. rewrite In_allbut in Hn. left. lia.
    + destruct IH as (ss & z' & Hz' & H1 & H2 & H3 & H4); [simpl in *; lia| |].
      { intros y Hy. apply Hxs. now right. }
      destruct (stretch_free z [x]) as (s1 & G1 & G2 & G3 & G4); auto.
      { intros y [<-|[]]. auto. }
      exists (s1 ++ ss), z'. change (x :: xs) with ([x] ++ xs). rewrite map_app.
      pose proof (schedule_length _ _ _ _ G1) as Hl.
      repeat split; try lia.
      * apply schedule_app; auto. now rewrite G4.
      * intros A HA. apply in_app_iff in HA. destruct HA; auto.
      * rewrite cost_app, G4 by auto. lia.
      * destruct s1 as [|s s1]; [easy|]. destruct s1; [|easy].
        simpl app. rewrite last_cons. simpl in G4. subst s. auto.
Qed.

Lemma stretches n : forall z xs, m <= z <= B -> length xs = k * n ->
  (forall x, In x xs -> m <= x <= B) ->
  exists ss, schedule B (allbut B z) (map fp xs) ss /\ all_closed (broom L) ss /\
             cost (allbut B z) (map fp xs) ss <= n.
Proof.
  induction n as [|n IH]; intros z xs Hz Hlen Hxs.
  - destruct xs; [|simpl in Hlen; lia]. exists []. repeat split; auto. intros A [].
  - destruct (stretch z (firstn k xs)) as (s1 & z' & Hz' & G1 & G2 & G3 & G4); auto.
    { rewrite firstn_length. lia. }
    { intros x Hx. apply Hxs. rewrite <- (firstn_skipn k xs). apply in_app_iff. auto. }
    destruct (IH z' (skipn k xs)) as (s2 & H1 & H2 & H3); auto.
    { rewrite skipn_length. lia. }
    { intros x Hx. apply Hxs. rewrite <- (firstn_skipn k xs). apply in_app_iff. auto. }
    exists (s1 ++ s2). rewrite <- (firstn_skipn k xs), map_app.
    pose proof (schedule_length _ _ _ _ G1) as Hl. repeat split.
    + apply schedule_app; auto. now rewrite G4.
    + intros A HA. apply in_app_iff in HA. destruct HA; auto.
    + rewrite cost_app, G4 by auto. lia.
Qed.

(** Filling the cache: leaves m .. B-1, one after the other; B loads. *)
Lemma seq_closed j : closed (broom L) (seq 0 j).
Proof.
  intros t p Ht Hp. apply parent_lt in Hp. apply in_seq in Ht. apply in_seq. lia.
Qed.

Lemma warm_up_from n : forall i, m <= i -> i + n <= B ->
  exists ss, schedule B (seq 0 i) (map fp (seq i n)) ss /\ all_closed (broom L) ss /\
             cost (seq 0 i) (map fp (seq i n)) ss <= n /\
             last ss (seq 0 i) = seq 0 (i + n).
Proof.
  induction n as [|n IH]; intros i Hm HB.
  - exists []. simpl. rewrite Nat.add_0_r. repeat split; auto. intros A [].
  - destruct (IH (S i)) as (ss & H1 & H2 & H3 & H4); try lia.
    exists (seq 0 (S i) :: ss). rewrite last_cons.
    change (seq i (S n)) with (i :: seq (S i) n). cbn [map schedule cost].
    replace (i + S n) with (S i + n) by lia. repeat split; auto.
    + intros y Hy. apply In_fp in Hy; auto. apply (in_seq (S i) 0). lia.
    + intros y Hy. apply (in_seq (S i) 0) in Hy. apply in_app_iff.
      destruct (Nat.eq_dec y i) as [->|]; [right; apply In_fp; auto|].
      left. apply in_seq. lia.
    + rewrite (card_seq 0 (S i)). lia.
    + intros A [<-|HA]; auto. apply seq_closed.
    + assert (card (diff (fp i) (seq 0 i)) <= card [i]); [|rewrite card_single in *; lia].
      apply card_incl. intros t Ht. apply In_diff in Ht as (Ht & Hn).
      apply In_fp in Ht; auto. rewrite in_seq in Hn. left. lia.
Qed.

Lemma warm_up :
  exists ss, schedule B [] (map fp (seq m k)) ss /\ all_closed (broom L) ss /\
             cost [] (map fp (seq m k)) ss <= B /\ last ss [] = allbut B B.
Proof.
  destruct km as (Hkm & Hk).
  destruct (warm_up_from (k - 1) (S m)) as (ss & H1 & H2 & H3 & H4); try lia.
  exists (seq 0 (S m) :: ss). rewrite last_cons, H4.
  replace (seq m k) with (m :: seq (S m) (k - 1))
    by (replace k with (S (k - 1)) at 2 by lia; reflexivity).
  cbn [map schedule cost].
  repeat split; auto.
  - intros y Hy. apply In_fp in Hy; auto. apply (in_seq (S m) 0). lia.
  - intros y Hy. apply (in_seq (S m) 0) in Hy. simpl. apply In_fp; auto. lia.
  - rewrite (card_seq 0 (S m)). lia.
  - intros A [<-|HA]; auto. apply seq_closed.
  - assert (card (diff (fp m) []) <= card (fp m)).
    { apply card_incl. intros y Hy. apply In_diff in Hy. tauto. }
    rewrite card_fp in *; auto. lia.
  - replace (S m + (k - 1)) with B by lia. unfold allbut.
    rewrite Nat.add_1_r, seq_S. unfold remove1. rewrite filter_app. simpl.
    rewrite Nat.eqb_refl. simpl. rewrite app_nil_r. symmetry.
    assert (G : forall l, (forall y, In y l -> y < B) ->
              filter (fun y => negb (y =? B)) l = l).
    { induction l as [|a l IHl]; simpl; intros Hl; auto.
      replace (a =? B) with false.
      - simpl. rewrite IHl; auto.
      - symmetry. apply Nat.eqb_neq. specialize (Hl a (or_introl eq_refl)). lia. }
    apply G. intros y Hy. apply in_seq in Hy. lia.
Qed.
End Broom.
