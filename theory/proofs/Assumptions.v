(** * What the theorems rest on

    For every main theorem: its statement, then its assumptions. *)

From KVBounds Require Import Sanity Theorem2.

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

Check theorem_2.
Print Assumptions theorem_2.

Check theorem_2_ratio.
Print Assumptions theorem_2_ratio.

Check leaf_lru_ratio_exact.
Print Assumptions leaf_lru_ratio_exact.

Check paper_upper_bounds.
Print Assumptions paper_upper_bounds.
