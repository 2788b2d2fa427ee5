"""Lemma 1: evicting the leaf with the farthest next use is optimal, also against open caches."""

from __future__ import annotations

from hypothesis import given

from mip.belady import farthest_next_use
from tests.theory.offline import brute_force
from tests.theory.strategies import examples, instances
from theory.cache import run
from theory.eviction import POLICIES
from theory.model import Instance
from theory.trie import ROOT


@given(instances(most_tokens=6, most_steps=10, most_queries=3, least_tokens=4))
@examples(120)
def test_equal_to_brute_force_over_all_caches(instance: Instance) -> None:
    best = farthest_next_use(instance)
    assert best.proven
    assert best.misses == brute_force(instance)
    assert best.misses == brute_force(instance, closed=False)


@given(instances(most_tokens=12, most_steps=30, most_queries=3))
@examples(100)
def test_its_schedule_is_closed_and_has_that_cost(instance: Instance) -> None:
    best = farthest_next_use(instance)
    assert best.schedule is not None
    before: frozenset[int] = frozenset()
    cost = 0
    for index, cache in enumerate(best.schedule):
        footprint = set(instance.footprint(index))
        assert footprint <= cache <= before | footprint
        assert len(cache) == min(instance.capacity, len(before | footprint))
        assert all(instance.trie.parent(token) in {ROOT, *cache} for token in cache)
        cost += len(footprint - before)
        before = cache
    assert cost == best.misses


@given(instances(most_tokens=12, most_steps=30, most_queries=3))
@examples(60)
def test_no_policy_is_better(instance: Instance) -> None:
    best = farthest_next_use(instance, schedule=False).misses
    assert best is not None
    for policy in POLICIES:
        assert run(instance, policy).misses >= best
