r"""The offline optimum as a mixed-integer program: the model of section 1, word for word.

The tokens of a radix segment s are used by the same steps, so a schedule may keep the first of them
and drop the others: all that matters is the resident length. Let ``len_s`` be the length of s,
``p(s)`` the segment above it, and say that s is *alive* from its first use to before its last.

Variables, for every segment s that is alive after step j:

- ``y_sj`` in {0, ..., len_s}: how many tokens of s are cached after step j. Without bypass it is
  the constant ``len_s`` where s is in U_j (the lock). A segment that is not alive is not cached,
  but for the lock.
- ``full_sj`` in {0, 1}: whether all of s is cached; only where a segment below s needs it, and
  ``y_sj`` itself if ``len_s = 1``.

.. math::

   \min \sum_j \sum_{s \in U_j} (len_s - y_{s,j-1})
   \quad \text{subject to} \quad
   \begin{aligned}
   \textstyle\sum_s y_{sj} &\le B && \text{capacity, with the locked } len_s \\
   y_{sj} &\le y_{s,j-1} && s \notin U_j \text{: only served tokens enter} \\
   y_{sj} \le len_s \, full_{p(s)j}, \quad len_{p(s)} \, full_{p(s)j} &\le y_{p(s)j}
   && \text{prefix closure}
   \end{aligned}

The prefix closure is stated. Without it nothing is lost by a resident length that stays the same
between two uses, which makes the program a packing of intervals: its linear relaxation has an
integral optimum. Lemma 1 says that the closure costs nothing, so the bound of the root is tight
already; the agreement with the other two methods, which leave the closure out, checks the lemma.

Source: the model, sections 1 and 2; the same variables for m workers make the joint program of
section 5.
"""

from __future__ import annotations

import math
from typing import Any

from mip.schedule import Optimum, Schedule, schedule_cost
from mip.solver import TOLERANCE, Outcome, Solution, pulp, solve
from theory.errors import OptimumError
from theory.model import Instance
from theory.trie import ROOT, Segment

__all__ = ["solve_eviction"]

Resident = dict[tuple[int, int], Any]
"""(segment, step) -> its resident length after the step: a variable or an int."""


def solve_eviction(
    instance: Instance,
    *,
    bypass: bool = False,
    solver: str = "highs",
    time_limit: float | None = None,
) -> Optimum:
    """The fewest misses of an instance by mixed-integer programming.

    Parameters
    ----------
    instance : Instance
        The instance; its nodes may be tokens, pages or blocks.
    bypass : bool
        Whether a query may be served without being cached.
    solver : {"highs", "cbc"}
        Who solves it.
    time_limit : float, optional
        Seconds. If they end without a proof, `misses` is that of the best schedule found, if any,
        and `bound` what the solver has proven (at least the number of distinct tokens).

    Returns
    -------
    Optimum
        With a prefix-closed schedule whose cost has been recomputed.

    Raises
    ------
    OptimumError
        If the objective is not the cost of the schedule.
    MissingSolverError
        If the solver is not installed.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> best = solve_eviction(Instance(star, 2, [[0], [1], [2], [0]]))
    >>> best.misses, best.proven
    (3, True)
    """
    segments = instance.trie.radix_segments(q for step in instance.steps for q in step)
    used = _used_segments(instance, segments)
    problem, resident = _program(instance, segments, used, bypass)
    answer = solve(problem, solver=solver, time_limit=time_limit)
    if answer.outcome is Outcome.infeasible:
        raise OptimumError(f"{solver} calls the eviction program infeasible, but it never is")
    method = f"eviction MIP ({solver})"
    bound = _whole_bound(instance, answer)
    if answer.objective is None:
        return Optimum(None, bound, proven=False, method=method)
    schedule = _schedule(instance, segments, used, resident, answer, bypass)
    misses = schedule_cost(instance, schedule, bypass)
    if abs(misses - answer.objective) > TOLERANCE * max(1, misses):
        raise OptimumError(
            f"{method}: the objective is {answer.objective}, its schedule has {misses} misses"
        )
    return Optimum(misses, bound, proven=misses == bound, method=method, schedule=schedule)


def _used_segments(instance: Instance, segments: list[Segment]) -> list[set[int]]:
    """The segments of each footprint."""
    ending = {segment.last: index for index, segment in enumerate(segments)}
    used: list[set[int]] = []
    for step in instance.steps:
        found: set[int] = set()
        for query in step:
            index = ending[query]  # a segment ends wherever a query does
            while index != ROOT and index not in found:
                found.add(index)
                index = segments[index].parent
        used.append(found)
    return used


def _program(
    instance: Instance, segments: list[Segment], used: list[set[int]], bypass: bool
) -> tuple[Any, Resident]:
    """The program, and the resident lengths in it."""
    problem = pulp.LpProblem("eviction", pulp.LpMinimize)
    y: Resident = {}
    last_use = {s: j for j, served in enumerate(used) for s in served}
    alive: set[int] = set()
    hits: list[Any] = []
    for j, served in enumerate(used):
        hits.extend(y[s, j - 1] for s in sorted(served & alive))
        alive = {s for s in alive | served if last_use[s] > j}
        locked = set() if bypass else served
        free = sorted(alive - locked)
        for s in sorted(alive & locked):
            y[s, j] = segments[s].length
        for s in free:
            y[s, j] = problem.add_variable(f"y_{s}_{j}", 0, segments[s].length, cat="Integer")
            if s not in served:
                problem += y[s, j] <= y[s, j - 1]
        room = instance.capacity - sum(segments[s].length for s in locked)
        problem += pulp.lpSum(y[s, j] for s in free) <= room
        _state_closure(problem, segments, y, free, j)
    uses = sum(segments[s].length for served in used for s in served)
    problem += uses - pulp.lpSum(hits)
    return problem, y


def _state_closure(
    problem: Any, segments: list[Segment], y: Resident, free: list[int], j: int
) -> None:
    """After step j, what is cached of a segment needs all of the segment above it."""
    full: dict[int, Any] = {}
    for s in free:
        parent = segments[s].parent
        if parent == ROOT or isinstance(y[parent, j], int):
            continue  # nothing above, or locked
        if parent not in full:
            length = segments[parent].length
            full[parent] = y[parent, j]
            if length > 1:
                full[parent] = problem.add_variable(f"full_{parent}_{j}", 0, 1, cat="Integer")
                problem += length * full[parent] <= y[parent, j]
        problem += y[s, j] <= segments[s].length * full[parent]


def _schedule(
    instance: Instance,
    segments: list[Segment],
    used: list[set[int]],
    resident: Resident,
    answer: Solution,
    bypass: bool,
) -> Schedule:
    """The first tokens of every segment, as many as are resident; and all that is locked."""
    lengths: list[dict[int, int]] = [
        {} if bypass else {s: segments[s].length for s in served} for served in used
    ]
    for (s, j), length in resident.items():
        lengths[j][s] = length if isinstance(length, int) else round(answer[length])
    tokens = [instance.trie.path(segment.last)[-segment.length :] for segment in segments]
    return tuple(
        frozenset(token for s, length in after.items() for token in tokens[s][:length])
        for after in lengths
    )


def _whole_bound(instance: Instance, answer: Solution) -> int:
    """The solver's bound as a number of misses; every distinct token misses at least once."""
    distinct = instance.trie.footprint_size(q for step in instance.steps for q in step)
    if answer.bound is None:
        return distinct
    return max(distinct, math.ceil(answer.bound - TOLERANCE * max(1.0, abs(answer.bound))))
