"""Claims about deterministic eviction: marking, Leaf-LRU, the lower bound."""

from __future__ import annotations

from theory.claims.claim import Claim

__all__ = ["ROWS"]

MARKING_TEST = (
    "pytest theory/test_theorem_1.py::test_marking_policies_evict_nothing_used_in_the_phase"
)

ROWS: tuple[Claim, ...] = (
    Claim(
        "theorem-1",
        "Every marking policy satisfies ALG <= (B - u + 1) OPT + B.",
        "any trie, query lengths and batches; any first cache, also for OPT",
        "proved",
        "Phase argument; random and worst-case sequences against the optimum.",
        "pytest theory/test_theorem_1.py",
        "Theorem 1",
        "marking-upper",
    ),
    Claim(
        "theorem-1-empty",
        "From an empty cache every marking policy satisfies ALG <= (B - u + 1) OPT.",
        "any trie, query lengths and batches; both start empty",
        "proved",
        "OPT also pays for the first footprint.",
        "pytest "
        "theory/test_theorem_1.py::test_bound_on_random_sequences_from_an_empty_cache "
        "theory/test_theorem_1.py::test_bound_on_worst_cases",
        "Theorem 1",
        "marking-upper",
    ),
    Claim(
        "leaf-lru-marking",
        "Leaf-LRU is marking, and a leaf to evict always exists.",
        "any trie, query lengths and batches",
        "proved",
        "Tokens used in the phase are prefix-closed and newer than all others.",
        MARKING_TEST,
        "model, section 3",
    ),
    Claim(
        "node-lru-marking",
        "LRU of whole radix nodes is marking if a node is split before the match refreshes it.",
        "any trie, query lengths and batches",
        "proved",
        "Then every node is used in the phase as a whole or not at all.",
        MARKING_TEST,
        "model, section 3",
    ),
    Claim(
        "vllm-lru-marking",
        "The order of vLLM's free queue (step, query, deepest first) is marking.",
        "blocks as units",
        "proved",
        "It refines last use by step, and a block stands before its ancestors.",
        MARKING_TEST,
        "model, section 3",
    ),
    Claim(
        "rlt-marking",
        "rlt and rlt-step are marking, so each run obeys Theorem 1.",
        "any trie, query lengths and batches",
        "proved",
        "They evict unmarked leaves, and one exists whenever an eviction is needed.",
        MARKING_TEST,
        "model, section 4",
    ),
    Claim(
        "theorem-2",
        "Every deterministic policy has ratio at least B - L - beta + 2.",
        "batches of beta distinct queries of length L, on a broom",
        "proved",
        "An adversary asks for a leaf that is not cached; played against every deterministic "
        "policy of the toolkit.",
        "pytest theory/test_theorem_2.py::test_every_deterministic_policy_misses_every_time",
        "Theorem 2",
        "deterministic-lower",
    ),
    Claim(
        "leaf-lru-exact",
        "The ratio of Leaf-LRU is exactly B - L - beta + 2.",
        "batches of beta distinct queries of length at least L",
        "proved",
        "Theorems 1 and 2 meet, as u >= L + beta - 1; reached by the cyclic worst case.",
        "pytest theory/test_theorem_2.py::test_the_static_cycle_is_exact_for_leaf_lru",
        "Theorems 1 and 2",
        "leaf-lru-exact",
    ),
    Claim(
        "duplicates",
        "With r distinct queries in each batch the ratio of Leaf-LRU is at most B - L - r + 2; "
        "equal queries count once.",
        "queries of length at least L",
        "proved",
        "u >= L + r - 1 in Theorem 1.",
        "pytest theory/test_theorem_2.py::test_equal_queries_of_a_batch_count_once",
        "Theorem 1",
        "distinct-upper",
    ),
    Claim(
        "short-query",
        "If one query has length 1 and every other footprint at least L', the ratio is at most "
        "B - (L' - 1)/2.",
        "marking policies",
        "proved",
        "No two consecutive phases start with the short query.",
        "pytest theory/test_theorem_1.py::test_one_short_query_costs_less",
        "Theorem 1, remark",
        "short-query-upper",
    ),
    Claim(
        "certificate-checker",
        "What the checker in Coq accepts is the exact ratio of Leaf-LRU on one finite instance.",
        "all batches of beta distinct queries among those given; from an empty cache",
        "proved",
        "The kernel derives the states of Leaf-LRU and the ranks whose growth is OPT, every edge, "
        "the potential and the cycle from the definitions of the model.",
        "pytest tests/proofs/test_export.py",
        "work functions, potential and cycle of an exact ratio",
    ),
    Claim(
        "certified-example",
        "On two chains of two tokens and a single token the ratio of Leaf-LRU is exactly 5/3.",
        "B = 3, single queries for the whole chains and the token; B - u + 1 = 3",
        "proved",
        "The certificate of kvbounds exact, evaluated by Coq's kernel: a cycle costs 5 against 3, "
        "and the additive constant is 0.",
        "pytest tests/proofs/test_export.py::test_the_certified_example_is_exact",
        "exact solver",
    ),
)
