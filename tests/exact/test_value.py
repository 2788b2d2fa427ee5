"""The value of the game."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from adversary.tries import broom, forests
from theory.errors import InputError
from theory.exact import Arena, exact_ratio, game_value
from theory.exact.ratio import Edges, largest_ratio
from theory.exact.value import keepable, set_up
from theory.trie import ROOT, TokenTrie


def small_arenas(most_nodes: int) -> list[Arena]:
    found = []
    for nodes, capacity, beta in product(range(3, most_nodes + 1), (2, 3), (1, 2)):
        for parents in forests(nodes):
            try:
                arena = Arena(TokenTrie.from_parents(parents), capacity, beta)
            except InputError:
                continue
            if not arena.trivial and arena.k > 1:
                found.append(arena)
    return found


@pytest.mark.parametrize(("capacity", "length"), [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_theorem_2_on_brooms(capacity: int, length: int) -> None:
    trie, leaves = broom(length, capacity - length + 2)
    found = game_value(Arena(trie, capacity, queries=leaves))
    assert found.upper == found.lower == capacity - length + 1


@pytest.mark.parametrize("arena", small_arenas(4), ids=lambda a: f"{a.trie.parents()},{a.capacity}")
def test_no_policy_is_below_the_value_and_leaf_lru_not_below_it(arena: Arena) -> None:
    found = game_value(arena)
    assert found.complete
    for policy in ("leaf-lru", "fifo", "clock"):
        ratio = exact_ratio(arena, policy).ratio
        assert ratio is None or ratio >= found.lower


def test_against_all_positional_policies() -> None:
    """On a board small enough, the best of all policies has the value."""
    arena = Arena(TokenTrie.from_parents([-1, 0, 0, -1, 3]), 3, min_length=2)
    board = set_up(arena, 1000)
    free = np.nonzero(board.counts > 1)[0]
    ratios = set()
    for picks in product(*(range(board.counts[i]) for i in free)):
        chosen = board.first.copy()
        chosen[free] += np.array(picks, dtype=np.int64)
        targets = board.options[chosen].reshape(board.cost.shape)
        extreme = largest_ratio(Edges(targets, board.cost, board.growth, 1, len(targets)))
        if extreme is not None and extreme.ratio is not None:
            ratios.add(extreme.ratio)
    assert len(ratios) > 1
    assert min(ratios) == game_value(arena).upper


def test_the_value_can_lie_strictly_between() -> None:
    """Two queries of length 2 below one token and one apart: no integer, and Leaf-LRU misses it."""
    arena = Arena(TokenTrie.from_parents([-1, 0, 0, -1, 3]), 3, min_length=2)
    found = game_value(arena)
    assert found.upper == found.lower == Fraction(5, 4)
    assert exact_ratio(arena, "leaf-lru").ratio == Fraction(4, 3)


def test_keepable_caches_are_closed_and_complete() -> None:
    parents = [-1, 0, 0, -1, 3, 4]
    for cache, footprint in ((0b000111, 0b011000), (0b001111, 0b111000), (0b111000, 0b000001)):
        wanted = [
            held
            for held in range(64)
            if held & ~(cache | footprint) == 0
            and held & footprint == footprint
            and held.bit_count() == min(4, (cache | footprint).bit_count())
            and all(parents[t] == ROOT or held >> parents[t] & 1 for t in range(6) if held >> t & 1)
        ]
        assert sorted(keepable(cache, footprint, 4, parents)) == wanted


def test_bad_input() -> None:
    star = TokenTrie.from_parents([-1, -1, -1])
    with pytest.raises(InputError, match="hold all"):
        game_value(Arena(star, 3))
    with pytest.raises(InputError, match="more than 5 states"):
        game_value(Arena(star, 2), most_states=5)
