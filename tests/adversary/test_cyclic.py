"""Theorem 2 and Theorem 3: the instances on brooms."""

from __future__ import annotations

from collections import Counter

import pytest

from adversary.adaptive import chase
from adversary.cyclic import adaptive_cyclic, brush, cyclic, free_slots
from adversary.yao import yao
from theory.cache import run
from theory.errors import CapacityError, InputError
from theory.eviction import RandomisedPolicy
from theory.eviction.base import uniform
from theory.trie import TokenTrie

GRID = [
    (capacity, length, beta)
    for capacity in (2, 3, 5, 8)
    for length in (1, 2, 4)
    for beta in (1, 2, 3)
    if capacity - length - beta + 2 >= 1
]


class RandomLeaf(RandomisedPolicy):
    def on_step(self, step):
        pass

    def distribution(self, leaves):
        return uniform(leaves)


@pytest.mark.parametrize(("capacity", "length", "beta"), GRID)
def test_cyclic_is_the_broom_of_theorem_2(capacity, length, beta):
    instance = cyclic(capacity, length, beta)
    k = capacity - length - beta + 2
    assert (instance.k, instance.beta, instance.u) == (k, beta, length + beta - 1)
    assert instance.shortest == length
    assert len(instance.trie) == length - 1 + beta + k
    steps = run(instance.unrolled(2 * k), "leaf-lru").steps
    assert [step.cost for step in steps[1:]] == [1] * (len(steps) - 1)
    assert steps[0].cost == instance.u


@pytest.mark.parametrize(("capacity", "length", "beta"), GRID)
def test_adaptive_play_against_leaf_lru_is_the_static_cycle(capacity, length, beta):
    static = cyclic(capacity, length, beta)
    played = adaptive_cyclic("leaf-lru", capacity, length, beta, steps=len(static.steps))
    assert played.trie == static.trie
    assert played.steps == static.steps


@pytest.mark.parametrize(("capacity", "length", "beta"), GRID)
def test_adaptive_play_ends_in_a_cycle(capacity, length, beta):
    played = adaptive_cyclic("leaf-lru", capacity, length, beta)
    again = run(played.unrolled(3), "leaf-lru").steps
    assert len(played.cycle) == len(brush(capacity, length, beta).free)
    assert all(step.cost == 1 for step in again[1:])


def test_a_policy_object_and_the_number_of_steps():
    from theory.eviction.leaf_lru import LeafLRU

    played = adaptive_cyclic(LeafLRU(), 4, length=2, beta=2, steps=17)
    assert len(played.steps) == 17
    assert played.cycle_start is None
    assert played.notes["against"] == "LeafLRU"


def test_randomised_opponents_are_refused():
    with pytest.raises(InputError, match=r"RandomLeaf is randomised.*use the family yao"):
        adaptive_cyclic(RandomLeaf(), 4, steps=10)


@pytest.mark.parametrize("capacity", [0, -1, 2.5, True])
def test_bad_capacity(capacity):
    with pytest.raises(CapacityError):
        cyclic(capacity)


def test_no_room_for_one_batch():
    assert free_slots(4, 3, 2) == 1
    with pytest.raises(CapacityError, match="take 5 tokens, the capacity is 4; give at least 5"):
        cyclic(4, 3, 3)


def test_chasing_needs_something_that_is_not_cached():
    star = TokenTrie.from_parents([-1, -1])
    with pytest.raises(InputError, match="step 2: everything that may be asked for is cached"):
        chase(star, 2, "leaf-lru", [0, 1], 5)


def test_chasing_a_randomised_policy_is_seeded():
    star = TokenTrie.from_parents([-1] * 6)
    games = [chase(star, 3, RandomLeaf(), range(6), 60, seed=s).steps for s in (1, 1, 2)]
    assert games[0] == games[1] != games[2]
    replay = run(chase(star, 3, RandomLeaf(), range(6), 60, seed=1), RandomLeaf(), seed=1)
    assert replay.misses == 60


def test_yao_is_uniform_and_seeded():
    instance = yao(4, length=3, beta=2, extra=1, steps=4000, seed=5)
    fixed, free = brush(4, 3, 2, 1)[1:]
    assert instance.k == free_slots(4, 3, 2) == 1
    assert len(free) == instance.k + 2
    assert all(step[:-1] == fixed for step in instance.steps)
    counts = Counter(step[-1] for step in instance.steps)
    assert set(counts) == set(free)
    # Six standard deviations around the mean of a binomial count.
    for count in counts.values():
        assert abs(count - 4000 / 3) < 6 * (4000 * (1 / 3) * (2 / 3)) ** 0.5
    assert yao(4, 3, 2, 1, 4000, seed=5).steps == instance.steps
    assert yao(4, 3, 2, 1, 4000, seed=6).steps != instance.steps
