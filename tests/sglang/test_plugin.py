"""The plugin inside SGLang: its registration, its law, its memory."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from types import ModuleType

import pytest

from empirical.sglang.plugin import BACKENDS, UNLISTED, register
from tests.theory.law import advance
from theory.cache import PrefixCache
from theory.trie import TokenTrie

pytestmark = pytest.mark.sglang

TRIE = TokenTrie.from_parents([-1, 0, 0, 0, 3, 0, 5, -1])
STEPS = [[1], [2], [4], [6], [7], [1], [4], [2], [6], [7], [2]]
CAPACITY = 5
RUNS = 1500


def test_registration() -> None:
    """SGLang's command line knows the names, and registering twice changes nothing."""
    pytest.importorskip("sglang")
    from sglang.srt.arg_groups.choices import RADIX_EVICTION_POLICY_CHOICES
    from sglang.srt.mem_cache.registry import registered_radix_cache_backends

    register()
    names = registered_radix_cache_backends()
    assert set(BACKENDS) <= set(names)
    assert set(UNLISTED) <= set(RADIX_EVICTION_POLICY_CHOICES)
    register()
    assert registered_radix_cache_backends() == names
    assert len(set(RADIX_EVICTION_POLICY_CHOICES)) == len(RADIX_EVICTION_POLICY_CHOICES)


def test_sglang_loads_it_by_itself() -> None:
    """The entry point is installed, so that nobody has to call `register`."""
    from importlib.metadata import entry_points

    (found,) = entry_points(group="sglang.srt.plugins", name="kvbounds")
    assert found.load() is register


@pytest.mark.parametrize(
    ("backend", "policy"), [("kvbounds-rlt", "rlt"), ("kvbounds-rlt-step", "rlt-step")]
)
def test_expected_cost(trees: ModuleType, backend: str, policy: str) -> None:
    """The mean cost of every step over many seeds is the exact expectation of the law."""
    totals = [Counter[int]() for _ in STEPS]
    for seed in range(RUNS):
        tree = trees.Tree("radix", CAPACITY, backend, seed=seed)
        for step, total in zip(STEPS, totals, strict=True):
            hits, _ = tree.step(TRIE, step)
            total[TRIE.footprint_size(step) - len(hits)] += 1
    now = [(1, PrefixCache(TRIE, CAPACITY, policy))]
    drawn = 0
    for step, total in zip(STEPS, totals, strict=True):
        now, expected = advance(now, step)
        mean = sum(cost * times for cost, times in total.items()) / RUNS
        spread = sqrt(sum((cost - mean) ** 2 * times for cost, times in total.items())) / RUNS
        assert abs(mean - float(expected)) <= 4.5 * spread + 1e-12
        drawn += len(total) > 1
    assert drawn >= 3, "no step was random"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("page_size", [1, 16])
def test_locked_pages_stay(trees: ModuleType, backend: str, page_size: int) -> None:
    """However much is asked for, what a request uses stays, and exactly the rest can leave."""
    tree = trees.Tree("radix", 64 * page_size, backend, page_size=page_size)
    prompts = [[token] * (8 * page_size) for token in range(1, 6)]
    for prompt in prompts:
        run = trees.Run(tree, prompt)
        run.prefill(8192)
        run.end()
    matched, node = tree.match(prompts[2])
    lock = tree.cache.lock(node)
    assert tree.free_to(64) == 4 * 8 * page_size
    assert tree.match(prompts[2])[0] == matched == 8 * page_size
    assert tree.cache.protected_size() == matched
    tree.cache.unlock(lock)
    tree.check()


@pytest.mark.parametrize("backend", BACKENDS)
def test_exactly_what_is_asked_for(trees: ModuleType, backend: str) -> None:
    """An eviction frees the tokens asked for, rounded up to pages."""
    tree = trees.Tree("radix", 64, backend, page_size=4)
    run = trees.Run(tree, list(range(41)))
    run.prefill(8192)
    run.end()
    left = tree.cache.evictable_size()
    assert left == 40
    for pages in (6, 9, 10, 16):
        before = len(tree.pool.free_pages)
        assert tree.free_to(pages) == 4 * max(0, pages - before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_events_tell_what_is_cached(trees: ModuleType, backend: str) -> None:
    """A subscriber of KV events that adds and removes pages knows the contents at any time."""
    from sglang.srt.disaggregation.kv_events import BlockRemoved, BlockStored

    tree = trees.Tree("radix", 24, backend, page_size=1, events=True)
    trie = TokenTrie.from_parents([-1, 0, 1, 2, 1, 4, 5, -1, 7, 8, 8, 10])
    known: set[int] = set()
    for number in range(200):
        query = number * 7 % len(trie)
        ids = [100 + token for token in trie.path(query)]
        run = trees.Run(tree, [*ids, 1000 + number])
        run.prefill(8192)
        run.end()
        for event in tree.cache.take_events():
            if isinstance(event, BlockStored):
                assert not known & set(event.block_hashes), "stored twice"
                known |= set(event.block_hashes)
            elif isinstance(event, BlockRemoved):
                assert set(event.block_hashes) <= known, "removed what was not stored"
                known -= set(event.block_hashes)
        assert len(known) == tree.cache.evictable_size()
