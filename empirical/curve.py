"""Curves: hit rate and ratio to the offline optimum against the capacity, for whole traces.

The rates and the ratio are those of `empirical.ratio`. Here every policy is served at every
capacity, and the optimum with and without bypass stand among the policies, as ``opt`` and
``opt-bypass``. A capacity that a policy cannot have, because a step does not fit, is left out
visibly: its values are None.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from empirical.intervals import Interval, student
from empirical.ratio import RatioStudy, step_misses
from empirical.traces.steps import whole_pages
from theory.engine import StackDistances, expect, optimum
from theory.errors import CapacityError, InputError, OptimumError
from theory.eviction import RandomisedPolicy, make_policy

__all__ = ["OPTIMA", "Curve", "Point", "TraceCurves", "auto_capacities", "measure"]

OPTIMUM, BYPASS = "opt", "opt-bypass"
OPTIMA = (OPTIMUM, BYPASS)
"""The optima that can stand among the policies."""

STACK_POLICIES = {"leaf-lru": False, "vllm-lru": True}
"""Policies to which Lemma 2 applies: name -> whether a batch is ordered by query."""

ONE_PASS_FROM = 4
"""From so many capacities on, one pass over the stack distances is faster than a run each."""

MOST = 2**62
"""Result files hold numbers of 64 bits."""

AUTO = 16
"""How many capacities are chosen when none are given."""

Integers = NDArray[np.int64]


class Point(NamedTuple):
    """One policy at one capacity.

    Attributes
    ----------
    hit_rate : Interval
        Prompt tokens from the cache over prompt tokens, in the window.
    misses : Interval
        Misses over the whole run, one per unit.
    ratio : Interval or None
        `misses` over those of the optimum without bypass; None where that one does not exist.
    """

    hit_rate: Interval
    misses: Interval
    ratio: Interval | None


@dataclass(frozen=True)
class Curve:
    """One policy at all capacities.

    Attributes
    ----------
    capacities : list of int
        As they were given, ascending.
    points : list of Point or None
        None where a step does not fit into the capacity.
    seeds : int
        The runs behind each point; 1 for a deterministic policy.
    """

    capacities: list[int]
    points: list[Point | None]
    seeds: int

    def to_json(self) -> dict[str, Any]:
        """Columns, one entry a capacity; the spread only where there are several seeds."""
        columns: dict[str, Any] = {"capacity": self.capacities}
        for name in Point._fields:
            values: list[Interval | None] = [
                None if point is None else getattr(point, name) for point in self.points
            ]
            columns[name] = [None if value is None else value.mean for value in values]
            if self.seeds > 1:
                for part in ("sd", "low", "high"):
                    columns[f"{name}_{part}"] = [
                        None if value is None else getattr(value, part) for value in values
                    ]
        columns["seeds"] = self.seeds
        return columns


@dataclass(frozen=True)
class TraceCurves:
    """All policies on one trace.

    Attributes
    ----------
    facts : dict
        What the numbers mean (`RatioStudy.describe`).
    policies : dict of str to Curve
        In the order in which they were given.
    tokens : int
        Prompt tokens in the window: the denominator of the rates.
    units : int
        The number of distinct units: a cache of that capacity never evicts.
    largest : int
        The least capacity, as it is given, into which every step fits.
    ceiling : float
        The hit rate of a cache without limit.
    """

    facts: dict[str, Any]
    policies: dict[str, Curve]
    tokens: int
    units: int
    largest: int
    ceiling: float

    def to_json(self) -> dict[str, Any]:
        """The entry of a result file."""
        return {
            "trace": self.facts["name"],
            **{key: value for key, value in self.facts.items() if key not in ("name", "schema")},
            "tokens": self.tokens,
            "distinct_units": self.units,
            "least_capacity": self.largest,
            "ceiling": self.ceiling,
            "policies": {name: curve.to_json() for name, curve in self.policies.items()},
        }


def auto_capacities(study: RatioStudy, count: int = AUTO) -> list[int]:
    """At most `count` capacities in even ratios, from the largest step to the whole trace.

    Examples
    --------
    >>> from theory.model import Instance
    >>> from theory.trie import TokenTrie
    >>> star = TokenTrie.from_parents([-1] * 100)
    >>> auto_capacities(RatioStudy(Instance(star, 1, [[i] for i in range(100)])), 3)
    [1, 10, 100]
    """
    flat = study.steps.flat
    bounds = int(flat.footprint.max()), flat.units
    pages = np.unique(np.rint(np.geomspace(*bounds, count)).astype(np.int64))
    return [int(page) * study.page_size for page in pages]


def measure(
    study: RatioStudy,
    policies: Sequence[str],
    capacities: Sequence[int],
    *,
    jobs: int | None = None,
    each: Callable[[], object] = lambda: None,
) -> TraceCurves:
    """Serve a sequence with every policy at every capacity.

    Parameters
    ----------
    study : RatioStudy
        The sequence, the window, the seeds.
    policies : sequence of str
        Policies as for `theory.eviction.make_policy`, and names of `OPTIMA`.
    capacities : sequence of int
        In blocks or tokens; they are sorted, and given twice they count once.
    jobs : int, optional
        Threads; by default one a processor. They do not change the result.
    each : callable
        Called after each capacity of each policy.

    Raises
    ------
    InadmissibleStepError
        If no policy fits at any capacity.
    OptimumError
        If a policy has fewer misses than the optimum: a fault of the toolkit.

    Examples
    --------
    >>> from theory.model import Instance
    >>> from theory.trie import TokenTrie
    >>> star = Instance(TokenTrie.from_parents([-1, -1, -1]), 2, [[0], [1], [2]] * 2)
    >>> curves = measure(RatioStudy(star), ["leaf-lru", "opt"], [2, 3])
    >>> [point.ratio.mean for point in curves.policies["leaf-lru"].points]
    [1.5, 1.0]
    """
    ordered = sorted(set(capacities))
    if ordered[-1] >= MOST:
        raise CapacityError(f"{ordered[-1]} is more than any trace has", where="capacity")
    seeds = {policy: _seeds(study, policy) for policy in policies}
    runs = _Runs(study, ordered, seeds)
    if not runs.fitting and BYPASS not in policies:
        study.steps.fit(whole_pages(ordered[-1], study.page_size))  # raises, and tells the step
    expect(runs.uses())
    points: dict[str, list[Point | None]] = {policy: [] for policy in policies}
    with ThreadPoolExecutor(jobs or _processors()) as pool:
        try:
            list(pool.map(lambda stack: stack.position, runs.stacks.values()))
            runs.best.update(zip(runs.fitting, pool.map(runs.optimum, runs.fitting), strict=True))
            started = [
                (policy, capacity, [pool.submit(runs.run, policy, capacity, n) for n in numbers])
                for policy, numbers in seeds.items()
                for capacity in ordered
            ]
            for policy, capacity, futures in started:
                done = [future.result() for future in futures]
                points[policy].append(runs.point(policy, capacity, done))
                each()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return TraceCurves(
        facts=study.describe(),
        policies={name: Curve(ordered, points[name], len(seeds[name])) for name in policies},
        tokens=runs.tokens,
        units=study.steps.flat.units,
        largest=int(study.steps.flat.footprint.max()) * study.page_size,
        ceiling=runs.rate(np.diff(study.steps.flat.distinct, prepend=0)),
    )


class _Runs:
    """The runs of one study; `optimum` and `run` may be called from several threads."""

    def __init__(
        self, study: RatioStudy, capacities: Sequence[int], seeds: Mapping[str, Sequence[int]]
    ) -> None:
        self.study, self.steps, self.capacities, self.seeds = study, study.steps, capacities, seeds
        self.counted = self.steps.window(study.window)
        self.tokens = int(self.steps.prompt_tokens[self.counted].sum())
        if self.tokens == 0:
            raise InputError("the window has no step", where="window", fix="use all")
        largest = int(self.steps.flat.footprint.max())
        self.fitting = [capacity for capacity in capacities if self._units(capacity) >= largest]
        self.stacks: dict[str, StackDistances] = {}
        for policy in STACK_POLICIES.keys() & seeds.keys():
            if len(self.fitting) >= ONE_PASS_FROM:
                by_query = STACK_POLICIES[policy]
                self.stacks[policy] = StackDistances(self.steps.flat, by_query=by_query)
        self.best: dict[int, Integers] = {}  # the misses of the optimum at each fitting capacity

    def uses(self) -> int:
        """About how many uses all runs will have."""
        passes = len(self.capacities)  # of the optimum
        for policy, numbers in self.seeds.items():
            if policy in self.stacks:
                passes += 1
            elif policy != OPTIMUM:
                passes += len(self.capacities) * len(numbers)
        return passes * len(self.steps.flat.intervals.end)

    def _units(self, capacity: int) -> int:
        return whole_pages(capacity, self.study.page_size)

    def optimum(self, capacity: int) -> Integers:
        """The misses of the optimum without bypass, step by step."""
        return optimum(self.steps.flat, self._units(capacity)).misses

    def rate(self, misses: Integers) -> float:
        """The hit rate in the window."""
        hits = self.steps.hit_tokens(misses, self.study.match)
        return int(hits[self.counted].sum()) / self.tokens

    def run(self, policy: str, capacity: int, seed: int) -> tuple[float, int] | None:
        """Hit rate and misses of one run; None if a step does not fit."""
        units = self._units(capacity)
        if policy == BYPASS:
            misses = optimum(self.steps.flat, units, bypass=True).misses
        elif capacity not in self.best:
            return None
        elif policy == OPTIMUM:
            misses = self.best[capacity]
        elif policy in self.stacks:
            misses = self.stacks[policy].counts(units).misses
        else:
            misses = step_misses(self.steps, policy, units, seed)
        return self.rate(misses), int(misses.sum())

    def point(
        self, policy: str, capacity: int, runs: Sequence[tuple[float, int] | None]
    ) -> Point | None:
        """All runs of a policy at a capacity."""
        known = [run for run in runs if run is not None]
        if not known:
            return None
        rates, totals = student([rate for rate, _ in known]), [total for _, total in known]
        if capacity not in self.best:
            return Point(rates, student(totals), None)
        fewest = int(self.best[capacity].sum())
        if min(totals) < fewest and policy != BYPASS:
            raise OptimumError(
                f"{policy} has {min(totals)} misses at capacity {capacity}, the optimum {fewest}"
            )
        return Point(rates, student(totals), student([total / fewest for total in totals]))


def _seeds(study: RatioStudy, policy: str) -> range:
    randomised = policy not in OPTIMA and isinstance(make_policy(policy), RandomisedPolicy)
    return range(study.seed, study.seed + (study.seeds if randomised else 1))


def _processors() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
