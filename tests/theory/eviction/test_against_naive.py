"""Every deterministic policy against a scan over its log; every law against its definition."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from tests.theory.naive import KEYS, NaiveCache
from tests.theory.strategies import examples, instances
from theory.cache import PrefixCache
from theory.eviction import POLICIES, RandomisedPolicy, make_policy
from theory.model import Instance
from theory.trie import ROOT

NODE = ("node-lru", "sglang-lru", "hits-per-token")
OPTIONAL = ("fifo", "filo", "lfu", "slru", "mru")
RULES = [(spec, spec, spec in NODE) for spec in (*KEYS, "clock", "clock-clear")] + [
    (f"{name}:granularity=node", name, True) for name in OPTIONAL
]


BY_HAND = {"2q", "arc", "gdsf", "s3-fifo", "sieve"}
"""Held to traces worked out by hand, in test_queues.py."""


def test_every_deterministic_policy_has_a_naive_rule() -> None:
    names = {n for n in POLICIES if not isinstance(make_policy(n), RandomisedPolicy)}
    assert names == {rule for _, rule, _ in RULES} | BY_HAND


@pytest.mark.parametrize(("spec", "rule", "nodes"), RULES)
@given(instance=instances(most_tokens=10, most_steps=25, most_queries=3))
@examples(100)
def test_same_misses_and_evictions_in_order(
    spec: str, rule: str, nodes: bool, instance: Instance
) -> None:
    cache = PrefixCache(instance.trie, instance.capacity, spec)
    naive = NaiveCache(instance.trie, instance.capacity, rule, nodes=nodes)
    for step in instance.steps:
        result = cache.serve(step)
        assert (set(result.misses), list(result.evicted)) == naive.serve(step)
        assert set(cache.cached) == naive.cached


def marks_before(instance: Instance, number: int) -> tuple[set[int], set[int]]:
    """T after the footprint of step `number` is in it, and T' if that step opens a phase."""
    marked: set[int] = set()
    previous: set[int] = set()
    for index in range(number + 1):
        footprint = set(instance.footprint(index))
        previous = set()
        if len(marked | footprint) > instance.capacity:
            previous, marked = marked, set()
        marked |= footprint
    return marked, previous


def below(instance: Instance, top: int, bottom: int) -> bool:
    return instance.trie.is_ancestor(top, bottom)


def naive_law(
    name: str, instance: Instance, number: int, cached: set[int], leaves: list[int]
) -> dict[int, Fraction]:
    marked, previous = marks_before(instance, number)
    unmarked = [leaf for leaf in leaves if leaf not in marked]
    if name == "rlt-token":
        pool = sorted(cached - marked)
        drawn = []
        for token in pool:
            tails = [leaf for leaf in unmarked if below(instance, token, leaf)]
            drawn.append(max(tails, key=lambda leaf: (instance.trie.depth(leaf), leaf)))
    elif name == "random-leaf":
        drawn = leaves
    elif name == "rlt":
        drawn = [leaf for leaf in unmarked if leaf not in previous] or unmarked
    else:
        drawn = unmarked
    return {leaf: Fraction(drawn.count(leaf), len(drawn)) for leaf in set(drawn)}


@pytest.mark.parametrize("name", ["rlt", "rlt-step", "rlt-node", "rlt-token", "random-leaf"])
@given(instance=instances(most_tokens=10, most_steps=20, most_queries=3))
@examples(120)
def test_distribution_is_the_definition(name: str, instance: Instance) -> None:
    cache = PrefixCache(instance.trie, instance.capacity, name, seed=3)
    for number, step in enumerate(instance.steps):
        cache.begin(step)
        while cache.excess > 0:
            policy = cache.policy
            assert isinstance(policy, RandomisedPolicy)
            leaves = cache.leaves()
            found = {t: p for t, p in policy.distribution(leaves).items() if p}
            assert found == naive_law(name, instance, number, set(cache.cached), leaves)
            assert sum(found.values()) == 1
            cache.evict(policy.choose(leaves))
        cache.finish()
        for token in cache.cached:
            assert instance.trie.parent(token) in {ROOT, *cache.cached}


def test_the_draw_follows_the_distribution() -> None:
    star = Instance.from_json({"capacity": 3, "parents": [-1] * 4, "steps": [[0], [1], [2], [3]]})
    victims = []
    for seed in range(3000):
        cache = PrefixCache(star.trie, star.capacity, "rlt", seed=seed)
        for step in star.steps:
            result = cache.serve(step)
        victims += result.evicted
    # Three leaves of one generation: each leaves with probability 1/3 (five sigma is 0.043).
    for leaf in range(3):
        assert abs(victims.count(leaf) / 3000 - 1 / 3) < 0.043
