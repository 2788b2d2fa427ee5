"""Variables carry values though there is no solution: only proven or checked values are read."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mip.solver import SOLVERS, Outcome, pulp, solve
from tests.mip.programs import infeasible_program, small_program
from theory.errors import OptimumError


def test_pulp_leaves_values_in_an_infeasible_program() -> None:
    """The fault that this file is about; when PuLP mends it, this test may go."""
    problem, x = infeasible_program()
    problem.solve(pulp.HiGHS(msg=False, threads=1))
    assert x.varValue is not None


@pytest.mark.parametrize("solver", SOLVERS)
def test_they_are_not_read(solver: str) -> None:
    problem, x = infeasible_program()
    answer = solve(problem, solver=solver)
    assert answer.outcome is Outcome.infeasible and not answer.values
    with pytest.raises(OptimumError, match="x has no value"):
        answer[x]


@pytest.mark.parametrize(
    ("x", "y", "what"),
    [
        (0.0, 2.0, "violates x >= 1/2"),
        (1.0, 0.0, "violates 2x + 2y >= 3"),
        (0.75, 0.75, "is not integral"),
        (1.0, -1.0, "is below a bound"),
        (1.0, 10.0, "is above a bound"),
        (1.0, math.nan, "is no number"),
        (1.0, None, "is missing"),
    ],
)
@pytest.mark.parametrize("claim", [Outcome.proven, Outcome.feasible])
def test_a_claim_with_bad_values_is_nothing(
    monkeypatch: pytest.MonkeyPatch, claim: Outcome, x: float, y: float | None, what: str
) -> None:
    def liar(problem: Any, *_: object) -> tuple[Outcome, float]:
        for variable, value in zip(problem.variables(), (x, y), strict=True):
            variable.varValue = value
        return claim, 1.0

    monkeypatch.setitem(SOLVERS, "highs", liar)
    answer = solve(small_program()[0])
    assert answer.outcome is Outcome.nothing, what
    assert answer.objective is None and not answer.values


def test_a_proof_is_not_taken_for_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Good values, "optimal", and a bound that leaves room: feasible, not proven."""

    def hasty(problem: Any, *_: object) -> tuple[Outcome, float]:
        for variable, value in zip(problem.variables(), (2.0, 1.0), strict=True):
            variable.varValue = value
        return Outcome.proven, 6.0

    monkeypatch.setitem(SOLVERS, "highs", hasty)
    answer = solve(small_program()[0])
    assert (answer.outcome, answer.objective, answer.bound) == (Outcome.feasible, 9.0, 6.0)
