"""Theorem 3: on the broom with k + 1 free leaves no policy, randomised or not, beats H_k."""

from __future__ import annotations

from fractions import Fraction

import pytest

from adversary.yao import yao
from tests.theory.interval import interval
from tests.theory.law import WITH_LAW, laws
from theory.bounds import approximate, evaluate
from theory.engine import Flat, optimum, simulate
from theory.model import Instance
from theory.trie import TokenTrie


@pytest.mark.parametrize("policy", WITH_LAW)
def test_every_policy_misses_with_probability_one_in_k_plus_one(policy: str) -> None:
    # Exactly: whatever was asked for before, one of the k + 1 leaves is not cached. So averaged
    # over the next request the expected misses are 1/(k + 1), with any coins of the policy.
    k = 3
    star = TokenTrie.from_parents([-1] * (k + 1))
    past = [[0], [1], [2], [3], [0], [2], [2], [1]]
    costs = [laws(Instance(star, k, [*past, [leaf]]), policy)[-1][1] for leaf in range(k + 1)]
    assert sum(costs) == 1


@pytest.mark.parametrize(("capacity", "length", "beta"), [(4, 1, 1), (6, 2, 2)])
def test_phases_last_as_long_as_the_coupon_collector(capacity: int, length: int, beta: int) -> None:
    # k + 1 leaves; a phase ends when the last of them is asked for. OPT misses once in each.
    lengths: list[float] = []
    for seed in range(30):
        instance = yao(capacity, length, beta, steps=600, seed=seed)
        free = {step[-1] for step in instance.steps}
        assert len(free) == instance.k + 1
        seen: set[int] = set()
        start = 0
        for index, step in enumerate(instance.steps):
            if len(seen | {step[-1]}) == len(free):
                lengths.append(index - start)
                start, seen = index, set()
            seen.add(step[-1])
    low, high = interval(lengths, 0.999)
    assert low <= approximate("yao-phase", B=capacity, L=length, beta=beta) <= high


B, L, BETA = 6, 2, 2


@pytest.fixture(scope="module")
def requests() -> list[tuple[Flat, int]]:
    """Long random sequences, each with its optimum."""
    flats = [Flat.from_instance(yao(B, L, BETA, steps=6000, seed=seed)) for seed in range(20)]
    return [(flat, int(optimum(flat, B).misses.sum())) for flat in flats]


@pytest.mark.parametrize("policy", ["leaf-lru", "node-lru", "fifo", "clock", "rlt", "rlt-step"])
def test_the_ratio_on_random_requests_is_the_harmonic_number(
    policy: str, requests: list[tuple[Flat, int]]
) -> None:
    # All of these keep k of the k + 1 leaves, so H_k is their ratio here, not only a bound.
    ratios = []
    for seed, (flat, best) in enumerate(requests):
        cost = int(simulate(flat, policy, B, seed).misses.sum())
        ratios.append((cost - B) / (best - B))  # without the first fill of the cache
    low, high = interval(ratios, 0.99)
    assert low <= approximate("yao-lower", B=B, L=L, beta=BETA) <= high
    assert high - low < 0.1


def test_the_bound_is_exact_arithmetic() -> None:
    assert evaluate("yao-lower", B=6, L=2, beta=2) == Fraction(25, 12)
    assert evaluate("yao-phase", B=6, L=2, beta=2) == 5 * Fraction(25, 12)
