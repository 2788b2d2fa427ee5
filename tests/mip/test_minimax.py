"""The lower bound for randomised policies."""

from __future__ import annotations

from fractions import Fraction

import pytest

from adversary.tries import broom, forests
from mip import minimax
from mip.minimax import randomised_bound
from theory.errors import InputError
from theory.exact import Arena, exact_ratio, game_value
from theory.harmonic import harmonic
from theory.trie import TokenTrie


@pytest.mark.parametrize(("capacity", "length"), [(2, 1), (3, 1), (4, 1), (3, 2), (4, 2)])
def test_theorem_3_on_brooms(capacity: int, length: int) -> None:
    trie, leaves = broom(length, capacity - length + 2)
    arena = Arena(trie, capacity, queries=leaves)
    assert randomised_bound(arena).ratio == harmonic(arena.k)


@pytest.mark.parametrize("beta", [1, 2])
@pytest.mark.parametrize("parents", list(forests(4)), ids=str)
def test_it_is_below_every_randomised_policy_and_theorem_4(
    parents: tuple[int, ...], beta: int
) -> None:
    for capacity in (2, 3):
        try:
            arena = Arena(TokenTrie.from_parents(parents), capacity, beta)
        except InputError:
            continue
        bound = randomised_bound(arena, depth=4)
        assert 1 <= bound.ratio <= harmonic(arena.k)
        assert float(bound.ratio) <= bound.program + 1e-6
        if not arena.trivial:
            found = exact_ratio(arena, "rlt", most_states=3_000)
            if found.complete and found.ratio is not None:
                assert bound.ratio <= found.ratio
            assert bound.ratio <= game_value(arena).upper


def test_longer_episodes_can_give_more() -> None:
    arena = Arena(TokenTrie.from_parents([-1, 0, 0, -1, 3]), 3, min_length=2)
    ratios = [randomised_bound(arena, depth=depth).ratio for depth in (6, 9, 12)]
    assert ratios == [1, Fraction(12, 11), Fraction(28, 25)]


def test_a_rounded_plan_is_still_a_bound() -> None:
    """However coarse the fractions, exact arithmetic gives a bound below the true value."""
    trie, leaves = broom(1, 4)
    game = minimax._Game(Arena(trie, 3, queries=leaves))
    nodes = game.histories(3)
    assert nodes is not None
    program = minimax._Program(game, nodes)
    _, plan = program.solve()
    rough = [program.evaluate(plan, denominator) for denominator in (1, 2, 3, 12)]
    assert all(1 <= ratio <= harmonic(3) for ratio in rough)
    assert rough[-1] == harmonic(3)
    assert program.evaluate([0.0] * len(nodes), 12) <= harmonic(3)


def test_where_nothing_can_be_forced_the_bound_is_trivial() -> None:
    assert randomised_bound(Arena(TokenTrie.from_parents([-1, -1]), 2)).ratio == 1


def test_too_many_work_functions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimax, "MOST_FUNCTIONS", 5)
    with pytest.raises(InputError, match="more than 5 work functions"):
        randomised_bound(Arena(TokenTrie.from_parents([-1] * 4), 2))
