"""What a policy promises not to see of a batch changes nothing: neither decisions nor states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.law import WITH_LAW, law
from tests.theory.strategies import examples, instances
from theory.cache import PrefixCache
from theory.eviction import make_policy
from theory.model import Instance

SPECS = [
    *WITH_LAW,
    *(f"{n}:granularity=node" for n in ("fifo", "filo", "lfu", "slru", "mru")),
]


@pytest.mark.parametrize("spec", SPECS)
@given(
    instance=instances(most_tokens=8, most_steps=10, most_queries=3, least_tokens=4),
    data=st.data(),
)
@examples(30)
def test_the_promise_of_sees(spec: str, instance: Instance, data: st.DataObject) -> None:
    policy = make_policy(spec)
    cache = PrefixCache(instance.trie, instance.capacity, spec)
    for step in instance.steps[:-1]:
        cache.serve(step)
    step = instance.steps[-1]
    expected = law(cache, step)
    if policy.sees != "order":
        assert law(cache, data.draw(st.permutations(step))) == expected
    if policy.sees == "footprint" and policy.granularity == "token":
        # The same footprint by other queries: with some of its inner tokens asked for as well.
        inner = data.draw(st.lists(st.sampled_from(instance.trie.footprint(step)), max_size=3))
        assert law(cache, [*inner, *step]) == expected


def test_the_order_and_the_queries_matter_to_those_that_see_them() -> None:
    assert {make_policy(name).sees for name in ("vllm-lru",)} == {"order"}
    assert {make_policy(name).sees for name in ("lfu", "slru", "hits-per-token", "gdsf")} == {
        "queries"
    }
