"""The claims of the paper (arXiv 2601.18999), and what became of each."""

from __future__ import annotations

from theory.claims.claim import Claim

__all__ = ["ROWS"]

PAPER = "arXiv 2601.18999"
TEST = "pytest theory/test_theorem_2.py::test_what_the_paper_states"

ROWS: tuple[Claim, ...] = (
    Claim(
        "paper-lower-single",
        "Leaf-LRU's ratio is at least B - L + 1.",
        "single queries of length at least L",
        "proved",
        "It holds for every deterministic policy (Theorem 2), and is the exact ratio.",
        TEST,
        PAPER,
        "paper-lower-single",
    ),
    Claim(
        "paper-upper-single",
        "Leaf-LRU's ratio is at most B - L + 2.",
        "single queries of length at least L",
        "proved",
        "It holds, and is one too large: Theorem 1 gives B - L + 1.",
        TEST,
        PAPER,
        "paper-upper-single",
    ),
    Claim(
        "paper-lower-batch",
        "Leaf-LRU's ratio is at least B - L - beta + 2.",
        "batches of beta queries of length at least L",
        "proved",
        "It holds for every deterministic policy (Theorem 2) if the queries are distinct, and is "
        "the exact ratio.",
        TEST,
        PAPER,
        "paper-lower-batch",
    ),
    Claim(
        "paper-upper-batch",
        "Leaf-LRU's ratio is at most B - L - beta + 3.",
        "batches of beta distinct queries of length at least L",
        "proved",
        "It holds, and is one too large: Theorem 1 gives B - L - beta + 2.",
        TEST,
        PAPER,
        "paper-upper-batch",
    ),
    Claim(
        "paper-upper-duplicates",
        "Leaf-LRU's ratio is at most B - L - beta + 3 also when a batch may hold equal queries.",
        "batches of beta >= 3 queries, not all distinct",
        "refuted",
        "Witness: the single-query cycle with every query repeated has ratio B - L + 1.",
        "pytest theory/test_theorem_2.py::test_equal_queries_of_a_batch_count_once",
        PAPER,
    ),
    Claim(
        "paper-upper-sglang",
        "The bound of Leaf-LRU, B - L + 2, holds for SGLang's own eviction.",
        "SGLang 0.5.23, LRU, single queries of length at least L",
        "refuted",
        "Witness: family sglang-twice, 2k - 4 from k = B - L + 1 = 6 on; for large k family "
        "sglang-cuts has about 0.27 k sqrt(k). It holds for node-lru, "
        "which splits a node before it stamps the matched part, and for the plugin's Leaf-LRU.",
        "pytest theory/test_other_policies.py::test_sglang_is_almost_twice_as_bad_as_leaf_lru",
        PAPER,
    ),
    Claim(
        "paper-rlt-single",
        "RLT is Theta(log(B - L))-competitive.",
        "single queries of length at least L",
        "proved",
        "Between H_k (Theorem 3) and 2 (1 + H_{k-1}) (Theorem R5), k = B - L + 1.",
        "pytest theory/test_rlt.py theory/test_theorem_3.py",
        PAPER,
        "paper-rlt-single",
    ),
    Claim(
        "paper-rlt-batch",
        "RLT is Theta(log(B - L - beta))-competitive.",
        "batches of beta distinct queries of length at least L; the rule token by token",
        "proved",
        "Between H_k (Theorem 3) and 2 (1 + H_{k-1}) (Theorem R5), k = B - L - beta + 2.",
        "pytest theory/test_rlt.py theory/test_theorem_3.py",
        PAPER,
        "paper-rlt-batch",
    ),
    Claim(
        "paper-rlt-batch-code",
        "The rule of the published code, which clears all marks inside one eviction call, is "
        "Theta(log(B - L - beta))-competitive.",
        "batches of beta distinct queries, read as rlt-step",
        "refuted",
        "Witness: the family slack-fixed, on which rlt-step pays at least 0.108 (k + 2) times the "
        "optimum (Theorem R4').",
        "pytest theory/test_rlt_step.py",
        PAPER,
    ),
)
