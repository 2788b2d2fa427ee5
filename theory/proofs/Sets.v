(** * Finite sets of natural numbers, as lists

    A set is any list; only membership matters, and [card] counts the
    *distinct* members, so no lemma needs a "no duplicates" premise. *)

From Coq Require Export List Arith Lia Bool.
Export ListNotations.

Definition mem (x : nat) (A : list nat) : bool := existsb (Nat.eqb x) A.

(** Number of distinct members. *)
Definition card (A : list nat) : nat := length (nodup Nat.eq_dec A).

Definition diff (A B : list nat) : list nat := filter (fun x => negb (mem x B)) A.

Definition inter (A B : list nat) : list nat := filter (fun x => mem x B) A.

(** A union that keeps lists without duplicates free of them. *)
Definition union (A B : list nat) : list nat := A ++ diff B A.

Lemma mem_In x A : mem x A = true <-> In x A.
Proof.
  unfold mem. rewrite existsb_exists. split.
  - intros (y & Hy & E). apply Nat.eqb_eq in E. now subst.
  - intros H. exists x. split; auto. apply Nat.eqb_refl.
Qed.

Lemma mem_not_In x A : mem x A = false <-> ~ In x A.
Proof.
  rewrite <- mem_In. destruct (mem x A); intuition congruence.
Qed.

Lemma In_dec (x : nat) (A : list nat) : In x A \/ ~ In x A.
Proof. destruct (in_dec Nat.eq_dec x A); auto. Qed.

Lemma In_diff x A B : In x (diff A B) <-> In x A /\ ~ In x B.
Proof. unfold diff. now rewrite filter_In, negb_true_iff, mem_not_In. Qed.

Lemma In_inter x A B : In x (inter A B) <-> In x A /\ In x B.
Proof. unfold inter. now rewrite filter_In, mem_In. Qed.

Lemma In_union x A B : In x (union A B) <-> In x A \/ In x B.
Proof.
  unfold union. rewrite in_app_iff, In_diff. destruct (In_dec x A); tauto.
Qed.

(** Cardinalities. *)

Lemma card_incl A B : incl A B -> card A <= card B.
Proof.
  intros H. apply NoDup_incl_length; [apply NoDup_nodup|].
  intros x Hx. apply nodup_In in Hx. apply nodup_In. auto.
Qed.

Lemma card_ext A B : (forall x, In x A <-> In x B) -> card A = card B.
Proof.
  intros H. apply Nat.le_antisymm; apply card_incl; intros x Hx; now apply H.
Qed.

Lemma card_NoDup A : NoDup A -> card A = length A.
Proof. intros H. unfold card. now rewrite nodup_fixed_point. Qed.

Lemma card_le_length A : card A <= length A.
Proof.
  unfold card. apply NoDup_incl_length; [apply NoDup_nodup|].
  intros x Hx. now apply nodup_In in Hx.
Qed.

Lemma card_app_disjoint A B :
  (forall x, In x A -> ~ In x B) -> card (A ++ B) = card A + card B.
Proof.
  intros H. unfold card at 2 3. rewrite <- app_length, <- card_NoDup.
  - apply card_ext. intros x. rewrite !in_app_iff, !nodup_In. tauto.
  - assert (G : forall C D : list nat, NoDup C -> NoDup D ->
      (forall x, In x C -> ~ In x D) -> NoDup (C ++ D)).
    { induction C as [|c C IH]; simpl; intros D HC HD HCD; auto.
      inversion HC; subst. constructor.
      - rewrite in_app_iff. intros [?|?]; auto. eapply HCD; eauto.
      - apply IH; auto. }
    apply G; try apply NoDup_nodup.
    intros x Hx Hy. apply nodup_In in Hx, Hy. eapply H; eauto.
Qed.

Lemma card_filter_split f A :
  card A = card (filter f A) + card (filter (fun x => negb (f x)) A).
Proof.
  rewrite <- card_app_disjoint.
  - apply card_ext. intros x. rewrite in_app_iff, !filter_In, negb_true_iff.
    destruct (f x); intuition congruence.
  - intros x. rewrite !filter_In, negb_true_iff. intuition congruence.
Qed.

Lemma card_app A B : card (A ++ B) = card A + card (diff B A).
Proof.
  rewrite <- card_app_disjoint.
  - apply card_ext. intros x. rewrite !in_app_iff, In_diff.
    destruct (In_dec x A); tauto.
  - intros x. rewrite In_diff. tauto.
Qed.

Lemma card_app_comm A B : card (A ++ B) = card (B ++ A).
Proof. apply card_ext. intros x. rewrite !in_app_iff. tauto. Qed.

Lemma card_union A B : card (union A B) = card (A ++ B).
Proof. apply card_ext. intros x. rewrite In_union, in_app_iff. tauto. Qed.

Lemma card_diff_inter A B : card A = card (diff A B) + card (inter A B).
Proof.
  rewrite (card_filter_split (fun x => mem x B) A). unfold diff, inter. lia.
Qed.

Lemma card_split2 A U : card A = card (inter A U) + card (diff A U).
Proof. rewrite (card_diff_inter A U). lia. Qed.

Lemma card_inter_comm A U : card (inter A U) = card (inter U A).
Proof. apply card_ext. intros x. rewrite !In_inter. tauto. Qed.

Lemma card_app_le A B : card (A ++ B) <= card A + card B.
Proof.
  rewrite card_app. assert (card (diff B A) <= card B); [|lia].
  apply card_incl. intros x Hx. apply In_diff in Hx. tauto.
Qed.

Lemma card_nil : card [] = 0.
Proof. reflexivity. Qed.

Lemma card_single x : card [x] = 1.
Proof. reflexivity. Qed.

Lemma card_pos x A : In x A -> 1 <= card A.
Proof.
  intros H. rewrite <- (card_single x). apply card_incl.
  intros y [<-|[]]. auto.
Qed.

Lemma card_zero A : card A = 0 -> A = [].
Proof.
  destruct A as [|a A]; auto. intros H.
  assert (1 <= card (a :: A)) by (eapply card_pos; now left). lia.
Qed.

Lemma card_ge_exists A B : card B < card A -> exists x, In x A /\ ~ In x B.
Proof.
  intros H. destruct (diff A B) as [|x D] eqn:E.
  - exfalso. assert (card A <= card B); [|lia]. apply card_incl. intros x Hx.
    destruct (In_dec x B); auto.
    assert (In x (diff A B)) by (apply In_diff; auto). rewrite E in *. easy.
  - exists x. apply In_diff. rewrite E. now left.
Qed.

(** An injection shows an inequality. *)
Lemma card_map_inj (f : nat -> nat) A B :
  (forall x y, In x A -> In y A -> f x = f y -> x = y) ->
  (forall x, In x A -> In (f x) B) -> card A <= card B.
Proof.
  intros Hi HB. unfold card at 1. rewrite <- (map_length f).
  unfold card. apply NoDup_incl_length.
  - assert (G : forall D, incl D A -> NoDup D -> NoDup (map f D)).
    { induction D as [|d D IH]; simpl; intros HD N; constructor; inversion N; subst.
      - rewrite in_map_iff. intros (y & E & Hy). apply Hi in E.
        + now subst.
        + apply HD. now right.
        + apply HD. now left.
      - apply IH; auto. intros z Hz. apply HD. now right. }
    apply G; [|apply NoDup_nodup]. intros z Hz. now apply nodup_In in Hz.
  - intros y Hy. apply in_map_iff in Hy as (x & <- & Hx).
    apply nodup_In in Hx. apply nodup_In. auto.
Qed.

Lemma card_seq s n : card (seq s n) = n.
Proof. rewrite card_NoDup by apply seq_NoDup. apply seq_length. Qed.

(** Removal of one member lowers [card] by one. *)
Definition remove1 (x : nat) (A : list nat) : list nat :=
  filter (fun y => negb (y =? x)) A.

Lemma In_remove1 x y A : In y (remove1 x A) <-> In y A /\ y <> x.
Proof.
  unfold remove1. rewrite filter_In, negb_true_iff, Nat.eqb_neq. tauto.
Qed.

Lemma card_remove1 x A : In x A -> card A = S (card (remove1 x A)).
Proof.
  intros H. change (S (card (remove1 x A))) with (card [x] + card (remove1 x A)).
  rewrite <- card_app_disjoint.
  - apply card_ext. intros y. simpl. rewrite In_remove1.
    destruct (Nat.eq_dec x y); subst; intuition.
  - intros y [<-|[]]. rewrite In_remove1. tauto.
Qed.

(** The largest member. *)
Lemma exists_max A : A <> [] -> exists m, In m A /\ forall x, In x A -> x <= m.
Proof.
  induction A as [|a A IH]; [congruence|intros _].
  destruct A as [|b A].
  - exists a. split; [now left|]. intros x [->|[]]; auto.
  - destruct IH as (m & Hm & Hx); [congruence|].
    destruct (le_lt_dec a m).
    + exists m. split; [now right|]. intros x [->|H]; auto.
    + exists a. split; [now left|]. intros x [->|H]; auto.
      apply Hx in H. lia.
Qed.
