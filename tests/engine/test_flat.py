"""Sequences as arrays: validation, contraction to runs, footprints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.engine.instances import instances
from theory.engine import Flat, optimum, simulate
from theory.engine.arrays import Runs
from theory.errors import CapacityError, InadmissibleStepError, InputError
from theory.model import Instance


def units(flat: Flat, runs: Runs) -> list[list[int]]:
    """The units of each run, by their numbers."""
    start = np.cumsum(runs.weight) - runs.weight
    return [
        list(range(int(s), int(s + w))) for s, w in zip(start, runs.weight.tolist(), strict=True)
    ]


@given(instances())
def test_the_footprints_are_those_of_the_trie(instance: Instance) -> None:
    flat = Flat.from_instance(instance)
    for runs in (flat.runs, flat.singles):
        members = units(flat, runs)
        for step in range(flat.steps):
            used = runs.use[runs.start[step] : runs.start[step + 1]].tolist()
            assert used == sorted(set(used))
            tokens = [token for run in used for token in members[run]]
            assert tuple(tokens) == instance.footprint(step)
    assert flat.footprint.tolist() == [len(instance.footprint(j)) for j in range(flat.steps)]
    seen: set[int] = set()
    for step, distinct in enumerate(flat.distinct.tolist()):
        seen |= set(instance.footprint(step))
        assert distinct == len(seen)


@given(instances())
def test_a_run_is_used_as_a_whole_and_no_longer_one_is(instance: Instance) -> None:
    flat = Flat.from_instance(instance)
    members = units(flat, flat.runs)
    where = {token: number for number, tokens in enumerate(members) for token in tokens}
    ends = {query for step in instance.steps for query in step}
    parents = instance.trie.parents()
    for token in range(1, len(parents)):
        below_a_cut = parents[token] in ends or parents.count(parents[token]) > 1
        same = parents[token] == token - 1 and not below_a_cut
        assert (where[token] == where[token - 1]) == same


@given(instances())
def test_by_query_is_the_order_in_which_blocks_were_last_freed(instance: Instance) -> None:
    flat = Flat.from_instance(instance)
    members = units(flat, flat.by_query)
    for step, queries in enumerate(instance.steps):
        expected: list[int] = []
        for query in reversed(queries):
            expected += [t for t in instance.trie.path(query) if t not in expected]
        runs = flat.by_query.use[flat.by_query.start[step] : flat.by_query.start[step + 1]]
        assert [token for run in runs.tolist() for token in members[run]] == expected


def test_a_query_twice_in_a_step_counts_once() -> None:
    twice = Flat(np.array([-1, 0, -1]), np.array([0, 3, 5]), np.array([2, 1, 2, 1, 1]))
    assert twice.query.tolist() == [2, 1, 1]
    assert twice.step_start.tolist() == [0, 2, 3]


def test_arrays_that_may_not_be_written_are_copied() -> None:
    query = np.array([0, 1])
    query.flags.writeable = False
    flat = Flat(np.array([-1, -1]), np.array([0, 1, 2]), query)
    assert simulate(flat, "rlt", 1).misses.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"parent": [0, 0]}, "/parent/0: parent 0 of node 0 is no earlier node"),
        ({"parent": [-1, -2]}, "/parent/1: parent -2 of node 1 is no earlier node"),
        ({"parent": [[-1, 0]]}, "/parent: is not a one-dimensional array of integers"),
        ({"parent": [-1.0, 0.5]}, "/parent: is not a one-dimensional array of integers"),
        ({"step_start": [0]}, "/step_start: the sequence has no step"),
        ({"step_start": [0, 1, 1, 2]}, "/step_start: the steps are not consecutive"),
        ({"step_start": [0, 1]}, "/step_start: the steps are not consecutive"),
        ({"query": [0, 2]}, "/query/1: 2 is not a node"),
        ({"query": [-1, 1]}, "/query/0: -1 is not a node"),
        ({"length": [1]}, "/length: wants one length a node"),
        ({"length": [1, 0]}, "/length: a length is not positive"),
    ],
)
def test_arrays_that_are_no_sequence(changed: dict[str, Any], message: str) -> None:
    good = {"parent": [-1, 0], "step_start": [0, 1, 2], "query": [0, 1]}
    with pytest.raises(InputError) as error:
        Flat(**{name: np.array(value) for name, value in {**good, **changed}.items()})
    assert str(error.value).startswith(message)


def test_capacities_are_checked_before_anything_runs() -> None:
    flat = Flat(np.array([-1, 0, -1]), np.arange(3), np.array([2, 1]))
    for serve in (lambda b: simulate(flat, "leaf-lru", b), lambda b: optimum(flat, b)):
        with pytest.raises(CapacityError):
            serve(0)
        with pytest.raises(InadmissibleStepError, match="step 1: its footprint of 2 tokens"):
            serve(1)
        assert serve(10**30).misses.tolist() == [1, 2]
    assert optimum(flat, 1, bypass=True).misses.tolist() == [1, 2]


def test_units_that_do_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = Flat(np.array([-1]), np.arange(2), np.array([0]), np.array([10**12]))
    assert simulate(flat, "leaf-lru", 10**12).misses.tolist() == [10**12]
    monkeypatch.setattr("theory.memory.available_memory", lambda: 2**30)
    with pytest.raises(InputError, match=r"1,000,000,000,000 units apart needs about .* 1.0 GiB"):
        simulate(flat, "fifo", 10**12)
