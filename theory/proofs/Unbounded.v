(** * LFU, MRU, FILO and SLRU have no finite competitive ratio

    Capacity 2, three single tokens 0, 1, 2.  After a short prefix the
    requests alternate between 2 and 1; each of the four policies holds on to
    0 for ever and misses every time, while {1, 2} would serve all. *)

From KVBounds Require Export Evict.

(** ** The policies, by their rank (largest rank is evicted first) *)

(** Uses of a token since it last entered the cache. *)
Fixpoint uses (h : history) (t : token) : nat :=
  match h with
  | [] => 0
  | (U, S1) :: h' =>
      if mem t S1 then (if mem t U then 1 else 0) + uses h' t else 0
  end.

(** Steps since it last entered the cache. *)
Fixpoint residence (h : history) (t : token) : nat :=
  match h with
  | [] => 0
  | (_, S1) :: h' => if mem t S1 then 1 + residence h' t else 0
  end.

(** Least frequently used while cached; ties: least recently used. *)
Definition lfu_rank (h : history) (t : token) : nat :=
  (length h - uses h t) * (length h + 1) + age (map fst h) t.

(** Most recently used. *)
Definition mru_rank (h : history) (t : token) : nat :=
  length h - age (map fst h) t.

(** First in, last out. *)
Definition filo_rank (h : history) (t : token) : nat :=
  length h - residence h t.

(** Segmented LRU: a token used twice while cached is protected; unprotected
    ones go first, least recently used first. *)
Definition slru_rank (h : history) (t : token) : nat :=
  (if uses h t <? 2 then length h + 1 else 0) + age (map fst h) t.

Definition lfu F B : policy := rank_policy F B lfu_rank.
Definition mru F B : policy := rank_policy F B mru_rank.
Definition filo F B : policy := rank_policy F B filo_rank.
Definition slru F B : policy := rank_policy F B slru_rank.

(** ** Single tokens *)

Definition flat : forest := Forest (fun _ => None) ltac:(easy).

(** No c and d satisfy ALG <= c * OPT + d. *)
Definition unbounded (pol : policy) : Prop :=
  forall c d, exists us os,
    admissible flat 2 1 us /\ schedule 2 [] us os /\ all_closed flat os /\
    c * cost [] us os + d < policy_cost pol us.

(** The token asked for in round [j]: 1, 2, 1, 2, ... *)
Fixpoint at_round (j : nat) : nat :=
  match j with 0 => 1 | S j' => 3 - at_round j' end.

Lemma at_round_12 j : at_round j = 1 \/ at_round j = 2.
Proof. induction j as [|j [IH|IH]]; simpl; auto; rewrite IH; auto. Qed.

(** Rounds 0 .. j of a policy that sticks to 0, on top of the history [h0]. *)
Fixpoint stuck (h0 : history) (j : nat) : history :=
  ([at_round j], [0; at_round j]) ::
  match j with 0 => h0 | S j' => stuck h0 j' end.

(** [n] more requests after round [j]. *)
Fixpoint rounds (j n : nat) : list (list nat) :=
  match n with 0 => [] | S n' => [at_round (S j)] :: rounds (S j) n' end.

(** The prefix makes the cache {0} and gives the history [h0]; in the rounds
    0 is preferred to the other token. *)
Definition sticks (rank : history -> token -> nat) (h0 : history) : Prop :=
  forall j, rank (stuck h0 j) 0 < rank (stuck h0 j) (at_round j).

Lemma serve_stuck r x : (x = 1 \/ x = 2) -> r 0 < r x ->
  serve flat 2 r [0; x] [3 - x] = [0; 3 - x].
Proof.
  intros [-> | ->] Hr; cbv [serve evict union diff filter mem existsb card
    nodup Nat.eqb app negb Nat.sub length candidates is_leaf forallb is_child
    flat parent andb orb argmax Nat.leb in_dec Nat.eq_dec nat_rec nat_rect
    list_rec list_rect sumbool_rec sumbool_rect].
  - cbn. replace (before r 0 1) with true; [reflexivity|].
    symmetry. apply before_true. auto.
  - cbn. replace (before r 0 2) with true; [reflexivity|].
    symmetry. apply before_true. auto.
Qed.

Lemma stuck_step rank h0 past j :
  sticks rank h0 -> history_of flat 2 rank past = stuck h0 j ->
  history_of flat 2 rank ([at_round (S j)] :: past) = stuck h0 (S j).
Proof.
  intros Hs Hh. cbn [history_of]. rewrite Hh. cbn [stuck]. f_equal. f_equal.
  replace (cache_of (stuck h0 j)) with [0; at_round j] by (destruct j; reflexivity).
  apply serve_stuck; [apply at_round_12|apply Hs].
Qed.

Lemma rounds_cost rank h0 n : sticks rank h0 -> forall past j,
  history_of flat 2 rank past = stuck h0 j ->
  cost [0; at_round j] (rounds j n)
       (run_from (rank_policy flat 2 rank) past (rounds j n)) = n.
Proof.
  intros Hs. induction n as [|n IH]; intros past j Hh; [reflexivity|].
  cbn [rounds run_from cost].
  pose proof (stuck_step rank h0 past j Hs Hh) as Hh'.
  replace (rank_policy flat 2 rank ([at_round (S j)] :: past))
    with [0; at_round (S j)].
  - rewrite (IH _ _ Hh'). cbn [at_round].
    destruct (at_round_12 j) as [-> | ->]; reflexivity.
  - unfold rank_policy. rewrite Hh'. reflexivity.
Qed.

Lemma rounds_In j n U : In U (rounds j n) -> U = [1] \/ U = [2].
Proof.
  revert j. induction n as [|n IH]; simpl; intros j; [easy|].
  intros [<-|H]; eauto. destruct (at_round_12 (S j)) as [E|E]; simpl in E; rewrite E; auto.
Qed.

Ltac solve_small :=
  try (vm_compute; lia); try (intros x Hx; simpl in *; tauto).

(** {1, 2} serves the rounds for nothing. *)
Lemma rounds_offline n : forall j,
  schedule 2 [1; 2] (rounds j n) (repeat [1; 2] n) /\
  cost [1; 2] (rounds j n) (repeat [1; 2] n) = 0.
Proof.
  induction n as [|n IH]; intros j; [split; [exact I|reflexivity]|].
  destruct (IH (S j)) as (H1 & H2). cbn [rounds repeat schedule cost].
  destruct (at_round_12 (S j)) as [E|E]; rewrite E, H2; repeat split; auto; solve_small.
Qed.

Lemma flat_closed A : closed flat A.
Proof. intros t p _ Hp. discriminate Hp. Qed.

(** The request sequence: [pre] asks for 0 only, then 1, then the rounds. *)
Lemma stuck_unbounded rank (i : nat) h0 :
  history_of flat 2 rank (repeat [0] (S i)) = h0 ->
  cache_of h0 = [0] ->
  history_of flat 2 rank ([1] :: repeat [0] (S i)) = stuck h0 0 ->
  sticks rank h0 ->
  unbounded (rank_policy flat 2 rank).
Proof.
  intros Hh0 Hc Hh1 Hs c d. set (n := S (c * 3 + d)).
  set (pre := repeat [0] (S i)).
  assert (Hrev : rev pre = pre).
  { unfold pre. clear. induction (S i) as [|k IH]; auto. simpl. rewrite IH.
    clear. induction k; simpl; congruence. }
  exists ((pre ++ [[1]]) ++ [2] :: rounds 1 n),
         ((pre ++ [[0; 1]]) ++ [1; 2] :: repeat [1; 2] n).
  assert (Hpre : forall k, schedule 2 [0] (repeat [0] k) (repeat [0] k) /\
            cost [0] (repeat [0] k) (repeat [0] k) = 0 /\
            last (repeat [0] k) [0] = [0]).
  { induction k as [|k (IH1 & IH2 & IH3)]; [repeat split|].
    cbn [repeat schedule cost]. rewrite last_cons, IH2. repeat split; auto; solve_small. }
  assert (Hpre' : schedule 2 [] pre pre /\ cost [] pre pre = 1 /\ last pre [] = [0]).
  { destruct (Hpre i) as (IH1 & IH2 & IH3). unfold pre.
    cbn [repeat schedule cost]. rewrite last_cons, IH2. repeat split; auto; solve_small. }
  destruct Hpre' as (P1 & P2 & P3).
  destruct (rounds_offline n 1) as (R1 & R2).
  assert (Hl1 : last (pre ++ [[0; 1]]) [] = [0; 1]) by apply last_last.
  split; [|split; [|split]].
  - intros U HU. split; [apply flat_closed|].
    rewrite !in_app_iff in HU. destruct HU as [[HU|HU]|[<-|HU]]; try (vm_compute; lia).
    + apply repeat_spec in HU. subst. vm_compute. lia.
    + destruct HU as [<-|[]]. vm_compute. lia.
    + apply rounds_In in HU as [-> | ->]; vm_compute; lia.
  - apply schedule_app.
    + apply schedule_app; auto. rewrite P3. repeat split; auto; solve_small.
    + rewrite Hl1. cbn [schedule].
      split; [solve_small|split; [solve_small|split; [solve_small|exact R1]]].
  - intros A _. apply flat_closed.
  - rewrite cost_app, Hl1, cost_app, P2, P3 by (rewrite ?app_length; reflexivity).
    cbn [cost]. rewrite R2. change (card (diff [2] [0; 1])) with 1.
    change (card (diff [1] [0])) with 1.
    unfold policy_cost, run. rewrite <- app_assoc. cbn [app].
    assert (Happ : forall us past S0 us',
      cost (rank_policy flat 2 rank (rev us ++ past)) us'
        (run_from (rank_policy flat 2 rank) (rev us ++ past) us') <=
      cost S0 (us ++ us') (run_from (rank_policy flat 2 rank) past (us ++ us')) \/ us = []).
    { induction us as [|U us IH]; intros past S0 us'; auto. left.
      cbn [rev app run_from cost]. rewrite <- app_assoc. cbn [app].
      destruct us as [|V us]; [simpl; lia|].
      destruct (IH (U :: past) (rank_policy flat 2 rank (U :: past)) us') as [H|]; [|easy].
      lia. }
    destruct (Happ (pre ++ [[1]]) [] [] ([2] :: rounds 1 n)) as [H|H].
    + rewrite <- app_assoc in H. cbn [app] in H.
      rewrite rev_app_distr, Hrev, app_nil_r in H. cbn [rev app] in H.
      change ([2] :: rounds 1 n) with (rounds 0 (S n)) in *.
      pose proof (rounds_cost rank h0 (S n) Hs ([1] :: pre) 0 Hh1) as Hcost.
      replace (rank_policy flat 2 rank ([1] :: pre)) with [0; at_round 0] in H.
      * rewrite Hcost in H. unfold n in *. lia.
      * unfold rank_policy. unfold pre. rewrite Hh1. reflexivity.
    + apply app_eq_nil in H as (_ & H). discriminate H.
Qed.

(** ** In the rounds, 0 looks frequent, old and first *)

Lemma stuck_length h0 j : length (stuck h0 j) = S j + length h0.
Proof. induction j; simpl; auto. Qed.

Lemma uses_le h t : uses h t <= length h.
Proof.
  induction h as [|(U, S1) h IH]; simpl; auto.
  destruct (mem t S1), (mem t U); lia.
Qed.

Lemma stuck_uses_0 h0 j : uses (stuck h0 j) 0 = uses h0 0.
Proof.
  induction j as [|j IH]; [reflexivity|]. cbn [stuck uses].
  destruct (at_round_12 (S j)) as [E|E]; rewrite E; cbn; auto.
Qed.

Lemma stuck_uses_x h0 j : cache_of h0 = [0] -> uses (stuck h0 j) (at_round j) = 1.
Proof.
  intros Hc. assert (Hu : forall x, x <> 0 -> uses h0 x = 0).
  { intros x Hx. destruct h0 as [|(U, S1) h]; auto. simpl in *. subst.
    destruct x; [easy|]. reflexivity. }
  destruct j as [|j]; [simpl; now rewrite Hu|].
  cbn [stuck uses at_round]. destruct (at_round_12 j) as [E|E];
    destruct j; cbn [stuck uses] in *; rewrite E; reflexivity.
Qed.

Lemma stuck_residence_x h0 j :
  cache_of h0 = [0] -> residence (stuck h0 j) (at_round j) = 1.
Proof.
  intros Hc. assert (Hu : forall x, x <> 0 -> residence h0 x = 0).
  { intros x Hx. destruct h0 as [|(U, S1) h]; auto. simpl in *. subst.
    destruct x; [easy|]. reflexivity. }
  destruct j as [|j]; [simpl; now rewrite Hu|].
  cbn [stuck residence at_round]. destruct (at_round_12 j) as [E|E];
    destruct j; cbn [stuck residence] in *; rewrite E; reflexivity.
Qed.

Lemma stuck_residence_0 h0 j : residence (stuck h0 j) 0 = S j + residence h0 0.
Proof.
  induction j as [|j IH]; [reflexivity|]. cbn [stuck residence]. rewrite IH. reflexivity.
Qed.

Lemma residence_le h t : residence h t <= length h.
Proof.
  induction h as [|(U, S1) h IH]; simpl; auto. destruct (mem t S1); lia.
Qed.

Lemma stuck_age_x h0 j : age (map fst (stuck h0 j)) (at_round j) = 0.
Proof.
  destruct (at_round_12 j) as [E|E]; destruct j; cbn [stuck map fst age] in *;
    rewrite E; reflexivity.
Qed.

Lemma stuck_age_0 h0 j : age (map fst (stuck h0 j)) 0 = S j + age (map fst h0) 0.
Proof.
  induction j as [|j IH]; [reflexivity|]. cbn [stuck map fst age].
  destruct (at_round_12 (S j)) as [E|E]; rewrite E; cbn [mem existsb Nat.eqb orb];
    rewrite IH; reflexivity.
Qed.

Theorem lfu_unbounded : unbounded (lfu flat 2).
Proof.
  eapply stuck_unbounded with (i := 1); try reflexivity.
  intros j. unfold lfu_rank. rewrite stuck_uses_x, stuck_uses_0, stuck_age_x, stuck_age_0
    by reflexivity.
  rewrite stuck_length. cbn. lia.
Qed.

Theorem mru_unbounded : unbounded (mru flat 2).
Proof.
  eapply stuck_unbounded with (i := 0); try reflexivity.
  intros j. unfold mru_rank. rewrite stuck_age_x, stuck_age_0, stuck_length. cbn. lia.
Qed.

Theorem filo_unbounded : unbounded (filo flat 2).
Proof.
  eapply stuck_unbounded with (i := 0); try reflexivity.
  intros j. unfold filo_rank.
  rewrite stuck_residence_x, stuck_residence_0, stuck_length by reflexivity. cbn. lia.
Qed.

Theorem slru_unbounded : unbounded (slru flat 2).
Proof.
  eapply stuck_unbounded with (i := 1); try reflexivity.
  intros j. unfold slru_rank.
  rewrite stuck_uses_x, stuck_uses_0, stuck_age_x, stuck_age_0, stuck_length by reflexivity.
  cbn. lia.
Qed.
