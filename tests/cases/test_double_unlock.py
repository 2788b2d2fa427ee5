"""A step is opened once and closed once; anything else is an error that changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from theory.cache import PrefixCache
from theory.errors import InputError
from theory.trie import TokenTrie

TRIE = TokenTrie.from_parents([-1, 0, 0, 0])


def unchanged(cache: PrefixCache, fault: Callable[[], object], complaint: str) -> None:
    """Commit the fault and check that the cache and what it does next are as before."""
    twin = cache.fork()
    with pytest.raises(InputError, match=complaint):
        fault()
    assert cache.state() == twin.state()
    assert (cache.steps, cache.excess, cache.leaves()) == (twin.steps, twin.excess, twin.leaves())


@pytest.mark.parametrize("policy", ["leaf-lru", "node-lru", "rlt", "clock"])
def test_finish_twice(policy: str) -> None:
    cache = PrefixCache(TRIE, 3, policy)
    cache.serve([1])
    unchanged(cache, cache.finish, "no step is open")
    assert cache.serve([2]).misses == (2,)


@pytest.mark.parametrize("policy", ["leaf-lru", "node-lru", "rlt", "clock"])
def test_begin_twice(policy: str) -> None:
    cache = PrefixCache(TRIE, 3, policy)
    cache.begin([1])
    unchanged(cache, lambda: cache.begin([2]), "the step before is not finished")
    unchanged(cache, lambda: cache.serve([2]), "the step before is not finished")
    assert cache.finish().misses == (0, 1)


def test_evict_without_a_step() -> None:
    cache = PrefixCache(TRIE, 3)
    cache.serve([1])
    unchanged(cache, lambda: cache.evict(1), "no step is open")


def test_finish_too_early() -> None:
    cache = PrefixCache(TRIE, 2)
    cache.serve([1])
    cache.begin([2])
    unchanged(cache, cache.finish, "1 tokens must still leave")
    unchanged(cache, lambda: cache.evict(2), "is not an evictable leaf")
    cache.evict(1)
    unchanged(cache, lambda: cache.evict(1), "is not an evictable leaf")
    assert cache.finish().evicted == (1,)


def test_a_refused_step_leaves_the_cache_as_it_was() -> None:
    cache = PrefixCache(TRIE, 2, "node-lru")
    cache.serve([1])
    unchanged(cache, lambda: cache.serve([1, 2]), "exceeds the capacity")
    unchanged(cache, lambda: cache.serve([]), "the batch has no query")
    unchanged(cache, lambda: cache.serve([1, 9]), "is not a token")
