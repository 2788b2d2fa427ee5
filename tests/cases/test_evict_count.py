"""Ask for n tokens and exactly n leave; a node-granular policy stops at the first node enough."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.theory.strategies import examples, instances
from theory.cache import PrefixCache
from theory.eviction import POLICIES
from theory.model import Instance

NODE = [f"{name}:granularity=node" for name in ("fifo", "filo", "lfu", "slru", "mru")]


@pytest.mark.parametrize("policy", [*POLICIES, *NODE])
@given(instance=instances(most_tokens=12, most_steps=10))
@examples(40)
def test_evictions_are_counted(policy: str, instance: Instance) -> None:
    cache = PrefixCache(instance.trie, instance.capacity, policy)
    for step in instance.steps:
        size = len(cache.cached)
        cache.begin(step)
        asked = max(0, cache.excess)
        gone = 0
        while cache.excess > 0:
            assert gone < asked
            victim = cache.policy.choose(cache.leaves())
            gone += len(cache.node(victim))
            cache.evict(victim)
            assert cache.excess == asked - gone
        result = cache.finish()
        assert len(result.evicted) == gone
        assert len(cache.cached) == size - gone + len(result.misses)
        if cache.policy.granularity == "token":
            assert gone == asked
