"""Lemma 2: Leaf-LRU is a stack policy, and one pass counts the misses of every capacity."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given

from tests.theory.strategies import examples, instances
from theory.cache import PrefixCache, run
from theory.eviction import EvictionPolicy, Step
from theory.model import Instance
from theory.trie import TokenTrie

NEVER = 10**9
"""The position of a token that was never used: beyond every capacity."""


def stack(instance: Instance) -> tuple[list[list[int]], list[list[int]]]:
    """Mattson's list after each step, and the positions of its tokens before the step."""
    lists: list[list[int]] = []
    positions: list[list[int]] = []
    now: list[int] = []
    for index in range(len(instance.steps)):
        footprint = list(instance.footprint(index))
        places = [now.index(t) if t in now else NEVER for t in footprint]
        positions.append(places)
        now = footprint + [t for t in now if t not in footprint]
        lists.append(now)
    return lists, positions


def capacities(instance: Instance) -> range:
    widest = max(len(instance.footprint(j)) for j in range(len(instance.steps)))
    return range(widest, len(instance.trie) + 2)


@given(instances(most_tokens=10, most_steps=20, most_queries=3))
@examples(120)
def test_the_cache_is_the_front_of_the_list_at_every_capacity(instance: Instance) -> None:
    lists, positions = stack(instance)
    for capacity in capacities(instance):
        cache = PrefixCache(instance.trie, capacity, "leaf-lru")
        for step, front, places in zip(instance.steps, lists, positions, strict=True):
            result = cache.serve(step)
            assert set(cache.cached) == set(front[:capacity])
            assert len(result.hits) == sum(place < capacity for place in places)
        # One pass gives the misses of every capacity at once.
        misses = sum(place >= capacity for places in positions for place in places)
        assert run(instance.with_capacity(capacity), "leaf-lru").misses == misses


@pytest.mark.parametrize("policy", ["leaf-lru", "vllm-lru"])
@given(instance=instances(most_tokens=10, most_steps=20, most_queries=3))
@examples(80)
def test_larger_caches_hold_smaller_ones(policy: str, instance: Instance) -> None:
    caches = [PrefixCache(instance.trie, B, policy) for B in capacities(instance)]
    for step in instance.steps:
        for cache in caches:
            cache.serve(step)
        for small, large in pairwise(caches):
            assert set(small.cached) <= set(large.cached)


class RandomTies(EvictionPolicy):
    """Leaf-LRU that breaks ties by coins of its own."""

    def __init__(self, seed: int) -> None:
        self.coins = random.Random(seed)
        self.last: dict[int, int] = {}

    def on_step(self, step: Step) -> None:
        self.last.update(dict.fromkeys(step.tokens, step.number))

    def choose(self, leaves: Sequence[int]) -> int:
        oldest = min(self.last[leaf] for leaf in leaves)
        return self.coins.choice([leaf for leaf in leaves if self.last[leaf] == oldest])


def nested(instance: Instance, seeds: tuple[int, int]) -> bool:
    """Whether the cache of B tokens stays inside that of B + 1."""
    small, large = (
        PrefixCache(instance.trie, instance.capacity + more, RandomTies(seed))
        for more, seed in enumerate(seeds)
    )
    for step in instance.steps:
        small.serve(step)
        large.serve(step)
        if not set(small.cached) <= set(large.cached):
            return False
    return True


def test_random_ties_of_each_capacity_break_it() -> None:
    # Three leaves used at once, then two more one by one: which of the three are kept is chance.
    star = Instance(TokenTrie.from_parents([-1] * 5), 3, [[0, 1, 2], [3], [4]])
    outcomes = {nested(star, (left, right)) for left in range(6) for right in range(6)}
    assert outcomes == {True, False}
    draw = random.Random(0)
    broken = 0
    for _ in range(300):
        steps = [draw.sample(range(9), draw.randint(1, 4)) for _ in range(15)]
        random_star = Instance(TokenTrie.from_parents([-1] * 9), 4, steps)
        broken += not nested(random_star, (1, 2))
    assert 30 < broken < 300
