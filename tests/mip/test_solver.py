"""The adapter to PuLP: outcomes, bounds, values."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from typing import Any

import pytest

from mip.solver import SOLVERS, Outcome, Solution, pulp, solve
from tests.mip.programs import hard_program, infeasible_program, small_program
from theory.errors import InputError, OptimumError

BOTH = pytest.mark.parametrize("solver", SOLVERS)


@BOTH
def test_proven(solver: str) -> None:
    problem, x, y = small_program()
    answer = solve(problem, solver=solver)
    assert answer.outcome is Outcome.proven
    assert (answer.objective, answer.bound, answer.gap) == (6, pytest.approx(6), pytest.approx(0))
    assert (answer[x], answer[y]) == (1, 1)


def test_integers_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver's 0.9999999 is 1, also in the objective."""

    def nearly(problem: Any, *_: object) -> tuple[Outcome, float]:
        for variable in problem.variables():
            variable.varValue = 0.9999999
        return Outcome.proven, 6.0

    monkeypatch.setitem(SOLVERS, "highs", nearly)
    problem, x, y = small_program()
    answer = solve(problem)
    assert (answer.outcome, answer.objective, answer[x], answer[y]) == (Outcome.proven, 6, 1, 1)


@BOTH
def test_infeasible(solver: str) -> None:
    problem, x = infeasible_program()
    answer = solve(problem, solver=solver)
    assert answer == Solution(Outcome.infeasible)
    assert answer.gap is None
    with pytest.raises(OptimumError, match="x has no value: the outcome is infeasible"):
        answer[x]


@BOTH
def test_unbounded_is_nothing(solver: str) -> None:
    problem = pulp.LpProblem("unbounded", pulp.LpMaximize)
    x = problem.add_variable("x", 0, None, cat="Integer")
    problem += 1 * x
    problem += 2 * x >= 3
    assert solve(problem, solver=solver) == Solution(Outcome.nothing)


@BOTH
def test_maximise_a_linear_program_with_a_constant(solver: str) -> None:
    problem = pulp.LpProblem("linear", pulp.LpMaximize)
    x = problem.add_variable("x", 0, 7.5)
    problem += 3 * x + 2
    problem += 2 * x <= 11
    answer = solve(problem, solver=solver)
    assert answer.outcome is Outcome.proven
    assert answer.objective == pytest.approx(18.5) and answer.bound == pytest.approx(18.5)


@BOTH
@pytest.mark.parametrize("constant", [0, 5])
def test_a_constant_objective(solver: str, constant: int) -> None:
    problem = pulp.LpProblem("constant", pulp.LpMinimize)
    problem += constant
    answer = solve(problem, solver=solver)
    assert (answer.outcome, answer.objective) == (Outcome.proven, constant)


@BOTH
def test_a_tolerated_gap_is_no_proof(solver: str) -> None:
    """Within 100 % of the optimum the solver may say "Optimal" and stop."""
    answer = solve(hard_program(20, 3), solver=solver, gap=1.0)
    assert answer.outcome is Outcome.feasible
    assert answer.objective is not None
    best = solve(hard_program(20, 3), solver=solver)
    assert best.outcome is Outcome.proven and best.objective is not None
    assert answer.objective <= best.objective
    assert answer.bound is None or answer.bound >= best.objective - 1e-6


@BOTH
def test_equal_input_gives_equal_values(solver: str) -> None:
    runs = [solve(hard_program(20, 3), solver=solver, seed=3) for _ in range(2)]
    assert runs[0] == runs[1]


def test_the_solvers_agree_on_random_programs() -> None:
    values = [
        solve(hard_program(12, limits), solver=s).objective for limits in (1, 2, 3) for s in SOLVERS
    ]
    assert values[0::2] == values[1::2]


@pytest.mark.parametrize("time_limit", [0, -1, math.inf, math.nan])
def test_bad_time_limits(time_limit: float) -> None:
    with pytest.raises(InputError, match="is not a positive number of seconds"):
        solve(small_program()[0], time_limit=time_limit)


def test_bad_gap_and_solver() -> None:
    with pytest.raises(InputError, match="gap: -1 is not a gap of at least 0"):
        solve(small_program()[0], gap=-1)
    with pytest.raises(InputError, match="unknown solver 'glpk'; choose from highs, cbc"):
        solve(small_program()[0], solver="glpk")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_a_solve() -> None:
    """HiGHS runs in native code for many seconds; an interrupt ends it, and cleanly."""
    script = textwrap.dedent(
        """
        import sys
        from mip.solver import solve
        from tests.mip.programs import hard_program
        problem = hard_program(400, 80)
        print("solving", flush=True)
        try:
            solve(problem)
        except KeyboardInterrupt:
            sys.exit(130)
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"solving\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
