"""An objective that is not the schedule's: every cost is recomputed, a difference is fatal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx as nx
import pytest

import mip.belady
import mip.eviction
from mip.belady import farthest_next_use
from mip.eviction import solve_eviction
from mip.flow import flow_optimum
from mip.solver import SOLVERS, Outcome, solve
from tests.mip.programs import small_program
from theory.errors import OptimumError
from theory.model import Instance
from theory.trie import TokenTrie

# The query ab around two single tokens: one slot is free, so one hit is all there is to win.
INSTANCE = Instance(TokenTrie.from_parents([-1, 0, -1, -1]), 2, [[1], [2], [3], [1]])
MISSES = 5


def test_the_right_value() -> None:
    assert farthest_next_use(INSTANCE).misses == MISSES
    assert flow_optimum(INSTANCE).misses == MISSES
    assert [solve_eviction(INSTANCE, solver=solver).misses for solver in SOLVERS] == [MISSES] * 2


def test_the_objective_is_computed_from_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver's own objective is not even looked at."""

    def liar(problem: Any, *_: object) -> tuple[Outcome, None]:
        for variable in problem.variables():
            variable.varValue = 1.0
        problem.objective.value = lambda: 17.0
        return Outcome.feasible, None

    monkeypatch.setitem(SOLVERS, "highs", liar)
    assert solve(small_program()[0]).objective == 6


@pytest.mark.parametrize("off", [-1, 1])
def test_a_mip_objective_that_is_not_the_schedules(
    monkeypatch: pytest.MonkeyPatch, off: int
) -> None:
    def garbage(*arguments: Any, **options: Any) -> Any:
        answer = solve(*arguments, **options)
        assert answer.objective is not None
        return replace(answer, objective=answer.objective + off)

    monkeypatch.setattr(mip.eviction, "solve", garbage)
    message = f"the objective is {float(MISSES + off)}, its schedule has {MISSES} misses"
    with pytest.raises(OptimumError, match=message):
        solve_eviction(INSTANCE)


def test_a_flow_that_breaks_the_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every interval arc filled up: the schedule that it stands for does not fit."""

    def full(network: Any) -> tuple[int, Any]:
        flow: dict[Any, Any] = {}
        for tail, head, key, data in network.edges(keys=True, data=True):
            flow.setdefault(tail, {}).setdefault(head, {})[key] = data["capacity"]
        return 0, flow

    monkeypatch.setattr(nx, "network_simplex", full)
    with pytest.raises(OptimumError, match="not a schedule: after step 1"):
        flow_optimum(INSTANCE)


def test_a_count_that_is_not_the_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = mip.belady._sweep

    def one_hit_more(*arguments: Any) -> Any:
        return [(hits + 1, evicted) for hits, evicted in sweep(*arguments)]

    monkeypatch.setattr(mip.belady, "_sweep", one_hit_more)
    with pytest.raises(OptimumError, match="counts 1 misses, its schedule has 5"):
        farthest_next_use(INSTANCE)
