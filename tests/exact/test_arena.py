"""The admissible steps of a finite trie."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.strategies import examples, parents
from theory.errors import CapacityError, InputError
from theory.eviction import POLICIES, make_policy
from theory.exact.arena import Arena, mask, sees
from theory.trie import ROOT, TokenTrie


@given(parents(6), st.integers(1, 5), st.integers(1, 3), st.integers(1, 3))
@examples(150)
def test_steps_are_all_admissible_batches(
    above: list[int], capacity: int, beta: int, length: int
) -> None:
    trie = TokenTrie.from_parents(above)
    queries = [q for q in range(len(trie)) if trie.depth(q) >= length]
    wanted = [b for b in combinations(queries, beta) if trie.footprint_size(b) <= capacity]
    if not wanted:
        with pytest.raises(InputError):
            Arena(trie, capacity, beta, min_length=length)
        return
    arena = Arena(trie, capacity, beta, min_length=length)
    assert arena.batches("queries") == wanted
    assert all(arena.footprint(b) == mask(trie.footprint(b)) for b in wanted)
    assert arena.u == min(map(trie.footprint_size, wanted))
    distinct = arena.batches("footprint")
    assert set(distinct) <= set(wanted)
    assert sorted(map(trie.footprint, distinct)) == sorted(set(map(trie.footprint, wanted)))
    assert {tuple(sorted(order)) for order in arena.batches("order")} == set(wanted)
    assert arena.universe == mask({t for b in wanted for t in trie.footprint(b)})
    assert arena.used_queries == tuple(sorted({q for b in wanted for q in b}))


@given(parents(7), st.integers(1, 7))
@examples(60)
def test_number_of_prefix_closed_caches(above: list[int], capacity: int) -> None:
    closed = 0
    for bits in range(2 ** len(above)):
        inside = [t for t in range(len(above)) if bits >> t & 1]
        kept = all(above[t] == ROOT or bits >> above[t] & 1 for t in inside)
        closed += kept and len(inside) <= capacity
    assert Arena(TokenTrie.from_parents(above), capacity).caches == closed


def test_what_policies_see() -> None:
    seen = {name: sees(make_policy(name)) for name in POLICIES}
    assert seen["rlt"] == seen["leaf-lru"] == "footprint"
    assert seen["sglang-lru"] == seen["lfu"] == "queries"
    assert seen["vllm-lru"] == "order"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"capacity": 0}, "not a positive whole number"),
        ({"capacity": 2, "beta": 0}, "beta: 0"),
        ({"capacity": 2, "beta": 4}, "only 3 queries"),
        ({"capacity": 2, "min_length": 2}, "only 0 queries"),
        ({"capacity": 2, "queries": [5]}, "not a token"),
        ({"capacity": 1, "beta": 2}, "no batch of 2 queries fits"),
    ],
)
def test_bad_input(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Arena(TokenTrie.from_parents([-1, -1, -1]), **arguments)  # type: ignore[arg-type]


def test_capacity_is_checked() -> None:
    with pytest.raises(CapacityError):
        Arena(TokenTrie.from_parents([-1]), True)


def test_too_many_steps_are_refused_at_once() -> None:
    star = TokenTrie.from_parents([-1] * 200)
    with pytest.raises(InputError, match="more than the 20,000"):
        Arena(star, 50, beta=10)
    with pytest.raises(InputError, match="more than the 20,000"):
        Arena(star, 50, beta=2).batches("order")
