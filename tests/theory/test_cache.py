"""PrefixCache: the invariants of the model and the protocol of a step."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.law import WITH_LAW, laws
from tests.theory.strategies import examples, instances
from theory.cache import PrefixCache, run
from theory.errors import CapacityError, InadmissibleStepError, InputError, PolicyError
from theory.eviction import POLICIES, EvictionPolicy, RandomisedPolicy, Step, make_policy
from theory.model import Instance
from theory.trie import ROOT, TokenTrie

NODE = tuple(f"{name}:granularity=node" for name in ("fifo", "filo", "lfu", "slru", "mru"))
SPECS = (*POLICIES, *NODE)


@pytest.mark.parametrize("spec", SPECS)
@given(instance=instances(most_tokens=10, most_steps=15, most_queries=3), seed=st.integers(0, 5))
@examples(60)
def test_the_invariants_of_the_model(spec: str, instance: Instance, seed: int) -> None:
    parents = instance.trie.parents()
    cache = PrefixCache(instance.trie, instance.capacity, spec, seed=seed)
    before: set[int] = set()
    total = 0
    for index, step in enumerate(instance.steps):
        footprint = set(instance.footprint(index))
        result = cache.serve(step)
        now = set(cache.cached)
        assert set(result.hits) == footprint & before
        assert set(result.misses) == footprint - before
        assert now == before - set(result.evicted) | footprint
        assert footprint <= now
        assert not footprint & set(result.evicted)
        assert len(now) <= instance.capacity
        assert all(parents[token] in now for token in now if parents[token] != ROOT)
        excess = max(0, len(before | footprint) - instance.capacity)
        if cache.policy.granularity == "token":
            assert len(result.evicted) == excess
        else:
            assert len(result.evicted) >= excess
            assert excess or not result.evicted
        # One at a time, always a leaf of what is left.
        left = set(before)
        for token in result.evicted:
            left.remove(token)
            assert token not in {parents[t] for t in left}
        total += result.cost
        before = now
    whole = run(instance, spec, seed=seed)
    assert whole.misses == total
    assert whole.hits + whole.misses == sum(
        len(instance.footprint(j)) for j in range(len(instance.steps))
    )
    assert whole.evicted == whole.misses - len(before)


@pytest.mark.parametrize("spec", [*WITH_LAW, *NODE])
@given(instance=instances(most_tokens=8, most_steps=10, most_queries=2))
@examples(40)
def test_a_fork_is_independent_and_has_the_same_coins(spec: str, instance: Instance) -> None:
    cache = PrefixCache(instance.trie, instance.capacity, spec, seed=1)
    half = len(instance.steps) // 2
    for step in instance.steps[:half]:
        cache.serve(step)
    state, coins = cache.state(), cache.fork()
    fork = cache.fork()
    served = [fork.serve(step) for step in instance.steps[half:]]
    assert cache.state() == state
    assert [cache.serve(step) for step in instance.steps[half:]] == served
    assert coins.state() == state
    # In the middle of a step too.
    step = instance.steps[-1]
    coins.begin(step)
    twin = coins.fork()
    while coins.excess > 0:
        coins.evict(coins.policy.choose(coins.leaves()))
    while twin.excess > 0:
        twin.evict(twin.policy.choose(twin.leaves()))
    assert coins.finish() == twin.finish()
    assert coins.state() == twin.state()


def test_node_granularity_splits_where_a_match_ends() -> None:
    trie, (abcd, abx, y, z) = TokenTrie.from_sequences(["abcd", "abx", "y", "z"])
    cache = PrefixCache(trie, 6, "node-lru")
    cache.serve([abcd])
    assert cache.node(abcd) == trie.path(abcd)
    step = cache.begin([abx])
    assert step.hits == trie.path(abx)[:2]
    assert step.split_off == trie.path(abcd)[2:]
    assert step.cuts == (trie.path(abcd)[1],)
    cache.finish()
    assert cache.node(abcd) == trie.path(abcd)[2:]
    assert cache.node(abx) == (abx,)
    cache.serve([y])
    # Two tokens more than asked for: the whole rest "cd" leaves.
    result = cache.serve([z])
    assert result.evicted == trie.path(abcd)[:1:-1]


def test_the_parts_of_a_split_node_stay_apart() -> None:
    trie, (abc, ab, x) = TokenTrie.from_sequences(["abc", "ab", "x"])
    cache = PrefixCache(trie, 3, "node-lru")
    cache.serve([abc])
    cache.serve([ab])
    cache.serve([abc])
    assert cache.serve([x]).evicted == (abc,)


def test_a_policy_may_choose_its_granularity_when_built() -> None:
    trie, (abcd, x) = TokenTrie.from_sequences(["abcd", "x"])
    for granularity, evicted in (("token", (3,)), ("node", (3, 2, 1, 0))):
        cache = PrefixCache(trie, 4, make_policy(f"fifo:granularity={granularity}"))
        cache.serve([abcd])
        assert cache.serve([x]).evicted == evicted


class Wrong(EvictionPolicy):
    """Names whatever it was given."""

    def __init__(self, victim: int) -> None:
        self.victim = victim

    def on_step(self, step: Step) -> None:
        pass

    def choose(self, leaves: Sequence[int]) -> int:
        return self.victim


@pytest.mark.parametrize("victim", [0, 2, 4, 7, -1])
def test_a_victim_that_is_no_evictable_leaf_is_an_error(victim: int) -> None:
    trie = TokenTrie.from_parents([-1, 0, -1, -1, -1])
    cache = PrefixCache(trie, 3, Wrong(victim))  # 0 is inner, 2 locked, 4 not cached, 7 unknown
    cache.serve([1, 3])
    with pytest.raises(PolicyError, match=r"Wrong chose .*, which is not an evictable leaf"):
        cache.serve([2])


def test_a_policy_serves_one_cache() -> None:
    star = Instance(TokenTrie.from_parents([-1, -1]), 1, [[0], [1]])
    policy = make_policy("leaf-lru")
    assert run(star, policy).misses == 2
    with pytest.raises(PolicyError, match="serves another cache already"):
        run(star, policy)


def test_a_policy_without_state_runs_but_says_so() -> None:
    cache = PrefixCache(TokenTrie.from_parents([-1, -1]), 1, Wrong(0))
    assert cache.serve([0]).cost == cache.serve([1]).cost == 1
    with pytest.raises(NotImplementedError, match=r"Wrong gives no state\(\)"):
        cache.state()


def test_an_unknown_granularity_is_an_error() -> None:
    policy = Wrong(0)
    policy.granularity = "block"  # type: ignore[assignment]
    with pytest.raises(PolicyError, match="'token' or 'node', not 'block'"):
        PrefixCache(TokenTrie.from_parents([-1]), 1, policy)


def test_the_parameters_of_a_cache_are_checked() -> None:
    trie = TokenTrie.from_parents([-1, -1])
    with pytest.raises(CapacityError):
        PrefixCache(trie, 0)
    with pytest.raises(InputError, match="'full' or 'all-but-last'"):
        PrefixCache(trie, 1, match="half")  # type: ignore[arg-type]
    cache = PrefixCache(trie, 1)
    with pytest.raises(InputError, match="step 0: the batch has no query"):
        cache.serve([])
    with pytest.raises(InputError, match="step 0: 2 is not a token"):
        cache.serve([2])
    with pytest.raises(InadmissibleStepError, match="step 0: its footprint of 2"):
        cache.serve([0, 1])
    assert cache.serve([0]).misses == (0,)


class FairCoin(RandomisedPolicy):
    """Tosses a coin at every step: the first leaf leaves at heads, else the last."""

    heads = True

    def on_step(self, step: Step) -> None:
        self.heads = self.random.random() < 0.5

    def tosses(self, step: Step) -> Sequence[Self]:
        other = self.fork(self.cache)
        self.heads, other.heads = True, False
        return [self, other]

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return {leaves[0 if self.heads else -1]: Fraction(1)}

    def state(self) -> bool:
        return self.heads


def test_a_step_begins_once_for_each_toss() -> None:
    star = TokenTrie.from_parents([-1, -1, -1])
    cache = PrefixCache(star, 2, FairCoin())
    cache.serve([0])
    cache.serve([1])
    before = set(cache.cached), cache.steps
    begun = cache.begin_each([2])
    assert [start.policy.cache for start in begun] == begun
    for start in begun:
        start.evict(start.policy.choose(start.leaves()))
        start.finish()
    assert [set(start.cached) for start in begun] == [{1, 2}, {0, 2}]
    assert (set(cache.cached), cache.steps) == before
    # Without coins there is one copy.
    (only,) = PrefixCache(star, 2, "leaf-lru").begin_each([0])
    assert only.finish().misses == (0,)


def test_the_coins_of_a_step_are_in_the_exact_law() -> None:
    star = TokenTrie.from_parents([-1, -1, -1])
    law = laws(Instance(star, 2, [[0], [1], [2], [0]]), f"{__name__}:FairCoin")
    assert law[2][0] == {frozenset({1, 2}): Fraction(1, 2), frozenset({0, 2}): Fraction(1, 2)}
    assert law[3][1] == Fraction(1, 2)
