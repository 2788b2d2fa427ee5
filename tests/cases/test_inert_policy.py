"""A counter that is never incremented makes LFU behave as LRU: every two policies must differ.

A seeded search looks for an instance on which the two have different laws of the cache.
"""

from __future__ import annotations

import random
from itertools import chain, combinations

import pytest

from tests.theory.law import WITH_LAW, laws
from theory.cache import PrefixCache
from theory.errors import InadmissibleStepError
from theory.model import Instance
from theory.trie import TokenTrie

NODE = [f"{name}:granularity=node" for name in ("fifo", "filo", "lfu", "slru", "mru")]
SPECS = [*WITH_LAW, *NODE]


def random_instance(seed: int) -> Instance | None:
    """A small instance with batches, or None if the draw is not admissible."""
    draw = random.Random(seed)
    size = draw.randint(4, 7 if seed < 400 else 11)
    trie = TokenTrie.from_parents([draw.randint(max(-1, t - 3), t - 1) for t in range(size)])
    steps = [draw.sample(range(size), draw.randint(1, 2)) for _ in range(10)]
    try:
        return Instance(trie, draw.randint(2, size - 1), steps)
    except InadmissibleStepError:
        return None


@pytest.fixture(scope="module")
def told_apart() -> set[tuple[str, str]]:
    """The pairs that some instance of the search tells apart."""
    left = set(combinations(SPECS, 2))
    for seed in range(800):
        instance = random_instance(seed)
        if instance is None:
            continue
        if not left:
            break
        seen = {spec: [law for law, _ in laws(instance, spec)] for spec in {*chain(*left)}}
        left = {(one, other) for one, other in left if seen[one] == seen[other]}
    return set(combinations(SPECS, 2)) - left


@pytest.mark.parametrize("pair", [pytest.param(p, id="/".join(p)) for p in combinations(SPECS, 2)])
def test_every_two_policies_differ(pair: tuple[str, str], told_apart: set[tuple[str, str]]) -> None:
    assert pair in told_apart


def test_lfu_is_not_lru() -> None:
    # a is used twice, then b once: LRU evicts a, LFU evicts b.
    star = TokenTrie.from_parents([-1] * 3)
    evicted = {}
    for policy in ("leaf-lru", "lfu", "slru", "hits-per-token", "lfu:granularity=node"):
        cache = PrefixCache(star, 2, policy)
        for query in (0, 0, 1, 2):
            evicted[policy] = cache.serve([query]).evicted
    assert evicted.pop("leaf-lru") == (0,)
    assert set(evicted.values()) == {(1,)}
