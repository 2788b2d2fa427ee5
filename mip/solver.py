"""The one adapter to PuLP: what a solver's answer is worth, and nothing on stdout.

Everything else imports PuLP from here. A solver's own words are not believed:

- PuLP 3.3 reports a time limit as "Optimal", so an outcome rests on the solver's own status.
- Variables carry values even where there is no solution, so values count only after they have been
  put into every bound and every constraint; the objective is computed from them again.
- A gap that the solver tolerates is no proof: *proven* means that value and bound are equal up to
  the tolerance of floating point.
- HiGHS prints a banner on the C level stdout before it can be told not to, so that file descriptor
  points elsewhere during a solve.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mip.schedule import Optimum, Schedule, schedule_cost
from theory.errors import InputError, KvboundsError, OptimumError

__all__ = [
    "SOLVERS",
    "TOLERANCE",
    "MissingSolverError",
    "Optimum",
    "Outcome",
    "Schedule",
    "Solution",
    "SolverError",
    "pulp",
    "schedule_cost",
    "solve",
]


class SolverError(KvboundsError):
    """A solver that broke down; not an answer about the problem."""


class MissingSolverError(SolverError):
    """A solver that is not installed."""


try:
    import pulp
except ImportError as missing:
    raise MissingSolverError(
        "PuLP is not installed; install it with: pip install 'pulp>=3.3,<4' highspy"
    ) from missing
if not hasattr(pulp.LpProblem, "add_variable"):
    raise MissingSolverError(
        f"PuLP {pulp.VERSION} is too old; install another with: pip install 'pulp>=3.3,<4' highspy"
    )

TOLERANCE = 1e-6
"""How far a value may be off, relative to the largest term of its constraint (at least 1)."""


class Outcome(StrEnum):
    """What is known after a solve."""

    proven = "proven"
    """The values are feasible and optimal."""
    feasible = "feasible"
    """The values are feasible."""
    infeasible = "infeasible"
    """There are no feasible values."""
    nothing = "nothing"
    """The solver ended without feasible values and without a proof that there are none."""


@dataclass(frozen=True)
class Solution:
    """An answer that has been checked.

    Attributes
    ----------
    outcome : Outcome
        What is known.
    objective : float or None
        The objective of `values`, computed from them.
    bound : float or None
        No feasible values have a better objective; None if the solver gives none.
    values : mapping of str to float
        The value of each variable by its name, integers exactly; empty without feasible values.
    """

    outcome: Outcome
    objective: float | None = None
    bound: float | None = None
    values: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def gap(self) -> float | None:
        """abs(objective - bound) / abs(objective); None if one of them is unknown."""
        if self.objective is None or self.bound is None:
            return None
        distance = abs(self.objective - self.bound)
        return distance / abs(self.objective) if self.objective else distance

    def __getitem__(self, variable: Any) -> float:
        """The value of a PuLP variable.

        Raises
        ------
        OptimumError
            If there are no feasible values.
        """
        if self.outcome not in (Outcome.proven, Outcome.feasible):
            raise OptimumError(f"{variable.name} has no value: the outcome is {self.outcome}")
        return self.values[variable.name]


def solve(
    problem: Any,
    *,
    solver: str = "highs",
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
) -> Solution:
    """Solve a linear or mixed-integer program on one thread, and check the answer.

    Parameters
    ----------
    problem : pulp.LpProblem
        The program.
    solver : {"highs", "cbc"}
        Who solves it.
    time_limit : float, optional
        Seconds; what is known by then is returned. Without it equal input gives equal output.
    gap : float
        The relative gap at which the solver may stop, and then the outcome is *feasible*.
    seed : int
        Seeds the solver's random choices.

    Returns
    -------
    Solution
        Read values from it, never from the variables of `problem`.

    Raises
    ------
    InputError
        If the solver is unknown, or the time limit is not positive, or the gap is negative.
    MissingSolverError
        If the solver is not installed.
    SolverError
        If the solver breaks down.

    Examples
    --------
    >>> problem = pulp.LpProblem("knapsack", pulp.LpMaximize)
    >>> a, b = (problem.add_variable(name, 0, 1, cat="Integer") for name in "ab")
    >>> problem += 3 * a + 2 * b
    >>> problem += 2 * a + 2 * b <= 3
    >>> answer = solve(problem)
    >>> answer.outcome.value, answer.objective, answer[a]
    ('proven', 3.0, 1.0)
    """
    if solver not in SOLVERS:
        raise InputError(
            f"unknown solver {solver!r}", where="solver", fix=f"choose from {', '.join(SOLVERS)}"
        )
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise InputError(f"{time_limit!r} is not a positive number of seconds", where="time limit")
    if not 0 <= gap < math.inf:
        raise InputError(f"{gap!r} is not a gap of at least 0", where="gap")
    with _stdout_silenced():
        claim, bound = SOLVERS[solver](problem, time_limit, gap, seed)
    if claim is Outcome.infeasible:
        return Solution(claim)
    values = _checked_values(problem)
    if values is None:
        return Solution(Outcome.nothing, bound=bound)
    objective = _evaluate(problem.objective, values)
    if bound is None and claim is Outcome.proven and gap == 0:
        bound = objective  # CBC's bound is not known, but it tolerated no gap
    close = bound is not None and abs(objective - bound) <= TOLERANCE * max(1.0, abs(objective))
    proven = claim is Outcome.proven and close
    return Solution(Outcome.proven if proven else Outcome.feasible, objective, bound, values)


def _solve_highs(
    problem: Any, time_limit: float | None, gap: float, seed: int
) -> tuple[Outcome, float | None]:
    """Run HiGHS; its claim and its bound."""
    solver = _Highs(
        msg=False,
        gapRel=gap,
        gapAbs=0.0,
        threads=1,
        timeLimit=time_limit,
        random_seed=seed,
        parallel="off",
    )
    if not solver.available():
        raise MissingSolverError(
            "the solver HiGHS is not installed; install it with: pip install highspy"
        )
    problem.solve(solver)
    highs, problem.solverModel = problem.solverModel, None
    status, info = highs.getModelStatus().name, highs.getInfo()
    claim = {"kOptimal": Outcome.proven, "kInfeasible": Outcome.infeasible}.get(
        status, Outcome.feasible
    )
    bound = None
    if problem.isMIP():
        bound = info.mip_dual_bound
    elif claim is Outcome.proven:
        bound = info.objective_function_value
    if bound is None or not math.isfinite(bound):
        return claim, None
    # PuLP gives HiGHS a minimisation, and no constant.
    return claim, bound * problem.sense + problem.objective.constant


class _Highs(pulp.HiGHS):  # type: ignore[misc]
    """HiGHS in a thread of its own, so that Ctrl-C ends it."""

    def callSolver(self, lp: Any) -> None:  # noqa: N802 - PuLP's name
        highs = lp.solverModel
        highs.HandleUserInterrupt = True
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(highs.run)
            try:
                running.result()
            except KeyboardInterrupt:
                highs.cancelSolve()
                wait([running])
                raise

    def findSolutionValues(self, lp: Any) -> tuple[int, int]:  # noqa: N802 - PuLP's name
        try:
            status: tuple[int, int] = super().findSolutionValues(lp)
        except KeyError:  # PuLP has no word for a few of HiGHS' statuses
            status = pulp.LpStatusNotSolved, pulp.LpSolutionNoSolutionFound
        return status


def _solve_cbc(
    problem: Any, time_limit: float | None, gap: float, seed: int
) -> tuple[Outcome, float | None]:
    """Run CBC, the binary that PuLP brings or that of the PATH; PuLP does not read its bound."""
    bundled = pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path)
    solver = pulp.COIN_CMD(
        path=bundled.path if bundled.available() else "cbc",
        msg=False,
        gapRel=gap,
        gapAbs=0.0,
        threads=1,
        timeLimit=time_limit,
        options=[f"randomSeed {seed + 1}", f"randomCbcSeed {seed + 1}"],
    )
    if not solver.available():
        raise MissingSolverError(
            "the solver CBC is not installed; install the PuLP that brings it with: "
            "pip install --force-reinstall 'pulp>=3.3,<4', or put cbc on the PATH"
        )
    try:
        problem.solve(solver)
    except pulp.PulpSolverError as error:
        raise SolverError(f"CBC broke down ({error})") from error
    if problem.status == pulp.LpStatusInfeasible:
        return Outcome.infeasible, None
    if problem.sol_status == pulp.LpSolutionOptimal:
        return Outcome.proven, None
    return Outcome.feasible, None


SOLVERS: dict[str, Callable[[Any, float | None, float, int], tuple[Outcome, float | None]]] = {
    "highs": _solve_highs,
    "cbc": _solve_cbc,
}
"""The solvers: HiGHS is the default, CBC the cross-check."""


def _checked_values(problem: Any) -> dict[str, float] | None:
    """The values of all variables if they satisfy the program, integers rounded; else None."""
    values: dict[str, float] = {}
    for variable in problem.variables():
        # PuLP adds a dummy to a constant objective, and CBC leaves it without a value.
        value = 0.0 if variable is problem.dummyVar else variable.varValue
        if value is None or not math.isfinite(value):
            return None
        if variable.cat == pulp.LpInteger:
            if abs(value - round(value)) > 10 * TOLERANCE:
                return None
            value = float(round(value))
        slack = TOLERANCE * max(1.0, abs(value))
        if variable.lowBound is not None and value < variable.lowBound - slack:
            return None
        if variable.upBound is not None and value > variable.upBound + slack:
            return None
        values[variable.name] = value
    for constraint in problem.constraints():
        terms = [factor * values[variable.name] for variable, factor in constraint.items()]
        activity = math.fsum(terms) + constraint.constant
        slack = TOLERANCE * max(1.0, abs(constraint.constant), *map(abs, terms))
        if constraint.sense != pulp.LpConstraintLE and activity < -slack:
            return None
        if constraint.sense != pulp.LpConstraintGE and activity > slack:
            return None
    return values


def _evaluate(expression: Any, values: Mapping[str, float]) -> float:
    terms = (factor * values[variable.name] for variable, factor in expression.items())
    return math.fsum(terms) + float(expression.constant)


_STDOUT_LOCK = threading.Lock()


@contextmanager
def _stdout_silenced() -> Iterator[None]:
    """Send what is written to file descriptor 1, by whatever code, to nowhere.

    One thread at a time; what other threads print meanwhile is lost with the banner, except where
    ``sys.stdout`` is no file descriptor.
    """
    with _STDOUT_LOCK:
        _flush_c()
        try:
            saved = os.dup(1)
        except OSError:  # there is no stdout to protect
            yield
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 1)
            yield
        finally:
            _flush_c()  # the banner may wait in C's buffer
            os.dup2(saved, 1)
            os.close(saved)
            os.close(nowhere)


def _flush_c() -> None:
    """Write out the buffers of C's streams; Python's own are not those of C."""
    ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fflush(None)
