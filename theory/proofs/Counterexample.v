(** * "At most 2 H_k - 1 on every trie" is false for RLT

    Single queries, B = k = 9: three chains of two tokens and five single
    tokens.  In each phase RLT (and RLT-step) pays 118463/25200 = 4.7009... in
    expectation, the optimum pays 1, and 2 H_9 - 1 = 5869/1260 = 4.6579...
    The laws are computed by the kernel. *)

From KVBounds Require Export Law Sanity.

Local Open Scope nat_scope.

(** Roots 0, 1, 2 with children 3, 4, 5; single tokens 6 .. 10. *)
Definition chains : forest :=
  forest_of [None; None; None; Some 0; Some 1; Some 2].

(** Phase i: x_i, x'_(i+2), x'_i, then the single tokens. *)
Definition phase (i : nat) : list nat :=
  [i; 3 + (i + 2) mod 3; 3 + i; 6; 7; 8; 9; 10].
Definition cycle_queries : list nat := phase 0 ++ phase 1 ++ phase 2.
Definition cycle : list (list nat) := map (path chains) cycle_queries.

(** The first cycle fills the cache, [n] more follow. *)
Definition requests (n : nat) : list (list nat) := cycle ++ concat (repeat cycle n).

(** ** The law repeats *)

Definition start : state := ([], [], ret []).
Definition after_cycle (prefer : bool) : state := snd (law_run chains 9 11 prefer start cycle).
Definition cycle_cost : Q := 118463 # 8400.

Lemma cycle_repeats prefer :
  law_run chains 9 11 prefer (after_cycle prefer) cycle = (cycle_cost, after_cycle prefer).
Proof. destruct prefer; vm_compute; reflexivity. Qed.

Lemma cycles_cost prefer n :
  (fst (law_run chains 9 11 prefer (after_cycle prefer) (concat (repeat cycle n)))
   == qn n * cycle_cost)%Q.
Proof.
  induction n as [|n IH]; cbn [repeat concat].
  - cbn [law_run fst]. change (qn 0) with 0%Q. ring.
  - destruct (law_run_app chains 9 11 prefer cycle (after_cycle prefer)
                (concat (repeat cycle n))) as (E & _).
    rewrite E, cycle_repeats. cbn [fst snd]. rewrite IH, qn_S. ring.
Qed.

Lemma requests_In n U : In U (requests n) -> In U cycle.
Proof.
  unfold requests. rewrite in_app_iff. intros [H|H]; auto.
  induction n as [|n IH]; cbn [repeat concat] in H; [easy|].
  apply in_app_iff in H as [H|H]; auto.
Qed.

Lemma requests_admissible n : admissible chains 9 1 (requests n).
Proof.
  intros U HU. apply requests_In in HU. apply in_map_iff in HU as (q & <- & Hq).
  split; [apply path_closed|].
  assert (G : forallb (fun q => (1 <=? card (path chains q)) && (card (path chains q) <=? 9))
                      cycle_queries = true) by (vm_compute; reflexivity).
  rewrite forallb_forall in G. apply G, andb_true_iff in Hq.
  rewrite !Nat.leb_le in Hq. lia.
Qed.

Lemma requests_cost prefer n :
  (qn n * cycle_cost <=
   expected_cost (rlt_from chains 9 prefer [] [] [] (requests n)) (requests n))%Q.
Proof.
  change (expected_cost (rlt_from chains 9 prefer [] [] [] (requests n)) (requests n))
    with (future_cost chains 9 prefer [] [] [] (requests n)).
  rewrite <- (Exp_ret [] (fun A => future_cost chains 9 prefer [] [] A (requests n))).
  rewrite (law_correct chains 9 11 prefer (requests n) [] [] (ret [])).
  - unfold requests. destruct (law_run_app chains 9 11 prefer cycle start
                                 (concat (repeat cycle n))) as (E & _).
    change (law_run chains 9 11 prefer ([], [], ret []) (cycle ++ concat (repeat cycle n)))
      with (law_run chains 9 11 prefer start (cycle ++ concat (repeat cycle n))).
    rewrite E. fold (after_cycle prefer). rewrite cycles_cost.
    assert (H : (0 <= fst (law_run chains 9 11 prefer start cycle))%Q)
      by (destruct prefer; vm_compute; discriminate).
    lra.
  - intros U HU. destruct (requests_admissible n U HU) as (H1 & H2).
    split; auto. split; [lia|]. apply requests_In in HU.
    assert (G : forallb (fun U => forallb (fun x => x <? 11) U) cycle = true)
      by (vm_compute; reflexivity).
    rewrite forallb_forall in G. apply G in HU. rewrite forallb_forall in HU.
    intros x Hx. apply in_seq. apply HU, Nat.ltb_lt in Hx. lia.
  - split; [intros t p []|]. intros A HA. apply support_ret in HA. subst.
    split; intros x [].
Qed.

(** ** The optimum pays at most 3 in a cycle *)

Definition kept (j : nat) : list nat := [0; 1; 2; j; 6; 7; 8; 9; 10].
Definition offline_cycle : list (list nat) :=
  repeat (kept 5) 2 ++ repeat (kept 3) 8 ++ repeat (kept 4) 8 ++ repeat (kept 5) 6.
Definition offline_first : list (list nat) :=
  [[0]; [0; 2; 5]; [0; 2; 5; 3]; [0; 2; 5; 3; 6]; [0; 2; 5; 3; 6; 7]; [0; 2; 5; 3; 6; 7; 8];
   [0; 2; 5; 3; 6; 7; 8; 9]; [0; 2; 5; 3; 6; 7; 8; 9; 10]]
  ++ repeat (kept 3) 2 ++ repeat (kept 4) 8 ++ repeat (kept 5) 6.
Definition offline (n : nat) : list (list nat) :=
  offline_first ++ concat (repeat offline_cycle n).

(** Checking a schedule by computation. *)
Fixpoint schedule_b (B : nat) (S0 : list nat) (us ss : list (list nat)) : bool :=
  match us, ss with
  | [], [] => true
  | U :: us', S1 :: ss' =>
      forallb (fun x => mem x S1) U && forallb (fun x => mem x (S0 ++ U)) S1 &&
      (card S1 <=? B) && schedule_b B S1 us' ss'
  | _, _ => false
  end.

Lemma schedule_b_correct B us : forall S0 ss,
  schedule_b B S0 us ss = true -> schedule B S0 us ss.
Proof.
  induction us as [|U us IH]; intros S0 [|S1 ss]; simpl; auto; try easy.
  rewrite !andb_true_iff, !forallb_forall, Nat.leb_le.
  intros (((H1 & H2) & H3) & H4). repeat split; auto.
  - intros x Hx. now apply mem_In, H1.
  - intros x Hx. now apply mem_In, H2.
Qed.

Definition closed_b (F : forest) (A : list nat) : bool :=
  forallb (fun t => match parent F t with Some p => mem p A | None => true end) A.

Lemma closed_b_correct F A : closed_b F A = true -> closed F A.
Proof.
  unfold closed_b. rewrite forallb_forall. intros H t p Ht Hp. specialize (H t Ht).
  rewrite Hp in H. now apply mem_In.
Qed.

Lemma offline_cycles n :
  schedule 9 (kept 5) (concat (repeat cycle n)) (concat (repeat offline_cycle n)) /\
  cost (kept 5) (concat (repeat cycle n)) (concat (repeat offline_cycle n)) <= 3 * n.
Proof.
  induction n as [|n (IH1 & IH2)]; [split; [exact I|auto]|]. cbn [repeat concat].
  assert (Hl : last offline_cycle (kept 5) = kept 5) by reflexivity. split.
  - apply schedule_app; [|now rewrite Hl].
    apply schedule_b_correct. vm_compute. reflexivity.
  - rewrite cost_app, Hl by reflexivity.
    assert (Hc : cost (kept 5) cycle offline_cycle = 3) by (vm_compute; reflexivity).
    rewrite Hc. lia.
Qed.

Lemma offline_ok n :
  schedule 9 [] (requests n) (offline n) /\ all_closed chains (offline n) /\
  cost [] (requests n) (offline n) <= 12 + 3 * n.
Proof.
  destruct (offline_cycles n) as (H1 & H2).
  assert (Hl : last offline_first [] = kept 5) by reflexivity.
  unfold requests, offline. split; [|split].
  - apply schedule_app; [|now rewrite Hl].
    apply schedule_b_correct. vm_compute. reflexivity.
  - intros A HA. apply closed_b_correct.
    assert (G : forallb (closed_b chains) (offline_first ++ offline_cycle) = true)
      by (vm_compute; reflexivity).
    rewrite forallb_forall in G. apply G. apply in_app_iff in HA. apply in_app_iff.
    destruct HA as [HA|HA]; auto. right. clear - HA.
    induction n as [|n IH]; cbn [repeat concat] in HA; [easy|].
    apply in_app_iff in HA as [HA|HA]; auto.
  - rewrite cost_app, Hl by reflexivity.
    assert (Hc : cost [] cycle offline_first = 12) by (vm_compute; reflexivity).
    rewrite Hc. lia.
Qed.

(** ** The refutation

    For rlt ([prefer] = true) and rlt-step (false), and every additive
    constant, single queries on which the expected cost exceeds
    (2 H_9 - 1) times that of an offline schedule; B = 9, u = 1, k = 9. *)
Theorem above_two_harmonic : forall prefer c0, exists us os,
  admissible chains 9 1 us /\
  (forall U, In U us -> exists q, U = path chains q) /\
  schedule 9 [] us os /\ all_closed chains os /\
  ((2 * harmonic 9 - 1) * qn (cost [] us os) + c0 <
   expected_cost (rlt_from chains 9 prefer [] [] [] us) us)%Q.
Proof.
  intros prefer c0.
  set (r := (2 * harmonic 9 - 1)%Q).
  assert (Hr : (r == 5869 # 1260)%Q) by (vm_compute; reflexivity).
  (* one cycle gains cycle_cost - 3 r > 0 *)
  assert (Harch : exists n, (r * 12 + c0 < qn n * (cycle_cost - 3 * r))%Q).
  { apply archimedes. rewrite Hr. reflexivity. }
  destruct Harch as (n & Hn). exists (requests n), (offline n).
  destruct (offline_ok n) as (H1 & H2 & H3).
  split; [apply requests_admissible|]. split; [|split; [|split]]; auto.
  - intros U HU. apply requests_In in HU. apply in_map_iff in HU as (q & <- & _). now exists q.
  - pose proof (requests_cost prefer n) as H4. apply qn_le in H3.
    rewrite qn_plus, qn_mult in H3. change (qn 12) with 12%Q in H3.
    change (qn 3) with 3%Q in H3.
    assert (Hr0 : (0 < r)%Q) by (rewrite Hr; reflexivity).
    assert (H5 : (r * qn (cost [] (requests n) (offline n)) <= r * (12 + 3 * qn n))%Q)
      by (apply Qmult_le_l; auto).
    assert (E : (qn n * (cycle_cost - 3 * r) == qn n * cycle_cost - 3 * (r * qn n))%Q) by ring.
    assert (E2 : (r * (12 + 3 * qn n) == r * 12 + 3 * (r * qn n))%Q) by ring.
    clearbody r. lra.
Qed.
