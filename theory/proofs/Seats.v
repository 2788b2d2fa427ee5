(** * The seats: a closed cache beside one that need not be closed

    Take any demand algorithm whose caches C_t need not be prefix-closed (a
    "virtual" cache).  Beside it, with no knowledge of the future, runs a real
    cache D_t that is prefix-closed, evicts one leaf outside the footprint at
    a time and exactly the excess, and never costs more.

    The idea: every virtual token tries to own a *seat*, a real token that is
    an ancestor of it or the token itself.  A real token without owner is
    *spare*.  If something must go, some spare token exists; move the owners
    below it up by one, down some path to a leaf, and evict that leaf. *)

From KVBounds Require Export Evict.

(** ** The construction *)

(** The real cache, and for each real token the virtual token that owns it. *)
Record real := Real { cache : list nat; owner : nat -> option nat }.

Definition empty_real : real := Real [] (fun _ => None).

Definition is_spare (own : nat -> option nat) (s : nat) : bool :=
  match own s with None => true | Some _ => false end.

(** Tokens of the footprint own themselves; owners that left the virtual cache
    [C1] lose their seats; all others keep theirs. *)
Definition lock_owner (C1 U : list nat) (own : nat -> option nat) (s : nat) : option nat :=
  if mem s U then Some s
  else match own s with
       | Some d => if mem d C1 then Some d else None
       | None => None
       end.

Definition update (own : nat -> option nat) (x : nat) (v : option nat) (s : nat) :=
  if s =? x then v else own s.

Section Construction.
Variable F : forest.
Variable B : nat.
(** Any rule that picks one of several tokens. *)
Variable choose : list nat -> nat.

(** Spare token [y]: give it the owner of a cached child, which becomes the
    spare one, and so on down to a leaf, which is evicted. *)
Fixpoint sink (n : nat) (y : nat) (st : real) : real :=
  match n with
  | 0 => st
  | S n' =>
      match filter (is_child F y) (cache st) with
      | [] => Real (remove1 y (cache st)) (owner st)
      | c0 :: cs =>
          let c := choose (c0 :: cs) in
          sink n' c (Real (cache st)
                          (update (update (owner st) y (owner st c)) c None))
      end
  end.

Fixpoint make_room (n : nat) (st : real) : real :=
  match n with
  | 0 => st
  | S n' =>
      if card (cache st) <=? B then st
      else match filter (is_spare (owner st)) (cache st) with
           | [] => st
           | y0 :: ys =>
               make_room n' (sink (S (list_max (cache st))) (choose (y0 :: ys)) st)
           end
  end.

(** One step: [C1] is the virtual cache after the step. *)
Definition real_step (C1 U : list nat) (st : real) : real :=
  let D := union (cache st) U in
  make_room (card D) (Real D (lock_owner C1 U (owner st))).

Fixpoint real_run (st : real) (us cs : list (list nat)) : list real :=
  match us, cs with
  | U :: us', C1 :: cs' => let st' := real_step C1 U st in st' :: real_run st' us' cs'
  | _, _ => []
  end.
End Construction.

(** Virtual tokens without a seat. *)
Definition seatless (C : list nat) (st : real) : nat :=
  card (filter (fun d => forallb (fun s => match owner st s with
                                          | Some e => negb (e =? d)
                                          | None => true
                                          end) (cache st)) C).

(** ** Evictions of single leaves outside the footprint *)
Inductive leaf_evictions (F : forest) (U : list nat) : list nat -> list nat -> Prop :=
| evict_none : forall A, leaf_evictions F U A A
| evict_leaf : forall A A' v, In v (candidates F U A) ->
    leaf_evictions F U (remove1 v A) A' -> leaf_evictions F U A A'.

(** ** The invariant *)
Record seats (F : forest) (C : list nat) (st : real) : Prop := {
  seat_cached : forall s d, owner st s = Some d -> In s (cache st);
  seat_owner : forall s d, owner st s = Some d -> In d C;
  seat_above : forall s d, owner st s = Some d -> In s (path F d);
  seat_one : forall s s' d, owner st s = Some d -> owner st s' = Some d -> s = s';
  seat_closed : closed F (cache st)
}.

Definition has_seat (st : real) (d : nat) : Prop := exists s, owner st s = Some d.

Lemma seatless_spec F C st d : seats F C st ->
  (In d (filter (fun d => forallb (fun s => match owner st s with
                                          | Some e => negb (e =? d)
                                          | None => true
                                          end) (cache st)) C)
   <-> In d C /\ ~ has_seat st d).
Proof.
  intros H. rewrite filter_In, forallb_forall. split; intros (H1 & H2); split; auto.
  - intros (s & Hs). specialize (H2 s (seat_cached F C st H s d Hs)).
    rewrite Hs, Nat.eqb_refl in H2. discriminate.
  - intros s Hs. destruct (owner st s) as [e|] eqn:E; auto.
    apply negb_true_iff, Nat.eqb_neq. intros ->. apply H2. now exists s.
Qed.

Definition owned (st : real) : list nat :=
  filter (fun s => negb (is_spare (owner st) s)) (cache st).

Lemma In_owned st s : In s (owned st) <-> In s (cache st) /\ exists d, owner st s = Some d.
Proof.
  unfold owned, is_spare. rewrite filter_In. destruct (owner st s) as [d|]; simpl.
  - intuition eauto.
  - split; [intuition congruence|intros (_ & d & H); congruence].
Qed.

Definition the_owner (st : real) (s : nat) : nat :=
  match owner st s with Some d => d | None => 0 end.

Lemma card_map_le (f : nat -> nat) A : card (map f A) <= card A.
Proof.
  transitivity (card (map f (nodup Nat.eq_dec A))).
  - apply card_incl. intros y Hy. apply in_map_iff in Hy as (x & <- & Hx).
    apply in_map. now apply nodup_In.
  - etransitivity; [apply card_le_length|]. now rewrite map_length.
Qed.

(** Every virtual token is seatless or owns exactly one seat. *)
Lemma seats_count F C st : seats F C st -> card C = seatless C st + card (owned st).
Proof.
  intros H. unfold seatless.
  rewrite (card_filter_split (fun d => forallb (fun s => match owner st s with
              | Some e => negb (e =? d) | None => true end) (cache st)) C).
  f_equal. apply Nat.le_antisymm.
  - transitivity (card (map (the_owner st) (owned st))); [|apply card_map_le].
    apply card_incl. intros d Hd. apply filter_In in Hd as (Hd & Hs).
    apply negb_true_iff in Hs.
    assert (Hex : exists s, In s (cache st) /\ owner st s = Some d).
    { clear - Hs. induction (cache st) as [|a A IH]; simpl in Hs; [easy|].
      apply andb_false_iff in Hs as [Hs|Hs].
      - exists a. destruct (owner st a) as [e|]; [|easy].
        apply negb_false_iff, Nat.eqb_eq in Hs. subst. split; auto. now left.
      - destruct (IH Hs) as (s & H1 & H2). exists s. split; auto. now right. }
    destruct Hex as (s & Hs1 & Hs2). apply in_map_iff. exists s. split.
    + unfold the_owner. now rewrite Hs2.
    + apply In_owned. eauto.
  - apply card_map_inj with (f := the_owner st).
    + intros x y Hx Hy E. apply In_owned in Hx as (_ & d & Hx).
      apply In_owned in Hy as (_ & e & Hy). unfold the_owner in E.
      rewrite Hx, Hy in E. subst e. eapply seat_one; eauto.
    + intros s Hs. apply In_owned in Hs as (Hc & d & Hd). unfold the_owner. rewrite Hd.
      apply filter_In. split; [eapply seat_owner; eauto|]. apply negb_true_iff.
      apply not_true_iff_false. rewrite forallb_forall. intros Hall.
      specialize (Hall s Hc). rewrite Hd, Nat.eqb_refl in Hall. discriminate.
Qed.

Section Proof.
Variable F : forest.
Variable B : nat.
Variable choose : list nat -> nat.
Hypothesis choose_In : forall A, A <> [] -> In (choose A) A.
Variables C1 U : list nat.
Hypothesis closed_U : closed F U.
Hypothesis U_in_C1 : incl U C1.
Hypothesis small_C1 : card C1 <= B.

(** After locking, U owns itself. *)
Definition locked (st : real) : Prop := forall x, In x U -> owner st x = Some x.

(** ** Eviction *)

(** Moving an owner up by one keeps the invariant and who has a seat. *)
Lemma shift_up C st y c :
  seats F C st -> locked st -> owner st y = None -> In y (cache st) ->
  In c (cache st) -> parent F c = Some y ->
  let st' := Real (cache st) (update (update (owner st) y (owner st c)) c None) in
  seats F C st' /\ locked st' /\ owner st' c = None /\
  (forall d, has_seat st' d <-> has_seat st d).
Proof.
  intros H HL Hy Hyc Hc Hp. pose proof (parent_lt F _ _ Hp) as Hlt.
  assert (Hown : forall s d, update (update (owner st) y (owner st c)) c None s = Some d <->
            (s = y /\ owner st c = Some d) \/ (s <> c /\ s <> y /\ owner st s = Some d)).
  { intros s d. unfold update. destruct (Nat.eqb_spec s c) as [->|Hsc].
    - split; [easy|]. intros [(-> & _)|(Hn & _)]; [lia|easy].
    - destruct (Nat.eqb_spec s y) as [->|Hsy]; intuition. }
  assert (HcU : ~ In c U).
  { intros HcU. assert (HyU : In y U) by (eapply closed_U; eauto).
    apply HL in HyU. congruence. }
  cbn zeta. split; [|split; [|split]].
  - split; cbn [cache owner].
    + intros s d. rewrite Hown. intros [(-> & _)|(_ & _ & E)]; auto.
      eapply seat_cached; eauto.
    + intros s d. rewrite Hown. intros [(_ & E)|(_ & _ & E)]; eapply seat_owner; eauto.
    + intros s d. rewrite Hown. intros [(-> & E)|(_ & _ & E)]; [|eapply seat_above; eauto].
      eapply path_closed; [|exact Hp]. eapply seat_above; eauto.
    + intros s s' d. rewrite !Hown.
      intros [(-> & E)|(H1 & H2 & E)] [(-> & E')|(H1' & H2' & E')]; auto.
      * exfalso. apply H1'. eapply seat_one; eauto.
      * exfalso. apply H1. eapply seat_one; eauto.
      * eapply seat_one; eauto.
    + apply (seat_closed F C st H).
  - intros x Hx. cbn [owner]. apply Hown. right. repeat split; auto.
    + intros ->. auto.
    + intros ->. apply HL in Hx. congruence.
  - cbn [owner]. unfold update. now rewrite Nat.eqb_refl.
  - intros d. unfold has_seat. cbn [owner]. split.
    + intros (s & Hs). apply Hown in Hs as [(_ & E)|(_ & _ & E)]; eauto.
    + intros (s & Hs). destruct (Nat.eq_dec s c) as [->|Hsc].
      * exists y. apply Hown. auto.
      * exists s. apply Hown. right. repeat split; auto. intros ->. congruence.
Qed.

(** Letting a spare token sink evicts one leaf outside U; nobody loses a seat. *)
Lemma sink_spec C n : forall y st,
  seats F C st -> locked st -> owner st y = None -> In y (cache st) ->
  list_max (cache st) < n + y ->
  exists v, In v (candidates F U (cache st)) /\
    cache (sink F choose n y st) = remove1 v (cache st) /\
    seats F C (sink F choose n y st) /\ locked (sink F choose n y st) /\
    (forall d, has_seat (sink F choose n y st) d <-> has_seat st d).
Proof.
  assert (Hmax : forall A x, In x A -> x <= list_max A).
  { intros A x Hx. pose proof (proj1 (list_max_le A (list_max A)) (le_n _)) as HF.
    rewrite Forall_forall in HF. auto. }
  induction n as [|n IH]; intros y st H HL Hy Hyc Hn.
  { apply Hmax in Hyc. lia. }
  cbn [sink]. destruct (filter (is_child F y) (cache st)) as [|c0 cs] eqn:E.
  - assert (Hleaf : forall c, In c (cache st) -> parent F c <> Some y).
    { intros c Hc Hp. apply is_child_true in Hp.
      assert (Hin : In c (filter (is_child F y) (cache st))) by (apply filter_In; auto).
      rewrite E in Hin. easy. }
    assert (HyU : ~ In y U) by (intros HyU; apply HL in HyU; congruence).
    assert (Hcand : In y (candidates F U (cache st))) by (apply In_candidates; auto).
    exists y. repeat split; cbn [cache owner]; auto.
    + intros s d Hs. apply In_remove1. split; [eapply seat_cached; eauto|].
      intros ->. congruence.
    + intros s d Hs. eapply seat_owner; eauto.
    + intros s d Hs. eapply seat_above; eauto.
    + intros s s' d Hs Hs'. eapply seat_one; eauto.
    + apply remove1_closed with (U := U); auto. eapply seat_closed; eauto.
  - assert (Hc : In (choose (c0 :: cs)) (filter (is_child F y) (cache st))).
    { rewrite E. apply choose_In. easy. }
    set (c := choose (c0 :: cs)) in *. apply filter_In in Hc as (Hc & Hp).
    apply is_child_true in Hp. pose proof (parent_lt F _ _ Hp).
    destruct (shift_up C st y c H HL Hy Hyc Hc Hp) as (H1 & H2 & H3 & H4).
    set (st' := Real (cache st) (update (update (owner st) y (owner st c)) c None)) in *.
    destruct (IH c st' H1 H2 H3) as (v & Hv1 & Hv2 & Hv3 & Hv4 & Hv5); auto.
    { cbn [cache st']. lia. }
    exists v. split; [exact Hv1|]. split; [exact Hv2|]. split; [exact Hv3|].
    split; [exact Hv4|]. intros d. now rewrite Hv5.
Qed.

Lemma make_room_spec n : forall st,
  seats F C1 st -> locked st -> card (cache st) <= n + B ->
  leaf_evictions F U (cache st) (cache (make_room F B choose n st)) /\
  card (cache (make_room F B choose n st)) = Nat.min (card (cache st)) B /\
  incl (cache (make_room F B choose n st)) (cache st) /\
  seats F C1 (make_room F B choose n st) /\ locked (make_room F B choose n st) /\
  (forall d, has_seat (make_room F B choose n st) d <-> has_seat st d).
Proof.
  induction n as [|n IH]; intros st H HL Hn.
  { cbn [make_room]. repeat split; auto; try apply H; try tauto;
      [apply evict_none|lia|apply incl_refl]. }
  cbn [make_room]. destruct (card (cache st) <=? B) eqn:E.
  { apply Nat.leb_le in E. repeat split; auto; try apply H; try tauto;
      [apply evict_none|lia|apply incl_refl]. }
  apply Nat.leb_gt in E.
  destruct (filter (is_spare (owner st)) (cache st)) as [|y0 ys] eqn:Es.
  - (* all of more than B real tokens owned by at most B virtual ones *)
    exfalso. pose proof (seats_count F C1 st H) as Hc.
    assert (card (cache st) <= card (owned st)); [|lia].
    rewrite (card_filter_split (is_spare (owner st)) (cache st)), Es. auto.
  - assert (Hy : In (choose (y0 :: ys)) (filter (is_spare (owner st)) (cache st))).
    { rewrite Es. apply choose_In. easy. }
    set (y := choose (y0 :: ys)) in *. apply filter_In in Hy as (Hy & Hsp).
    assert (Hown : owner st y = None).
    { unfold is_spare in Hsp. now destruct (owner st y). }
    destruct (sink_spec C1 (S (list_max (cache st))) y st H HL Hown Hy)
      as (v & Hv1 & Hv2 & Hv3 & Hv4 & Hv5); [lia|].
    set (st' := sink F choose (S (list_max (cache st))) y st) in *.
    assert (Hvc : In v (cache st)) by (apply In_candidates in Hv1; tauto).
    pose proof (card_remove1 v (cache st) Hvc) as Hcard. rewrite <- Hv2 in Hcard.
    destruct (IH st' Hv3 Hv4) as (G1 & G2 & G3 & G4 & G5 & G6); [lia|].
    split; [|split; [|split; [|split; [|split]]]]; auto.
    + apply evict_leaf with v; auto. now rewrite <- Hv2.
    + lia.
    + intros x Hx. apply G3 in Hx. rewrite Hv2 in Hx. apply In_remove1 in Hx. tauto.
    + intros d. now rewrite G6.
Qed.

(** ** Locking *)
Variables (C : list nat) (st : real).
Hypothesis seats_st : seats F C st.
Hypothesis lazy_C1 : incl C1 (C ++ U).

Let st1 : real := Real (union (cache st) U) (lock_owner C1 U (owner st)).

Lemma lock_owner_spec s d :
  lock_owner C1 U (owner st) s = Some d <->
  (In s U /\ d = s) \/ (~ In s U /\ owner st s = Some d /\ In d C1).
Proof.
  unfold lock_owner. destruct (mem s U) eqn:E.
  - apply mem_In in E. split; [intros H; injection H as <-; auto|].
    intros [(_ & ->)|(Hn & _)]; [reflexivity|easy].
  - apply mem_not_In in E. destruct (owner st s) as [e|].
    + destruct (mem e C1) eqn:Ee.
      * apply mem_In in Ee. split; [intros H; injection H as <-; auto|].
        intros [(Hs & _)|(_ & H & _)]; [easy|congruence].
      * apply mem_not_In in Ee. split; [easy|].
        intros [(Hs & _)|(_ & H & Hd)]; [easy|]. injection H as ->. easy.
    + split; [easy|]. intros [(Hs & _)|(_ & H & _)]; easy.
Qed.

Lemma lock_seats : seats F C1 st1.
Proof.
  split; cbn [st1 cache owner].
  - intros s d Hs. apply In_union. apply lock_owner_spec in Hs as [(Hs & _)|(_ & Hs & _)]; auto.
    left. eapply seat_cached; eauto.
  - intros s d Hs. apply lock_owner_spec in Hs as [(Hs & ->)|(_ & _ & Hs)]; auto.
  - intros s d Hs. apply lock_owner_spec in Hs as [(Hs & ->)|(_ & Hs & _)].
    + apply path_self.
    + eapply seat_above; eauto.
  - (* a seat outside U is no ancestor of a token of U *)
    assert (Hout : forall s d, ~ In s U -> owner st s = Some d -> ~ In d U).
    { intros s d Hs Ho Hd. apply Hs. eapply path_incl; eauto. eapply seat_above; eauto. }
    intros s s' d Hs Hs'.
    apply lock_owner_spec in Hs as [(Hs & ->)|(Hs & Ho & _)];
      apply lock_owner_spec in Hs' as [(Hs' & E)|(Hs' & Ho' & _)]; auto.
    + exfalso. eapply Hout; eauto.
    + subst. exfalso. eapply Hout; eauto.
    + eapply seat_one; eauto.
  - intros t p Ht Hp. apply In_union in Ht. apply In_union.
    destruct Ht as [Ht|Ht]; [left|right]; [|eapply closed_U; eauto].
    eapply (seat_closed F C st seats_st); eauto.
Qed.

Lemma lock_locked : locked st1.
Proof. intros x Hx. cbn. apply lock_owner_spec. auto. Qed.

(** Seats are lost only to virtual evictions; each load gains one. *)
Lemma lock_count :
  seatless C1 st1 + card (diff U (cache st)) <= seatless C st + card (diff U C).
Proof.
  pose proof (seats_count F C st seats_st) as E0.
  pose proof (seats_count F C1 st1 lock_seats) as E1.
  assert (E2 : card (C ++ U) = card C1 + card (diff (C ++ U) C1)).
  { rewrite <- card_app. apply card_ext. intros x. rewrite (in_app_iff C1).
    split; auto. intros [Hx|Hx]; auto. }
  rewrite card_app in E2.
  assert (E3 : card (owned st) + card (diff U (cache st)) <=
               card (owned st1) + card (diff (C ++ U) C1)); [|lia].
  rewrite (card_split2 (owned st) U), (card_split2 (owned st1) U).
  assert (H1 : card (inter (owned st) U) <= card (inter U (cache st))).
  { apply card_incl. intros x. rewrite !In_inter, In_owned. tauto. }
  assert (H2 : card U <= card (inter (owned st1) U)).
  { apply card_incl. intros x Hx. apply In_inter. split; auto. apply In_owned. split.
    - cbn. apply In_union. auto.
    - exists x. now apply lock_locked. }
  assert (H3 : card (diff (owned st) U) <=
               card (diff (owned st1) U) + card (diff (C ++ U) C1)).
  { rewrite (card_filter_split (fun s => mem (the_owner st s) C1) (diff (owned st) U)).
    apply Nat.add_le_mono.
    - apply card_incl. intros s Hs. apply filter_In in Hs as (Hs & Hm).
      apply In_diff in Hs as (Hs & HsU). apply In_owned in Hs as (Hc & d & Hd).
      unfold the_owner in Hm. rewrite Hd in Hm. apply mem_In in Hm.
      apply In_diff. split; auto. apply In_owned. split.
      + cbn. apply In_union. auto.
      + exists d. cbn. apply lock_owner_spec. auto.
    - apply card_map_inj with (f := the_owner st).
      + intros x y Hx Hy E. apply filter_In in Hx as (Hx & _).
        apply filter_In in Hy as (Hy & _).
        apply In_diff in Hx as (Hx & _). apply In_diff in Hy as (Hy & _).
        apply In_owned in Hx as (_ & d & Hx). apply In_owned in Hy as (_ & e & Hy).
        unfold the_owner in E. rewrite Hx, Hy in E. subst e. eapply seat_one; eauto.
      + intros s Hs. apply filter_In in Hs as (Hs & Hm). apply negb_true_iff in Hm.
        apply mem_not_In in Hm. apply In_diff in Hs as (Hs & _).
        apply In_owned in Hs as (_ & d & Hd). unfold the_owner in *. rewrite Hd in *.
        apply In_diff. split; auto. apply in_app_iff. left. eapply seat_owner; eauto. }
  pose proof (card_diff_inter U (cache st)). lia.
Qed.
End Proof.
