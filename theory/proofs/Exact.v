(** * The exact randomised ratio of prefix caching is H_k

    For batches of [beta] distinct queries of at least [L] tokens,
    k = B - L - beta + 2: seated OnlineMIN attains H_k on every forest and
    no randomised policy has less. *)

From KVBounds Require Export Theorem4 Theorem3.

Local Open Scope nat_scope.

Theorem randomised_ratio_exact : forall B L beta,
  1 <= L -> 1 <= beta -> L + beta - 1 <= B ->
  (* attained, with no additive constant *)
  (forall F Qs os tokens,
     (forall Q, In Q Qs -> batch_of F L beta Q /\ card (footprint F Q) <= B) ->
     NoDup tokens -> (forall Q, In Q Qs -> incl (footprint F Q) tokens) ->
     schedule B [] (map (footprint F) Qs) os ->
     (Exp (random_seated F B (@hd nat 0%nat) tokens)
          (fun pol => qn (policy_cost pol (map (footprint F) Qs)))
      <= harmonic (B + 2 - L - beta) * qn (cost [] (map (footprint F) Qs) os))%Q) /\
  (* and no less is possible, with any additive constant *)
  (forall (d : dist policy) c c0,
     proper d -> (forall pol, in_support pol d -> keeps_capacity B L pol) ->
     (forall Qs os,
        (forall Q, In Q Qs -> batch_of (broom L) L beta Q /\
                              card (footprint (broom L) Q) <= B) ->
        schedule B [] (map (footprint (broom L)) Qs) os -> all_closed (broom L) os ->
        (Exp d (fun pol => qn (policy_cost pol (map (footprint (broom L)) Qs)))
         <= c * qn (cost [] (map (footprint (broom L)) Qs) os) + c0)%Q) ->
     (harmonic (B + 2 - L - beta) <= c)%Q).
Proof.
  intros B L beta HL Hb Hroom. split.
  - intros F Qs os tokens HQ HN HT Hos.
    replace (B + 2 - L - beta) with (B - (L + beta - 1) + 1) by lia.
    assert (Hadm : admissible F B (L + beta - 1) (map (footprint F) Qs)).
    { intros U HU. apply in_map_iff in HU as (Q & <- & HQin).
      destruct (HQ Q HQin) as (H1 & H2). split; [apply footprint_closed|].
      split; auto. now apply footprint_ge. }
    destruct (theorem_4 F B (L + beta - 1) (@hd nat 0%nat) tokens (map (footprint F) Qs)
                hd_choice HN) as (_ & _ & _ & H); auto.
    intros U HU. apply in_map_iff in HU as (Q & <- & HQin). auto.
  - intros d c c0. now apply theorem_3.
Qed.
