(** * Certificates of exact ratios, checked by computation

    [kvbounds exact --certificate] writes the exact ratio of a policy on one
    finite instance with its evidence: two automata (the policy, the growth
    of the optimum), a potential on the pairs of their states, and a cycle of
    requests.  [check] derives every state and every edge again from the
    definitions of the model; whatever it accepts is an exact ratio
    ([certificate_sound]).  It covers Leaf-LRU. *)

From KVBounds Require Export Automaton OptEqual Sanity.

Local Open Scope nat_scope.

(** ** What is claimed *)

(** All batches of exactly [beta] distinct queries among [qs] that fit. *)
Definition batch_among (F : forest) (B beta : nat) (qs Q : list nat) : Prop :=
  length Q = beta /\ NoDup Q /\ incl Q qs /\ card (footprint F Q) <= B.

(** On sequences of these batches Leaf-LRU costs at most (p OPT + d) / q
    against every offline schedule from an empty cache, prefix-closed or not;
    and no ratio below p / q holds with any additive constant, not even
    against prefix-closed schedules only. *)
Definition exact_ratio (F : forest) (B beta : nat) (qs : list nat) (p q d : nat) : Prop :=
  0 < q /\
  (forall Qs os, (forall Q, In Q Qs -> batch_among F B beta qs Q) ->
     schedule B [] (map (footprint F) Qs) os ->
     q * policy_cost (leaf_lru F B) (map (footprint F) Qs)
     <= p * cost [] (map (footprint F) Qs) os + d) /\
  (forall p' q' d',
     (forall Qs os, (forall Q, In Q Qs -> batch_among F B beta qs Q) ->
        schedule B [] (map (footprint F) Qs) os -> all_closed F os ->
        q' * policy_cost (leaf_lru F B) (map (footprint F) Qs)
        <= p' * cost [] (map (footprint F) Qs) os + d') ->
     q' * p <= p' * q).

(** ** What a certificate is

    As the JSON file has it; potentials and the additive constant are given
    [denominator] times as large, hence in whole numbers. *)

Record certificate := Certificate {
  parents : list (option nat);
  capacity : nat;
  beta : nat;
  asked : list nat;                (* the queries *)
  numerator : nat;
  denominator : nat;
  additive : nat;
  prefix : list (list nat);        (* the lower bound: batches, *)
  cycle : list (list nat);
  cycle_paid : nat;                (* and what the cycle costs *)
  cycle_owed : nat;
  steps : list (list nat);         (* the upper bound: all batches, *)
  leaf_lru_automaton : automaton;
  optimum_automaton : automaton;
  states : list (nat * nat);       (* pairs of their states *)
  potential : list nat
}.

(** ** The checker *)

Section Checker.
Variable c : certificate.
Let F : forest := forest_of (parents c).
Let B : nat := capacity c.
Let size : nat := length (parents c).

(** A footprint in its normal form. *)
Definition normal (Q : list nat) : list nat := sorted size (footprint F Q).

Definition check_batch (Q : list nat) : bool :=
  (length Q =? beta c) && (card Q =? length Q) &&
  forallb (fun q => mem q (asked c)) Q && (card (footprint F Q) <=? B).

Definition check_steps (us : list (list nat)) : bool :=
  forallb (fun q => q <? size) (asked c) &&
  forallb check_batch (steps c) &&
  forallb (fun Q => negb (card (footprint F Q) <=? B) ||
                    existsb (fun U => if list_eq_dec_nat (normal Q) U then true else false) us)
          (choose (beta c) (asked c)).

Definition potentials : list (nat * nat * nat) := combine (states c) (potential c).

Definition potential_at (i k : nat) : option nat :=
  option_map snd (find (fun e => (fst (fst e) =? i) && (snd (fst e) =? k)) potentials).

(** cost + potential after <= ratio * growth + potential before *)
Definition check_edge (i k v j : nat) : bool :=
  match potential_at (cell (targets (leaf_lru_automaton c)) i j)
                     (cell (targets (optimum_automaton c)) k j) with
  | None => false
  | Some v' =>
      denominator c * cell (costs (leaf_lru_automaton c)) i j + v'
      <=? numerator c * cell (costs (optimum_automaton c)) k j + v
  end.

Definition check_potential : bool :=
  match potential_at 0 0 with None => false | Some v => v =? additive c end &&
  forallb (fun e => match e with (i, k, v) =>
      (i <? length (targets (leaf_lru_automaton c))) &&
      (k <? length (targets (optimum_automaton c))) &&
      forallb (check_edge i k v) (seq 0 (length (steps c))) end) potentials.

Definition check_lower : bool :=
  let before := map normal (prefix c) in
  let round := map normal (cycle c) in
  let s := fold_left (touch size B) before [] in
  let t := fold_left (learn size B) before (empty_table size) in
  forallb check_batch (prefix c) && forallb check_batch (cycle c) &&
  (if list_eq_dec_nat (fold_left (touch size B) round s) s then true else false) &&
  (if table_eq_dec (fold_left (learn size B) round t) t then true else false) &&
  (paid size B s round =? cycle_paid c) && (owed size B t round =? cycle_owed c) &&
  (numerator c * cycle_owed c =? denominator c * cycle_paid c) &&
  (0 <? cycle_owed c) && (0 <? denominator c).

Definition check : bool :=
  let us := map normal (steps c) in
  let lru := known_states _ (touch size B) [] us (leaf_lru_automaton c) in
  let opt := known_states _ (learn size B) (empty_table size) us (optimum_automaton c) in
  check_steps us &&
  check_automaton _ list_eq_dec_nat (touch size B) misses [] us (leaf_lru_automaton c) lru &&
  check_automaton _ table_eq_dec (learn size B) growth (empty_table size) us
    (optimum_automaton c) opt &&
  check_potential && check_lower.

(** ** Soundness *)

Hypothesis checked : check = true.

Let us : list (list nat) := map normal (steps c).
Let lru := known_states _ (touch size B) [] us (leaf_lru_automaton c).
Let opt := known_states _ (learn size B) (empty_table size) us (optimum_automaton c).

Let parts :
  check_steps us = true /\
  check_automaton _ list_eq_dec_nat (touch size B) misses [] us (leaf_lru_automaton c) lru = true /\
  check_automaton _ table_eq_dec (learn size B) growth (empty_table size) us
    (optimum_automaton c) opt = true /\
  check_potential = true /\ check_lower = true.
Proof. unfold check in checked. fold us lru opt in checked. rewrite !andb_true_iff in checked. tauto. Qed.

Let Allowed (Q : list nat) : Prop := batch_among F B (beta c) (asked c) Q.

Lemma check_batch_spec Q : check_batch Q = true -> Allowed Q.
Proof.
  unfold check_batch. rewrite !andb_true_iff, !Nat.eqb_eq, Nat.leb_le, forallb_forall.
  intros (((H1 & H2) & H3) & H4). repeat split; auto.
  - eapply NoDup_incl_NoDup; [apply (NoDup_nodup Nat.eq_dec Q)| |].
    + unfold card in H2. lia.
    + intros q Hq. now apply nodup_In in Hq.
  - intros q Hq. now apply mem_In, H3.
Qed.

Lemma allowed_footprint Q : Allowed Q ->
  closed F (footprint F Q) /\ card (footprint F Q) <= B /\ incl (footprint F Q) (seq 0 size).
Proof.
  intros (_ & _ & HQ & HB). split; [apply footprint_closed|]. split; auto.
  intros x Hx. unfold footprint in Hx. apply in_flat_map in Hx as (q & Hq & Hx).
  apply path_le in Hx. destruct parts as (H & _). unfold check_steps in H.
  rewrite !andb_true_iff, forallb_forall in H. destruct H as ((H & _) & _).
  specialize (H q (HQ q Hq)). apply Nat.ltb_lt in H. apply in_seq. lia.
Qed.

Lemma normal_same Q : Allowed Q -> same_set (footprint F Q) (normal Q).
Proof. intros HQ. apply same_sorted, allowed_footprint, HQ. Qed.

(** Every admissible batch is, as far as its footprint goes, a step. *)
Lemma allowed_step Q : Allowed Q -> exists j, j < length us /\ nth j us [] = normal Q.
Proof.
  intros HQ. destruct parts as (H & _). unfold check_steps in H.
  rewrite !andb_true_iff, !forallb_forall in H. destruct H as (_ & H).
  pose proof HQ as (Hlen & HN & Hin & HB).
  destruct (choose_all (asked c) Q HN Hin) as (Q' & H1 & H2). rewrite Hlen in H1.
  specialize (H Q' H1). pose proof (footprint_same F Q Q' H2) as H3.
  rewrite <- (card_ext _ _ H3) in H. apply Nat.leb_le in HB. rewrite HB in H. simpl in H.
  apply existsb_exists in H as (U & HU & E).
  destruct (list_eq_dec_nat (normal Q') U) as [E'|]; [|easy].
  destruct (In_nth us U [] HU) as (j & Hj & Ej). exists j. split; auto.
  rewrite Ej, <- E'. unfold normal. symmetry. now apply sorted_same.
Qed.

Lemma us_length : length us = length (steps c).
Proof. apply map_length. Qed.

Lemma toll_normal Qs : (forall Q, In Q Qs -> Allowed Q) -> forall s t,
  paid size B s (map (footprint F) Qs) = paid size B s (map normal Qs) /\
  owed size B t (map (footprint F) Qs) = owed size B t (map normal Qs).
Proof.
  induction Qs as [|Q Qs IH]; intros HQs s t; auto.
  assert (HQ := normal_same Q (HQs Q (or_introl eq_refl))).
  assert (HQs' : forall Q, In Q Qs -> Allowed Q) by (intros V HV; apply HQs; now right).
  unfold paid, owed. cbn [map toll].
  rewrite (touch_same size B s _ _ HQ), (learn_same size B t _ _ HQ).
  destruct (IH HQs' (touch size B s (normal Q)) (learn size B t (normal Q))) as (E1 & E2).
  unfold paid, owed in E1, E2. rewrite E1, E2.
  unfold misses, growth. rewrite (delta_same _ _ _ (look_same t) HQ). split; f_equal.
  apply card_ext. intros x. rewrite !In_diff. now rewrite (HQ x).
Qed.

(** *** The upper bound *)

Lemma potential_In i k v : potential_at i k = Some v -> In (i, k, v) potentials.
Proof.
  unfold potential_at. destruct (find _ potentials) as [((i', k'), v')|] eqn:E; [|easy].
  intros H. injection H as <-. apply find_some in E as (E & H). simpl in H.
  rewrite andb_true_iff, !Nat.eqb_eq in H. now destruct H as (<- & <-).
Qed.

Lemma potential_bounds Qs : (forall Q, In Q Qs -> Allowed Q) -> forall i k v,
  potential_at i k = Some v ->
  denominator c * paid size B (nth i lru []) (map normal Qs)
  <= numerator c * owed size B (nth k opt (empty_table size)) (map normal Qs) + v.
Proof.
  induction Qs as [|Q Qs IH]; intros HQs i k v Hv; [simpl; lia|].
  destruct parts as (_ & Hlru & Hopt & Hpot & _).
  apply check_automaton_spec in Hlru as (_ & Hlru), Hopt as (_ & Hopt).
  unfold check_potential in Hpot. rewrite andb_true_iff, forallb_forall in Hpot.
  destruct Hpot as (_ & Hpot). specialize (Hpot _ (potential_In i k v Hv)).
  rewrite !andb_true_iff, !Nat.ltb_lt, forallb_forall in Hpot.
  destruct Hpot as ((Hi & Hk) & Hpot).
  destruct (allowed_step Q (HQs Q (or_introl eq_refl))) as (j & Hj & Ej).
  destruct (Hlru i j Hi Hj) as (L1 & L2), (Hopt k j Hk Hj) as (O1 & O2).
  assert (Hj' : In j (seq 0 (length (steps c)))) by (apply in_seq; rewrite <- us_length; lia).
  specialize (Hpot j Hj'). unfold check_edge in Hpot.
  destruct (potential_at (cell _ i j) (cell _ k j)) as [v'|] eqn:Hv'; [|easy].
  rewrite Nat.leb_le in Hpot.
  specialize (IH (fun V HV => HQs V (or_intror HV)) _ _ _ Hv').
  rewrite L1, O1, Ej in IH. rewrite L2, O2, Ej in Hpot.
  unfold paid, owed in *. cbn [map toll]. rewrite !Nat.mul_add_distr_l.
  lia.
Qed.

Lemma potential_start : potential_at 0 0 = Some (additive c) /\
  nth 0 lru [] = [] /\ nth 0 opt (empty_table size) = empty_table size.
Proof.
  destruct parts as (_ & Hlru & Hopt & Hpot & _).
  apply check_automaton_spec in Hlru as (Hlru & _), Hopt as (Hopt & _).
  unfold check_potential in Hpot. rewrite andb_true_iff in Hpot. destruct Hpot as (Hpot & _).
  destruct (potential_at 0 0) as [v|]; [|easy]. apply Nat.eqb_eq in Hpot. now subst.
Qed.

Lemma costs_normal Qs : (forall Q, In Q Qs -> Allowed Q) ->
  policy_cost (leaf_lru F B) (map (footprint F) Qs) = paid size B [] (map normal Qs) /\
  deltas B (map (footprint F) Qs) = owed size B (empty_table size) (map normal Qs).
Proof.
  intros HQs. destruct (toll_normal Qs HQs [] (empty_table size)) as (<- & <-).
  assert (Hus : forall U, In U (map (footprint F) Qs) ->
            closed F U /\ card U <= B /\ incl U (seq 0 size)).
  { intros U HU. apply in_map_iff in HU as (Q & <- & HQ). now apply allowed_footprint, HQs. }
  split; [apply paid_correct|apply owed_correct]; intros U HU; destruct (Hus U HU) as (? & ? & ?);
    auto.
Qed.

Lemma upper_sound Qs os : (forall Q, In Q Qs -> Allowed Q) ->
  schedule B [] (map (footprint F) Qs) os ->
  denominator c * policy_cost (leaf_lru F B) (map (footprint F) Qs)
  <= numerator c * cost [] (map (footprint F) Qs) os + additive c.
Proof.
  intros HQs Hos. destruct (costs_normal Qs HQs) as (-> & Hopt).
  apply opt_ge_sum_delta in Hos. rewrite Hopt in Hos.
  destruct potential_start as (H0 & H1 & H2).
  pose proof (potential_bounds Qs HQs 0 0 _ H0) as H. rewrite H1, H2 in H.
  eapply Nat.le_trans; [exact H|]. apply Nat.add_le_mono_r, Nat.mul_le_mono_l. exact Hos.
Qed.

(** *** The lower bound: the prefix, and the cycle [n] times *)

Definition witness (n : nat) : list (list nat) := prefix c ++ concat (repeat (cycle c) n).

Lemma lower_checked :
  let before := map normal (prefix c) in
  let round := map normal (cycle c) in
  let s := fold_left (touch size B) before [] in
  let t := fold_left (learn size B) before (empty_table size) in
  (forall Q, In Q (prefix c ++ cycle c) -> Allowed Q) /\
  fold_left (touch size B) round s = s /\ fold_left (learn size B) round t = t /\
  paid size B s round = cycle_paid c /\ owed size B t round = cycle_owed c /\
  numerator c * cycle_owed c = denominator c * cycle_paid c /\
  0 < cycle_owed c /\ 0 < denominator c.
Proof.
  intros before round s t. destruct parts as (_ & _ & _ & _ & H). unfold check_lower in H.
  fold before round s t in H. rewrite !andb_true_iff, !Nat.eqb_eq, !Nat.ltb_lt in H.
  rewrite !forallb_forall in H.
  destruct H as ((((((((H1 & H2) & H3) & H4) & H5) & H6) & H7) & H8) & H9).
  destruct (list_eq_dec_nat _ _) as [E1|]; [|easy]. destruct (table_eq_dec _ _) as [E2|]; [|easy].
  repeat split; auto; apply in_app_iff in H as [H|H]; apply check_batch_spec; auto.
Qed.

Lemma witness_allowed n Q : In Q (witness n) -> Allowed Q.
Proof.
  destruct lower_checked as (H & _). intros HQ. apply H, in_app_iff.
  apply in_app_iff in HQ as [HQ|HQ]; auto. right.
  apply in_concat in HQ as (l & Hl & HQ). apply repeat_spec in Hl. now subst.
Qed.

Lemma witness_costs : exists x y, forall n,
  policy_cost (leaf_lru F B) (map (footprint F) (witness n)) = x + n * cycle_paid c /\
  deltas B (map (footprint F) (witness n)) = y + n * cycle_owed c.
Proof.
  destruct lower_checked as (_ & H1 & H2 & H3 & H4 & _).
  exists (paid size B [] (map normal (prefix c))).
  exists (owed size B (empty_table size) (map normal (prefix c))). intros n.
  destruct (costs_normal (witness n) (witness_allowed n)) as (-> & ->).
  assert (E : map normal (concat (repeat (cycle c) n)) = concat (repeat (map normal (cycle c)) n)).
  { clear. induction n as [|n IH]; simpl; auto. now rewrite map_app, IH. }
  unfold witness. rewrite map_app, E. unfold paid, owed.
  rewrite !toll_app, !toll_cycle by auto. split; f_equal; f_equal; auto.
Qed.

Lemma lower_sound p q d :
  (forall Qs os, (forall Q, In Q Qs -> Allowed Q) ->
     schedule B [] (map (footprint F) Qs) os -> all_closed F os ->
     q * policy_cost (leaf_lru F B) (map (footprint F) Qs)
     <= p * cost [] (map (footprint F) Qs) os + d) ->
  q * numerator c <= p * denominator c.
Proof.
  intros H. destruct witness_costs as (x & y & Hxy).
  destruct lower_checked as (_ & _ & _ & _ & _ & E & Hpos & _).
  set (n := p * y + d + 1). specialize (Hxy n).
  assert (Hadm : admissible F B 0 (map (footprint F) (witness n))).
  { intros U HU. apply in_map_iff in HU as (Q & <- & HQ). apply witness_allowed in HQ.
    apply allowed_footprint in HQ. intuition lia. }
  destruct (lemma_1 F B 0 _ Hadm) as ((os & H1 & H2 & H3) & _).
  rewrite (opt_eq_sum_delta F B 0 _ Hadm) in H3. destruct Hxy as (Halg & Hopt).
  specialize (H (witness n) os (witness_allowed n) H1 H2).
  rewrite Halg, H3, Hopt in H. clear - H E Hpos.
  (* n times the cycle outweighs what the prefix adds *)
  assert (Hcycle : q * cycle_paid c <= p * cycle_owed c).
  { apply Nat.le_ngt. intros Hlt.
    assert (n * (p * cycle_owed c + 1) <= n * (q * cycle_paid c)) by (apply Nat.mul_le_mono_l; lia).
    unfold n in *. nia. }
  assert (G : q * numerator c * cycle_owed c <= p * denominator c * cycle_owed c).
  { replace (q * numerator c * cycle_owed c) with (denominator c * (q * cycle_paid c)) by nia.
    replace (p * denominator c * cycle_owed c) with (denominator c * (p * cycle_owed c)) by nia.
    now apply Nat.mul_le_mono_l. }
  apply Nat.mul_le_mono_pos_r in G; auto.
Qed.
End Checker.

(** What [check] accepts is an exact ratio. *)
Theorem certificate_sound : forall c, check c = true ->
  exact_ratio (forest_of (parents c)) (capacity c) (beta c) (asked c)
              (numerator c) (denominator c) (additive c).
Proof.
  intros c H. split; [|split].
  - now destruct (lower_checked c H) as (_ & _ & _ & _ & _ & _ & _ & Hq).
  - intros Qs os. now apply upper_sound.
  - intros p q d. now apply lower_sound.
Qed.
