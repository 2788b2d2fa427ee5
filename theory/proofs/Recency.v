(** * Leaf-LRU and the optimum as machines with finitely many states

    On a finite forest the cache of Leaf-LRU, listed by last use, is all that
    Leaf-LRU need remember, and a table of ranks is all that the optimum
    (the sum of the Delta_t) need.  Both machines are executable. *)

From Coq Require Import Sorting.Sorted.
From KVBounds Require Export LeafLRU OptDelta.

Definition same_set (A A' : list nat) : Prop := forall x, In x A <-> In x A'.

(** The members of [A] below [n], in order, once each. *)
Definition sorted (n : nat) (A : list nat) : list nat := filter (fun x => mem x A) (seq 0 n).

Lemma In_sorted n A x : In x (sorted n A) <-> x < n /\ In x A.
Proof. unfold sorted. rewrite filter_In, in_seq, mem_In. intuition lia. Qed.

Lemma mem_same A A' x : same_set A A' -> mem x A = mem x A'.
Proof.
  intros H. destruct (mem x A') eqn:E.
  - apply mem_In, H. now apply mem_In.
  - apply mem_not_In. rewrite (H x). now apply mem_not_In.
Qed.

Lemma sorted_same n A A' : same_set A A' -> sorted n A = sorted n A'.
Proof. intros H. apply filter_ext. intros x. now apply mem_same. Qed.

Lemma diff_same S U U' : same_set U U' -> diff S U = diff S U'.
Proof. intros H. apply filter_ext. intros x. f_equal. now apply mem_same. Qed.

Lemma same_sorted n A : incl A (seq 0 n) -> same_set A (sorted n A).
Proof.
  intros H x. rewrite In_sorted. split; [|tauto].
  intros Hx. pose proof (H x Hx) as Hn. apply in_seq in Hn. split; auto; lia.
Qed.

(** ** Sorted lists *)

Lemma filter_sorted (R : nat -> nat -> Prop) f l :
  StronglySorted R l -> StronglySorted R (filter f l).
Proof.
  induction 1 as [|x l Hl IH Hx]; simpl; [constructor|].
  destruct (f x); auto. constructor; auto. apply Forall_forall.
  intros y Hy. apply filter_In in Hy as (Hy & _). now apply (proj1 (Forall_forall _ _) Hx).
Qed.

Lemma app_sorted (R : nat -> nat -> Prop) l l' :
  StronglySorted R l -> StronglySorted R l' -> (forall x y, In x l -> In y l' -> R x y) ->
  StronglySorted R (l ++ l').
Proof.
  intros Hl Hl' H. induction Hl as [|x l Hl IH Hx]; simpl; auto. constructor.
  - apply IH. intros a b Ha. apply H. now right.
  - apply Forall_app. split; auto. apply Forall_forall. intros y Hy. apply H; auto. now left.
Qed.

Lemma sorted_app (R : nat -> nat -> Prop) l l' : StronglySorted R (l ++ l') ->
  StronglySorted R l /\ forall x y, In x l -> In y l' -> R x y.
Proof.
  induction l as [|x l IH]; simpl; intros H; [split; [constructor|easy]|].
  apply StronglySorted_inv in H as (H & Hx). destruct (IH H) as (H1 & H2).
  rewrite Forall_forall in Hx. split.
  - constructor; auto. apply Forall_forall. intros y Hy. apply Hx, in_app_iff. auto.
  - intros a b [<-|Ha] Hb; auto. apply Hx, in_app_iff. auto.
Qed.

Lemma seq_sorted n : forall s, StronglySorted lt (seq s n).
Proof.
  induction n as [|n IH]; intros s; simpl; constructor; auto.
  apply Forall_forall. intros y Hy. apply in_seq in Hy. lia.
Qed.

Lemma sorted_impl (R R' : nat -> nat -> Prop) l :
  (forall x y, In x l -> In y l -> R x y -> R' x y) ->
  StronglySorted R l -> StronglySorted R' l.
Proof.
  intros H Hl. induction Hl as [|x l Hl IH Hx]; constructor.
  - apply IH. intros a b Ha Hb. apply H; now right.
  - rewrite Forall_forall in *. intros y Hy. apply H; auto; [now left|now right].
Qed.

(** ** Leaf-LRU: the cached tokens by last use, those of one step by number *)

Definition touch (n B : nat) (S U : list nat) : list nat :=
  firstn B (sorted n U ++ diff S U).

Definition younger (past : list (list nat)) (x y : nat) : Prop :=
  before (age past) x y = true.

Definition by_last_use (F : forest) (B : nat) (past : list (list nat)) (S : list nat) : Prop :=
  NoDup S /\ StronglySorted (younger past) S /\ same_set S (leaf_lru F B past).

Lemma by_last_use_start F B : by_last_use F B [] [].
Proof. repeat split; try constructor; auto. Qed.

Lemma touch_by_last_use F B n past S U :
  (forall V, In V (U :: past) -> closed F V /\ card V <= B) -> incl U (seq 0 n) ->
  by_last_use F B past S -> by_last_use F B (U :: past) (touch n B S U).
Proof.
  intros Hall Hn (HN & HS & HE). destruct (Hall U) as (HU & HUB); [now left|].
  set (all := sorted n U ++ diff S U).
  assert (Hnew : forall x, In x (sorted n U) <-> In x U)
    by (intros x; symmetry; now apply same_sorted).
  assert (HallN : NoDup all).
  { unfold all. assert (G : forall l l' : list nat, NoDup l -> NoDup l' ->
      (forall x, In x l -> ~ In x l') -> NoDup (l ++ l')).
    { induction l as [|a l IH]; simpl; intros l' Hl Hl' H; auto. inversion Hl; subst.
      constructor; [rewrite in_app_iff; intros [?|?]; auto; eapply H; eauto|].
      apply IH; auto. }
    apply G; [apply NoDup_filter, seq_NoDup|now apply NoDup_filter|].
    intros x Hx. rewrite In_diff. rewrite Hnew in Hx. tauto. }
  assert (HallS : StronglySorted (younger (U :: past)) all).
  { apply app_sorted.
    - apply sorted_impl with (R := lt); [|apply filter_sorted, seq_sorted].
      intros x y Hx Hy Hxy. apply Hnew in Hx, Hy. apply before_true. right.
      simpl. apply mem_In in Hx, Hy. now rewrite Hx, Hy.
    - apply sorted_impl with (R := younger past); [|now apply filter_sorted].
      intros x y Hx Hy Hxy. apply In_diff in Hx as (_ & Hx), Hy as (_ & Hy).
      apply before_true. apply before_true in Hxy. apply mem_not_In in Hx, Hy.
      simpl. rewrite Hx, Hy. lia.
    - intros x y Hx Hy. apply Hnew in Hx. apply In_diff in Hy as (_ & Hy).
      apply before_true. left. apply mem_In in Hx. apply mem_not_In in Hy.
      simpl. rewrite Hx, Hy. lia. }
  assert (HallE : same_set all (leaf_lru F B past ++ U)).
  { intros x. unfold all. rewrite !in_app_iff, In_diff, Hnew, (HE x).
    destruct (In_dec x U); tauto. }
  assert (Hsplit := firstn_skipn B all).
  unfold by_last_use, touch. fold all. rewrite <- Hsplit in HallS.
  apply sorted_app in HallS as (HfS & Hfr).
  assert (HfN : NoDup (firstn B all)).
  { rewrite <- Hsplit in HallN. clear - HallN. induction (firstn B all) as [|a l IH]; constructor.
    - inversion HallN; subst. intros Ha. apply H1, in_app_iff. auto.
    - apply IH. now inversion HallN. }
  split; [exact HfN|]. split; [exact HfS|].
  rewrite leaf_lru_step. set (S1 := serve F B (age past) (leaf_lru F B past) U).
  assert (HhasU : incl U S1) by (apply serve_has_U; auto).
  assert (Hdem : incl S1 all) by (intros x Hx; apply HallE; revert Hx; apply serve_demand).
  assert (Hcard : card S1 = card (firstn B all)).
  { unfold S1. rewrite serve_card by auto. rewrite (card_NoDup _ HfN), firstn_length.
    rewrite <- (card_NoDup _ HallN), (card_ext _ _ HallE). lia. }
  assert (Hin : incl (firstn B all) S1).
  { intros x Hx. destruct (In_dec x S1) as [|HxS]; auto. exfalso.
    assert (HxU : ~ In x U) by (intros H; apply HxS, HhasU, H).
    destruct (card_ge_exists S1 (remove1 x (firstn B all))) as (y & Hy & Hyf).
    { rewrite Hcard. pose proof (card_remove1 x _ Hx). lia. }
    assert (Hyr : In y (skipn B all)).
    { pose proof (Hdem y Hy) as Ha. rewrite <- Hsplit in Ha. apply in_app_iff in Ha as [Ha|]; auto.
      exfalso. apply Hyf, In_remove1. split; auto. intros ->. auto. }
    pose proof (Hfr x y Hx Hyr) as Hxy. apply before_true in Hxy. simpl in Hxy.
    apply mem_not_In in HxU. rewrite HxU in Hxy.
    destruct (mem y U) eqn:HyU; [lia|]. apply mem_not_In in HxU, HyU.
    assert (Hle : le_lex (age past) y x).
    { apply (serve_lex F B (age past) (leaf_lru F B past) U); auto.
      - intros c p _ Hp. apply age_monotone with (F := F); auto.
        intros V HV. apply (Hall V). now right.
      - apply HallE. rewrite <- Hsplit. apply in_app_iff. auto. }
    unfold le_lex in Hle. lia. }
  intros x. split; [apply Hin|]. intros Hx.
  destruct (In_dec x (firstn B all)) as [|Hn']; auto. exfalso.
  assert (card (firstn B all) < card S1); [|lia].
  rewrite (card_remove1 x S1 Hx). apply Nat.lt_succ_r, card_incl.
  intros y Hy. apply In_remove1. split; auto. intros ->. auto.
Qed.

(** ** The optimum: a table of the ranks of all sets of tokens *)

Inductive table := Rank (n : nat) | Split (without including : table).

Fixpoint look_from (x : nat) (t : table) (A : list nat) : nat :=
  match t with
  | Rank n => n
  | Split t0 t1 => look_from (S x) (if mem x A then t1 else t0) A
  end.

Definition look : table -> list nat -> nat := look_from 0.

Fixpoint tabulate_from (f : list nat -> nat) (n x : nat) (A : list nat) : table :=
  match n with
  | 0 => Rank (f A)
  | S n' => Split (tabulate_from f n' (S x) A) (tabulate_from f n' (S x) (x :: A))
  end.

(** The values of [f] on all sets of tokens below [n]. *)
Definition tabulate (n : nat) (f : list nat -> nat) : table := tabulate_from f n 0 [].

Definition learn (n B : nat) (t : table) (U : list nat) : table :=
  tabulate n (next_rank B (look t) U).

Definition extensional (f : list nat -> nat) : Prop := forall A A', same_set A A' -> f A = f A'.

Lemma look_same t : extensional (look t).
Proof.
  intros A A' H. unfold look. generalize 0.
  induction t as [k|t0 IH0 t1 IH1]; intros x; auto.
  simpl. rewrite (mem_same _ _ x H). destruct (mem x A'); auto.
Qed.

Lemma look_tabulate_from f C : extensional f -> forall n x A,
  look_from x (tabulate_from f n x A) C = f (A ++ filter (fun y => mem y C) (seq x n)).
Proof.
  intros Hf n. induction n as [|n IH]; intros x A; simpl; [now rewrite app_nil_r|].
  destruct (mem x C); rewrite IH; auto.
  apply Hf. intros y. simpl. rewrite !in_app_iff. simpl. tauto.
Qed.

Lemma look_tabulate n f A : extensional f -> incl A (seq 0 n) -> look (tabulate n f) A = f A.
Proof.
  intros Hf HA. unfold look, tabulate. rewrite look_tabulate_from by auto.
  apply Hf. intros x. simpl. symmetry. now apply same_sorted.
Qed.

Lemma next_rank_same B r U U' : extensional r -> same_set U U' -> forall A A', same_set A A' ->
  next_rank B r U A = next_rank B r U' A'.
Proof.
  intros Hr HU A A' HA. unfold next_rank. f_equal.
  - apply card_ext. intros x. now rewrite !In_inter, (HA x), (HU x).
  - rewrite (card_ext U U' HU), (Hr U U' HU), (Hr (A ++ U) (A' ++ U')); auto.
    intros x. now rewrite !in_app_iff, (HA x), (HU x).
Qed.

Lemma delta_same r U U' : extensional r -> same_set U U' -> delta r U = delta r U'.
Proof. intros Hr HU. unfold delta. now rewrite (card_ext U U' HU), (Hr U U' HU). Qed.

Lemma learn_same n B t U U' : same_set U U' -> learn n B t U = learn n B t U'.
Proof.
  intros HU. unfold learn, tabulate. generalize 0 (@nil nat). induction n as [|n IH]; intros x A.
  - simpl. f_equal. apply next_rank_same; auto using look_same. now intros ?.
  - simpl. now rewrite !IH.
Qed.

Lemma touch_same n B S U U' : same_set U U' -> touch n B S U = touch n B S U'.
Proof. intros H. unfold touch. now rewrite (sorted_same n U U'), (diff_same S U U'). Qed.

(** ** Both machines compute what they should *)

Section Machine.
Variable State : Type.
Variable next : State -> list nat -> State.
Variable fee : State -> list nat -> nat.

Fixpoint toll (s : State) (us : list (list nat)) : nat :=
  match us with [] => 0 | U :: us' => fee s U + toll (next s U) us' end.

Lemma toll_app us vs : forall s, toll s (us ++ vs) = toll s us + toll (fold_left next us s) vs.
Proof. induction us as [|U us IH]; intros s; simpl; auto. rewrite IH. lia. Qed.

Lemma toll_cycle us n s : fold_left next us s = s ->
  toll s (concat (repeat us n)) = n * toll s us.
Proof.
  intros Hs. induction n as [|n IH]; auto. simpl. now rewrite toll_app, Hs, IH.
Qed.
End Machine.

Definition misses (S U : list nat) : nat := card (diff U S).
Definition growth (t : table) (U : list nat) : nat := delta (look t) U.

(** What Leaf-LRU pays, and by how much the optimum grows. *)
Definition paid (n B : nat) := toll (list nat) (touch n B) misses.
Definition owed (n B : nat) := toll table (learn n B) growth.

Definition empty_table (n : nat) : table := tabulate n rank_0.

Lemma paid_from F B n us : forall past S,
  (forall V, In V (us ++ past) -> closed F V /\ card V <= B) ->
  (forall U, In U us -> incl U (seq 0 n)) -> by_last_use F B past S ->
  cost (leaf_lru F B past) us (run_from (leaf_lru F B) past us) = paid n B S us.
Proof.
  induction us as [|U us IH]; intros past S Hall Hn HS; auto.
  unfold paid. cbn [run_from cost toll]. f_equal.
  - apply card_ext. intros x. rewrite !In_diff. now rewrite (proj2 (proj2 HS) x).
  - apply IH.
    + intros V HV. apply Hall. apply in_app_iff in HV. simpl. rewrite in_app_iff.
      destruct HV as [|[<-|]]; auto.
    + intros V HV. apply Hn. now right.
    + apply touch_by_last_use; auto.
      * intros V [<-|HV]; apply Hall; [now left|]. right. apply in_app_iff. auto.
      * apply Hn. now left.
Qed.

Theorem paid_correct : forall F B n us,
  (forall U, In U us -> closed F U /\ card U <= B) ->
  (forall U, In U us -> incl U (seq 0 n)) ->
  policy_cost (leaf_lru F B) us = paid n B [] us.
Proof.
  intros F B n us Hall Hn. apply (paid_from F B n us []); auto using by_last_use_start.
  intros V HV. apply Hall. now rewrite app_nil_r in HV.
Qed.

Lemma owed_from B n us : (forall U, In U us -> incl U (seq 0 n)) -> forall r t,
  (forall A, incl A (seq 0 n) -> r A = look t A) -> sum_delta B r us = owed n B t us.
Proof.
  intros Hn. induction us as [|U us IH]; intros r t Hr; auto.
  assert (HU : incl U (seq 0 n)) by (apply Hn; now left).
  unfold owed. cbn [sum_delta toll]. f_equal.
  - unfold growth, delta. now rewrite Hr.
  - apply IH; [intros V HV; apply Hn; now right|]. intros A HA. unfold learn.
    rewrite look_tabulate; auto.
    + unfold next_rank. rewrite !Hr; auto. now apply incl_app.
    + intros C C' HC. apply next_rank_same; auto using look_same. now intros ?.
Qed.

Theorem owed_correct : forall B n us,
  (forall U, In U us -> incl U (seq 0 n)) -> deltas B us = owed n B (empty_table n) us.
Proof.
  intros B n us Hn. apply owed_from; auto. intros A HA. symmetry.
  apply look_tabulate; auto. now intros ? ?.
Qed.
