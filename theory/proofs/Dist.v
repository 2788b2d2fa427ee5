(** * Finite distributions with rational weights *)

From Coq Require Export QArith Lqa.
From KVBounds Require Export Sets.

Local Open Scope Q_scope.

Definition qn (n : nat) : Q := inject_Z (Z.of_nat n).

Lemma qn_plus a b : qn (a + b) == qn a + qn b.
Proof. unfold qn. rewrite Nat2Z.inj_add, inject_Z_plus. reflexivity. Qed.

Lemma qn_mult a b : qn (a * b) == qn a * qn b.
Proof. unfold qn. rewrite Nat2Z.inj_mul, inject_Z_mult. reflexivity. Qed.

Lemma qn_le a b : (a <= b)%nat -> qn a <= qn b.
Proof. intros H. unfold qn. rewrite <- Zle_Qle. lia. Qed.

Lemma qn_nonneg a : 0 <= qn a.
Proof. apply (qn_le 0). lia. Qed.

Lemma qn_S a : qn (S a) == 1 + qn a.
Proof. rewrite <- (qn_plus 1 a). reflexivity. Qed.

Lemma qn_pos a : 0 < qn (S a).
Proof. rewrite qn_S. pose proof (qn_nonneg a). lra. Qed.

Lemma archimedes (K e : Q) : (0 < e)%Q -> exists n, (K < qn n * e)%Q.
Proof.
  intros He. destruct (Qarchimedean (K * / e)) as (p & Hp). exists (Pos.to_nat p).
  assert (Hq : (qn (Pos.to_nat p) == Z.pos p # 1)%Q).
  { unfold qn. rewrite positive_nat_Z. reflexivity. }
  rewrite Hq. apply Qmult_lt_r with (z := (/ e)%Q); [now apply Qinv_lt_0_compat|].
  rewrite <- Qmult_assoc, Qmult_inv_r by lra. lra.
Qed.

(** ** Sums *)

Fixpoint sumQ {A} (f : A -> Q) (l : list A) : Q :=
  match l with [] => 0 | a :: l' => f a + sumQ f l' end.

Lemma sumQ_app {A} (f : A -> Q) l l' : sumQ f (l ++ l') == sumQ f l + sumQ f l'.
Proof. induction l; simpl; [lra|rewrite IHl; lra]. Qed.

Lemma sumQ_le {A} (f g : A -> Q) l :
  (forall a, In a l -> f a <= g a) -> sumQ f l <= sumQ g l.
Proof.
  induction l as [|a l IH]; simpl; intros H; [lra|].
  pose proof (H a (or_introl eq_refl)). assert (sumQ f l <= sumQ g l) by auto. lra.
Qed.

Lemma sumQ_ext {A} (f g : A -> Q) l :
  (forall a, In a l -> f a == g a) -> sumQ f l == sumQ g l.
Proof.
  induction l as [|a l IH]; simpl; intros H; [lra|].
  rewrite (H a (or_introl eq_refl)), IH; auto. lra.
Qed.

Lemma sumQ_plus {A} (f g : A -> Q) l : sumQ (fun a => f a + g a) l == sumQ f l + sumQ g l.
Proof. induction l; simpl; [lra|rewrite IHl; lra]. Qed.

Lemma sumQ_scale {A} c (f : A -> Q) l : sumQ (fun a => c * f a) l == c * sumQ f l.
Proof. induction l; simpl; [lra|rewrite IHl; lra]. Qed.

Lemma sumQ_const {A} c (l : list A) : sumQ (fun _ => c) l == qn (length l) * c.
Proof.
  induction l as [|a l IH]; cbn [sumQ length]; [change (qn 0) with 0; lra|].
  rewrite IH, qn_S. lra.
Qed.

Lemma sumQ_map {A B} (g : A -> B) (f : B -> Q) l : sumQ f (map g l) = sumQ (fun a => f (g a)) l.
Proof. induction l; simpl; congruence. Qed.

Lemma sumQ_nonneg {A} (f : A -> Q) l : (forall a, In a l -> 0 <= f a) -> 0 <= sumQ f l.
Proof.
  induction l as [|a l IH]; simpl; intros H; [lra|].
  pose proof (H a (or_introl eq_refl)). assert (0 <= sumQ f l) by auto. lra.
Qed.

(** Without duplicates, a sum depends on membership only. *)
Lemma sumQ_set (f : nat -> Q) l l' : NoDup l -> NoDup l' ->
  (forall x, In x l <-> In x l') -> sumQ f l == sumQ f l'.
Proof.
  revert l'. induction l as [|a l IH]; intros l' HN HN' H.
  - destruct l' as [|b l']; [reflexivity|]. exfalso. exact (proj2 (H b) (or_introl eq_refl)).
  - assert (Ha : In a l') by (apply H; now left).
    apply in_split in Ha as (l1 & l2 & ->). inversion HN as [|? ? Hal HN1]; subst.
    apply NoDup_remove in HN' as (HN2 & Hn2).
    rewrite sumQ_app. simpl. rewrite (IH (l1 ++ l2) HN1 HN2).
    + rewrite sumQ_app. lra.
    + intros x. specialize (H x). simpl in H. rewrite in_app_iff in H, Hn2. simpl in H.
      rewrite in_app_iff. split; intros Hx.
      * assert (x <> a) by (intros ->; auto). intuition congruence.
      * assert (x <> a) by (intros ->; auto). intuition congruence.
Qed.

Lemma sumQ_filter_split {A} (p : A -> bool) (f : A -> Q) l :
  sumQ f l == sumQ f (filter p l) + sumQ f (filter (fun a => negb (p a)) l).
Proof.
  induction l as [|a l IH]; simpl; [lra|]. rewrite IH.
  destruct (p a); simpl; lra.
Qed.

(** ** Distributions *)

Definition dist (A : Type) := list (Q * A).

Definition ret {A} (a : A) : dist A := [(1, a)].

Definition bind {A B} (d : dist A) (f : A -> dist B) : dist B :=
  flat_map (fun pa => map (fun qb => (fst pa * fst qb, snd qb)) (f (snd pa))) d.

Definition uniform {A} (l : list A) : dist A := map (fun a => (/ qn (length l), a)) l.

(** Expectation. *)
Definition Exp {A} (d : dist A) (f : A -> Q) : Q := sumQ (fun pa => fst pa * f (snd pa)) d.

Definition in_support {A} (a : A) (d : dist A) : Prop := exists p, In (p, a) d.

(** Weights are nonnegative and add up to one. *)
Definition proper {A} (d : dist A) : Prop :=
  (forall p a, In (p, a) d -> 0 <= p) /\ Exp d (fun _ => 1) == 1.

Lemma Exp_ret {A} (a : A) f : Exp (ret a) f == f a.
Proof. unfold Exp, ret. simpl. lra. Qed.

Lemma Exp_bind {A B} (d : dist A) (f : A -> dist B) g :
  Exp (bind d f) g == Exp d (fun a => Exp (f a) g).
Proof.
  unfold Exp, bind. induction d as [|(p, a) d IH]; simpl; [lra|].
  rewrite sumQ_app, IH, sumQ_map. simpl.
  rewrite <- sumQ_scale. apply Qplus_comp; [|reflexivity].
  apply sumQ_ext. intros (q, b) _. simpl. lra.
Qed.

Lemma Exp_ext {A} (d : dist A) f g :
  (forall a, in_support a d -> f a == g a) -> Exp d f == Exp d g.
Proof.
  intros H. apply sumQ_ext. intros (p, a) Hin. simpl. rewrite (H a); [lra|]. now exists p.
Qed.

Lemma Exp_le {A} (d : dist A) f g : proper d ->
  (forall a, in_support a d -> f a <= g a) -> Exp d f <= Exp d g.
Proof.
  intros (Hp & _) H. apply sumQ_le. intros (p, a) Hin. simpl.
  assert (f a <= g a) by (apply H; now exists p). specialize (Hp p a Hin). nra.
Qed.

Lemma Exp_plus {A} (d : dist A) f g : Exp d (fun a => f a + g a) == Exp d f + Exp d g.
Proof.
  unfold Exp. rewrite <- sumQ_plus. apply sumQ_ext. intros (p, a) _. simpl. lra.
Qed.

Lemma Exp_scale {A} (d : dist A) c f : Exp d (fun a => c * f a) == c * Exp d f.
Proof.
  unfold Exp. rewrite <- sumQ_scale. apply sumQ_ext. intros (p, a) _. simpl. lra.
Qed.

Lemma Exp_const {A} (d : dist A) c : proper d -> Exp d (fun _ => c) == c.
Proof.
  intros (_ & H). transitivity (Exp d (fun _ => c * 1)).
  - apply Exp_ext. intros; lra.
  - rewrite Exp_scale, H. lra.
Qed.

Lemma proper_ret {A} (a : A) : proper (ret a).
Proof.
  split; [|exact (Exp_ret a (fun _ => 1))]. intros p b [H|[]]. injection H as <- _. lra.
Qed.

Lemma proper_bind {A B} (d : dist A) (f : A -> dist B) :
  proper d -> (forall a, in_support a d -> proper (f a)) -> proper (bind d f).
Proof.
  intros (Hp & Hs) Hf. split.
  - intros q b Hin. unfold bind in Hin. apply in_flat_map in Hin as ((p, a) & Hin & Hq).
    apply in_map_iff in Hq as ((q', b') & Heq & Hin'). injection Heq as <- <-. simpl.
    destruct (Hf a) as (Hq' & _); [now exists p|].
    specialize (Hp p a Hin). specialize (Hq' q' b' Hin'). nra.
  - rewrite Exp_bind. rewrite <- Hs. apply Exp_ext. intros a Ha. now apply Hf.
Qed.

Lemma support_bind {A B} (d : dist A) (f : A -> dist B) b :
  in_support b (bind d f) -> exists a, in_support a d /\ in_support b (f a).
Proof.
  intros (q & Hin). unfold bind in Hin. apply in_flat_map in Hin as ((p, a) & Hin & Hq).
  apply in_map_iff in Hq as ((q', b') & Heq & Hin'). injection Heq as <- <-.
  exists a. split; [now exists p|now exists q'].
Qed.

Lemma support_ret {A} (a b : A) : in_support b (ret a) -> b = a.
Proof. intros (p & [H|[]]). now injection H as _ <-. Qed.

Lemma support_uniform {A} (l : list A) a : in_support a (uniform l) <-> In a l.
Proof.
  unfold in_support, uniform. split.
  - intros (p & H). apply in_map_iff in H as (x & Hx & Hin). now injection Hx as _ <-.
  - intros H. exists (/ qn (length l)). apply in_map_iff. now exists a.
Qed.

Lemma Exp_uniform {A} (l : list A) f : Exp (uniform l) f == / qn (length l) * sumQ f l.
Proof.
  unfold Exp, uniform. rewrite sumQ_map. simpl. rewrite <- sumQ_scale. reflexivity.
Qed.

Lemma proper_uniform {A} (l : list A) : l <> [] -> proper (uniform l).
Proof.
  intros Hl. destruct l as [|a0 l0] eqn:El; [easy|]. rewrite <- El.
  assert (Hpos : 0 < qn (length l)) by (rewrite El; apply qn_pos).
  split.
  - intros p a Hin. apply in_map_iff in Hin as (x & Hx & _). injection Hx as <- _.
    apply Qlt_le_weak, Qinv_lt_0_compat, Hpos.
  - rewrite Exp_uniform, sumQ_const. field. lra.
Qed.

(** ** Harmonic numbers *)

Fixpoint harmonic (n : nat) : Q :=
  match n with O => 0 | S m => harmonic m + / qn (S m) end.

Lemma inv_qn_pos n : 0 < / qn (S n).
Proof. apply Qinv_lt_0_compat, qn_pos. Qed.

Lemma harmonic_mono a b : (a <= b)%nat -> harmonic a <= harmonic b.
Proof.
  induction 1 as [|b _ IH]; [lra|]. cbn [harmonic]. pose proof (inv_qn_pos b). lra.
Qed.

Lemma harmonic_nonneg n : 0 <= harmonic n.
Proof. apply (harmonic_mono 0 n). lia. Qed.

Fixpoint sum_harmonic (n : nat) : Q :=
  match n with O => 0 | S m => sum_harmonic m + harmonic m end.

(** H_0 + ... + H_(n-1) = n (H_n - 1). *)
Lemma sum_harmonic_eq n : sum_harmonic n == qn n * (harmonic n - 1).
Proof.
  induction n as [|n IH]; cbn [sum_harmonic harmonic]; [reflexivity|].
  rewrite IH. pose proof (qn_pos n) as Hp.
  assert (Hn : qn n == qn (S n) - 1) by (rewrite qn_S; lra).
  rewrite Hn. field. lra.
Qed.
