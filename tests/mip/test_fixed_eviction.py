"""Branch and bound over routings, against every routing served."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings

from mip.fixed_eviction import FixedEvictionOptimum, solve_fixed_eviction
from mip.makespan import solve_makespan
from tests.mip.makespan_oracle import routing_instances
from tests.mip.test_makespan import shared_prefixes
from theory.errors import InputError, MissingProofError, OptimumError
from theory.load import route, serve
from theory.routing.instance import Duration, RoutingInstance, Worker
from theory.trie import TokenTrie

EXAMPLES = settings(deadline=None, derandomize=True, max_examples=40)


def least(instance: RoutingInstance, eviction: str, seed: int = 0) -> Duration:
    """The least makespan over all routings, each served from scratch."""
    return min(
        serve(instance, routing, eviction, seed=seed).makespan
        for routing in product(range(len(instance.workers)), repeat=len(instance.queries))
        if all(instance.fits(j, worker) for j, worker in enumerate(routing))
    )


@pytest.mark.parametrize("eviction", ["leaf-lru", "rlt", "node-lru", "lfu"])
def test_it_equals_every_routing_tried(eviction: str) -> None:
    @given(routing_instances(max_queries=5))
    @EXAMPLES
    def check(instance: RoutingInstance) -> None:
        best = solve_fixed_eviction(instance, eviction, seed=3)
        assert best.proven
        assert best.makespan == least(instance, eviction, 3)
        assert serve(instance, best.assignment, eviction, seed=3).makespan == best.makespan
        assert best.makespan >= solve_makespan(instance, effort=0).makespan

    check()


@pytest.mark.parametrize("seed", range(3))
def test_equal_workers_and_seven_queries(seed: int) -> None:
    rng = random.Random(seed)
    trie, ends = TokenTrie.from_sequences(
        ["".join(rng.choice("ab") for _ in range(rng.randint(2, 4))) for _ in range(7)]
    )
    instance = RoutingInstance(trie, [Worker(4)] * 3, ends)
    for eviction in ("leaf-lru", "rlt"):
        best = solve_fixed_eviction(instance, eviction, starts=[[0] * 7])
        assert best.makespan == least(instance, eviction)


def test_no_router_beats_it_and_it_stays_above_the_clairvoyant_optimum() -> None:
    trie, ends = shared_prefixes(4, 3, 1)
    instance = RoutingInstance(trie, [Worker(70)] * 2, ends)
    best = solve_fixed_eviction(instance, "leaf-lru")
    assert best.proven
    for router in ("lbgr", "cache-aware", "round-robin"):
        best.check(route(instance, router, "leaf-lru").makespan, router)
    assert best.makespan >= solve_makespan(instance).makespan


def test_a_spent_budget_proves_nothing() -> None:
    trie, ends = shared_prefixes(4, 4, 0)
    instance = RoutingInstance(trie, [Worker(70)] * 3, ends)
    best = solve_fixed_eviction(instance, "leaf-lru", max_nodes=20)
    assert best.nodes == 20
    assert not best.proven
    assert best.bound < best.makespan
    assert serve(instance, best.assignment, "leaf-lru").makespan == best.makespan
    with pytest.raises(MissingProofError, match="raise the number of nodes"):
        best.require()
    with pytest.raises(InputError, match="max_nodes: 0 nodes are none"):
        solve_fixed_eviction(instance, "leaf-lru", max_nodes=0)


def test_a_makespan_below_the_bound_is_a_hard_error() -> None:
    best = FixedEvictionOptimum(5, 5, True, "example", (), 0)
    assert best.require() == 5
    with pytest.raises(OptimumError, match="lbgr has a makespan of 4 ms"):
        best.check(4, "lbgr")
