"""The eviction MIP against brute force."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mip.eviction import solve_eviction
from mip.schedule import schedule_cost
from mip.solver import SOLVERS
from tests.mip.oracle import brute_force
from tests.mip.strategies import instances
from theory.model import Instance
from theory.trie import TokenTrie


@settings(deadline=None, derandomize=True, max_examples=60)
@given(instances(), st.booleans(), st.sampled_from(sorted(SOLVERS)))
def test_equals_brute_force(instance: Instance, bypass: bool, solver: str) -> None:
    best = solve_eviction(instance, bypass=bypass, solver=solver)
    assert best.misses == best.bound == brute_force(instance, bypass)
    assert best.proven and best.schedule is not None
    assert schedule_cost(instance, best.schedule, bypass) == best.misses


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_segment_is_kept_in_part(solver: str) -> None:
    """Chain abcd and a token x on four slots: three of the chain's tokens survive x."""
    trie = TokenTrie.from_segments([(-1, 4), (-1, 1)])
    best = solve_eviction(Instance(trie, 4, [[3], [4], [3]]), solver=solver)
    assert best.misses == 6
    assert best.schedule is not None and best.schedule[1] == {0, 1, 2, 4}


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_closure_is_stated(solver: str) -> None:
    """Tokens of the lower segment count only below a whole upper one."""
    trie = TokenTrie.from_segments([(-1, 3), (2, 2), (2, 1), (-1, 2)])
    instance = Instance(trie, 6, [[4, 5], [7], [4, 5]])
    best = solve_eviction(instance, solver=solver)
    assert best.misses == brute_force(instance) == 10


def test_nothing_to_decide() -> None:
    chain = TokenTrie.from_segments([(-1, 3)])
    assert solve_eviction(Instance(chain, 3, [[2]])).misses == 3


def test_non_consecutive_numbers_in_a_segment() -> None:
    """A segment is a chain of tokens that need not have consecutive numbers."""
    trie = TokenTrie.from_parents([-1, -1, 0, 1, 2])
    best = solve_eviction(Instance(trie, 3, [[4], [3], [4]]))
    assert best.misses == 7
    assert best.schedule is not None and best.schedule[1] == {0, 1, 3}
