"""The min-cost flow against brute force."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mip.flow import flow_optimum
from mip.schedule import schedule_cost
from tests.mip.oracle import brute_force, small_forests
from tests.mip.strategies import instances
from theory.model import Instance
from theory.trie import TokenTrie


@settings(deadline=None, derandomize=True, max_examples=150)
@given(instances(), st.booleans())
def test_equals_brute_force(instance: Instance, bypass: bool) -> None:
    best = flow_optimum(instance, bypass=bypass)
    assert best.misses == brute_force(instance, bypass)
    assert best.proven and best.schedule is not None
    assert schedule_cost(instance, best.schedule, bypass) == best.misses


def test_every_small_forest() -> None:
    """All forests of 3 tokens, all sequences of 3 single queries, every capacity."""
    for parents in small_forests(3):
        trie = TokenTrie.from_parents(parents)
        for steps in product(range(3), repeat=3):
            least = max(trie.depth(query) for query in steps)
            for capacity in range(least, 4):
                instance = Instance(trie, capacity, [[query] for query in steps])
                for bypass in (False, True):
                    assert flow_optimum(instance, bypass=bypass).misses == brute_force(
                        instance, bypass
                    )


def test_closure_needs_the_shortest_intervals() -> None:
    """The chain 0, 2 and another token 1, on two slots.

    One slot is free while 1 is served. To keep 2 over (0, 3) saves as much as to keep its parent 0
    over (1, 3), but only the parent may stay alone.
    """
    trie = TokenTrie.from_parents([-1, -1, 0])
    best = flow_optimum(Instance(trie, 2, [[2], [0], [1], [2]]))
    assert best.misses == 4
    assert best.schedule is not None and best.schedule[2] == {0, 1}


@pytest.mark.parametrize("bypass", [False, True])
def test_one_step(bypass: bool) -> None:
    chain = TokenTrie.from_segments([(-1, 3)])
    assert flow_optimum(Instance(chain, 3, [[2]]), bypass=bypass).misses == 3
