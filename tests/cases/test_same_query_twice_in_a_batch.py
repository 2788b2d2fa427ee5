"""Two equal queries in one step count once: their tokens are missed once and none is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.strategies import examples, instances
from theory.cache import PrefixCache, run
from theory.eviction import POLICIES
from theory.model import Instance
from theory.trie import TokenTrie


@pytest.mark.parametrize("policy", POLICIES)
@given(instance=instances(most_queries=3), data=st.data())
@examples(40)
def test_repeating_a_query_changes_nothing(
    policy: str, instance: Instance, data: st.DataObject
) -> None:
    doubled = [
        [*step, *data.draw(st.lists(st.sampled_from(step), max_size=3))] for step in instance.steps
    ]
    again = Instance(instance.trie, instance.capacity, doubled)
    assert again == instance
    assert (again.beta, again.u) == (instance.beta, instance.u)
    cache = PrefixCache(instance.trie, instance.capacity, policy, seed=1)
    assert tuple(map(cache.serve, doubled)) == run(instance, policy, seed=1).steps


def test_the_count_of_uses_too() -> None:
    # If the double query of token 0 counted twice, LFU would keep 0 and evict 1.
    star = TokenTrie.from_parents([-1] * 3)
    cache = PrefixCache(star, 2, "lfu")
    for step in ([0, 0], [1], [2]):
        evicted = cache.serve(step).evicted
    assert evicted == (0,)
