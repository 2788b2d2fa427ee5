"""Claims about the eviction rules of real systems."""

from __future__ import annotations

from theory.claims.claim import Claim

__all__ = ["ROWS"]

FILE = "pytest theory/test_other_policies.py"


def _unbounded(policy: str, sequence: str) -> Claim:
    return Claim(
        f"{policy}-unbounded",
        f"{policy} has no finite ratio: for every c and d some sequence costs more than c OPT + d.",
        "B = 2, single tokens a, b, c; for any u the same below a chain",
        "proved",
        f"On {sequence} it misses in every step, and the optimum never after the first.",
        f"{FILE}::test_five_policies_have_no_ratio_at_all "
        "theory/test_other_policies.py::test_the_exact_solver_calls_them_unbounded",
        "two-step cycles",
    )


ROWS: tuple[Claim, ...] = (
    Claim(
        "sglang-not-marking",
        "SGLang's LRU, which stamps a whole node before it splits it, is within B - u + 1.",
        "SGLang 0.5.23, single queries",
        "refuted",
        "Witness: B = 5, u = 1, a cycle of 15 queries costs 18 against 3; no tie occurs. Splitting "
        "first costs 9.",
        f"{FILE}::test_sglang_exceeds_the_marking_bound",
        "family sglang",
    ),
    Claim(
        "sglang-exact",
        "On that trie the ratio of sglang-lru is exactly 6, that of node-lru 5.",
        "three chains of two tokens and a single one, B = 5, all single queries",
        "verified",
        "The exact solver, complete.",
        f"{FILE}::test_sglang_on_that_trie_is_six_exactly",
        "exact solver",
    ),
    Claim(
        "sglang-twice",
        "The ratio of sglang-lru is at least 2k - 4 for every k >= 6: almost twice the bound of "
        "marking policies.",
        "SGLang 0.5.23, single queries; any u, below a common beginning",
        "proved",
        "A cycle of three phases of 10 queries, 2k - 4 against 1 in each; the same in SGLang's own "
        "trees (tests marked sglang).",
        f"{FILE}::test_sglang_is_almost_twice_as_bad_as_leaf_lru",
        "family sglang-twice",
        "sglang-lower",
    ),
    Claim(
        "sglang-upper",
        "sglang-lru satisfies ALG <= B (B + 1) (OPT + 1), so its ratio is finite.",
        "any trie, query lengths and batches",
        "proved",
        "In a phase a token is loaded at most once more than rests are refreshed, and each used "
        "token refreshes rests once at most.",
        f"{FILE}::test_each_load_again_in_a_phase_needs_a_refresh_of_its_own "
        "theory/test_other_policies.py::test_sglang_is_bounded",
        "theorem on SGLang's LRU",
        "sglang-upper",
    ),
    Claim(
        "sglang-cuts",
        "The ratio of sglang-lru grows at least like k sqrt(k), beyond every multiple of k: "
        "(q^2 (2k - q^2 - q - 2) + 2 (q + 1)^2) / (4 (q + 1)).",
        "SGLang 0.5.23, single queries, k >= (q + 1)^2 + 2; any u, below a common beginning",
        "proved",
        "q chains that are cut q times each; from k = 77 on more than 2k - 4. The same in SGLang's "
        "own trees (tests marked sglang).",
        "pytest theory/test_sglang_rounds.py::test_sglang_is_worse_than_any_multiple_of_k",
        "family sglang-cuts",
        "sglang-cuts-lower",
    ),
    Claim(
        "sglang-root-upper",
        "sglang-lru satisfies ALG <= (8 sqrt(B) + 2) B OPT + 2 B (sqrt(B) + 1)^2.",
        "any trie, query lengths and batches",
        "proved",
        "A token is loaded once a round; where a phase has more than 4 sqrt(B) rounds, they are "
        "charged to tokens that the optimum drops. Every step of the count is asserted on runs.",
        "pytest theory/test_sglang_rounds.py::test_the_count_of_rounds_step_by_step",
        "theorem on SGLang's LRU",
        "sglang-root-upper",
    ),
    Claim(
        "two-chains",
        "On two disjoint chains asked for in turn node-lru pays k a query, leaf-lru as little as "
        "the optimum.",
        "chains of l tokens, B = 2l - 1",
        "proved",
        "Computed for l = 4 and 7.",
        f"{FILE}::test_whole_nodes_reach_the_bound_on_two_chains",
        "family two-chains",
    ),
    Claim(
        "fifo-upper",
        "FIFO satisfies ALG <= B OPT + B.",
        "any trie, query lengths and batches; leaf by leaf, and whole nodes as SGLang does",
        "proved",
        "A token that is inserted in a phase does not leave in it, and OPT misses once a phase.",
        f"{FILE}::test_fifo_is_at_most_b",
        "theorem on FIFO",
        "fifo-upper",
    ),
    Claim(
        "fifo-batches",
        "FIFO is within B - u + 1.",
        "batches of two",
        "refuted",
        "Witness: four leaves, B = 3, u = 2, cost 9 against 3; the exact solver gives 3.",
        f"{FILE}::test_fifo_exceeds_the_marking_bound_with_batches",
        "family fifo-batch",
    ),
    Claim(
        "clock-batches",
        "CLOCK with the reference bit set at insertion is within B - u + 1.",
        "batches of two",
        "refuted",
        "Witness: five leaves, B = 4, u = 2; the exact solver gives 4 > 3.",
        f"{FILE}::test_a_clock_exceeds_the_marking_bound_with_batches",
        "exact solver",
    ),
    Claim(
        "clock-marking",
        "CLOCK with the reference bit set at insertion is marking.",
        "single queries on any trie",
        "refuted",
        "Witness: chains of three and two tokens and a single one, B = 3, three steps.",
        "pytest theory/test_theorem_1.py::test_the_other_policies_are_not_marking",
        "search",
    ),
    Claim(
        "clock-clear",
        "CLOCK with the reference bit clear at insertion has ratio 2B - 1 on stars.",
        "stars with B + 1 and B + 2 leaves, B = 2, 3; 2B if new tokens enter before the hand moves",
        "verified",
        "The exact solver, complete.",
        f"{FILE}::test_a_clock_whose_bit_is_clear_at_insertion_pays_almost_twice "
        "theory/test_other_policies.py::test_the_order_in_which_a_clock_takes_new_tokens_matters",
        "exact solver",
    ),
    _unbounded("lfu", "a a (b c)^inf"),
    _unbounded("slru", "a a (b c)^inf"),
    _unbounded("hits-per-token", "a a (b c)^inf"),
    _unbounded("mru", "a b (c b)^inf"),
    _unbounded("filo", "a b (c b)^inf"),
    Claim(
        "lru-k-unbounded",
        "lru-k, with histories of the time in the cache, has no finite ratio.",
        "two uses counted; B = 2, single tokens a, b, c; for any u the same below a chain",
        "proved",
        "On a a (b c)^inf only a has a second last use, so b and c evict each other for ever.",
        f"{FILE}::test_two_more_keep_what_was_hit_once",
        "family frequency",
    ),
    Claim(
        "sieve-unbounded",
        "SIEVE on leaves has no finite ratio, for any B from 3 on.",
        "single tokens; for any u the same below a chain",
        "proved",
        "On a a (b_1 ... b_B)^inf the hand passes a once and then keeps ahead of every request.",
        f"{FILE}::test_two_more_keep_what_was_hit_once",
        "family frequency",
    ),
    Claim(
        "sglang-model",
        "The model predicts the cached tokens of every single query on a real SGLang worker.",
        "SGLang 0.5.23 on a CPU, the 597 queries of the kept replay, one by one; lru, "
        "kvbounds-leaf-lru, kvbounds-rlt",
        "verified",
        "All 597 queries of docs/reports/replay-cpu.json; random sequences, pages and SGLang's "
        "other policies in the tests marked sglang.",
        "pytest tests/docs/test_reports.py",
        "empirical/sglang/gpu_replay.sh",
    ),
    Claim(
        "sglang-cyclic",
        "On the worst case of Theorem 2 a real SGLang worker computes at least 3.2 times the "
        "optimum's tokens under its LRU and under Leaf-LRU, at most 1.8 times under RLT.",
        "SGLang 0.5.23 on a CPU, 72 prompts of 80 tokens, 8 of 9 fit; one run each",
        "verified",
        "1,216, 1,216 and 571 tokens against 320 to 376, in docs/reports/replay-cpu.json.",
        "pytest tests/docs/test_reports.py",
        "empirical/sglang/gpu_replay.sh",
    ),
    Claim(
        "sglang-twice-server",
        "On the worst case of SGLang's LRU a real SGLang worker computes at least 8.7 times the "
        "optimum's tokens under that LRU, at most 2.2 times under Leaf-LRU and 1.6 under RLT.",
        "SGLang 0.5.23 on a CPU, 95 prompts of 16 to 176 tokens, a cache of 256; one run each",
        "verified",
        "4,340, 902 and 638 tokens against 416 to 497, in docs/reports/replay-cpu.json; hit rates "
        "0.136, 0.820 and 0.873.",
        "pytest tests/docs/test_reports.py",
        "family sglang-twice",
    ),
    Claim(
        "sglang-routers",
        "LBGR has a higher hit rate than cache-aware routing on real workers too.",
        "two SGLang workers on a CPU, 12 groups of 8 prompts of which three quarters are shared",
        "refuted",
        "Witness: 0.578 against 0.617 (0.591 for sglang-router's own), each over 288 requests, in "
        "docs/reports/compare-cpu.json; round-robin has 0.326.",
        "pytest tests/docs/test_reports.py",
        "kvbounds compare",
    ),
)
