(** * Theorem O3: prefix-closure is free for online algorithms

    The construction is in Seats.v: [real_run] turns the caches of any demand
    algorithm, one step after the other, into prefix-closed ones. *)

From KVBounds Require Export Seats Lemma1.

Section Step.
Variable F : forest.
Variable B : nat.
Variable choose : list nat -> nat.
Hypothesis choose_In : forall A, A <> [] -> In (choose A) A.

(** One step: the real cache stays closed, loads on demand only, evicts
    exactly the excess, leaf by leaf, and pays for every load with a seat. *)
Lemma real_step_spec C1 U C st :
  closed F U -> incl U C1 -> card C1 <= B -> incl C1 (C ++ U) -> seats F C st ->
  let st' := real_step F B choose C1 U st in
  incl U (cache st') /\ incl (cache st') (cache st ++ U) /\
  card (cache st') = Nat.min (card (cache st ++ U)) B /\
  leaf_evictions F U (union (cache st) U) (cache st') /\
  seats F C1 st' /\
  card (diff U (cache st)) + seatless C1 st' <= card (diff U C) + seatless C st.
Proof.
  intros HU HUC HC1 Hlazy Hst. cbn zeta. unfold real_step.
  set (st1 := Real (union (cache st) U) (lock_owner C1 U (owner st))).
  pose proof (lock_seats F C1 U HU HUC C st Hst) as Hs1. fold st1 in Hs1.
  pose proof (lock_locked C1 U st) as Hl1. fold st1 in Hl1.
  pose proof (lock_count F B C1 U HU HUC HC1 C st Hst Hlazy) as Hcount. fold st1 in Hcount.
  destruct (make_room_spec F B choose choose_In C1 U HU HC1
              (card (union (cache st) U)) st1 Hs1 Hl1)
    as (G1 & G2 & G3 & G4 & G5 & G6); [cbn [st1 cache]; lia|].
  set (st' := make_room F B choose (card (union (cache st) U)) st1) in *.
  cbn [st1 cache] in G1, G2, G3. rewrite card_union in G2.
  split; [|split; [|split; [|split; [|split]]]]; auto.
  - intros x Hx. eapply seat_cached; [exact G4|]. apply G5. exact Hx.
  - intros x Hx. apply G3, In_union in Hx. apply in_app_iff. tauto.
  - assert (E : seatless C1 st' = seatless C1 st1); [|lia].
    apply card_ext. intros d. rewrite (seatless_spec F C1 st' d G4).
    rewrite (seatless_spec F C1 st1 d Hs1). now rewrite G6.
Qed.

Lemma real_run_spec us : forall C cs st,
  (forall U, In U us -> closed F U) ->
  schedule B C us cs -> seats F C st ->
  let ds := real_run F B choose st us cs in
  schedule B (cache st) us (map cache ds) /\
  all_closed F (map cache ds) /\
  cost (cache st) us (map cache ds) + seatless (last cs C) (last ds st)
    <= cost C us cs + seatless C st.
Proof.
  induction us as [|U us IH]; intros C cs st Hus Hcs Hst.
  - destruct cs; [|easy]. cbn. repeat split; auto; intros A [].
  - destruct cs as [|C1 cs]; [easy|]. cbn [schedule] in Hcs.
    destruct Hcs as (H1 & H2 & H3 & H4). cbn zeta.
    assert (HU : closed F U) by (apply Hus; now left).
    destruct (real_step_spec C1 U C st HU H1 H3 H2 Hst)
      as (G1 & G2 & G3 & G4 & G5 & G6).
    cbn [real_run map]. rewrite !last_cons.
    set (st' := real_step F B choose C1 U st) in *.
    destruct (IH C1 cs st') as (I1 & I2 & I3); auto.
    { intros V HV. apply Hus. now right. }
    cbn [schedule cost]. split; [|split].
    + repeat split; auto. rewrite G3. lia.
    + intros A [<-|HA]; auto. apply (seat_closed F C1 st' G5).
    + lia.
Qed.

(** Later steps do not influence earlier caches: the construction is online. *)
Lemma real_run_online st us cs us' cs' : length us = length cs ->
  real_run F B choose st (us ++ us') (cs ++ cs') =
  real_run F B choose st us cs ++
  real_run F B choose (last (real_run F B choose st us cs) st) us' cs'.
Proof.
  revert st cs. induction us as [|U us IH]; intros st [|C1 cs] Hl; try easy.
  injection Hl as Hl. cbn [app real_run]. rewrite last_cons. now rewrite IH.
Qed.

Lemma seats_empty : seats F [] empty_real.
Proof. split; cbn; try easy. Qed.
End Step.

(** ** Theorem O3

    For every demand schedule [cs], prefix-closed or not, the seat
    construction gives a demand schedule of prefix-closed caches that costs
    at most as much, minus the virtual tokens without a seat.  It holds after
    every step, because it holds for every sequence and the construction is
    online. *)
Theorem closure_is_free : forall F B choose us cs,
  (forall A, A <> [] -> In (choose A) A) ->
  (forall U, In U us -> closed F U) ->
  schedule B [] us cs ->
  let ds := real_run F B choose empty_real us cs in
  schedule B [] us (map cache ds) /\
  all_closed F (map cache ds) /\
  cost [] us (map cache ds) + seatless (last cs []) (last ds empty_real)
    <= cost [] us cs.
Proof.
  intros F B choose us cs Hch Hus Hcs.
  destruct (real_run_spec F B choose Hch us [] cs empty_real Hus Hcs) as (H1 & H2 & H3).
  { apply seats_empty. }
  split; [|split]; auto.
  cbn [empty_real cache] in H3.
  change (seatless [] empty_real) with 0 in H3. lia.
Qed.

(** How the real cache evicts: exactly the excess over B, one token at a time,
    each a cached leaf outside the footprint. *)
Theorem closure_evicts_leaves : forall F B choose C1 U C st,
  (forall A, A <> [] -> In (choose A) A) ->
  closed F U -> incl U C1 -> card C1 <= B -> incl C1 (C ++ U) -> seats F C st ->
  leaf_evictions F U (union (cache st) U) (cache (real_step F B choose C1 U st)) /\
  card (cache (real_step F B choose C1 U st)) = Nat.min (card (cache st ++ U)) B /\
  seats F C1 (real_step F B choose C1 U st).
Proof.
  intros F B choose C1 U C st Hch HU HUC HC1 Hlazy Hst.
  destruct (real_step_spec F B choose Hch C1 U C st HU HUC HC1 Hlazy Hst)
    as (G1 & G2 & G3 & G4 & G5 & G6). auto.
Qed.

(** The theorem is not empty: a choice exists. *)
Lemma hd_choice : forall A : list nat, A <> [] -> In (hd 0 A) A.
Proof. intros [|a A] H; [easy|now left]. Qed.

(** ** As a policy

    Any deterministic policy with demand schedules becomes a prefix-closed one
    that costs at most as much on every sequence.  (A randomised policy is
    one of these for every outcome of its coins.) *)
Definition real_state F B choose (pol : policy) (past : list (list nat)) : real :=
  last (real_run F B choose empty_real (rev past) (run pol (rev past))) empty_real.

Definition closed_version F B choose (pol : policy) : policy :=
  fun past => cache (real_state F B choose pol past).

Lemma real_state_step F B choose pol U past :
  real_state F B choose pol (U :: past) =
  real_step F B choose (pol (U :: past)) U (real_state F B choose pol past).
Proof.
  unfold real_state. cbn [rev]. unfold run. rewrite run_from_app, rev_involutive, app_nil_r.
  cbn [run_from]. rewrite real_run_online by (now rewrite run_from_length).
  cbn [real_run]. now rewrite last_last.
Qed.

Lemma run_closed_version F B choose pol us : forall past,
  run_from (closed_version F B choose pol) past us =
  map cache (real_run F B choose (real_state F B choose pol past) us
                      (run_from pol past us)).
Proof.
  induction us as [|U us IH]; intros past; [reflexivity|].
  cbn [run_from real_run map]. rewrite IH, <- real_state_step. reflexivity.
Qed.

Theorem closed_version_no_worse : forall F B choose pol us,
  (forall A, A <> [] -> In (choose A) A) ->
  (forall U, In U us -> closed F U) ->
  schedule B [] us (run pol us) ->
  schedule B [] us (run (closed_version F B choose pol) us) /\
  all_closed F (run (closed_version F B choose pol) us) /\
  policy_cost (closed_version F B choose pol) us <= policy_cost pol us.
Proof.
  intros F B choose pol us Hch Hus Hrun. unfold policy_cost, run.
  rewrite run_closed_version.
  destruct (closure_is_free F B choose us (run pol us) Hch Hus Hrun) as (H1 & H2 & H3).
  change (real_state F B choose pol []) with empty_real.
  repeat split; auto. unfold run in *. lia.
Qed.
