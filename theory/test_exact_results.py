"""Exact competitive ratios: what holds on every sequence of a finite trie, with certificates.

Every result here is checked a second time by the verifier, which shares nothing with the solver
but the model.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from adversary.clock import clock_star
from adversary.granular import rlt_node, sglang
from adversary.slack import three_chains
from adversary.tries import broom, forests
from mip.minimax import randomised_bound
from theory.exact import (
    Arena,
    CycleRatio,
    ExactRatio,
    GameValue,
    certificate,
    cycle_ratio,
    exact_ratio,
    game_value,
)
from theory.exact.sweep import Row, solve, tasks
from theory.exact.verify import verify
from theory.harmonic import harmonic
from theory.trie import TokenTrie

STAR = TokenTrie.from_parents([-1, -1, -1])
CHAINS = TokenTrie.from_parents([-1, -1, -1, -1, 0, 1, 2])
"""Three chains of two tokens and a single one."""


def star(leaves: int) -> TokenTrie:
    return TokenTrie.from_parents([-1] * leaves)


def certified(result: ExactRatio | CycleRatio | GameValue) -> str:
    """The ratio that the verifier finds."""
    return verify(certificate(result)).ratio


def ratio(arena: Arena, policy: str) -> Fraction | None:
    """The exact ratio, complete and certified."""
    found = exact_ratio(arena, policy)
    assert found.complete
    assert certified(found) == found.text
    return found.ratio


def sweep(policy: str, nodes: range, betas: list[int], most_states: int) -> list[Row]:
    """All forests with so many nodes, B = 2 to 4, every least query length."""
    parents = [p for n in nodes for p in forests(n)]
    return [
        solve(task, most_states) for task in tasks(parents, [2, 3, 4], betas, range(1, 8), [policy])
    ]


# Theorem 1 is tight in every cell.


def leaf_lru_cells(nodes: range) -> dict[tuple[int, int, int], Fraction]:
    cells: dict[tuple[int, int, int], Fraction] = {}
    for row in sweep("leaf-lru", nodes, [1, 2], 100_000):
        assert row.complete and row.ratio is not None
        key = row.task.capacity, row.task.beta, row.u
        cells[key] = max(cells.get(key, Fraction(0)), row.ratio)
    return cells


def test_leaf_lru_is_exactly_theorem_1_in_every_cell() -> None:
    """Forests with at most 5 nodes; the slow test has 6."""
    for (capacity, _, u), worst in leaf_lru_cells(range(1, 6)).items():
        assert worst <= capacity - u + 1


@pytest.mark.slow
def test_leaf_lru_is_exactly_theorem_1_in_every_cell_up_to_six_nodes() -> None:
    cells = leaf_lru_cells(range(1, 7))
    assert len(cells) == 9
    for (capacity, _, u), worst in cells.items():
        assert worst == capacity - u + 1


# RLT on brooms: Marker's exact ratio.


@pytest.mark.parametrize("policy", ["rlt", "rlt-step"])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_rlt_on_brooms(policy: str, k: int) -> None:
    assert ratio(Arena(star(k + 1), k), policy) == harmonic(k)
    if k < 4:
        assert ratio(Arena(star(k + 2), k), policy) == 2 * harmonic(k) - 1


def test_rlt_on_the_large_broom() -> None:
    found = exact_ratio(Arena(star(6), 4), "rlt")
    assert (found.text, found.complete, found.states) == ("19/6", True, 6002)
    assert found.additive == 0


@pytest.mark.parametrize("length", [2, 3])
def test_a_handle_changes_nothing(length: int) -> None:
    trie, leaves = broom(length, 4)
    assert ratio(Arena(trie, 2 + length, queries=leaves), "rlt") == harmonic(3)


# "2 H_k - 1 on every trie" is false.


def test_single_queries_can_exceed_marker() -> None:
    """Three chains of two tokens, five single ones, B = k = 9."""
    for policy in ("rlt", "rlt-step"):
        found = cycle_ratio(three_chains(5), policy)
        assert found.ratio == Fraction(118463, 25200) > 2 * harmonic(9) - 1
        assert found.optimum_cost == 3
        assert certified(found) == "118463/25200"


def test_batches_of_two_exceed_marker() -> None:
    arena = Arena(TokenTrie.from_parents([-1, -1, -1, -1, -1, 0]), 4, beta=2)
    assert (arena.u, arena.k) == (2, 3)
    found = exact_ratio(arena, "rlt-step", most_states=8_000)
    assert not found.complete
    assert found.ratio == Fraction(43, 16) > 2 * harmonic(3) - 1
    assert certified(found) == "43/16"


def test_batches_of_three_exceed_marker_for_rlt() -> None:
    arena = Arena(CHAINS, 5, beta=3)
    assert (arena.u, arena.k) == (3, 3)
    assert ratio(arena, "rlt") == Fraction(11, 4) > 2 * harmonic(3) - 1


def test_single_queries_on_small_forests_do_not_exceed_marker() -> None:
    """Forests with 5 nodes; the slow tests have up to 7."""
    for row in sweep("rlt", range(5, 6), [1], 10_000):
        assert row.complete and row.ratio is not None
        assert row.ratio <= 2 * harmonic(row.k) - 1


@pytest.mark.slow
def test_rlt_on_all_868_instances_does_not_exceed_marker() -> None:
    rows = sweep("rlt", range(5, 8), [1], 100_000)
    assert len(rows) == 868 and all(row.complete for row in rows)
    attained = set()
    for row in rows:
        assert row.ratio is not None and row.ratio <= 2 * harmonic(row.k) - 1
        if row.ratio == 2 * harmonic(row.k) - 1:
            attained.add(row.k)
    assert attained == {2, 3, 4}


@pytest.mark.slow
def test_rlt_step_on_868_instances_does_not_exceed_marker() -> None:
    """Some have infinitely many distributions and are cut."""
    rows = sweep("rlt-step", range(5, 8), [1], 5_000)
    assert len(rows) == 868
    assert all(row.ratio is not None and row.ratio <= 2 * harmonic(row.k) - 1 for row in rows)
    assert sum(row.complete for row in rows) == 784


# Whole nodes.


@pytest.mark.parametrize("slots", range(3, 10))
def test_rlt_node_loses_the_logarithm(slots: int) -> None:
    instance = rlt_node(slots)
    queries = {query for step in instance.steps for query in step}
    arena = Arena(instance.trie, slots, queries=sorted(queries))
    assert ratio(arena, "rlt-node") == Fraction(slots + 1, 2)


def test_the_refresh_before_the_split_is_not_marking() -> None:
    arena = Arena(CHAINS, 5)
    assert arena.k == 5
    found = exact_ratio(arena, "sglang-lru")
    assert (found.text, found.complete, found.states) == ("6", True, 11_900)
    assert certified(cycle_ratio(sglang(), "sglang-lru")) == "6"
    assert certified(cycle_ratio(sglang(), "node-lru")) == "3"


@pytest.mark.slow
def test_the_refresh_before_the_split_with_six_slots() -> None:
    arena = Arena(TokenTrie.from_parents([-1, -1, -1, -1, 0, 1, 2, 3]), 6)
    assert ratio(arena, "sglang-lru") == 7 == arena.k + 1


# Other policies.


def test_fifo_exceeds_theorem_1_with_batches() -> None:
    arena = Arena(star(4), 3, beta=2)
    assert arena.k == 2
    assert ratio(arena, "fifo") == 3
    assert ratio(Arena(star(5), 4, beta=2), "fifo") == 4
    thrice = Arena(star(6), 4, beta=3)
    assert thrice.k == 2
    assert exact_ratio(thrice, "fifo").text == "4"


@pytest.mark.parametrize("capacity", [2, 3])
def test_clock_clear_on_stars(capacity: int) -> None:
    """2 B - 1 with B + 1 and with B + 2 leaves (not 2 B)."""
    assert ratio(Arena(star(capacity + 1), capacity), "clock-clear") == 2 * capacity - 1
    assert exact_ratio(Arena(star(capacity + 2), capacity), "clock-clear").ratio == 2 * capacity - 1
    assert certified(cycle_ratio(clock_star(capacity), "clock-clear")) == str(2 * capacity - 1)


def test_clock_clear_with_four_slots() -> None:
    assert exact_ratio(Arena(star(5), 4), "clock-clear").text == "7"


@pytest.mark.parametrize("policy", ["lfu", "slru", "mru", "filo", "hits-per-token"])
def test_policies_without_a_finite_ratio(policy: str) -> None:
    assert ratio(Arena(STAR, 2), policy) is None


# What is possible at all.


@pytest.mark.parametrize("k", [2, 3, 4])
def test_best_possible_ratios_on_brooms(k: int) -> None:
    """Theorems 2, 3 and 4: B - L - beta + 2 and H_k, on the broom with k + 1 leaves."""
    trie, leaves = broom(2, k + 1)
    arena = Arena(trie, k + 1, queries=leaves)
    found = game_value(arena)
    assert found.complete and certified(found) == str(k)
    assert randomised_bound(arena).ratio == harmonic(k)


def test_leaf_lru_is_not_optimal_on_every_trie() -> None:
    arena = Arena(TokenTrie.from_parents([-1, 0, 0, -1, 3]), 3, min_length=2)
    assert ratio(arena, "leaf-lru") == Fraction(4, 3)
    found = game_value(arena)
    assert found.complete and certified(found) == "5/4"


def test_values_on_small_forests_are_at_most_theorem_1() -> None:
    """The value never exceeds k, and the bound for randomised policies never exceeds H_k."""
    for task in tasks([p for n in (3, 4) for p in forests(n)], [2, 3], [1, 2], [1, 2], [""]):
        found = game_value(task.arena)
        assert found.complete and found.upper <= task.arena.k
        assert randomised_bound(task.arena, depth=4).ratio <= min(
            found.upper, harmonic(task.arena.k)
        )
