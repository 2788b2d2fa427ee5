"""Claims about the model: the offline optimum, the stack property, prefix closure."""

from __future__ import annotations

from theory.claims.claim import Claim

__all__ = ["ROWS"]

ROWS: tuple[Claim, ...] = (
    Claim(
        "lemma-1",
        "Evicting the leaf outside the footprint whose next use is farthest gives the fewest "
        "misses, also among schedules whose cache need not be prefix-closed.",
        "any trie, query lengths and batches",
        "proved",
        "Exchange argument; equal to brute force over all cache states, closed or not, on random "
        "instances.",
        "pytest theory/test_lemma_1.py",
        "Lemma 1",
    ),
    Claim(
        "lemma-2",
        "Leaf-LRU is a stack policy: its cache is the first B tokens of one list that does not "
        "depend on B, so one pass counts the misses of every capacity.",
        "ties broken by one order of the tokens, ancestors first; B at least the largest footprint",
        "proved",
        "Induction over the steps; held to the executable cache at every capacity.",
        "pytest theory/test_lemma_2.py",
        "Lemma 2",
    ),
    Claim(
        "lemma-2-random-ties",
        "Leaf-LRU stays a stack policy when each capacity breaks its ties at random.",
        "batches",
        "refuted",
        "Witness: three leaves used in one batch, then two more, B = 3.",
        "pytest theory/test_lemma_2.py::test_random_ties_of_each_capacity_break_it",
        "Lemma 2, remark",
    ),
    Claim(
        "lemma-3",
        "The paper's token-by-token rule and the generation-first form have the same joint law of "
        "marks and cache after every step.",
        "from an empty cache; any trie, query lengths and batches",
        "proved",
        "Induction over the steps; equal in exact arithmetic on random instances and worst cases.",
        "pytest theory/test_lemma_3.py",
        "Lemma 3 (R6)",
    ),
    Claim(
        "lemma-3-step",
        "Clearing the marks once a step and drawing among all unmarked leaves (rlt-step) has the "
        "law of the paper's rule.",
        "single queries or batches, with slack",
        "refuted",
        "Witness: chains 0-3 and 2-4, a token 1, B = 3, queries 3, 1, 4, 3.",
        "pytest theory/test_lemma_3.py::test_the_step_granular_rule_has_another_law",
        "Lemma 3, remark",
    ),
    Claim(
        "leaf-policies",
        "A policy that evicts cached leaves outside the footprint, one at a time while more than B "
        "tokens are there, always finds one: every admissible sequence is served, from "
        "prefix-closed caches of at most B tokens.",
        "any trie, query lengths and batches",
        "proved",
        "Below an unlocked token all are unlocked; asserted for every policy on random instances.",
        "pytest tests/theory/test_cache.py::test_the_invariants_of_the_model",
        "model, section 1",
    ),
    Claim(
        "closure-free",
        "Every lazy online algorithm with arbitrary caches becomes a lazy one that evicts leaves "
        "only and costs no more, on every sequence and every coin toss.",
        "any trie, query lengths and batches",
        "proved",
        "The seat construction and its invariant.",
        "make -C theory/proofs",
        "Theorem O3",
    ),
    Claim(
        "opt-delta",
        "The offline optimum is the sum over the steps of Delta_t, which is known online.",
        "from an empty cache",
        "proved",
        "Nullity argument in the matroid of the work function.",
        "make -C theory/proofs",
        "P1",
    ),
)
