"""Any eviction policy on a worker: against the fast caches, and against the executable one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical.cluster import evictions
from empirical.cluster.cache import BlockCache
from empirical.cluster.evictions import EVICTIONS, FAST, make_cache
from empirical.cluster.leaf_cache import RLTCache
from empirical.cluster.policy_cache import PolicyCache
from empirical.cluster.profiles import Profile
from empirical.cluster.simulate import ClusterRun, simulate
from empirical.cluster.worker import Batching
from empirical.traces.workload import parse
from tests.cluster.driver import Workload, evicted
from tests.cluster.test_cache import PROMPTS, serve, spy
from tests.theory.strategies import examples
from theory.cache import PrefixCache
from theory.errors import PolicyError
from theory.eviction import POLICIES, EvictionPolicy, Step, make_policy
from theory.eviction.lfu import LFU
from theory.eviction.rlt import RLT
from theory.eviction.rlt_step import StepRLT
from theory.trie import TokenTrie

FLAT = Profile("flat", "", fixed_ms=10, prefill_ms_per_token=1, decode_ms_per_sequence=2)


@pytest.mark.parametrize("eviction", ["leaf-lru", "sglang-lru"])
def test_deterministic_ones_equal_the_fast_caches(eviction: str) -> None:
    def test(seed: int) -> BlockCache:
        load = Workload(seed)
        parents = load.trie.parents()
        fast = load.drive(make_cache(eviction, parents, load.capacity))
        slow = load.drive(PolicyCache(parents, load.capacity, make_policy(eviction)))
        for event in load.events:
            fast.event(*event)
            slow.event(*event)
            assert slow.cache.locks == fast.cache.locks
            assert slow.running == fast.running
            assert (slow.cache.free, slow.cache.evicted) == (fast.cache.free, fast.cache.evicted)
        return slow.cache

    assert evicted(test) > 1000


@pytest.mark.parametrize("eviction", ["rlt", "rlt-step"])
def test_randomised_ones_have_the_law_of_the_fast_caches(eviction: str) -> None:
    """Whatever has been drawn so far, the next victim has the same law, locks or not."""
    drawn: list[tuple[list[int], int]] = []

    def choose(self: RLT | StepRLT, leaves: Sequence[int]) -> int:
        candidates, victim = drawn.pop(0)
        law = self.distribution(leaves)
        assert sorted(law) == candidates
        assert set(law.values()) == {Fraction(1, len(law))}
        return victim

    def test(seed: int) -> BlockCache:
        load = Workload(seed)
        parents = load.trie.parents()
        fast_cache = make_cache(eviction, parents, load.capacity, seed)
        assert isinstance(fast_cache, RLTCache)
        spy(fast_cache, drawn)
        policy = type("Told", (type(make_policy(eviction)),), {"choose": choose})()
        fast = load.drive(fast_cache)
        slow = load.drive(PolicyCache(parents, load.capacity, policy))
        for event in load.events:
            fast.event(*event)
            slow.event(*event)
            assert not drawn
            assert slow.cache.locks == fast.cache.locks
            assert policy.marked == fast_cache.marked
        return slow.cache

    assert evicted(test) > 1000


def figures(run: ClusterRun) -> list[Any]:
    columns = ("arrival", "first_token", "finish", "worker", "hits", "recomputed")
    return [*(getattr(run, name).tolist() for name in columns), run.workers]


@pytest.mark.parametrize("eviction", ["leaf-lru", "sglang-lru"])
@pytest.mark.parametrize(
    "workload",
    [
        "gsp:groups=8,prompts=6,lengths=512,rate=60",
        "sharegpt:clients=8,turns=5,rate=40",  # answers are kept for the next turn
    ],
)
@pytest.mark.parametrize("scheduler", ["prefill-first", "mixed"])
def test_whole_runs_equal_those_of_the_fast_caches(
    monkeypatch: pytest.MonkeyPatch, eviction: str, workload: str, scheduler: str
) -> None:
    """Chunks, retractions and answers included."""
    trace = parse(workload)
    need = int((trace.input_length + trace.output_length).max())

    def run() -> ClusterRun:
        return simulate(
            trace,
            "lbgr",
            eviction,
            profiles=[FLAT] * 2,
            capacity=3 * need // 2 + 4 * trace.block_size,
            batching=Batching(scheduler, chunk=200, reserve=0.0),
            seed=2,
        )

    fast = run()
    monkeypatch.setattr(evictions, "FAST", {})
    assert figures(run()) == figures(fast)
    assert sum(worker.evicted for worker in fast.workers) > 0


LATER = {
    "arc": ("aaaa abab aab bb aba", 5),
    "2q": ("aba baaa abab bbb ba", 5),
    "gdsf": ("baaa bab bba aa", 4),
    "lfu-ageing": ("aaaa abab aab bb aba", 5),
}
"""Policies that look at what a query asks for before they make room for it: where that tells."""


@pytest.mark.parametrize("eviction", LATER)
def test_some_learn_later_than_in_the_executable_cache(eviction: str) -> None:
    """They differ after the last query, and no earlier: its demand was not known before it ran."""
    words, capacity = LATER[eviction]
    trie, ends = TokenTrie.from_sequences(words.split())
    model = PrefixCache(trie, capacity, eviction)
    cache = PolicyCache(trie.parents(), capacity, make_policy(eviction))
    same = []
    for end in ends:
        model.serve([end])
        serve(cache, trie.path(end))
        same.append(set(cache.locks) == set(model.cached))
    assert same == [True] * (len(ends) - 1) + [False]


@pytest.mark.parametrize("eviction", [name for name in EVICTIONS if name not in LATER])
@given(PROMPTS, st.integers(5, 9), st.integers(0, 9))
@examples(40)
def test_one_after_another_they_equal_the_executable_cache(
    eviction: str, prompts: list[str], capacity: int, seed: int
) -> None:
    """The same leaves, the same law, the same victims; marks are where they are in the model."""
    trie, ends = TokenTrie.from_sequences(prompts)
    model = PrefixCache(trie, capacity, eviction, seed=seed)
    cache = PolicyCache(trie.parents(), capacity, make_policy(eviction), seed)
    for end in ends:
        served = model.serve([end])
        assert serve(cache, trie.path(end)) == len(served.hits)
        assert set(cache.locks) == set(cache.cached) == set(model.cached)


@pytest.mark.parametrize("eviction", [*EVICTIONS, "fifo:granularity=node", "lfu:granularity=node"])
def test_a_policy_meets_its_protocol(eviction: str) -> None:
    """Hits are what was told before, misses are new, and leaves are told and evictable."""
    splits: list[Step] = []

    def test(seed: int) -> BlockCache:
        load = Workload(seed)
        policy = make_policy(eviction)
        cache = PolicyCache(load.trie.parents(), load.capacity, policy)
        known: set[int] = set()
        last: list[Step] = []
        on_step, on_evict, choose = policy.on_step, policy.on_evict, policy.choose

        def told(step: Step) -> None:
            assert step.tokens == load.trie.footprint(step.queries)
            assert set(step.hits) == known & set(step.tokens)
            assert set(step.misses) == set(step.tokens) - known
            assert known.issuperset((*step.split_off, *step.cuts))
            assert not last or step.number >= last[-1].number
            assert set(cache.cached) == known
            last[:] = [step]
            if step.split_off:
                splits.append(step)
            on_step(step)
            known.update(step.misses)

        def goes(token: int) -> None:
            known.remove(token)
            on_evict(token)

        def chooses(leaves: Sequence[int]) -> int:
            free = {block for block, locks in cache.locks.items() if not locks}
            assert list(leaves) == sorted(free - set(cache.below))
            assert known.issuperset(leaves)
            assert not last[-1].misses
            return choose(leaves)

        for name, method in (("on_step", told), ("on_evict", goes), ("choose", chooses)):
            setattr(policy, name, method)
        driver = load.drive(cache)
        for event in load.events:
            driver.event(*event)
        return cache

    assert evicted(test) > 1000
    assert bool(splits) == (make_policy(eviction).granularity == "node")


def test_a_query_is_one_use_of_its_blocks() -> None:
    """Admission, two chunks and the end are four uses of the memory, but one of each block."""
    policy = LFU()
    cache = PolicyCache([-1, 0], 4, policy)
    for uses in (1, 2):
        matched = cache.admit([0, 1])
        assert matched is not None
        for place in range(matched, 2):
            cache.commit([0, 1], place, place + 1)
        cache.release([0, 1], 0)
        assert policy.uses == {0: uses, 1: uses}


def test_an_answer_that_is_kept_is_a_step_with_its_whole_path() -> None:
    """As a worker ends a query whose prompt is blocks 0 and 1 and whose answer adds block 2."""
    policy = LFU()
    cache = PolicyCache([-1, 0, 1], 4, policy)
    assert cache.admit([0, 1], extra=1) == 0
    cache.commit([0, 1], 0, 2)
    cache.commit([0, 1, 2], 2, 3)
    cache.release([0, 1], 0)
    cache.release([2], 0)
    assert policy.uses == {0: 2, 1: 2, 2: 1}
    assert cache.leaves() == [2]


def test_a_leaf_that_gets_a_child_is_no_candidate() -> None:
    """Two compute 0 and 1; the shorter ends first, then the longer inserts 2 below it."""
    cache = PolicyCache([-1, 0, 1], 5, LFU())
    assert cache.admit([0, 1, 2]) == cache.admit([0, 1]) == 0
    cache.commit([0, 1], 0, 2)
    cache.release([0, 1], 0)
    assert cache.leaves() == [1]
    cache.commit([0, 1, 2], 0, 3)
    assert cache.leaves() == []
    cache.release([0, 1, 2], 0)
    assert cache.leaves() == [2]


def test_a_phase_ends_where_locks_leave_only_marked_leaves() -> None:
    """Three marks in a cache of four are no reason for the model; a held leaf makes it one."""
    policy = RLT()
    cache = PolicyCache([-1] * 4, 4, policy)
    for block in (0, 1):
        serve(cache, (block,))
    assert cache.admit([2]) == 0
    cache.commit([2], 0, 1)
    assert policy.marked == {0, 1, 2}
    assert cache.admit([3], extra=1) == 0  # 0 or 1 must go
    assert policy.marked == {2}
    assert len(cache.locks) == 2


class Broken(EvictionPolicy):
    """A rule that has no victim where other blocks are held."""

    def on_step(self, step: Step) -> None:
        self.oldest = min(self.cache.cached, default=0)

    def choose(self, leaves: Sequence[int]) -> int:
        return {leaf: leaf for leaf in leaves}[self.oldest]


class Astray(Broken):
    def choose(self, leaves: Sequence[int]) -> int:
        return 99


def test_a_rule_that_breaks_is_told_in_one_line() -> None:
    for policy, message in (
        (Broken(), r"Broken: finds no victim among 1 evictable leaves \(KeyError: 0\); let choose"),
        (Astray(), "Astray chose 99, which is not an evictable leaf"),
    ):
        cache = PolicyCache([-1, -1, -1], 2, policy)
        serve(cache, (0,))
        serve(cache, (1,))
        assert cache.admit([0]) == 1
        with pytest.raises(PolicyError, match=message):
            cache.grow(1)


def test_names_and_parameters() -> None:
    cache = make_cache("slru:threshold=3", [-1], 1)
    assert isinstance(cache, PolicyCache)
    assert vars(cache.policy)["threshold"] == 3
    own = make_cache("theory.eviction.leaf_lru:LeafLRU", [-1], 1)
    assert isinstance(own, PolicyCache)
    for name in FAST:
        assert not isinstance(make_cache(name, [-1], 1), PolicyCache)
    assert set(POLICIES) - set(EVICTIONS) == {"onlinemin"}
    for name, message in (
        ("onlinemin", "does not run on a worker; choose from 2q, arc"),
        ("onlinemin:epoch=2", "does not run on a worker"),
        ("theory.eviction.onlinemin:OnlineMIN", "may hold the only blocks that it allows"),
        ("fifi", "'fifi': is unknown; choose from 2q, arc"),
        ("fifi:a=1", "'fifi:a=1': is unknown"),
        ("fifo:threshold=1", "no parameter 'threshold'"),
        ("no_such_module:Policy", "cannot import"),
    ):
        with pytest.raises(PolicyError, match=message):
            make_cache(name, [-1], 1)


def test_a_users_class_equals_the_built_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_lru.py").write_text(
        "from theory.eviction.leaf_lru import LeafLRU\n\n\nclass Policy(LeafLRU):\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    trace = parse("gsp:groups=8,prompts=6,lengths=512,rate=60")
    runs = [
        simulate(trace, "lbgr", name, profiles=[FLAT] * 2, capacity=2048)
        for name in ("leaf-lru", "my_lru:Policy")
    ]
    assert figures(runs[0]) == figures(runs[1])
    assert np.isfinite(runs[1].finish).all()
