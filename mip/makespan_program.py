r"""The joint routing and eviction program (model, section 5), in units and quanta.

Variables: ``x_ij`` in {0, 1}, query j goes to worker i; ``y_isj`` in [0, len_s], how much of
segment s worker i holds after step j (only while s is still to be used again); ``h_isj``, the hits;
and the makespan Z.

.. math::

   \min Z \quad \text{subject to} \quad
   \begin{aligned}
   \textstyle\sum_i x_{ij} &= 1 \\
   \textstyle\sum_s y_{isj} &\le B_i && \text{with the locked } len_s x_{ij} \\
   len_s x_{ij} \le y_{isj} &\le y_{is,j-1} + len_s x_{ij} && s \in q_j \\
   y_{isj} &\le y_{is,j-1} && s \notin q_j \\
   h_{isj} &\le y_{is,j-1}, \quad h_{isj} \le len_s x_{ij} && s \in q_j \\
   Z &\ge \textstyle\sum_j \bigl( c_{ij} x_{ij} - d_i \sum_s h_{isj} \bigr)
   \end{aligned}

where c_ij is the cost without a hit and d_i what a hit saves (the hits stand for the misses of the
model: miss = len_s x_ij - h). For fixed x the rest is an interval matrix, so only x need be
integral (Lemma 1). Equal workers are told apart by the first query that each serves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mip.routing_data import RoutingData
from mip.solver import Solution, pulp

__all__ = ["MakespanProgram"]


class MakespanProgram:
    """The program for the queries `window`, from what the workers have done before.

    Parameters
    ----------
    data : RoutingData
        The instance.
    window : range
        Consecutive queries.
    at_least, at_most : int
        Bounds on the makespan, in quanta.
    loads : sequence of int, optional
        The load of each worker before the window, in quanta.
    held : sequence of dict, optional
        For each worker the length of each segment that it may hold before the window, in units.
    scale : int
        Quanta in the program's unit of time. With 1 the makespan is an integer variable; larger
        numbers than a solver can tell apart need a coarser unit, in which it is continuous.
    relaxed : bool
        Whether x may be fractional: the linear relaxation.
    mean : float
        The weight of the mean load in the objective, besides Z; 0 for the makespan alone.

    Attributes
    ----------
    problem : pulp.LpProblem
        The program. Its objective is Z (and `mean` times the mean load), in units of time.
    """

    def __init__(
        self,
        data: RoutingData,
        window: range,
        *,
        at_least: int,
        at_most: int | None = None,
        loads: Sequence[int] | None = None,
        held: Sequence[dict[int, int]] | None = None,
        scale: int = 1,
        relaxed: bool = False,
        mean: float = 0.0,
    ) -> None:
        self.data, self.window, self.scale = data, window, scale
        workers = range(len(data.capacity))
        category = "Continuous" if relaxed else "Integer"
        self.problem = pulp.LpProblem("makespan", pulp.LpMinimize)
        self.z = self.problem.add_variable(
            "Z",
            self._time(at_least),
            None if at_most is None else self._time(at_most),
            cat=category if scale == 1 else "Continuous",
        )
        self.x = {
            (i, j): self.problem.add_variable(f"x_{i}_{j}", 0, int(data.fits[i][j]), cat=category)
            for i in workers
            for j in window
        }
        for j in window:
            self.problem += pulp.lpSum(self.x[i, j] for i in workers) == 1
        fresh = not held and not loads
        if fresh and not relaxed:
            self._break_symmetry()
        self._last_use = {s: j for j in window for s in data.used[j]}
        total = 0
        for i in workers:
            before = 0 if loads is None else self._time(loads[i])
            saved = self._add_worker(i, {} if held is None else held[i])
            cost = pulp.lpSum(self._full_cost(i, j) * self.x[i, j] for j in window)
            load = before + cost - self._time(data.miss[i]) * pulp.lpSum(saved)
            self.problem += load <= self.z
            total += load
        self.problem += self.z + mean / len(workers) * total if mean else self.z

    def _time(self, quanta: int) -> int | float:
        return quanta if self.scale == 1 else quanta / self.scale

    def _full_cost(self, i: int, j: int) -> int | float:
        data = self.data
        length = sum(data.lengths[s] for s in data.used[j])
        return self._time(data.base[i][j] + data.miss[i] * length)

    def _break_symmetry(self) -> None:
        """A worker serves query j only if its equal before it serves an earlier query."""
        previous: dict[int, int] = {}  # kind -> the last worker of that kind
        for i, kind in enumerate(self.data.kind):
            if kind in previous:
                for j in self.window:
                    earlier = (self.x[previous[kind], k] for k in range(self.window.start, j))
                    self.problem += self.x[i, j] <= pulp.lpSum(earlier)
            previous[kind] = i

    def _add_worker(self, i: int, held: dict[int, int]) -> list[Any]:
        """The cache of worker i; what it saves, as a list of hit variables."""
        data, problem = self.data, self.problem
        resident: dict[int, Any] = {s: held[s] for s in held if s in self._last_use}
        hits = []
        for j in self.window:
            x = self.x[i, j]
            path = set(data.used[j])
            occupied = []
            for s in path:
                if s in resident:
                    hit = problem.add_variable(f"h_{i}_{s}_{j}", 0, data.lengths[s])
                    problem += hit <= resident[s]
                    problem += hit <= data.lengths[s] * x
                    hits.append(hit)
            for s in sorted(path | set(resident)):
                if self._last_use[s] <= j:
                    if s in path:
                        occupied.append(data.lengths[s] * x)
                    resident.pop(s, None)
                    continue
                before = resident.get(s, 0)
                resident[s] = y = problem.add_variable(f"y_{i}_{s}_{j}", 0, data.lengths[s])
                occupied.append(y)
                if s in path:
                    problem += y >= data.lengths[s] * x
                    problem += y <= before + data.lengths[s] * x
                else:
                    problem += y <= before
            problem += pulp.lpSum(occupied) <= data.capacity[i]
        return hits

    def assignment(self, answer: Solution) -> list[int]:
        """The worker of each query of the window."""
        workers = range(len(self.data.capacity))
        return [max(workers, key=lambda i: answer[self.x[i, j]]) for j in self.window]
