"""The worst cases of the proofs, random instances and a trace, held to the proven bounds.

Every row is one policy on one sequence (or one distribution of sequences): its misses, the offline
optimum, on which farthest next use, the min-cost flow and the MIP must agree, their ratio, and the
bounds that the theorems give for these B, L and beta. On sequences that go on for ever the row
counts the growth: what a later part costs beyond its beginning, so that no additive constant
blurs the ratio. The theorems' own statements, with their constants, are checked on the whole run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from adversary.families import make_instance
from empirical.intervals import Interval, student
from empirical.ratio import ratio_fields, step_misses
from empirical.traces.base import Trace
from empirical.traces.steps import TraceSteps
from empirical.traces.synthetic import generate
from mip.agreement import check_agreement
from theory.bounds import BOUNDS, approximate, evaluate
from theory.engine import optimum
from theory.errors import OptimumError
from theory.eviction import POLICIES, RandomisedPolicy, policy_class
from theory.model import Instance
from theory.trie import TokenTrie

__all__ = ["Case", "ValidationRow", "cases", "random_instance"]

Number = Fraction | int | float
Pairs = Sequence[tuple[int, int]]
"""(misses, optimum), one a run."""

SOLVED_REQUESTS = 40
"""The first requests of a trace that all three methods solve; the whole is too long for the MIP."""

MOST_READABLE = 10**18
"""The largest denominator that is written out."""

SOLVED_DRAWS = 1
"""Of many sequences drawn alike, how many all three methods solve."""


@dataclass(frozen=True)
class ValidationRow:
    """One policy on one sequence.

    Attributes
    ----------
    case : str
        The family of sequences.
    policy : str
        The eviction policy.
    B, L, beta, u : int
        Capacity, shortest query, queries a batch and smallest footprint.
    misses : int or float
        The policy's misses, the mean over seeds if it is randomised.
    opt : int or float
        The optimum; the mean over seeds if the sequences are drawn.
    ratio : Fraction or Interval or None
        ``misses / opt``: exact, or over seeds; None if `opt` is 0.
    lower, upper : number or None
        What the theorems say of this case.
    additive : int
        d in ``misses <= upper * opt + d``.
    source : str
        Where the bounds come from.
    holds : bool
        Whether they hold here.
    on_trace : bool
        Whether the sequence is a whole trace.
    """

    case: str
    policy: str
    B: int
    L: int
    beta: int
    u: int
    misses: float
    opt: float
    ratio: Fraction | Interval | None
    lower: Number | None
    upper: Number | None
    additive: int
    source: str
    holds: bool
    on_trace: bool = False

    @property
    def status(self) -> str:
        """``verified`` (exactly), ``measured`` (over seeds, with an interval) or ``failed``."""
        if not self.holds:
            return "failed"
        return "measured" if isinstance(self.ratio, Interval) else "verified"

    def to_json(self) -> dict[str, Any]:
        """The row of ``validate.json``."""
        unbounded = {"ratio": "unbounded" if self.misses else None}
        return {
            "case": self.case,
            "policy": self.policy,
            "B": self.B,
            "L": self.L,
            "beta": self.beta,
            "u": self.u,
            "misses": self.misses,
            "opt": self.opt,
            **(unbounded if self.ratio is None else ratio_fields(self.ratio)),
            "lower": _told(self.lower),
            "upper": _told(self.upper),
            "additive": self.additive,
            "source": self.source,
            "status": self.status,
        }


def _told(bound: Number | None) -> str | float | None:
    """A bound as an exact string; a fraction that nobody would read (H_k, k large) as a float."""
    if bound is None or isinstance(bound, float):
        return bound
    return str(bound) if bound.denominator <= MOST_READABLE else float(bound)


class Case(NamedTuple):
    """A piece of the grid: a label for the progress bar, and the work."""

    label: str
    rows: Callable[[], list[ValidationRow]]


def cases(*, quick: bool = False, seed: int = 0, trace: Trace | None = None) -> Iterator[Case]:
    """The grid.

    Parameters
    ----------
    quick : bool
        A small part of it.
    seed : int
        Seeds every draw.
    trace : Trace, optional
        A trace to end with; a synthetic one by default.

    Examples
    --------
    >>> first = next(cases(quick=True)).rows()[0]
    >>> first.policy, first.ratio, first.lower, first.upper, first.status
    ('leaf-lru', Fraction(4, 1), 4, 4, 'verified')
    """
    seeds = range(seed, seed + (20 if quick else 50))
    grid = ((4, 8, 16), (1, 3), (1, 2)) if quick else ((4, 8, 16, 32, 64), (1, 2, 4), (1, 2, 4))
    for B in grid[0]:
        for L in grid[1]:
            for beta in grid[2]:
                if B - L - beta + 2 >= 2:
                    yield Case(f"cyclic B={B} L={L} beta={beta}", partial(_cyclic, B, L, beta))
    for policy in POLICIES:
        if policy != "leaf-lru" and not _is_randomised(policy):
            for beta in (1,) if quick else (1, 2):
                yield Case(f"adaptive {policy}", partial(_adaptive, policy, 8, 2, beta))
    for B, beta in ((8, 1),) if quick else ((8, 1), (16, 2), (32, 1), (32, 4)):
        yield Case(f"yao B={B} beta={beta}", partial(_yao, B, 2, beta, seeds))
    for size in (8, 16) if quick else (8, 16, 32, 64):
        yield Case(f"slack k={size}", partial(_slack, size, seeds))
    for number in range(4 if quick else 12):
        yield Case(f"random {number}", partial(_random, number, seed, seeds))
    served = generate(500 if quick else 2000, seed=seed) if trace is None else trace
    yield Case("trace, start", partial(_trace_start, served, seeds))
    for part in (8, 2) if quick else (32, 16, 8, 4, 2):
        yield Case(f"trace 1/{part}", partial(_trace, served, part, seeds[: 5 if quick else 20]))


class _Sequence:
    """An instance, its optimum and the misses of policies on it."""

    def __init__(self, instance: Instance, solved: bool = True) -> None:
        self.instance = instance
        self.steps = TraceSteps.of_instance(instance)
        self.opt = int(optimum(self.steps.flat, instance.capacity).misses.sum())
        if solved and (found := check_agreement(instance).require()) != self.opt:
            raise OptimumError(f"the engine finds the optimum {self.opt}, the solvers {found}")

    def misses(self, policy: str, seed: int = 0) -> int:
        """The misses of one run."""
        found = int(step_misses(self.steps, policy, self.instance.capacity, seed).sum())
        if found < self.opt:
            raise OptimumError(f"{policy} has {found} misses, the optimum {self.opt}")
        return found


def _cyclic(B: int, L: int, beta: int) -> list[ValidationRow]:
    """Theorems 1 and 2: Leaf-LRU has ratio B - L - beta + 2, exactly."""
    k = B - L - beta + 2
    # From k steps on the optimum misses once in k steps.
    short, long = (
        _Sequence(
            make_instance("cyclic", {"capacity": B, "length": L, "beta": beta, "steps": steps})
        )
        for steps in (k + 1, 3 * k + 1)
    )
    row = _grown("cyclic", "leaf-lru", short, long)
    exact = row.ratio == row.lower == row.upper
    return [replace(row, holds=row.holds and exact)]


def _adaptive(policy: str, B: int, L: int, beta: int) -> list[ValidationRow]:
    """Theorem 2: no deterministic policy has a ratio below B - L - beta + 2."""
    k = B - L - beta + 2
    given = {"capacity": B, "length": L, "beta": beta, "against": policy}
    short, long = (
        _Sequence(make_instance("cyclic", {**given, "steps": steps}))
        for steps in (4 * (k + 1), 4 * (k + 1) + 6 * k)
    )
    return [_grown("adaptive", policy, short, long)]


def _grown(case: str, policy: str, short: _Sequence, long: _Sequence) -> ValidationRow:
    """A deterministic policy against Theorem 2's adversary: the growth, the optimum's too."""
    total = long.misses(policy)
    instance = long.instance
    lower = evaluate(
        "deterministic-lower", B=instance.capacity, L=instance.shortest, beta=instance.beta
    )
    return _row(
        case,
        policy,
        long,
        [(total - short.misses(policy), long.opt - short.opt)],
        [(total, long.opt)],
        lower=lower,
        # The optimum pays at most B for the broom, and then one miss in k steps.
        lower_additive=int(lower) * instance.capacity,
        source="Theorem 2",
    )


def _yao(B: int, L: int, beta: int, seeds: Sequence[int]) -> list[ValidationRow]:
    """Theorem 3: no policy has a ratio below H_k on random requests."""
    k = B - L - beta + 2
    given = {"capacity": B, "length": L, "beta": beta}
    drawn = [
        tuple(
            _Sequence(
                make_instance("yao", {**given, "steps": steps, "seed": seed}),
                solved=place < SOLVED_DRAWS,
            )
            for steps in (4 * (k + 1), 44 * (k + 1))
        )
        for place, seed in enumerate(seeds)
    ]
    rows = []
    for policy in ("rlt", "rlt-step"):
        whole = [
            (long.misses(policy, seed), long.opt)
            for seed, (_, long) in zip(seeds, drawn, strict=True)
        ]
        counted = [
            (total - short.misses(policy, seed), best - short.opt)
            for seed, (total, best), (short, _) in zip(seeds, whole, drawn, strict=True)
        ]
        lower = evaluate("yao-lower", k=k)
        rows.append(
            _row("yao", policy, drawn[0][1], counted, whole, lower=lower, source="Theorem 3")
        )
    return rows


def _slack(size: int, seeds: Sequence[int]) -> list[ValidationRow]:
    """Theorem R4': rlt-step loses the logarithm on batches, rlt keeps it."""
    instance = make_instance("slack-fixed", {"size": size, "beta": size})
    short, long = (_Sequence(instance.unrolled(cycles)) for cycles in (2, 6))
    rows = []
    for policy in ("leaf-lru", "rlt", "rlt-step"):
        runs = seeds if _is_randomised(policy) else seeds[:1]
        whole = [(long.misses(policy, seed), long.opt) for seed in runs]
        counted = [
            (total - short.misses(policy, seed), long.opt - short.opt)
            for seed, (total, _) in zip(runs, whole, strict=True)
        ]
        lower: Number = 1
        if policy == "rlt-step":  # exactly, it has hundreds of digits
            lower = approximate("slack-fixed-lower", l=size, beta=size)
        source = "Theorem R4'" if policy == "rlt-step" else ""
        rows.append(_row("slack-fixed", policy, long, counted, whole, lower=lower, source=source))
    return rows


def random_instance(number: int, seed: int) -> Instance:
    """A small random trie with random batches; the largest are split.

    Examples
    --------
    >>> random_instance(0, 0) == random_instance(0, 0)
    True
    """
    draw = random.Random(f"{seed}/{number}")
    nodes = draw.randint(6, 12)
    trie = TokenTrie.from_parents([draw.randint(max(-1, n - 4), n - 1) for n in range(nodes)])
    steps = [draw.choices(range(nodes), k=draw.randint(1, 3)) for _ in range(60)]
    widest = max(trie.footprint_size(step) for step in steps)
    longest = max(trie.depth(query) for step in steps for query in step)
    capacity = max(longest, min(widest, nodes - 1) - draw.randint(0, 2))
    return Instance(trie, capacity, steps, overflow="split")


def _random(number: int, seed: int, seeds: Sequence[int]) -> list[ValidationRow]:
    """An instance of no particular kind."""
    return _held("random", _Sequence(random_instance(number, seed)), seeds)


def _trace_start(trace: Trace, seeds: Sequence[int]) -> list[ValidationRow]:
    """The first requests of a trace, which all three methods solve."""
    start = trace.select(range(min(SOLVED_REQUESTS, len(trace))))
    capacity = max(len(start.parent) // 2, int(start.blocks.max()))
    return _held(f"{trace.name}, start", _Sequence(start.instance(capacity)), seeds)


def _trace(trace: Trace, part: int, seeds: Sequence[int]) -> list[ValidationRow]:
    """A trace at a capacity of one `part`-th of its distinct blocks."""
    capacity = max(len(trace.parent) // part, int(trace.blocks.max()))
    sequence = _Sequence(trace.instance(capacity), solved=False)
    rows = _held(trace.name, sequence, seeds, ("leaf-lru", "rlt"))
    return [replace(row, on_trace=True) for row in rows]


def _held(
    case: str,
    sequence: _Sequence,
    seeds: Sequence[int],
    policies: Sequence[str] = ("leaf-lru", "node-lru", "rlt", "rlt-step"),
) -> list[ValidationRow]:
    """Whole runs from an empty cache against the upper bounds."""
    rows = []
    for policy in policies:
        runs = seeds if _is_randomised(policy) else seeds[:1]
        whole = [(sequence.misses(policy, seed), sequence.opt) for seed in runs]
        rows.append(_row(case, policy, sequence, whole, whole))
    return rows


UPPER = {
    "leaf-lru": "marking-upper",
    "node-lru": "marking-upper",
    "fifo": "fifo-upper",
    "rlt": "rlt-upper",
    "rlt-step": "rlt-step-batch-upper",
}
"""The upper bound of each policy that has one, by its name in `theory.bounds`."""


def _row(
    case: str,
    policy: str,
    sequence: _Sequence,
    counted: Pairs,
    whole: Pairs,
    *,
    lower: Number = 1,
    lower_additive: int = 0,
    source: str = "",
) -> ValidationRow:
    """Hold a policy to its bounds: upper ones on the whole runs, lower ones on what is counted.

    With a `lower_additive` constant the lower bound too is checked on the whole runs.
    """
    instance, u = sequence.instance, sequence.instance.u
    upper: Number | None = None
    additive = 0
    if policy in UPPER:
        # A footprint has at most beta leaves.
        upper = evaluate(UPPER[policy], B=instance.capacity, u=u, b=instance.beta)
        bound = BOUNDS[UPPER[policy]]
        source = " and ".join(filter(None, (source, bound.source)))
        # The constant is B or 0; all runs here start from an empty cache.
        constant = bound.additive if bound.additive_empty is None else bound.additive_empty
        additive = int(constant.subs(dict.fromkeys(constant.free_symbols, instance.capacity)))
    randomised = _is_randomised(policy)
    reached = [(misses + lower_additive, opt) for misses, opt in whole]
    high = _ends(_ratio(reached if lower_additive else counted, randomised))[1]
    low = _ends(_ratio([(misses - additive, opt) for misses, opt in whole], randomised))[0]
    return ValidationRow(
        case=case,
        policy=policy,
        B=instance.capacity,
        L=instance.shortest,
        beta=instance.beta,
        u=u,
        misses=_mean([misses for misses, _ in counted]),
        opt=_mean([opt for _, opt in counted]),
        ratio=_ratio(counted, randomised),
        lower=lower,
        upper=upper,
        additive=additive,
        source=source,
        holds=(high is None or high >= lower) and (upper is None or low is None or low <= upper),
    )


def _is_randomised(policy: str) -> bool:
    return issubclass(policy_class(policy), RandomisedPolicy)


def _ratio(pairs: Pairs, randomised: bool) -> Fraction | Interval | None:
    """Exact for a deterministic policy, else over the runs; None if an optimum is 0."""
    if not all(opt for _, opt in pairs):
        return None
    if randomised:
        return student([misses / opt for misses, opt in pairs])
    return Fraction(*pairs[0])


def _ends(ratio: Fraction | Interval | None) -> tuple[Number | None, Number | None]:
    """The ends of the interval that holds the ratio; an exact one is its own interval."""
    return (ratio.low, ratio.high) if isinstance(ratio, Interval) else (ratio, ratio)


def _mean(values: Sequence[int]) -> float:
    return values[0] if len(set(values)) == 1 else sum(values) / len(values)
