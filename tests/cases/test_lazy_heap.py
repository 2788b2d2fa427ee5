"""A heap with stale entries is right for LRU and wrong for MRU: every policy against a scan."""

from __future__ import annotations

import random

import pytest

from tests.theory.eviction.test_against_naive import RULES
from tests.theory.naive import NaiveCache
from theory.cache import PrefixCache
from theory.trie import TokenTrie


def test_mru_forgets_the_older_place_of_a_token() -> None:
    # Old entries of 0 (step 0) and 2 (step 2) are stale when 3 needs room: the newest is 0.
    cache = PrefixCache(TokenTrie.from_parents([-1] * 5), 3, "mru")
    for query in (0, 1, 2, 0):
        cache.serve([query])
    assert cache.serve([3]).evicted == (0,)
    assert cache.serve([1]).evicted == ()
    assert cache.serve([4]).evicted == (1,)


@pytest.mark.parametrize(("spec", "rule", "nodes"), RULES)
@pytest.mark.parametrize("seed", range(3))
def test_a_long_run_with_many_refreshes(spec: str, rule: str, nodes: bool, seed: int) -> None:
    draw = random.Random(seed)
    size = 24
    trie = TokenTrie.from_parents([draw.randint(max(-1, t - 5), t - 1) for t in range(size)])
    deepest = max(map(trie.depth, range(size)))
    capacity = min(size - 2, max(12, deepest))
    cache = PrefixCache(trie, capacity, spec)
    naive = NaiveCache(trie, capacity, rule, nodes=nodes)
    evictions = 0
    for _ in range(80):
        # A few tokens are hot, so that entries go stale before they reach the top of a heap.
        query = [draw.randrange(size) if draw.random() < 0.6 else draw.randrange(0, size, 6)]
        result = cache.serve(query)
        evictions += len(result.evicted)
        assert (set(result.misses), list(result.evicted)) == naive.serve(query)
    assert evictions > 30
