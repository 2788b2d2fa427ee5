"""Empirical ratios: a policy's misses against the offline optimum, on a trace or an instance.

Two measures stand side by side. Hit rates are prompt tokens over a stated window. The ratio is the
model's: misses, one per unit, over the whole run, against the optimum of the same run. Only there
must the optimum be at most every policy, and a violation is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from empirical.intervals import Interval, student
from empirical.traces.base import Trace, Unit
from empirical.traces.steps import Partial, TraceSteps, Window, whole_pages
from theory.cache import MatchRule, run
from theory.engine import optimum, simulate, supports
from theory.errors import InputError, OptimumError
from theory.eviction import RandomisedPolicy, make_policy
from theory.model import Instance, Overflow
from theory.repeats import check_repeats

__all__ = ["Growth", "RatioRow", "RatioStudy", "ratio_fields", "step_misses"]

MAX_OPERATIONS = 2_000_000_000
"""The most work that the executable cache is given; a few minutes."""

CHEAP = 100_000_000
"""Up to so much work in the executable cache is done twice, to see that the runs are one."""

LONG_RUN = 8
"""Cycles that are counted, after as many that are not, when an instance has a cycle."""

Integers = NDArray[np.int64]


class NoKernelError(InputError):
    """A policy without a compiled form, on a trace that is too long for the executable cache."""


@dataclass(frozen=True)
class Growth:
    """What the later part of a run costs, free of what an empty cache costs at its beginning.

    Attributes
    ----------
    misses : int or float
        The policy's misses in the later part, one per unit (the mean over seeds).
    opt_misses : int
        By how much the later part raises the optimum.
    ratio : Fraction or Interval or None
        ``misses / opt_misses``; None if the optimum does not grow: the ratio is unbounded, or 0/0.
    """

    misses: float
    opt_misses: int
    ratio: Fraction | Interval | None

    def to_json(self) -> dict[str, Any]:
        """The fields of a result file."""
        if self.ratio is None:
            told: dict[str, Any] = {"ratio": "unbounded" if self.misses else None}
        else:
            told = ratio_fields(self.ratio)
        return {"misses": self.misses, "opt_misses": self.opt_misses, **told}


@dataclass(frozen=True)
class RatioRow:
    """One policy at one capacity.

    Attributes
    ----------
    policy : str
        As it was given.
    capacity : int
        As it was given.
    tokens : int
        Prompt tokens in the window: the denominator of the rates.
    hits, misses : int or float
        Prompt tokens in the window that were, or were not, taken from the cache; the mean over
        seeds for a randomised policy.
    opt_misses : int
        Prompt tokens in the window that the optimum of the whole run computes.
    run_misses : int or float
        Misses over the whole run, one per unit (the mean over seeds).
    run_opt_misses : int
        The fewest possible.
    ratio : Fraction or Interval
        ``run_misses / run_opt_misses``; over seeds for a randomised policy.
    cycle : Growth, optional
        For an instance with a cycle: `cycles` of them, after as many that are not counted.
    cycles : int
        See `cycle`.
    """

    policy: str
    capacity: int
    tokens: int
    hits: float
    misses: float
    opt_misses: int
    run_misses: float
    run_opt_misses: int
    ratio: Fraction | Interval
    cycle: Growth | None = None
    cycles: int = 0

    @property
    def hit_rate(self) -> float:
        """``hits / tokens``."""
        return self.hits / self.tokens

    @property
    def opt_hit_rate(self) -> float:
        """The optimum's hit rate in the same window."""
        return (self.tokens - self.opt_misses) / self.tokens

    def to_json(self) -> dict[str, Any]:
        """The row of a result file; an exact ratio is a string, a sampled one a mean."""
        value: dict[str, Any] = {
            "policy": self.policy,
            "capacity": self.capacity,
            "tokens": self.tokens,
            "hits": self.hits,
            "misses": self.misses,
            "hit_rate": self.hit_rate,
            "opt_hit_rate": self.opt_hit_rate,
            "opt_misses": self.opt_misses,
            **ratio_fields(self.ratio),
            "run_misses": self.run_misses,
            "run_opt_misses": self.run_opt_misses,
        }
        if self.cycle is not None:
            value["cycle"] = {"cycles": self.cycles, **self.cycle.to_json()}
        return value


def ratio_fields(ratio: Fraction | Interval) -> dict[str, Any]:
    """How a ratio stands in a result file.

    Examples
    --------
    >>> ratio_fields(Fraction(3, 2))
    {'ratio': '3/2'}
    """
    if isinstance(ratio, Fraction):
        return {"ratio": str(ratio)}
    return {
        "ratio": ratio.mean,
        "ratio_sd": ratio.sd,
        "ratio_low": ratio.low,
        "ratio_high": ratio.high,
        "seeds": ratio.runs,
    }


@dataclass(frozen=True, eq=False)
class RatioStudy:
    """A sequence and the way in which it is measured.

    Parameters
    ----------
    source : Trace or Instance
        What is served.
    unit : {"block", "token"}
        What capacities count, for a trace; an instance has tokens.
    page_size : int
        Blocks or tokens a page; the cache holds whole pages.
    batch : int
        Consecutive requests of a trace that are served together.
    partial : {"keep", "drop"}
        Whether a partial last page is cached.
    overflow : {"error", "split"}
        What becomes of a batch that is not admissible.
    window : {"all", "last-half"}
        Which requests the rates count.
    bypass : bool
        Whether the optimum may refuse to cache a query.
    match : {"full", "all-but-last"}
        The match rule of the rates. The ratio is about the model's misses under either.
    cycles : int, optional
        For an instance with a cycle: serve its prefix and this many cycles.
    seed, seeds : int
        A randomised policy runs with the seeds ``seed, ..., seed + seeds - 1``.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> star = Instance(TokenTrie.from_parents([-1, -1, -1]), 2, [[0], [1], [2]] * 2)
    >>> RatioStudy(star).row("leaf-lru").ratio
    Fraction(3, 2)
    """

    source: Trace | Instance
    unit: Unit = "block"
    page_size: int = 1
    batch: int = 1
    partial: Partial = "keep"
    overflow: Overflow = "error"
    window: Window = "all"
    bypass: bool = False
    match: MatchRule = "full"
    cycles: int | None = None
    seed: int = 0
    seeds: int = 20
    _fitted: dict[int, _Fitted] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("seeds", "cycles"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{value} is too few", where=name, fix="give 1 or more")

    @cached_property
    def steps(self) -> TraceSteps:
        """The steps, for any capacity."""
        if isinstance(self.source, Trace):
            if self.cycles is not None:
                raise InputError("a trace has no cycle", where="cycles", fix="give an instance")
            return self.source.steps(
                unit=self.unit, page_size=self.page_size, batch=self.batch, partial=self.partial
            )
        instance = self.source if self.cycles is None else self.source.unrolled(self.cycles)
        return TraceSteps.of_instance(instance, page_size=self.page_size, partial=self.partial)

    def row(self, policy: str, capacity: int | None = None) -> RatioRow:
        """Measure one policy at one capacity (by default that of the instance).

        Raises
        ------
        PolicyError
            If the policy is unknown or breaks its protocol.
        InadmissibleStepError
            If a step is too large for the capacity.
        OptimumError
            If the policy has fewer misses than the optimum: a fault of the toolkit.
        InputError
            If the policy has no compiled form and the trace is too large for the executable cache.
        """
        capacity = self._capacity(capacity)
        seeds = self._seeds(policy)
        fitted = self._fit(capacity)
        steps = fitted.steps
        runs = [fitted.misses(policy, seed) for seed in seeds]
        best = int(fitted.optimum.sum())
        totals = [int(misses.sum()) for misses in runs]
        if min(totals) < best:
            raise OptimumError(
                f"{policy} has {min(totals)} misses at capacity {capacity}, the optimum {best}"
            )
        counted = steps.window(self.window)
        tokens = int(steps.prompt_tokens[counted].sum())
        if tokens == 0:
            raise InputError("the window has no step", where="window", fix="use all")
        hits = [int(steps.hit_tokens(misses, self.match)[counted].sum()) for misses in runs]
        best_hits = int(steps.hit_tokens(fitted.optimum, self.match)[counted].sum())
        return RatioRow(
            policy=policy,
            capacity=capacity,
            tokens=tokens,
            hits=_mean(hits),
            misses=_mean([tokens - hit for hit in hits]),
            opt_misses=tokens - best_hits,
            run_misses=_mean(totals),
            run_opt_misses=best,
            ratio=_ratio(totals, best, _is_randomised(policy)),
            cycle=self._cycle(policy, capacity),
            cycles=self.cycles or LONG_RUN,
        )

    def growth(self, policy: str, longer: RatioStudy, capacity: int | None = None) -> Growth:
        """What `longer`, of whose sequence this one is the beginning, costs beyond this one.

        Raises
        ------
        OptimumError
            If the optimum of the longer sequence is less than that of its beginning.
        """
        capacity = self._capacity(capacity)
        short, long = self._fit(capacity), longer._fit(capacity)
        gained = [
            int(long.misses(policy, seed).sum() - short.misses(policy, seed).sum())
            for seed in self._seeds(policy)
        ]
        best = int(long.optimum.sum() - short.optimum.sum())
        if best < 0:
            raise OptimumError(f"the optimum falls by {-best} when the sequence goes on")
        return Growth(
            _mean(gained), best, _ratio(gained, best, _is_randomised(policy)) if best else None
        )

    def _seeds(self, policy: str) -> range:
        return range(self.seed, self.seed + (self.seeds if _is_randomised(policy) else 1))

    def _capacity(self, capacity: int | None) -> int:
        if capacity is not None:
            return capacity
        if isinstance(self.source, Trace):
            raise InputError("a trace has no capacity", where="capacity", fix="give one")
        return self.source.capacity

    def describe(self) -> dict[str, Any]:
        """What the numbers mean: the head of a result file, JSON values only."""
        steps, source = self.steps, self.source
        is_trace = isinstance(source, Trace)
        kind = self.unit if is_trace else "token"
        what = "all" if self.window == "all" else "the last half"
        rows = "requests" if is_trace else "queries"
        denominator = f"prompt tokens of {what} of the {len(steps.tokens):,} {rows}"
        if steps.batched:
            denominator += ", of which a batch computes each unit once"
            if steps.unit_tokens > 1:
                denominator += "; partial units counted as whole"
        capacity_unit = f"{kind}s"
        if isinstance(source, Trace) and kind == "block":
            capacity_unit += f" of {source.block_size} tokens"
        if self.page_size > 1:
            capacity_unit += f", kept in whole pages of {self.page_size}"
        per = kind if self.page_size == 1 else "page"
        return {
            "schema": "kvbounds/ratio/1",
            "name": source.name or ("trace" if is_trace else "instance"),
            "requests": len(steps.tokens),
            "capacity_unit": capacity_unit,
            "unit": kind,
            "page_size": self.page_size,
            "partial": self.partial,
            "batch": self.batch,
            "overflow": self.overflow,
            "window": self.window,
            "bypass": self.bypass,
            "match": self.match,
            "seed": self.seed,
            "denominator": denominator,
            "optimum": f"fewest misses, one per {per}, over the whole run, "
            f"{'with' if self.bypass else 'without'} bypass",
            "ratio_of": f"misses over the optimum's, one per {per}, over the whole run",
        }

    def _fit(self, capacity: int) -> _Fitted:
        if capacity not in self._fitted:
            units = whole_pages(capacity, self.page_size)
            self._fitted[capacity] = _Fitted(
                self.steps.fit(units, self.overflow), units, self.bypass
            )
        return self._fitted[capacity]

    def _cycle(self, policy: str, capacity: int) -> Growth | None:
        if isinstance(self.source, Trace) or self.source.cycle_start is None:
            return None
        cycles = self.cycles or LONG_RUN
        longer = replace(self, cycles=2 * cycles)
        return replace(self, cycles=cycles).growth(policy, longer, capacity)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Steps that are admissible under one capacity, in units."""

    steps: TraceSteps
    capacity: int
    bypass: bool

    @cached_property
    def optimum(self) -> Integers:
        """The misses of the offline optimum, step by step."""
        return optimum(self.steps.flat, self.capacity, self.bypass).misses

    def misses(self, policy: str, seed: int) -> Integers:
        """The misses of a policy, step by step."""
        return step_misses(self.steps, policy, self.capacity, seed)


def step_misses(steps: TraceSteps, policy: str, capacity: int, seed: int = 0) -> Integers:
    """The units that a policy loads in each served step; int64[served steps].

    Compiled if the policy has a compiled form, else with the executable cache.

    Raises
    ------
    InputError
        If the sequence is too large for the executable cache.
    PolicyError
        If a policy that is not randomised does another thing when it serves a short sequence again.
    """
    flat = steps.flat
    if supports(policy):
        return simulate(flat, policy, capacity, seed).misses
    operations = int(flat.footprint.sum()) * min(capacity, flat.units)
    if operations > MAX_OPERATIONS:
        raise NoKernelError(
            f"the policy has no compiled form, and {len(steps):,} steps at a capacity of "
            f"{capacity:,} units would take the executable cache about {operations:.0e} "
            f"operations, more than {MAX_OPERATIONS:.0e}",
            where=f"policy {policy}",
            fix="give fewer requests (trace convert --rows), a smaller capacity or larger "
            "pages (--page-size)",
        )
    instance = steps.instance(capacity)
    result = run(instance, policy, seed=seed)
    if operations <= CHEAP and not _is_randomised(policy):
        check_repeats(policy, result.steps, run(instance, policy, seed=seed).steps)
    return np.array([len(step.misses) for step in result.steps], dtype=np.int64)


def _is_randomised(policy: str) -> bool:
    return isinstance(make_policy(policy), RandomisedPolicy)


def _ratio(misses: Sequence[int], best: int, randomised: bool) -> Fraction | Interval:
    """Exact for a deterministic policy, else the mean over seeds with its interval."""
    if randomised:
        return student([count / best for count in misses])
    return Fraction(misses[0], best)


def _mean(values: Sequence[int]) -> float:
    """The mean; an int when there is one value."""
    return values[0] if len(values) == 1 else sum(values) / len(values)
