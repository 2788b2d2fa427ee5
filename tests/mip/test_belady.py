"""Farthest-next-use against brute force, and on the golden trace."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mip.belady import farthest_next_use, farthest_next_use_counts
from mip.schedule import schedule_cost, step_hits
from tests.mip.oracle import brute_force, small_forests
from tests.mip.strategies import instances
from theory.errors import CapacityError, InadmissibleStepError, InputError
from theory.model import Instance
from theory.trie import TokenTrie

FIXED = settings(deadline=None, derandomize=True, max_examples=150)


def counts(instance: Instance, bypass: bool) -> list[int]:
    starts, queries = [0], []
    for step in instance.steps:
        queries.extend(step)
        starts.append(len(queries))
    return farthest_next_use_counts(
        instance.trie.parents(), starts, queries, instance.capacity, bypass=bypass
    )


@FIXED
@given(instances(), st.booleans())
def test_equals_brute_force(instance: Instance, bypass: bool) -> None:
    best = farthest_next_use(instance, bypass=bypass)
    assert best.misses == brute_force(instance, bypass)
    assert best.misses == brute_force(instance, bypass, closed=False)  # Lemma 1
    assert best.proven and best.schedule is not None
    assert schedule_cost(instance, best.schedule, bypass) == best.misses
    assert farthest_next_use(instance, bypass=bypass, schedule=False).misses == best.misses


@FIXED
@given(instances(max_tokens=12, max_steps=20), st.booleans())
def test_counts_are_those_of_the_schedule(instance: Instance, bypass: bool) -> None:
    best = farthest_next_use(instance, bypass=bypass)
    assert best.schedule is not None
    assert counts(instance, bypass) == step_hits(instance, best.schedule)


def test_every_small_forest() -> None:
    """All forests of 3 tokens, all sequences of 4 single queries, every capacity."""
    for parents in small_forests(3):
        trie = TokenTrie.from_parents(parents)
        for steps in product(range(3), repeat=4):
            least = max(trie.depth(query) for query in steps)
            for capacity in range(least, 4):
                instance = Instance(trie, capacity, [[query] for query in steps])
                for bypass in (False, True):
                    assert farthest_next_use(instance, bypass=bypass).misses == brute_force(
                        instance, bypass
                    )


def test_worked_by_hand() -> None:
    """One slot, the queries abab: all miss; with bypass a is kept and b is refused."""
    star = Instance(TokenTrie.from_parents([-1, -1]), 1, [[0], [1], [0], [1]])
    assert farthest_next_use(star).misses == 4
    assert farthest_next_use(star, bypass=True).misses == 3


def test_repeated_query_misses_once() -> None:
    chain = Instance(TokenTrie.from_segments([(-1, 3)]), 3, [[2], [2], [1, 2, 2]])
    for bypass in (False, True):
        assert farthest_next_use(chain, bypass=bypass).misses == 3


def test_ties_leave_deeper_tokens_first() -> None:
    """Nothing is used again: the victims are the deepest tokens of the old chain."""
    trie = TokenTrie.from_segments([(-1, 3), (-1, 2)])
    best = farthest_next_use(Instance(trie, 3, [[2], [4]]))
    assert best.schedule == (frozenset({0, 1, 2}), frozenset({0, 3, 4}))


def test_pages() -> None:
    """Two queries of 9 tokens share 4: at page 4 three pages each, one of them shared."""
    trie = TokenTrie.from_segments([(-1, 9), (3, 5)])
    instance = Instance(trie, 20, [[8], [13], [8]]).paged(4)
    assert farthest_next_use(instance).misses == 5
    assert farthest_next_use(instance.with_capacity(3)).misses == 7
    assert farthest_next_use(instance.with_capacity(3), bypass=True).misses == 5


def test_bypass_serves_a_query_longer_than_the_capacity() -> None:
    chain, starts, queries = [-1, 0, 1], [0, 1, 2], [2, 2]
    assert farthest_next_use_counts(chain, starts, queries, 2, bypass=True) == [0, 2]
    with pytest.raises(InadmissibleStepError, match="step 0: its footprint of 3 tokens exceeds"):
        farthest_next_use_counts(chain, starts, queries, 2)


def test_arrays_and_empty_steps() -> None:
    hits = farthest_next_use_counts(np.array([-1, 0]), np.array([0, 1, 1, 2]), np.array([1, 1]), 2)
    assert hits == [0, 0, 2]


@pytest.mark.parametrize(
    ("parent", "step_start", "query", "message"),
    [
        ([-1, 1], [0, 1], [0], "parent 1 of node 1 is no earlier node"),
        ([-1], [0, 2], [0], "step_start: does not run from 0 to 1 queries"),
        ([-1], [0, 1, 0, 1], [0], r"step_start\[2\]: decreases"),
        ([-1], [0, 1], [3], "step 0: 3 is no node"),
    ],
)
def test_bad_arrays(
    parent: list[int], step_start: list[int], query: list[int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        farthest_next_use_counts(parent, step_start, query, 1)


def test_capacity_zero() -> None:
    with pytest.raises(CapacityError, match="0 is not a positive whole number"):
        farthest_next_use_counts([-1], [0, 1], [0], 0)


def test_golden_conversation_trace() -> None:
    """Token hit rate over the last half of the requests, published for this trace."""
    folder = os.environ.get("KVBOUNDS_TRACES")
    if folder is None:
        pytest.skip("KVBOUNDS_TRACES names no folder of traces")
    lines = (Path(folder) / "mooncake_conversation_trace.jsonl").read_text().splitlines()
    rows = sorted((json.loads(line) for line in lines), key=lambda row: row["timestamp"])
    node: dict[int, int] = {}
    parent: list[int] = []
    query: list[int] = []
    for row in rows:
        above = -1
        for block in row["hash_ids"]:
            if block not in node:
                node[block] = len(parent)
                parent.append(above)
            above = node[block]
        query.append(above)
    assert len(parent) == 182_790
    half = range(len(rows) // 2, len(rows))
    prompt = [row["input_length"] for row in rows]
    for capacity, golden in ((2_048, 0.2684), (8_192, 0.3981), (32_768, 0.3981)):
        hits = farthest_next_use_counts(parent, range(len(rows) + 1), query, capacity, bypass=True)
        tokens = sum(min(512 * hits[row], prompt[row]) for row in half)
        assert round(tokens / sum(prompt[row] for row in half), 4) == golden
