(** * What the theorems rest on

    For every main theorem: its statement, then its assumptions. *)

From KVBounds Require Import Evict Theorem1 LeafLRU Lemma2 Theorem2 Lemma1 ClosureFree OptDelta Unbounded RLT RLTLog RLTPhase NoSlack Slack Matroid Theorem4 Theorem3 Exact PaperRLT OptEqual Lemma3 Counterexample Certificate CertificateExample.

Local Open Scope nat_scope.
Set Printing Width 100.

Check rank_policy_well_defined.
Print Assumptions rank_policy_well_defined.

Check theorem_1.
Print Assumptions theorem_1.

Check theorem_1_empty.
Print Assumptions theorem_1_empty.

Check theorem_1_prefetching.
Print Assumptions theorem_1_prefetching.

Check leaf_lru_well_defined.
Print Assumptions leaf_lru_well_defined.

Check leaf_lru_marking.
Print Assumptions leaf_lru_marking.

Check leaf_lru_bound.
Print Assumptions leaf_lru_bound.

Check leaf_lru_batch_bound.
Print Assumptions leaf_lru_batch_bound.

Check leaf_lru_distinct_bound.
Print Assumptions leaf_lru_distinct_bound.

Check lemma_2.
Print Assumptions lemma_2.

Check stack_distances.
Print Assumptions stack_distances.

Check theorem_2.
Print Assumptions theorem_2.

Check theorem_2_ratio.
Print Assumptions theorem_2_ratio.

Check leaf_lru_ratio_exact.
Print Assumptions leaf_lru_ratio_exact.

Check paper_upper_bounds.
Print Assumptions paper_upper_bounds.

Check lemma_1.
Print Assumptions lemma_1.

Check farthest_optimal.
Print Assumptions farthest_optimal.

Check leaf_lru_vs_opt.
Print Assumptions leaf_lru_vs_opt.

Check closure_is_free.
Print Assumptions closure_is_free.

Check closure_evicts_leaves.
Print Assumptions closure_evicts_leaves.

Check closed_version_no_worse.
Print Assumptions closed_version_no_worse.

Check opt_ge_sum_delta.
Print Assumptions opt_ge_sum_delta.

Check lfu_unbounded.
Print Assumptions lfu_unbounded.

Check slru_unbounded.
Print Assumptions slru_unbounded.

Check mru_unbounded.
Print Assumptions mru_unbounded.

Check filo_unbounded.
Print Assumptions filo_unbounded.

Check rlt_well_defined.
Print Assumptions rlt_well_defined.

Check rlt_bound.
Print Assumptions rlt_bound.

Check rlt_log.
Print Assumptions rlt_log.

Check rlt_log_prefetching.
Print Assumptions rlt_log_prefetching.

Check rlt_log_text.
Print Assumptions rlt_log_text.

Check phase_lemma.
Print Assumptions phase_lemma.

Check phase_lemma_one_eviction.
Print Assumptions phase_lemma_one_eviction.

Check rlt_step_no_slack.
Print Assumptions rlt_step_no_slack.

Check rlt_one_new.
Print Assumptions rlt_one_new.

Check rlt_step_linear.
Print Assumptions rlt_step_linear.

Check gradient.
Print Assumptions gradient.

Check theorem_4.
Print Assumptions theorem_4.

Check theorem_4_prefetching.
Print Assumptions theorem_4_prefetching.

Check online_min_step.
Print Assumptions online_min_step.

Check theorem_3.
Print Assumptions theorem_3.

Check randomised_ratio_exact.
Print Assumptions randomised_ratio_exact.

Check paper_rlt_log.
Print Assumptions paper_rlt_log.

Check opt_eq_sum_delta.
Print Assumptions opt_eq_sum_delta.

Check lemma_3.
Print Assumptions lemma_3.

Check step_marks.
Print Assumptions step_marks.

Check lemma_3_cost.
Print Assumptions lemma_3_cost.

Check above_two_harmonic.
Print Assumptions above_two_harmonic.

Check certificate_sound.
Print Assumptions certificate_sound.

Check certified_ratio.
Print Assumptions certified_ratio.

Check certified_star.
Print Assumptions certified_star.

Check certified_broom.
Print Assumptions certified_broom.

Check certified_batches.
Print Assumptions certified_batches.
