"""The optimum against a scan for the farthest next use, and against all schedules."""

from functools import cache

import pytest
from hypothesis import given, settings

from tests.engine.instances import WAYS, instances, run_farthest, running, same
from theory.engine import Flat, optimum
from theory.model import Instance


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=200, deadline=None, derandomize=True)
@given(instances(most_steps=20))
def test_equals_the_clairvoyant_scan_at_every_step(way: str, instance: Instance) -> None:
    with running(way):
        counts = optimum(Flat.from_instance(instance), instance.capacity)
    assert same(counts, run_farthest(instance))


def fewest_misses(instance: Instance, capacity: int, bypass: bool) -> int:
    """Dynamic programming over every prefix-closed cache of at most `capacity` tokens."""
    trie = instance.trie

    @cache
    def below(held: frozenset[int], locked: frozenset[int]) -> frozenset[frozenset[int]]:
        """All prefix-closed subsets of `held` that fit and hold `locked`."""
        found: set[frozenset[int]] = set()
        stack = [held]
        while stack:
            now = stack.pop()
            if now in found:
                continue
            found.add(now)
            inner = {trie.parent(token) for token in now}
            stack.extend(now - {t} for t in now if t not in inner and t not in locked)
        return frozenset(s for s in found if len(s) <= capacity)

    costs: dict[frozenset[int], int] = {frozenset(): 0}
    for index in range(len(instance.steps)):
        footprint = frozenset(instance.footprint(index))
        following: dict[frozenset[int], int] = {}
        for held, cost in costs.items():
            total = cost + len(footprint - held)
            locked = frozenset[int]() if bypass else footprint
            for kept in below(held | footprint, locked):
                if following.get(kept, total + 1) > total:
                    following[kept] = total
        costs = following
    return min(costs.values())


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(instances(most_tokens=7, most_steps=9))
def test_no_schedule_misses_less(way: str, instance: Instance) -> None:
    flat = Flat.from_instance(instance)
    capacity = instance.capacity
    with running(way):
        assert optimum(flat, capacity).misses.sum() == fewest_misses(instance, capacity, False)
    for smaller in {1, max(1, capacity - 2), capacity}:
        with running(way):
            with_bypass = optimum(flat, smaller, bypass=True)
        assert with_bypass.misses.sum() == fewest_misses(instance, smaller, True)
        held = (with_bypass.misses - with_bypass.evicted).cumsum()
        assert (held >= 0).all() and (held <= smaller).all()
