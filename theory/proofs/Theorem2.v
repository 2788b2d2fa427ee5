(** * Theorem 2: no deterministic policy beats B - L - beta + 2

    The adversary and the offline schedule are in Broom.v. *)

From KVBounds Require Export Broom.

(** Against every deterministic policy that keeps to the capacity there are,
    for every n, batches of exactly [beta] distinct queries of exactly [L]
    tokens each that cost it at least (B-L-beta+2) * n, while a closed
    offline schedule from an empty cache pays at most B + n. *)
Theorem theorem_2 : forall B L beta pol n,
  1 <= L -> 1 <= beta -> L + beta - 1 <= B ->
  keeps_capacity B L pol ->
  exists Qs os,
    (forall Q, In Q Qs -> batch_of (broom L) L beta Q /\
                          (forall q, In q Q -> length (path (broom L) q) = L) /\
                          card (footprint (broom L) Q) = L + beta - 1) /\
    schedule B [] (map (footprint (broom L)) Qs) os /\
    all_closed (broom L) os /\
    cost [] (map (footprint (broom L)) Qs) os <= B + n /\
    (B + 2 - L - beta) * n <= policy_cost pol (map (footprint (broom L)) Qs).
Proof.
  intros B L beta pol n HL Hb Hroom Hpol.
  set (m := L + beta - 2). set (k := B + 2 - L - beta).
  set (fp := fun x => footprint (broom L) (broom_batch L beta x)).
  set (warm := seq m k).
  set (xs := attack B L beta pol (k * n) (rev (map fp warm))).
  assert (Hall : forall x, In x (warm ++ xs) -> m <= x <= B).
  { intros x Hx. apply in_app_iff in Hx as [Hx|Hx].
    - apply in_seq in Hx. unfold m, k in *. lia.
    - eapply attack_range; eauto. }
  destruct (warm_up B L beta HL Hb Hroom) as (s1 & G1 & G2 & G3 & G4).
  destruct (stretches B L beta HL Hb Hroom n B xs) as (s2 & H1 & H2 & H3).
  { unfold m in *. lia. }
  { apply attack_length. }
  { intros x Hx. apply Hall. apply in_app_iff. auto. }
  exists (map (broom_batch L beta) (warm ++ xs)), (s1 ++ s2).
  rewrite map_map. change (fun x => footprint (broom L) (broom_batch L beta x)) with fp.
  rewrite (map_app fp).
  change (map _ (seq (L + beta - 2) (B + 2 - L - beta))) with (map fp warm) in G1, G3.
  split; [|split; [|split; [|split]]].
  - intros Q HQ. apply in_map_iff in HQ as (x & <- & Hx). apply Hall in Hx.
    split; [apply (broom_batch_ok B L beta HL Hb Hroom x (proj1 Hx))|]. split.
    + intros q Hq. rewrite broom_path_length; [lia|]. unfold broom_batch in Hq.
      apply in_app_iff in Hq as [Hq|[<-|[]]]; [apply in_seq in Hq; lia|].
      unfold m in *. lia.
    + rewrite (card_fp B L beta HL Hb Hroom x (proj1 Hx)). lia.
  - apply schedule_app; auto. rewrite G4. exact H1.
  - intros A HA. apply in_app_iff in HA. destruct HA; auto.
  - rewrite cost_app by (eapply schedule_length; eauto). rewrite G4.
    unfold fp in *. lia.
  - unfold policy_cost, run. rewrite run_from_app, app_nil_r.
    rewrite cost_app by (now rewrite run_from_length).
    rewrite last_run_from, app_nil_r.
    + assert (k * n <= cost (pol (rev (map fp warm))) (map fp xs)
                (run_from pol (rev (map fp warm)) (map fp xs))); [|lia].
      apply (attack_cost B L beta HL Hb Hroom); auto.
      intros U HU. apply in_rev, in_map_iff in HU as (x & <- & Hx).
      apply fp_admissible; auto. apply (Hall x). apply in_app_iff. auto.
    + intros E. apply (f_equal (@length _)) in E. unfold warm in E.
      rewrite map_length, seq_length in E. simpl in E. unfold k in E. lia.
Qed.

(** In the language of ratios: if q * ALG <= p * OPT + d on all of these
    sequences, then p/q >= B - L - beta + 2. *)
Theorem theorem_2_ratio : forall B L beta pol p q d,
  1 <= L -> 1 <= beta -> L + beta - 1 <= B ->
  keeps_capacity B L pol ->
  (forall Qs os,
     (forall Q, In Q Qs -> batch_of (broom L) L beta Q /\
                           card (footprint (broom L) Q) <= B) ->
     schedule B [] (map (footprint (broom L)) Qs) os -> all_closed (broom L) os ->
     q * policy_cost pol (map (footprint (broom L)) Qs)
     <= p * cost [] (map (footprint (broom L)) Qs) os + d) ->
  q * (B + 2 - L - beta) <= p.
Proof.
  intros B L beta pol p q d HL Hb Hroom Hpol H.
  destruct (theorem_2 B L beta pol (p * B + d + 1) HL Hb Hroom Hpol)
    as (Qs & os & H1 & H2 & H3 & H4 & H5).
  assert (HQ : forall Q, In Q Qs -> batch_of (broom L) L beta Q /\
                                    card (footprint (broom L) Q) <= B).
  { intros Q HQ. destruct (H1 Q HQ) as (E1 & _ & E2). split; auto. lia. }
  specialize (H Qs os HQ H2 H3).
  apply Nat.le_ngt. intros Hlt.
  remember (policy_cost pol (map (footprint (broom L)) Qs)) as alg.
  remember (cost [] (map (footprint (broom L)) Qs) os) as opt.
  remember (B + 2 - L - beta) as k. clear - H H4 H5 Hlt.
  assert (q * (k * (p * B + d + 1)) <= q * alg) by (apply Nat.mul_le_mono_l; lia).
  assert (p * opt <= p * (B + (p * B + d + 1))) by (apply Nat.mul_le_mono_l; lia).
  assert ((p + 1) * (p * B + d + 1) <= q * k * (p * B + d + 1))
    by (apply Nat.mul_le_mono_r; lia).
  nia.
Qed.

Lemma leaf_lru_keeps_capacity B L : keeps_capacity B L (leaf_lru (broom L) B).
Proof.
  intros [|U past] H; [apply Nat.le_0_l|]. rewrite leaf_lru_step.
  destruct (H U) as (H1 & H2); [now left|]. rewrite serve_card; auto. lia.
Qed.

(** The ratio of Leaf-LRU for batches of [beta] distinct queries of at least
    [L] tokens is exactly B - L - beta + 2: it is at most that on every forest
    (from an empty cache with no additive constant), and no p/q below it
    holds, whatever the constant. *)
Theorem leaf_lru_ratio_exact : forall B L beta,
  1 <= L -> 1 <= beta -> L + beta - 1 <= B ->
  (forall F Qs os,
     (forall Q, In Q Qs -> batch_of F L beta Q /\ card (footprint F Q) <= B) ->
     schedule B [] (map (footprint F) Qs) os ->
     policy_cost (leaf_lru F B) (map (footprint F) Qs)
     <= (B + 2 - L - beta) * cost [] (map (footprint F) Qs) os) /\
  (forall p q d,
     (forall F Qs os,
        (forall Q, In Q Qs -> batch_of F L beta Q /\ card (footprint F Q) <= B) ->
        schedule B [] (map (footprint F) Qs) os ->
        q * policy_cost (leaf_lru F B) (map (footprint F) Qs)
        <= p * cost [] (map (footprint F) Qs) os + d) ->
     q * (B + 2 - L - beta) <= p).
Proof.
  intros B L beta HL Hb Hroom. split.
  - intros F Qs os HQ Hos. now apply leaf_lru_batch_bound.
  - intros p q d H. eapply theorem_2_ratio with (pol := leaf_lru (broom L) B); eauto.
    apply leaf_lru_keeps_capacity.
Qed.

(** The upper bounds that the paper states are larger by one. *)
Theorem paper_upper_bounds : forall F B L beta Qs os,
  1 <= L -> 1 <= beta -> L + beta - 1 <= B ->
  (forall Q, In Q Qs -> batch_of F L beta Q /\ card (footprint F Q) <= B) ->
  schedule B [] (map (footprint F) Qs) os ->
  policy_cost (leaf_lru F B) (map (footprint F) Qs)
  <= (B + 3 - L - beta) * cost [] (map (footprint F) Qs) os.
Proof.
  intros F B L beta Qs os HL Hb Hroom HQ Hos.
  transitivity ((B + 2 - L - beta) * cost [] (map (footprint F) Qs) os).
  - now apply leaf_lru_batch_bound.
  - apply Nat.mul_le_mono_r. lia.
Qed.
