"""Every router against the least makespan, or against a proven lower bound of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from empirical.traces.base import Trace, Unit
from mip.fixed_eviction import FixedEvictionOptimum, solve_fixed_eviction
from mip.makespan import MakespanOptimum, solve_makespan
from mip.rolling_horizon import RollingPlan, rolling_horizon
from theory.cache import run
from theory.engine import supports
from theory.errors import InadmissibleStepError, InputError
from theory.eviction import RandomisedPolicy, make_policy
from theory.load import LoadResult, route
from theory.model import Instance
from theory.repeats import check_repeats
from theory.routing.instance import Duration, RoutingInstance, Worker

__all__ = [
    "GapRow",
    "GapSummary",
    "MakespanStudy",
    "default_capacity",
    "routing_instance",
    "summarise",
]

Optimum = MakespanOptimum | FixedEvictionOptimum


def routing_instance(
    trace: Trace,
    workers: Sequence[Worker],
    *,
    queries: int | None = None,
    unit: Unit = "block",
    interval: float | None = None,
) -> RoutingInstance:
    """The first requests of a trace as an instance of the routing problem.

    Parameters
    ----------
    trace : Trace
        The requests.
    workers : sequence of Worker
        Capacities in units; service times per *token* for ``unit="token"`` and for blocks alike:
        a block costs as many times more as it has tokens, and a partial block counts whole.
    queries : int, optional
        How many requests; all by default.
    unit : {"block", "token"}
        The nodes of the trie.
    interval : float, optional
        Time between arrivals in ms; by default the trace's own timestamps.

    Raises
    ------
    InadmissibleStepError
        If a request fits no worker.

    Examples
    --------
    >>> from empirical.traces.workload import parse
    >>> trace = parse("gsp:groups=2,prompts=2,lengths=128,block=64")
    >>> instance = routing_instance(trace, [Worker(2)] * 2)
    >>> len(instance.trie), instance.workers[0].alpha_miss, instance.outputs
    (6, 64, (4, 4, 4, 4))
    """
    count = len(trace) if queries is None else min(queries, len(trace))
    part = trace if count == len(trace) else trace.select(range(count), name=trace.name)
    longest = int((part.blocks if unit == "block" else part.input_length).max())
    largest = max((worker.capacity for worker in workers), default=longest)
    if largest < longest:
        row = int((part.blocks if unit == "block" else part.input_length).argmax())
        raise InadmissibleStepError(step=row, footprint=longest, capacity=largest, queries=1)
    tokens = part.block_size if unit == "block" else 1
    steps = part.instance(max(longest, largest), unit=unit)
    start = float(part.timestamp[0])
    arrivals = (
        [float(time) - start for time in part.timestamp]
        if interval is None
        else [j * interval for j in range(count)]
    )
    return RoutingInstance(
        steps.trie,
        [
            Worker(w.capacity, w.alpha_miss * tokens, w.alpha_cached * tokens, w.alpha_output)
            for w in workers
        ],
        [query for (query,) in steps.steps],
        part.output_length.tolist(),
        arrivals,
        part.session,
        name=part.name,
    )


def default_capacity(
    trace: Trace, workers: int, *, queries: int | None = None, unit: Unit = "block"
) -> int:
    """Half of an even share of all distinct units, but room for the longest request.

    With it about half of what the workers see fits into their caches.
    """
    part = trace if queries is None else trace.select(range(min(queries, len(trace))))
    longest = int((part.blocks if unit == "block" else part.input_length).max())
    distinct = len(part.parent) if unit == "block" else int(part.fill.sum())
    return max(longest, distinct // (2 * workers))


class GapRow(NamedTuple):
    """One run of a router against the optimum.

    Attributes
    ----------
    seed : int
        Of the workload, the router and the policies.
    router, eviction : str
        Who served it; the evictions of ``rolling-horizon`` are clairvoyant (``offline``).
    makespan : int or Fraction
        In ms.
    optimum : int or Fraction or None
        The least makespan in ms, if it is proven.
    bound : int or Fraction
        No schedule has a smaller makespan, in ms; the optimum if that is proven.
    proven : bool
        Whether the optimum is proven.
    best_known : int or Fraction
        The makespan of the best schedule known, recomputed from it, in ms.
    hits, misses : int
        Of the run, in units.
    """

    seed: int
    router: str
    eviction: str
    makespan: Duration
    optimum: Duration | None
    bound: Duration
    proven: bool
    best_known: Duration
    hits: int
    misses: int

    @property
    def ratio(self) -> Fraction:
        """The makespan over the optimum, or over its bound where there is no proof; exactly."""
        return Fraction(self.makespan) / Fraction(self.bound) if self.bound else Fraction(1)

    @property
    def gap(self) -> Fraction:
        """(makespan - bound) / bound, exactly: how far the router may be from the optimum."""
        return self.ratio - 1


class GapSummary(NamedTuple):
    """A router under an eviction policy, over all seeds.

    Attributes
    ----------
    router, eviction : str
        Who.
    mean, worst : Fraction
        Of the ratios, exactly.
    worst_seed : int
        Where the worst ratio is.
    mean_makespan : Fraction
        In ms.
    runs, proven : int
        How many, and how many of them against a proven optimum.
    """

    router: str
    eviction: str
    mean: Fraction
    worst: Fraction
    worst_seed: int
    mean_makespan: Fraction
    runs: int
    proven: int


@dataclass
class MakespanStudy:
    """Routers under eviction policies against the optimum, seed by seed.

    Parameters
    ----------
    routers, evictions : sequence of str
        Every router runs under every policy.
    reference : {"clairvoyant", "same-eviction"}
        The optimum over all routings and all evictions, or over all routings under the policy that
        the router runs with.
    time_limit : float, optional
        Seconds for each program of the clairvoyant optimum.
    max_nodes : int
        The budget of each search for the other one, in nodes.
    horizon : int, optional
        Also run the rolling horizon with windows of so many queries.
    """

    routers: Sequence[str]
    evictions: Sequence[str]
    reference: str = "clairvoyant"
    time_limit: float | None = None
    max_nodes: int = 200_000
    horizon: int | None = None

    def __post_init__(self) -> None:
        if self.reference not in ("clairvoyant", "same-eviction"):
            raise InputError(
                f"the reference can be 'clairvoyant' or 'same-eviction', not {self.reference!r}"
            )
        self._solved: dict[tuple[RoutingInstance, str, int], Optimum] = {}

    def run(self, instance: RoutingInstance, seed: int) -> list[GapRow]:
        """One seed: a row for each router and policy.

        Raises
        ------
        OptimumError
            If a router beats the optimum or its bound.
        PolicyError
            If a user's policy that is not randomised does another thing when the same queries come
            to the same workers again.
        """
        results = {
            (router, eviction): route(instance, router, eviction, seed=seed)
            for eviction in self.evictions
            for router in self.routers
        }
        for (_, eviction), result in results.items():
            _check_repeats(instance, eviction, result)
        starts = dict.fromkeys(result.assignment for result in results.values())
        plan = None
        if self.horizon is not None:
            plan = rolling_horizon(instance, self.horizon, time_limit=self.time_limit)
            starts[plan.assignment] = None
        rows = []
        for (router, eviction), result in results.items():
            best = self.optimum(instance, eviction, seed, starts)
            best.check(result.makespan, f"{router} with {eviction}, seed {seed},")
            rows.append(_row(seed, router, eviction, result, best))
        if plan is not None:
            best = self.optimum(instance, "offline", seed, starts)
            best.check(plan.makespan, f"rolling-horizon, seed {seed},")
            rows.append(_row(seed, "rolling-horizon", "offline", plan, best))
        return rows

    def optimum(
        self,
        instance: RoutingInstance,
        eviction: str,
        seed: int,
        starts: Iterable[tuple[int, ...]] = (),
    ) -> Optimum:
        """What the runs under `eviction` are compared with; solved once an instance."""
        clairvoyant = self.reference == "clairvoyant" or eviction == "offline"
        key = (instance, "offline", 0) if clairvoyant else (instance, eviction, seed)
        if key not in self._solved:
            self._solved[key] = (
                solve_makespan(instance, time_limit=self.time_limit, starts=starts)
                if clairvoyant
                else solve_fixed_eviction(
                    instance, eviction, seed=seed, starts=starts, max_nodes=self.max_nodes
                )
            )
        return self._solved[key]


def _check_repeats(instance: RoutingInstance, eviction: str, result: LoadResult) -> None:
    """Serve the queries of every worker twice more, if the policy is a user's own."""
    if supports(eviction) or isinstance(make_policy(eviction), RandomisedPolicy):
        return
    for index, worker in enumerate(instance.workers):
        steps = [
            [query]
            for query, place in zip(instance.queries, result.assignment, strict=True)
            if place == index
        ]
        if steps:
            alone = Instance(instance.trie, worker.capacity, steps)
            check_repeats(eviction, run(alone, eviction).steps, run(alone, eviction).steps)


def _row(
    seed: int, router: str, eviction: str, run: LoadResult | RollingPlan, best: Optimum
) -> GapRow:
    return GapRow(
        seed,
        router,
        eviction,
        run.makespan,
        best.makespan if best.proven else None,
        best.bound,
        best.proven,
        best.makespan,
        run.hits,
        run.misses,
    )


def summarise(rows: Iterable[GapRow]) -> list[GapSummary]:
    """Mean and worst ratio of each router under each policy, in the order of the rows."""
    groups: dict[tuple[str, str], list[GapRow]] = {}
    for row in rows:
        groups.setdefault((row.router, row.eviction), []).append(row)
    summary = []
    for (router, eviction), found in groups.items():
        worst = max(found, key=lambda row: (row.ratio, -row.seed))
        summary.append(
            GapSummary(
                router,
                eviction,
                sum((row.ratio for row in found), Fraction(0)) / len(found),
                worst.ratio,
                worst.seed,
                sum((Fraction(row.makespan) for row in found), Fraction(0)) / len(found),
                len(found),
                sum(row.proven for row in found),
            )
        )
    return summary
