"""Theorem 4: Seated OnlineMIN pays at most H_k OPT; the exact ratio of its real cache."""

from __future__ import annotations

from fractions import Fraction

import pytest

from adversary.tries import forests
from theory.exact import Arena, certificate, exact_ratio
from theory.exact.sweep import Row, solve, tasks
from theory.exact.verify import verify
from theory.harmonic import harmonic
from theory.trie import TokenTrie

POLICY = "onlinemin:epoch=0"


def rows(nodes: range, most_states: int) -> list[Row]:
    """All forests with so many nodes, B = 2 and 3, batches of 1 and 2, every least query length."""
    found = tasks((p for n in nodes for p in forests(n)), [2, 3], [1, 2], range(1, 6), [POLICY])
    return [solve(task, most_states) for task in found]


def check(found: list[Row]) -> None:
    """No ratio exceeds H_k, and H_k is reached in every cell."""
    worst: dict[tuple[int, int, int], Fraction] = {}
    for row in found:
        assert row.ratio is not None and row.ratio <= harmonic(row.k)
        if row.complete:
            cell = row.task.capacity, row.task.beta, row.u
            worst[cell] = max(worst.get(cell, Fraction(0)), row.ratio)
    assert worst == {
        (capacity, beta, u): harmonic(capacity - u + 1)
        for capacity, beta, u in [(2, 1, 1), (3, 1, 1), (3, 1, 2), (3, 2, 2)]
    }


def test_the_real_cache_has_ratio_exactly_the_harmonic_number_in_every_cell() -> None:
    found = rows(range(1, 5), 2_000)
    check(found)
    assert len(found) == 30
    assert sum(not row.complete for row in found) == 3


@pytest.mark.slow
def test_the_same_up_to_five_tokens() -> None:
    found = rows(range(1, 6), 3_000)
    check(found)
    assert len(found) == 95
    assert sum(not row.complete for row in found) == 13


@pytest.mark.parametrize(
    ("parents", "capacity", "beta"),
    [([-1, -1, -1, -1], 3, 1), ([-1, 0, -1, -1], 2, 1), ([-1, 0, 0, -1], 3, 2)],
)
def test_a_certificate_that_the_verifier_accepts(
    parents: list[int], capacity: int, beta: int
) -> None:
    arena = Arena(TokenTrie.from_parents(parents), capacity, beta)
    found = exact_ratio(arena, POLICY)
    assert found.complete and found.ratio == harmonic(arena.k) and found.additive == 0
    assert verify(certificate(found)).ratio == str(harmonic(arena.k))


def test_below_the_worst_case_it_can_cost_more_than_rlt() -> None:
    # The least ratio over all tries is what is optimal; on this one RLT has a smaller ratio.
    arena = Arena(TokenTrie.from_parents([-1, 0, -1, -1]), 3)
    found = exact_ratio(arena, POLICY, most_states=2_000)
    other = exact_ratio(arena, "rlt")
    assert other.complete and other.ratio == Fraction(3, 2)
    assert found.ratio is not None and Fraction(5, 3) <= found.ratio <= harmonic(3)
