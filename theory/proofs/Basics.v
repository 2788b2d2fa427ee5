(** * First facts about the model *)

From KVBounds Require Export Model.

(** ** Paths and footprints *)

Lemma path_fuel_enough F n t : t <= n -> path_fuel F n t = path_fuel F t t.
Proof.
  revert t. induction n as [n IH] using lt_wf_ind. intros t Ht.
  destruct n as [|n].
  - now replace t with 0 by lia.
  - simpl. destruct t as [|t]; simpl.
    + destruct (parent F 0) as [p|] eqn:E; auto.
      apply parent_lt in E. lia.
    + destruct (parent F (S t)) as [p|] eqn:E; auto.
      apply parent_lt in E. f_equal.
      rewrite (IH n) by lia. rewrite (IH t) by lia. reflexivity.
Qed.

Lemma path_unfold F t :
  path F t = t :: match parent F t with Some p => path F p | None => [] end.
Proof.
  unfold path. destruct t as [|t]; simpl.
  - destruct (parent F 0) as [p|] eqn:E; auto. apply parent_lt in E. lia.
  - destruct (parent F (S t)) as [p|] eqn:E; auto.
    apply parent_lt in E. f_equal. apply path_fuel_enough. lia.
Qed.

Lemma path_self F t : In t (path F t).
Proof. rewrite path_unfold. now left. Qed.

Lemma path_le F t : forall x, In x (path F t) -> x <= t.
Proof.
  induction t as [t IH] using lt_wf_ind. intros x. rewrite path_unfold.
  intros [<-|H]; auto. destruct (parent F t) as [p|] eqn:E; [|easy].
  apply parent_lt in E. apply (IH p E) in H. lia.
Qed.

Lemma path_closed F t : closed F (path F t).
Proof.
  induction t as [t IH] using lt_wf_ind. intros x p. rewrite path_unfold.
  destruct (parent F t) as [q|] eqn:E.
  - pose proof (parent_lt F _ _ E) as Hlt. intros [<-|H] Hp.
    + rewrite E in Hp. injection Hp as <-. right. apply path_self.
    + right. exact (IH q Hlt x p H Hp).
  - intros [<-|[]] Hp. congruence.
Qed.

Lemma path_NoDup F t : NoDup (path F t).
Proof.
  induction t as [t IH] using lt_wf_ind. rewrite path_unfold. constructor.
  - destruct (parent F t) as [p|] eqn:E; [|easy].
    intros H. apply path_le in H. apply parent_lt in E. lia.
  - destruct (parent F t) as [p|] eqn:E; [|constructor].
    apply IH. now apply parent_lt in E.
Qed.

Lemma footprint_closed F Q : closed F (footprint F Q).
Proof.
  intros t p Ht Hp. unfold footprint in *. apply in_flat_map in Ht as (q & Hq & H).
  apply in_flat_map. exists q. split; auto. eapply path_closed; eauto.
Qed.

(** The path of a token of a closed set lies in it. *)
Lemma path_incl F A t : closed F A -> In t A -> incl (path F t) A.
Proof.
  intros HA. induction t as [t IH] using lt_wf_ind. intros Ht x.
  rewrite path_unfold. intros [<-|H]; auto.
  destruct (parent F t) as [p|] eqn:E; [|easy].
  eapply (IH p); eauto. now apply parent_lt in E.
Qed.

(** [beta] distinct queries of at least [L] tokens have a footprint of at
    least [L + beta - 1]: the query with the smallest end brings its whole
    path, each other one at least its own end. *)
Lemma footprint_ge F L beta Q :
  batch_of F L beta Q -> 1 <= beta -> L + beta - 1 <= card (footprint F Q).
Proof.
  intros (Hlen & HN & HL) Hb.
  assert (Hmin : exists q, In q Q /\ forall x, In x Q -> q <= x).
  { clear HL. destruct Q as [|a Q]; [simpl in *; lia|]. clear.
    induction Q as [|b Q IH] in a |- *.
    - exists a. split; [now left|]. intros x [->|[]]; auto.
    - destruct (IH b) as (q & Hq & H). destruct (le_lt_dec a q).
      + exists a. split; [now left|]. intros x [->|Hx]; auto.
        apply H in Hx. lia.
      + exists q. split; [now right|]. intros x [->|Hx]; auto. lia. }
  destruct Hmin as (q & Hq & Hmin).
  transitivity (card (path F q ++ remove1 q Q)).
  - rewrite card_app_disjoint.
    + rewrite (card_NoDup (path F q)) by apply path_NoDup.
      specialize (HL q Hq). pose proof (card_remove1 q Q Hq) as E.
      rewrite (card_NoDup Q HN) in E. lia.
    + intros x Hx. rewrite In_remove1. intros [Hx' Hne].
      apply path_le in Hx. apply Hmin in Hx'. lia.
  - apply card_incl. intros x. rewrite in_app_iff, In_remove1.
    unfold footprint. rewrite in_flat_map. intros [H|[H _]].
    + eauto.
    + exists x. split; auto. apply path_self.
Qed.

(** Every non-empty closed set is the footprint of a batch: of its own tokens.
    So speaking of closed sets instead of batches loses nothing. *)
Lemma closed_is_footprint F U x :
  closed F U -> (In x (footprint F U) <-> In x U).
Proof.
  intros HU. unfold footprint. rewrite in_flat_map. split.
  - intros (q & Hq & Hx). exact (path_incl F U q HU Hq x Hx).
  - intros H. exists x. split; auto. apply path_self.
Qed.

(** ** Schedules *)

(** A demand schedule is a prefetching one that loads exactly its misses. *)
Lemma schedule_prefetching B us : forall S0 ss,
  schedule B S0 us ss -> prefetching_schedule B us ss.
Proof.
  induction us as [|U us IH]; intros S0 [|S1 ss]; simpl; auto.
  intros (H1 & H2 & H3 & H4). eauto.
Qed.

Lemma schedule_loads B us : forall S0 ss,
  schedule B S0 us ss -> loads S0 us ss = cost S0 us ss.
Proof.
  induction us as [|U us IH]; intros S0 [|S1 ss]; simpl; auto; try easy.
  intros (H1 & H2 & H3 & H4). rewrite (IH S1 ss H4). f_equal.
  apply card_ext. intros x. rewrite !In_diff. split.
  - intros [Hx Hn]. split; auto. apply H2 in Hx. apply in_app_iff in Hx. tauto.
  - intros [Hx Hn]. auto.
Qed.

Lemma run_from_length pol us : forall past, length (run_from pol past us) = length us.
Proof. induction us; simpl; auto. Qed.

Lemma last_cons {X} (a d : X) l : last (a :: l) d = last l a.
Proof. revert a d. induction l as [|b l IH]; intros a d; auto. simpl in *. destruct l; auto. Qed.

Lemma cost_app us1 : forall S0 us2 ss1 ss2,
  length us1 = length ss1 ->
  cost S0 (us1 ++ us2) (ss1 ++ ss2) = cost S0 us1 ss1 + cost (last ss1 S0) us2 ss2.
Proof.
  induction us1 as [|U us1 IH]; intros S0 us2 [|S1 ss1] ss2 Hl; try easy.
  injection Hl as Hl. rewrite last_cons. simpl. rewrite IH by lia. lia.
Qed.

Lemma schedule_app B us1 : forall S0 us2 ss1 ss2,
  schedule B S0 us1 ss1 -> schedule B (last ss1 S0) us2 ss2 ->
  schedule B S0 (us1 ++ us2) (ss1 ++ ss2).
Proof.
  induction us1 as [|U us1 IH]; intros S0 us2 [|S1 ss1] ss2 H1 H2; try easy.
  rewrite last_cons in H2. simpl in *.
  destruct H1 as (Ha & Hb & Hc & Hd). repeat split; auto.
Qed.

Lemma schedule_length B us : forall S0 ss, schedule B S0 us ss -> length us = length ss.
Proof.
  induction us as [|U us IH]; intros S0 [|S1 ss]; simpl; auto; try easy.
  intros (_ & _ & _ & H). f_equal. eauto.
Qed.

Lemma run_from_app pol us1 : forall past us2,
  run_from pol past (us1 ++ us2) =
  run_from pol past us1 ++ run_from pol (rev us1 ++ past) us2.
Proof.
  induction us1 as [|U us1 IH]; intros past us2; simpl; auto.
  now rewrite IH, <- app_assoc.
Qed.

Lemma last_run_from pol us : forall past d, us <> [] ->
  last (run_from pol past us) d = pol (rev us ++ past).
Proof.
  induction us as [|U us IH]; intros past d Hne; [easy|].
  cbn [run_from rev]. rewrite last_cons, <- app_assoc. destruct us; auto.
  apply IH. easy.
Qed.
