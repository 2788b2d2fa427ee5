"""The three methods agree, also where brute force cannot follow."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mip.agreement
from mip.agreement import check_agreement
from mip.belady import farthest_next_use
from mip.schedule import Optimum
from mip.solver import SOLVERS
from tests.mip.oracle import brute_force, small_forests
from tests.mip.strategies import instances
from theory.errors import MissingProofError, OptimumError
from theory.model import Instance
from theory.trie import TokenTrie

FIXED = settings(deadline=None, derandomize=True, max_examples=40)


@FIXED
@given(
    instances(max_tokens=14, max_steps=25),
    st.booleans(),
    st.sampled_from(sorted(SOLVERS)),
)
def test_batches(instance: Instance, bypass: bool, solver: str) -> None:
    assert check_agreement(instance, bypass=bypass, solver=solver).proven


@FIXED
@given(instances(max_tokens=12, max_steps=20, max_slack=0), st.booleans())
def test_zero_slack(instance: Instance, bypass: bool) -> None:
    check_agreement(instance, bypass=bypass)


@FIXED
@given(instances(max_tokens=14, max_steps=20), st.integers(2, 4), st.booleans())
def test_pages(instance: Instance, size: int, bypass: bool) -> None:
    roomy = Instance(instance.trie, instance.capacity * size, instance.steps)
    check_agreement(roomy.paged(size), bypass=bypass)


@FIXED
@given(instances(max_tokens=12, max_steps=20))
def test_bypass_and_capacity_only_help(instance: Instance) -> None:
    locked = farthest_next_use(instance).require()
    larger = farthest_next_use(instance.with_capacity(instance.capacity + 1)).require()
    bypass = farthest_next_use(instance, bypass=True).require()
    distinct = instance.trie.footprint_size(q for step in instance.steps for q in step)
    assert distinct <= bypass <= locked
    assert larger <= locked


@pytest.mark.parametrize("bypass", [False, True])
def test_every_small_instance(bypass: bool) -> None:
    """All forests of 3 tokens and all sequences of 3 batches that are one query or all leaves."""
    for parents in small_forests(3):
        trie = TokenTrie.from_parents(parents)
        for steps in product(([0], [1], [2], [0, 1, 2]), repeat=3):
            least = max(trie.footprint_size(step) for step in steps)
            for capacity in range(least, 3):
                instance = Instance(trie, capacity, steps)
                assert check_agreement(instance, bypass=bypass).misses == brute_force(
                    instance, bypass
                )


@pytest.mark.parametrize("bypass", [False, True])
def test_one_slot(bypass: bool) -> None:
    """Capacity 1: without bypass only immediate repetitions hit, with it the hottest token."""
    star = Instance(TokenTrie.from_parents([-1] * 3), 1, [[q] for q in (0, 0, 1, 0, 2, 0, 0)])
    assert check_agreement(star, bypass=bypass).misses == (3 if bypass else 5)


def test_the_broom_of_theorem_2() -> None:
    """L = 3, B = 6, the 6 leaves in turn: 2 tokens of the chain, then the rule of Belady."""
    broom = TokenTrie.from_segments([(-1, 2)] + [(1, 1)] * 6)
    instance = Instance(broom, 6, [[2 + j % 6] for j in range(24)])
    assert check_agreement(instance).misses == brute_force_broom()


def brute_force_broom() -> int:
    """The leaves alone are paging with 4 slots and 6 pages, by its own greedy rule."""
    pages = [j % 6 for j in range(24)]
    cache: set[int] = set()
    faults = 0
    for now, page in enumerate(pages):
        if page in cache:
            continue
        faults += 1
        if len(cache) == 4:
            rest = pages[now + 1 :]
            cache.remove(max(cache, key=lambda p: rest.index(p) if p in rest else len(rest)))
        cache.add(page)
    return faults + 2


@pytest.mark.parametrize("method", ["flow_optimum", "solve_eviction"])
@pytest.mark.parametrize("off", [-1, 1])
def test_a_disagreement_is_an_error(monkeypatch: pytest.MonkeyPatch, method: str, off: int) -> None:
    right = getattr(mip.agreement, method)

    def wrong(instance: Instance, **options: object) -> Optimum:
        best = right(instance, **options)
        return replace(best, misses=best.misses + off, bound=best.bound + off)

    monkeypatch.setattr(mip.agreement, method, wrong)
    star = Instance(TokenTrie.from_parents([-1] * 3), 2, [[0], [1], [2], [0]])
    with pytest.raises(OptimumError, match="farthest-next-use finds the optimum 3"):
        check_agreement(star)


def test_without_a_proof_there_is_no_agreement() -> None:
    trie = TokenTrie.from_segments([(-1, 5), *((i % 5, 1 + i % 7) for i in range(40))])
    queries = [[(17 * j * j + 5 * j) % len(trie)] for j in range(120)]
    with pytest.raises(MissingProofError, match=r"eviction MIP \(highs\) ended with"):
        check_agreement(Instance(trie, 40, queries), time_limit=1e-6)
