"""The least makespan of an instance: routing and evictions together, both clairvoyant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mip.belady import farthest_next_use
from mip.least_makespan import LeastMakespan
from mip.makespan_bounds import LowerBound, lower_bounds
from mip.makespan_program import MakespanProgram
from mip.makespan_start import best_start
from mip.routing_data import RoutingData
from mip.schedule import Schedule, schedule_cost
from mip.solver import TOLERANCE, Outcome, solve
from theory.errors import OptimumError
from theory.routing.instance import Duration, RoutingInstance, exact

__all__ = ["MakespanOptimum", "offline_caches", "schedule_loads", "solve_makespan"]

LARGEST_PROGRAM = 100_000
"""Variables beyond which no program is built: the bounds and the best routing known must do."""


@dataclass(frozen=True)
class MakespanOptimum(LeastMakespan):
    """What is known about the least makespan over all routings and evictions.

    Attributes
    ----------
    makespan, bound, proven, method, assignment
        As in `LeastMakespan`; the makespan is recomputed from the schedule (`schedule_loads`).
    caches : tuple of (tuple of frozenset of int)
        For each worker what it holds after each of its queries.
    bounds : tuple of LowerBound
        The combinatorial bounds, the best one first.
    """

    remedy: ClassVar[str] = "raise the time limit or give fewer queries"

    caches: tuple[Schedule, ...]
    bounds: tuple[LowerBound, ...]


def offline_caches(instance: RoutingInstance, assignment: Sequence[int]) -> tuple[Schedule, ...]:
    """What every worker holds after each of its queries, if it evicts by farthest next use."""
    caches: list[Schedule] = []
    for worker in range(len(instance.workers)):
        part = instance.worker_instance(worker, assignment)
        schedule = farthest_next_use(part).schedule if part else ()
        caches.append(schedule or ())
    return tuple(caches)


def schedule_loads(
    instance: RoutingInstance, assignment: Sequence[int], caches: Sequence[Schedule]
) -> tuple[Duration, ...]:
    """The loads of a schedule, after a check that it is one.

    Parameters
    ----------
    instance : RoutingInstance
        The instance.
    assignment : sequence of int
        The worker of each query.
    caches : sequence of schedules
        For each worker what it holds after each of its queries.

    Returns
    -------
    tuple of (int or Fraction)
        P_i of every worker, in ms.

    Raises
    ------
    RoutingError, OptimumError
        If the assignment or a cache is none (see `mip.schedule.schedule_cost`).

    Examples
    --------
    >>> from theory.load import Worker
    >>> from theory.trie import TokenTrie
    >>> trie, ends = TokenTrie.from_sequences(["ab", "ac", "x"])
    >>> instance = RoutingInstance(trie, [Worker(3)] * 2, ends)
    >>> schedule_loads(instance, [0, 0, 1], offline_caches(instance, [0, 0, 1]))
    (3, 1)
    """
    instance.check_assignment(assignment)
    loads: list[Duration] = []
    for index, worker in enumerate(instance.workers):
        part = instance.worker_instance(index, assignment)
        misses = schedule_cost(part, caches[index]) if part else 0
        mine = [j for j, chosen in enumerate(assignment) if chosen == index]
        length = sum(instance.trie.depth(instance.queries[j]) for j in mine)
        output = sum(instance.outputs[j] for j in mine)
        loads.append(exact(worker.cost(length - misses, misses, output)))
    return tuple(loads)


def solve_makespan(
    instance: RoutingInstance,
    *,
    solver: str = "highs",
    time_limit: float | None = None,
    starts: Iterable[Sequence[int]] = (),
    effort: int = 3000,
) -> MakespanOptimum:
    """The least makespan over all routings and all evictions.

    A routing that a heuristic or a router finds is optimal if it meets a lower bound; otherwise the
    program is asked for a better one, and for its own bound.

    Parameters
    ----------
    instance : RoutingInstance
        The instance.
    solver : {"highs", "cbc"}
        Who solves the program.
    time_limit : float, optional
        Seconds for the program. Whatever happens, the result has a schedule and a bound that hold.
    starts : iterable of sequences of int
        Further routings to start from.
    effort : int
        Of the local search, in neighbours.

    Returns
    -------
    MakespanOptimum
        Its makespan is recomputed from its schedule.

    Raises
    ------
    OptimumError
        If the solver's answer is no schedule of that makespan.
    MissingSolverError
        If the solver is not installed.

    Examples
    --------
    >>> from theory.load import Worker
    >>> from theory.trie import TokenTrie
    >>> trie, ends = TokenTrie.from_sequences(["abc", "xyz", "abd", "xyw", "abc"])
    >>> best = solve_makespan(RoutingInstance(trie, [Worker(4)] * 2, ends))
    >>> best.makespan, best.proven, best.assignment
    (4, True, (0, 1, 0, 1, 0))
    """
    data = RoutingData(instance)
    bounds = tuple(lower_bounds(data))
    bound = data.quanta(bounds[0].value)
    assignment = best_start(data, starts, effort)
    makespan = max(data.loads(assignment))
    method = f"heuristics and the bound {bounds[0].name}"
    if makespan > bound and _size(data) <= LARGEST_PROGRAM:
        method = f"makespan MIP ({solver})"
        assignment, bound = _improve(data, assignment, bound, solver, time_limit)
    caches = offline_caches(instance, assignment)
    found = max(schedule_loads(instance, assignment, caches))
    if data.quanta(found) != max(data.loads(assignment)):
        raise OptimumError(
            f"{method}: the schedule takes {found} ms, not {data.ms(max(data.loads(assignment)))}"
        )
    lower = data.ms(bound)
    return MakespanOptimum(found, lower, found == lower, method, tuple(assignment), caches, bounds)


def _size(data: RoutingData) -> int:
    """About how many variables the program has."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for j, path in enumerate(data.used):
        for s in path:
            first.setdefault(s, j)
            last[s] = j
    return len(data.capacity) * sum(last[s] - first[s] + 1 for s in first)


def _improve(
    data: RoutingData, assignment: list[int], bound: int, solver: str, time_limit: float | None
) -> tuple[list[int], int]:
    """Ask the program for a routing better than `assignment`: the best known, and a bound."""
    makespan = max(data.loads(assignment))
    scale = data.scale(makespan)
    program = MakespanProgram(
        data,
        range(len(data.used)),
        at_least=bound,
        at_most=makespan - 1 if scale == 1 else makespan,
        scale=scale,
    )
    answer = solve(program.problem, solver=solver, time_limit=time_limit)
    if answer.outcome is Outcome.infeasible:
        # In a coarse unit "no better one" is within the tolerance, and no proof.
        return assignment, makespan if scale == 1 else bound
    if answer.bound is not None:
        slack = TOLERANCE * max(1.0, abs(answer.bound))
        proven = math.ceil(scale * (answer.bound - min(slack, 0.5)))
        bound = min(max(bound, proven), makespan)
    if answer.objective is None:
        return assignment, bound
    better = program.assignment(answer)
    found = max(data.loads(better))
    if found > scale * (answer.objective + TOLERANCE * max(1.0, answer.objective)):
        raise OptimumError(
            f"makespan MIP ({solver}): the objective is {scale * answer.objective} times "
            f"{data.quantum} ms, its routing takes {data.ms(found)} ms"
        )
    return (better if found < makespan else assignment), bound
