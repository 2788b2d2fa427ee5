"""A heuristic for long sequences: solve the program for one window of queries after the other."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from mip.makespan import offline_caches, schedule_loads
from mip.makespan_program import MakespanProgram
from mip.routing_data import RoutingData
from mip.schedule import Schedule, schedule_cost
from mip.solver import Outcome, solve
from theory.errors import InputError
from theory.routing.instance import Duration, RoutingInstance

__all__ = ["RollingPlan", "rolling_horizon"]


@dataclass(frozen=True)
class RollingPlan:
    """A schedule that the heuristic found; nothing says that it is the best.

    Attributes
    ----------
    makespan : int or Fraction
        Recomputed from the schedule, in ms.
    assignment : tuple of int
        The worker of each query.
    caches : tuple of (tuple of frozenset of int)
        For each worker what it holds after each of its queries (evictions are clairvoyant).
    hits, misses : int
        In nodes.
    greedy_windows : int
        Windows in which the solver found nothing and each query went where it added least.
    """

    makespan: Duration
    assignment: tuple[int, ...]
    caches: tuple[Schedule, ...]
    hits: int
    misses: int
    greedy_windows: int


class _Ahead:
    """One worker while the rest of the sequence is known but not yet routed.

    It drops what is used farthest in the future by *any* worker: a schedule that it can keep to,
    and no worse than what the evictions of the finished routing will be.
    """

    def __init__(self, data: RoutingData, worker: int, uses: list[list[int]]) -> None:
        self.data, self.worker, self.uses = data, worker, uses
        self.held: dict[int, int] = {}
        self.load = 0

    def cost(self, query: int) -> int:
        """What `query` would cost now, in quanta."""
        data = self.data
        missed = sum(data.lengths[s] - self.held.get(s, 0) for s in data.used[query])
        return data.base[self.worker][query] + data.miss[self.worker] * missed

    def serve(self, query: int) -> None:
        """Serve `query` and make room for it."""
        self.load += self.cost(query)
        path = self.data.used[query]
        for s in path:
            self.held[s] = self.data.lengths[s]
        excess = sum(self.held.values()) - self.data.capacity[self.worker]
        locked = set(path)
        for s in sorted(set(self.held) - locked, key=lambda s: self._next(s, query), reverse=True):
            if excess <= 0:
                break
            taken = min(self.held[s], excess)
            excess -= taken
            self.held[s] -= taken
            if not self.held[s]:
                del self.held[s]

    def _next(self, segment: int, now: int) -> tuple[int, int]:
        uses = self.uses[segment]
        place = bisect_right(uses, now)
        return (uses[place] if place < len(uses) else len(self.data.used), segment)


def rolling_horizon(
    instance: RoutingInstance,
    window: int,
    *,
    solver: str = "highs",
    time_limit: float | None = None,
) -> RollingPlan:
    """Route by solving windows of `window` queries and committing to the first half of each.

    Every window starts from the loads and the caches that the routing so far has left, and weighs
    the largest load and the mean load alike: an even but wasteful window is paid for later.

    Parameters
    ----------
    instance : RoutingInstance
        The instance.
    window : int
        Queries that are looked at together.
    solver : {"highs", "cbc"}
        Who solves the programs.
    time_limit : float, optional
        Seconds a window.

    Examples
    --------
    >>> from theory.load import Worker
    >>> from theory.trie import TokenTrie
    >>> trie, ends = TokenTrie.from_sequences(["abc", "xyz", "abd", "xyw", "abc"])
    >>> rolling_horizon(RoutingInstance(trie, [Worker(4)] * 2, ends), 4).makespan
    4
    """
    if window < 1:
        raise InputError(f"{window} queries are no window", where="window", fix="give at least 1")
    data = RoutingData(instance)
    count = len(data.used)
    uses: list[list[int]] = [[] for _ in data.lengths]
    for j, path in enumerate(data.used):
        for s in path:
            uses[s].append(j)
    workers = [_Ahead(data, i, uses) for i in range(len(data.capacity))]
    # No load exceeds what the slowest worker would take for everything without a hit.
    scale = data.scale(max(sum(worker.cost(j) for j in range(count)) for worker in workers))
    assignment: list[int] = []
    greedy = 0
    while len(assignment) < count:
        start = len(assignment)
        stop = min(count, start + window)
        commit = stop if stop == count else start + max(1, window // 2)
        loads = [worker.load for worker in workers]
        program = MakespanProgram(
            data,
            range(start, stop),
            at_least=max(loads),
            loads=loads,
            held=[worker.held for worker in workers],
            scale=scale,
            mean=1.0,
        )
        answer = solve(program.problem, solver=solver, time_limit=time_limit)
        found = answer.outcome in (Outcome.proven, Outcome.feasible)
        chosen = program.assignment(answer) if found else []
        greedy += not found
        for j in range(start, commit):
            best = chosen[j - start] if found else _cheapest(data, workers, j)
            workers[best].serve(j)
            assignment.append(best)
    caches = offline_caches(instance, assignment)
    loads_ms = schedule_loads(instance, assignment, caches)
    parts = [instance.worker_instance(worker, assignment) for worker in range(len(workers))]
    misses = sum(schedule_cost(p, c) for p, c in zip(parts, caches, strict=True) if p)
    nodes = sum(instance.trie.depth(query) for query in instance.queries)
    return RollingPlan(max(loads_ms), tuple(assignment), caches, nodes - misses, misses, greedy)


def _cheapest(data: RoutingData, workers: list[_Ahead], j: int) -> int:
    fitting = [i for i in range(len(workers)) if data.fits[i][j]]
    return min(fitting, key=lambda i: (workers[i].load + workers[i].cost(j), i))
