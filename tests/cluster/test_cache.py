"""The memory of a worker against the executable cache: one query after another they do the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical.cluster.cache import BlockCache
from empirical.cluster.evictions import EVICTIONS, make_cache
from empirical.cluster.leaf_cache import RLTCache
from tests.cluster.driver import Workload, evicted
from tests.theory.strategies import examples
from theory.cache import PrefixCache
from theory.errors import InputError
from theory.eviction.base import RandomisedPolicy
from theory.trie import TokenTrie

PROMPTS = st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=30)


def serve(cache: BlockCache, path: tuple[int, ...]) -> int:
    """One query from its admission to its end; the blocks that it found cached."""
    matched = cache.admit(path)
    assert matched is not None
    cache.commit(path, matched, len(path))
    cache.release(path, 0)
    return matched


@pytest.mark.parametrize("eviction", ["leaf-lru", "sglang-lru"])
@given(PROMPTS, st.integers(5, 9))
@examples(100)
def test_deterministic_ones_equal_the_executable_cache(
    eviction: str, prompts: list[str], capacity: int
) -> None:
    trie, ends = TokenTrie.from_sequences(prompts)
    model = PrefixCache(trie, capacity, eviction)
    cache = make_cache(eviction, trie.parents(), capacity)
    for end in ends:
        served = model.serve([end])
        assert serve(cache, trie.path(end)) == len(served.hits)
        assert set(cache.locks) == set(model.cached)
        assert cache.locked == cache.private == 0


@pytest.mark.parametrize("eviction", ["rlt", "rlt-step"])
@given(PROMPTS, st.integers(5, 9), st.integers(0, 99))
@examples(100)
def test_randomised_ones_draw_from_the_same_leaves(
    eviction: str, prompts: list[str], capacity: int, seed: int
) -> None:
    """Before every single eviction both have the same victims, each as likely as any other."""
    trie, ends = TokenTrie.from_sequences(prompts)
    model = PrefixCache(trie, capacity, eviction)
    assert isinstance(model.policy, RandomisedPolicy)
    cache = make_cache(eviction, trie.parents(), capacity, seed)
    assert isinstance(cache, RLTCache)
    drawn: list[tuple[list[int], int]] = []  # (the leaves to choose from, the victim)
    spy(cache, drawn)
    for end in ends:
        drawn.clear()
        served = model.begin([end])
        assert serve(cache, trie.path(end)) == len(served.hits)
        for leaves, victim in drawn:
            law = model.policy.distribution(model.leaves())
            assert sorted(law) == leaves
            assert len(set(law.values())) == 1
            model.evict(victim)
        model.finish()
        assert set(cache.locks) == set(model.cached)


def spy(cache: RLTCache, drawn: list[tuple[list[int], int]]) -> None:
    """Write down what the cache draws from, and what."""
    remove = cache._discard

    def discard(block: int) -> None:
        if block not in cache.marked:  # a victim; a block that is used is marked before
            drawn.append((cache.candidates, block))
        remove(block)

    cache._discard = discard  # type: ignore[method-assign]


@pytest.mark.parametrize("eviction", EVICTIONS)
def test_running_queries_share_the_memory(eviction: str) -> None:
    """Queries begin, compute, grow and end in any order; nothing is lost, nothing too much."""

    def test(seed: int) -> BlockCache:
        load = Workload(seed)
        cache = make_cache(eviction, load.trie.parents(), load.capacity, seed=1)
        driver = load.drive(cache)
        for event in load.events:
            driver.event(*event)
            held = {b for query, held, _ in driver.running for b in driver.path(query)[:held]}
            assert {block for block, locks in cache.locks.items() if locks} == held
            assert cache.locked == len(held)
            assert cache.private == sum(private for *_, private in driver.running)
            assert cache.free >= 0
            assert all(load.trie.parent(b) in {-1, *cache.locks} for b in cache.locks)
        for query, done, private in driver.running:
            cache.release(driver.path(query)[:done], private)
        assert cache.locked == cache.private == 0
        assert cache.grow(load.capacity)  # all that is left can be evicted
        assert not cache.locks
        return cache

    assert evicted(test) > 1000


def test_an_admission_without_room_changes_nothing() -> None:
    cache = make_cache("leaf-lru", [-1, 0, 1, -1], 3)
    assert cache.admit([0, 1, 2]) == 0
    assert cache.admit([3]) is None
    assert (cache.private, cache.free, cache.locks) == (3, 0, {})
    cache.commit([0, 1, 2], 0, 3)
    assert cache.admit([3]) is None
    cache.release([0, 1, 2], 0)
    assert cache.admit([3], spare=3) is None
    assert cache.admit([3], spare=2) == 0
    assert sorted(cache.locks) == [0, 1]


@pytest.mark.parametrize("eviction", ["leaf-lru", "sglang-lru"])
def test_queries_of_a_batch_do_not_tie(eviction: str) -> None:
    """Both were admitted, then both computed, then both end: the first to end is the older one.

    If they tied, the block that is new would go, and a batch would spare shared prefixes.
    """
    cache = make_cache(eviction, [-1, -1, -1], 2)
    for block in (0, 1):
        assert cache.admit([block]) == 0
    for block in (0, 1):
        cache.commit([block], 0, 1)
    for block in (0, 1):
        cache.release([block], 0)
    assert cache.admit([2]) == 0
    assert sorted(cache.locks) == [1]


def test_what_another_query_computed_is_not_kept_twice() -> None:
    cache = make_cache("rlt", [-1, 0], 4)
    assert cache.admit([0, 1]) == cache.admit([0, 1]) == 0
    cache.commit([0, 1], 0, 2)
    assert (cache.private, cache.free) == (2, 0)
    cache.commit([0, 1], 0, 2)
    assert (cache.private, cache.free, cache.locks) == (0, 2, {0: 2, 1: 2})


@pytest.mark.parametrize("eviction", EVICTIONS)
def test_releasing_twice_is_an_error(eviction: str) -> None:
    cache = make_cache(eviction, [-1, 0], 2)
    serve(cache, (0, 1))
    with pytest.raises(InputError, match="block 0 is not held"):
        cache.release([0, 1], 0)
    with pytest.raises(InputError, match="gives back 1 private blocks of 0"):
        cache.release([], 1)
    assert cache.locks == {0: 0, 1: 0}


def test_rlt_and_rlt_step_differ_where_marks_run_out() -> None:
    """An old leaf beside three marked ones, and two must go: rlt always takes the old one."""
    spared = {"rlt": 0, "rlt-step": 0}
    for eviction in spared:
        for seed in range(40):
            cache = make_cache(eviction, [-1] * 6, 4, seed)
            for block in range(5):
                serve(cache, (block,))
            old, *others = sorted(set(cache.locks) - {4})
            for block in others:
                serve(cache, (block,))
            assert cache.admit([5], extra=1) == 0
            spared[eviction] += old in cache.locks
    assert spared["rlt"] == 0
    assert 8 <= spared["rlt-step"] <= 32  # half of the pairs of victims
