"""Claims that the exact solver decides on finite sets, each ratio with a certificate."""

from __future__ import annotations

from theory.claims.claim import Claim

__all__ = ["ROWS"]

FILE = "pytest theory/test_exact_results.py"

ROWS: tuple[Claim, ...] = (
    Claim(
        "leaf-lru-cells",
        "The largest ratio of Leaf-LRU over all tries is exactly B - u + 1.",
        "forests with at most 6 nodes, B = 2 to 4, batches of 1 and 2, every least query length",
        "verified",
        "The exact solver on 502 instances, none cut: equal in each of the nine cells (B, beta, u) "
        "with u < B.",
        f"{FILE}::test_leaf_lru_is_exactly_theorem_1_in_every_cell_up_to_six_nodes",
        "exact solver",
    ),
    Claim(
        "marker-ratio-small",
        "The ratio of rlt is at most 2 H_k - 1.",
        "single queries, forests with 5 to 7 nodes, B = 2 to 4, every least query length",
        "verified",
        "The exact solver on all 868 instances with k > 1, none cut; attained for k = 2, 3, 4.",
        f"{FILE}::test_rlt_on_all_868_instances_does_not_exceed_marker",
        "exact solver",
    ),
    Claim(
        "marker-ratio-small-step",
        "The ratio of rlt-step is at most 2 H_k - 1.",
        "single queries, forests with 5 to 7 nodes, B = 2 to 4, every least query length; those "
        "784 of the 868 instances whose states are at most 5,000",
        "verified",
        "The exact solver. With slack there can be infinitely many distributions; on the instances "
        "that are cut no cycle found exceeds it either.",
        f"{FILE}::test_rlt_step_on_868_instances_does_not_exceed_marker",
        "exact solver",
    ),
    Claim(
        "rlt-node-exact",
        "The ratio of rlt-node is exactly (B + 1)/2 on a chain of B - 1 tokens and two leaves.",
        "the three queries that end at the leaves of the trie, B = 3 to 9",
        "verified",
        "The exact solver, complete.",
        f"{FILE}::test_rlt_node_loses_the_logarithm",
        "exact solver",
    ),
    Claim(
        "sglang-six-slots",
        "The ratio of sglang-lru is exactly 7 > B - u + 1 = 6.",
        "four chains of two tokens, B = 6, all single queries",
        "verified",
        "The exact solver, complete: 87,649 states.",
        f"{FILE}::test_the_refresh_before_the_split_with_six_slots",
        "exact solver",
    ),
    Claim(
        "fifo-three",
        "FIFO reaches B where B - u + 1 = 2.",
        "six single tokens, batches of three, B = 4, u = 3",
        "verified",
        "The exact solver, complete: ratio 4.",
        f"{FILE}::test_fifo_exceeds_theorem_1_with_batches",
        "exact solver",
    ),
    Claim(
        "game-value-brooms",
        "No deterministic policy has a ratio below B - L - beta + 2, and some policy has it.",
        "brooms with k + 1 leaves, L = 2, beta = 1, k = 2 to 4",
        "verified",
        "The ratio game solved, with an optimal policy and an optimal adversary as certificate.",
        f"{FILE}::test_best_possible_ratios_on_brooms",
        "ratio game",
    ),
    Claim(
        "leaf-lru-optimal-everywhere",
        "On every trie Leaf-LRU has the smallest ratio that a deterministic policy can have.",
        "any trie",
        "refuted",
        "Witness: a token with two leaves below it and a chain of two, B = 3, queries of length 2: "
        "Leaf-LRU has 4/3, the value of the game is 5/4.",
        f"{FILE}::test_leaf_lru_is_not_optimal_on_every_trie",
        "ratio game",
    ),
    Claim(
        "randomised-value-brooms",
        "No randomised policy has a ratio below H_k.",
        "brooms with k + 1 leaves, L = 2, beta = 1, k = 2 to 4",
        "verified",
        "Linear programming over forced work functions, the solution evaluated exactly.",
        f"{FILE}::test_best_possible_ratios_on_brooms",
        "Theorem 3",
    ),
)
