"""Seated OnlineMIN: its invariants, the optimum that it computes on the way, and its ratio."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adversary.cyclic import cyclic
from adversary.families import FAMILIES
from adversary.yao import yao
from mip.belady import farthest_next_use
from mip.flow import flow_optimum
from tests.theory.law import expected_cost
from tests.theory.strategies import examples, instances
from theory.bounds import evaluate
from theory.cache import PrefixCache, run
from theory.engine import Flat, optimum
from theory.model import Instance
from theory.trie import TokenTrie


@given(instance=instances(most_tokens=11, most_steps=30, most_queries=3), seed=st.integers(0, 9))
@examples(300)
def test_invariants_and_the_optimum_on_the_way(instance: Instance, seed: int) -> None:
    cache = PrefixCache(instance.trie, instance.capacity, "onlinemin:epoch=0", seed=seed)
    policy = cache.policy
    trie, capacity = instance.trie, instance.capacity
    cost = 0
    for index, step in enumerate(instance.steps):
        before = set(cache.cached)
        virtual = set(policy.virtual)
        footprint = set(instance.footprint(index))
        cost += cache.serve(step).cost
        # The virtual cache is lazy, the real one closed (the cache sees to that), lazy and full.
        assert footprint <= policy.virtual <= virtual | footprint
        assert len(policy.virtual) <= capacity
        assert len(cache.cached) == min(capacity, len(before | footprint))
        # Seats are injective, at the token or above it, and only tokens of C have one.
        assert {seat: token for token, seat in policy.seat.items()} == policy.owner
        assert set(policy.owner) <= set(cache.cached)
        assert set(policy.seat) <= policy.virtual
        assert all(trie.is_ancestor(seat, token) for token, seat in policy.seat.items())
        # Theorem O3.
        assert cost + len(policy.virtual - set(policy.seat)) <= policy.virtual_cost
        # C is a basis of the nested matroid.
        held: set[int] = set()
        rank = 0
        for layer, slots in zip(policy.layers, policy.slots, strict=True):
            held |= layer
            rank += slots
            assert len(held & policy.virtual) <= rank
        assert policy.virtual == held & policy.virtual
        assert len(policy.virtual) == rank
    assert policy.optimum == farthest_next_use(instance, schedule=False).misses


@given(instance=instances(most_tokens=8, most_steps=12, most_queries=2))
@examples(25)
def test_the_optimum_agrees_with_the_other_three(instance: Instance) -> None:
    cache = PrefixCache(instance.trie, instance.capacity, "onlinemin:epoch=0")
    for step in instance.steps:
        cache.serve(step)
    found = cache.policy.optimum
    assert found == flow_optimum(instance).misses
    assert found == int(optimum(Flat.from_instance(instance), instance.capacity).misses.sum())


def ratios(instance: Instance, policy: str, seeds: int) -> list[float]:
    best = farthest_next_use(instance, schedule=False).misses
    return [run(instance, policy, seed=seed).misses / best for seed in range(seeds)]


WORST = [
    ("cyclic", cyclic(6, 2).unrolled(40)),
    ("batches", cyclic(7, 2, 3).unrolled(40)),
    ("yao", yao(6, steps=400, seed=4)),
    ("more leaves", yao(6, extra=2, steps=400, seed=4)),
    ("three chains", FAMILIES["three-chains"](singles=4).unrolled(20)),
    ("slack", FAMILIES["slack"](size=8, beta=4).unrolled(12)),
    ("slack fixed", FAMILIES["slack-fixed"](size=8, beta=4).unrolled(12)),
    ("nodes", FAMILIES["rlt-node"](slots=6).unrolled(40)),
]


@pytest.mark.parametrize(("name", "instance"), WORST, ids=[name for name, _ in WORST])
def test_never_above_the_harmonic_number(name: str, instance: Instance) -> None:
    found = ratios(instance, "onlinemin", 12)
    # The mean over seeds, less three standard errors.
    low = mean(found) - 3 * stdev(found) / len(found) ** 0.5
    assert low <= float(evaluate("onlinemin-upper", k=instance.k))


def test_reaches_the_harmonic_number_on_the_broom() -> None:
    instance = yao(6, steps=6000, seed=1)
    found = mean(ratios(instance, "onlinemin", 4))
    assert found == pytest.approx(float(evaluate("yao-lower", k=6)), rel=0.06)


def test_better_than_rlt_where_rlt_is_at_its_worst() -> None:
    instance = FAMILIES["three-chains"](singles=5).unrolled(30)
    assert mean(ratios(instance, "onlinemin", 6)) < mean(ratios(instance, "rlt", 6)) - 0.5


def test_exact_mean_on_two_slots() -> None:
    # Star with three leaves, B = 2: 0, 1, 2 and then one of the two left. Whichever of 0 and 1 was
    # kept, each with probability 1/2: the fourth step costs 1/2; rlt has the same law here.
    instance = Instance(TokenTrie.from_parents([-1] * 3), 2, [[0], [1], [2], [0]])
    costs = [run(instance, "onlinemin", seed=seed).misses for seed in range(4000)]
    assert mean(costs) == pytest.approx(3.5, abs=0.04)
    for policy in ("onlinemin:epoch=0", "rlt"):
        assert expected_cost(instance, policy) == Fraction(7, 2)


def test_redrawn_priorities_narrow_the_spread() -> None:
    found = ratios(cyclic(6).unrolled(150), "onlinemin", 8)
    assert stdev(found) < 0.1


def test_memory_is_bounded_by_the_epoch() -> None:
    draw_star = Instance(TokenTrie.from_parents([-1] * 300), 4, [[i % 300] for i in range(900)])
    for epoch, most in ((3, 4 + 3 * 4 + 1), (0, 300)):
        cache = PrefixCache(draw_star.trie, 4, f"onlinemin:epoch={epoch}")
        ghosts = 0
        for step in draw_star.steps:
            cache.serve(step)
            ghosts = max(ghosts, sum(len(layer) for layer in cache.policy.layers))
            ghosts = max(ghosts, len(cache.policy.order) + len(cache.policy.unplaced))
        assert ghosts <= most
        assert ghosts > 4


def test_the_runs_follow_the_exact_law() -> None:
    policy = "onlinemin:epoch=0"
    draw = Random(0)
    for _ in range(6):
        parents = [draw.choice([-1, t - 1]) for t in range(6)]
        steps = [draw.sample(range(6), draw.randint(1, 2)) for _ in range(9)]
        trie = TokenTrie.from_parents(parents)
        instance = Instance(trie, max(map(trie.footprint_size, steps)), steps)
        exact = float(expected_cost(instance, policy))
        costs = [run(instance, policy, seed=seed).misses for seed in range(1500)]
        assert mean(costs) == pytest.approx(exact, abs=4.5 * stdev(costs) / len(costs) ** 0.5)


def test_a_fork_goes_its_own_way() -> None:
    instance = yao(4, steps=60, seed=2)
    cache = PrefixCache(instance.trie, 4, "onlinemin", seed=3)
    for step in instance.steps[:30]:
        cache.serve(step)
    other = cache.fork()
    left = [other.serve(step).evicted for step in instance.steps[30:]]
    assert [cache.serve(step).evicted for step in instance.steps[30:]] == left
