"""Claims about randomised eviction: RLT, its step-granular reading, the optimal policy."""

from __future__ import annotations

from theory.claims.claim import Claim

__all__ = ["ROWS"]

ROWS: tuple[Claim, ...] = (
    Claim(
        "theorem-3",
        "Every randomised policy has ratio at least H_k, k = B - L - beta + 2.",
        "batches of beta distinct queries of length L, on a broom with k + 1 free leaves",
        "proved",
        "Yao's principle and the coupon collector; the miss probability is exact.",
        "pytest theory/test_theorem_3.py",
        "Theorem 3",
        "yao-lower",
    ),
    Claim(
        "theorem-4",
        "Seated OnlineMIN satisfies E[ALG] <= H_k OPT, so H_k is the exact randomised ratio.",
        "any trie, query lengths and batches; from an empty cache",
        "proved",
        "A potential over the matroid of the work function, and prefix closure for free.",
        "make -C theory/proofs",
        "Theorem 4",
        "onlinemin-upper",
    ),
    Claim(
        "theorem-4-exact",
        "The best randomised ratio is exactly H_k, k = B - L - beta + 2.",
        "batches of beta distinct queries of length at least L; from an empty cache",
        "proved",
        "Theorems 3 and 4.",
        "make -C theory/proofs",
        "Theorems 3 and 4",
        "randomised-exact",
    ),
    Claim(
        "gradient",
        "Contracting a non-loop lowers the potential of a matroid by the probability that the "
        "greedy basis under random priorities does not take it.",
        "any matroid",
        "proved",
        "Induction over the rank.",
        "make -C theory/proofs",
        "P3",
    ),
    Claim(
        "o1",
        "A step of OnlineMIN with footprint B - q costs at most Delta (1 + H_{q+Delta} - H_Delta) "
        "minus the growth of the potential.",
        "virtual cache",
        "proved",
        "The gradient lemma for matroids.",
        "make -C theory/proofs",
        "Theorem O1",
        "onlinemin-step",
    ),
    Claim(
        "onlinemin-restart",
        "Forgetting the layers whenever the optimum has grown by N keeps the ratio at most "
        "H_k / (1 - (k-1)/N), with memory for B + N tokens.",
        "N >= k",
        "proved",
        "At a restart the optimum is at most k - 1 ahead.",
        "make -C theory/proofs",
        "Theorem 4, bounded memory",
        "onlinemin-restart-upper",
    ),
    Claim(
        "onlinemin-real-exact",
        "The largest ratio of the real cache of onlinemin over all tries is exactly H_k.",
        "forests with at most 5 tokens, B = 2 and 3, batches of 1 and 2, every least query length; "
        "without restarts; those 82 of the 95 instances whose states are at most 3,000",
        "verified",
        "The exact solver: H_k is reached in each of the four cells (B, beta, u). On the instances "
        "that are cut no cycle found exceeds it.",
        "pytest theory/test_theorem_4.py::test_the_same_up_to_five_tokens",
        "Theorem 4, exact ratios",
    ),
    Claim(
        "r1",
        "A phase costs rlt-step at most M (1 + H_{k-1}) in expectation, M the tokens of the phase "
        "that are absent at its start; M H_k if its first step evicts at most one token.",
        "any trie, query lengths and batches, any cache at the start",
        "proved",
        "A potential over the holes; exact laws of random instances.",
        "pytest theory/test_rlt.py::test_the_phase_lemma_exactly",
        "Lemma R1",
        "phase-upper",
    ),
    Claim(
        "r1-harmonic",
        "A phase costs rlt-step at most M H_k in expectation.",
        "as r1, any first step",
        "conjectured",
        "No counterexample among the exact laws of random instances.",
        "pytest theory/test_rlt.py::test_the_phase_lemma_with_the_harmonic_number_is_conjectured",
        "Lemma R1, remark",
        "phase-one-eviction-upper",
    ),
    Claim(
        "r2",
        "Without slack the ratio of rlt, rlt-step and rlt-token is at most 2 (1 + H_{k-1}).",
        "every completed phase ends with exactly B distinct tokens; from an empty cache",
        "proved",
        "Lemma R1 and the optimum's cost of two phases; exact on random instances.",
        "pytest theory/test_rlt.py::test_no_slack",
        "Theorem R2",
        "no-slack-upper",
    ),
    Claim(
        "r2-one-new",
        "Without slack, and with one new token in the first step of each phase, the ratio of rlt "
        "and rlt-step is at most 2 H_k.",
        "as r2",
        "proved",
        "The sharper half of Lemma R1; exact on random instances.",
        "pytest theory/test_rlt.py::test_no_slack",
        "Theorem R2",
        "one-new-upper",
    ),
    Claim(
        "r3-single",
        "With single queries the ratio of rlt-step is at most 3 (1 + H_{k-1}).",
        "any trie and query lengths; from an empty cache",
        "proved",
        "Theorem R3 with b = 1; exact on random instances.",
        "pytest theory/test_rlt_step.py::test_the_bound_for_footprints_with_few_leaves",
        "Theorem R3",
        "rlt-step-single-upper",
    ),
    Claim(
        "r3",
        "If every footprint has at most b leaves, the ratio of rlt-step is at most "
        "min{k, (2 + b)(1 + H_{k-1})}.",
        "any trie; from an empty cache",
        "proved",
        "Junk of old phases is paid once; exact on random instances.",
        "pytest theory/test_rlt_step.py::test_the_bound_for_footprints_with_few_leaves",
        "Theorem R3",
        "rlt-step-batch-upper",
    ),
    Claim(
        "r4",
        "With batches the ratio of rlt-step is not O(log k): at least 0.108 k for k = beta.",
        "batches of at most 2 beta + 1 queries, all footprints at least k",
        "proved",
        "The family slack; exact for small sizes.",
        "pytest theory/test_rlt_step.py::test_slack_exactly",
        "Theorem R4",
        "slack-lower",
    ),
    Claim(
        "r4-linear",
        "On that family the ratio of rlt-step grows as (1 - e**-2) k / 8.",
        "k = beta = l",
        "proved",
        "The limit of the exact bound.",
        "pytest tests/theory/test_bounds.py::test_the_growth_of_the_slack_family",
        "Theorem R4",
        "slack-linear-lower",
    ),
    Claim(
        "r4-prime",
        "The same with exactly beta incomparable queries of length at least L in every batch, "
        "k = B - L - beta + 2 = beta.",
        "batches of exactly beta queries, beta >= 4 even",
        "proved",
        "The family slack-fixed; exact for small sizes.",
        "pytest theory/test_rlt_step.py::test_slack_with_batches_of_one_size_exactly",
        "Theorem R4'",
        "slack-fixed-lower",
    ),
    Claim(
        "r4-measured",
        "On the family slack-fixed with k = beta the ratio of rlt-step doubles with k (about 9.8 "
        "at k = 64, above 2 H_k - 1 = 8.5, and 19.0 at k = 128), that of rlt stays below 1.5.",
        "cycles after the first",
        "measured",
        "20 seeds of 8 cycles, 99 % intervals within 9.0-10.5 and 18-20.",
        "pytest theory/test_rlt_step.py::test_the_ratio_grows_linearly_where_the_paper_rule_stays"
        "_flat theory/test_rlt_step.py::test_the_growth_is_linear",
        "Theorem R4'",
    ),
    Claim(
        "r5",
        "The ratio of rlt is at most 2 (1 + H_{k-1}), with additive constant B.",
        "any trie, query lengths and batches; from an empty cache",
        "proved",
        "The first step of a phase evicts all older generations, and a clean miss raises the "
        "expected potential by H_{k-1} - 1 only; exact on random instances, "
        "intervals over 40 seeds on worst cases.",
        "pytest theory/test_rlt.py::test_any_trie_and_batches_exactly "
        "theory/test_rlt.py::test_the_bound_on_worst_cases_over_seeds",
        "Theorem R5",
        "rlt-upper",
    ),
    Claim(
        "broom-marker",
        "On brooms with at least k + 2 free leaves the ratio of rlt and rlt-step is exactly "
        "2 H_k - 1.",
        "single queries",
        "verified",
        "Marker's exact ratio (Achlioptas, Chrobak, Noga 2000); here the exact solver on brooms "
        "with k + 2 leaves, k = 2, 3, L = 1, 3.",
        "pytest theory/test_rlt.py::test_brooms_have_the_ratio_of_the_marker",
        "Achlioptas, Chrobak, Noga 2000",
        "broom-exact",
    ),
    Claim(
        "broom-tight",
        "On brooms with exactly k + 1 free leaves it is H_k.",
        "single queries",
        "verified",
        "The exact solver, k = 2, 3, L = 1, 3.",
        "pytest theory/test_rlt.py::test_brooms_have_the_ratio_of_the_marker",
        "exact solver",
        "broom-tight",
    ),
    Claim(
        "marker-ratio",
        "The ratio of rlt and rlt-step is at most 2 H_k - 1 on every trie with single queries.",
        "single queries, u = 1",
        "refuted",
        "Witness: three chains of two tokens and five single ones, B = k = 9; a phase costs "
        "118463/25200 > 2 H_9 - 1 against 1, exactly.",
        "pytest theory/test_other_policies.py"
        "::test_three_chains_refute_the_marker_ratio_for_single_queries",
        "three chains",
    ),
    Claim(
        "marker-ratio-batches",
        "The ratio of rlt and rlt-step is at most 2 H_k - 1 on every trie with batches.",
        "k = 3",
        "refuted",
        "Witnesses: rlt-step at least 43/16 > 8/3 at B = 4, batches of 2; rlt 11/4 > 8/3 at B = 5, "
        "batches of 3; by the exact solver.",
        "pytest theory/test_other_policies.py::test_batches_refute_the_marker_ratio",
        "exact solver",
    ),
    Claim(
        "random-leaf-lower",
        "Without marks a uniformly random leaf has ratio at least k, as bad as Leaf-LRU.",
        "single queries on a broom with k + 1 leaves; k (1 - (1 - 1/k)^r)^2 for r rounds a phase",
        "proved",
        "Junk leaves with probability 1/k at each miss, and a round costs at least one while it "
        "is there; the exact cost of small cycles and means over seeds are above it.",
        "pytest theory/test_other_policies.py::test_random_leaf_pays_for_junk_exactly "
        "theory/test_other_policies.py::test_random_leaf_pays_for_junk_on_average",
        "Raghavan and Snir 1989",
        "random-leaf-lower",
    ),
    Claim(
        "random-leaf-upper",
        "A uniformly random leaf costs at most B OPT in expectation.",
        "any trie, query lengths and batches; from an empty cache",
        "proved",
        "Potential: B times the tokens that only the optimum has. The inequality is verified on "
        "every edge for the forests with up to four tokens, B = 2 and 3, batches of one and two.",
        "pytest theory/test_other_policies.py::test_random_leaf_has_a_potential",
        "theorem on random leaves",
        "random-leaf-upper",
    ),
    Claim(
        "rlt-node",
        "Drawing whole radix nodes loses the logarithm: ratio at least (k + 1)/2.",
        "single queries",
        "proved",
        "Three queries: a chain of B - 1 tokens and two leaves; the exact solver finds (k + 1)/2 "
        "there for k = 3 to 6, and 3/2 for rlt-step.",
        "pytest theory/test_other_policies.py::test_whole_nodes_lose_the_logarithm "
        "theory/test_other_policies.py::test_uniform_leaves_do_not_lose_it_there",
        "variant b",
        "rlt-node-lower",
    ),
)
