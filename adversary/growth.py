"""How the ratio of a policy grows with the free slots k: from constant to unbounded.

What decides, in this order: a witness whose optimum pays nothing (unbounded); the proved bounds of
a known policy, if the upper and the lower one grow alike; for other policies Theorem 2 or 3 from
below and the fit of the best ratios found from above. Without a clear fit the growth is
undetermined. A fit is measured, never a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isqrt, log
from typing import Literal

import numpy as np

from adversary.known import known
from adversary.measure import Score, certify, measure
from adversary.search import Candidate
from adversary.strategy import LETTERS, Strategy, brooms, play
from adversary.target import Target
from theory.bounds import approximate

__all__ = ["Evidence", "Fit", "Growth", "Point", "fit", "growth", "proved_growth"]

Order = Literal["constant", "logarithmic", "linear", "superlinear"]
Verdict = Literal[Order, "unbounded", "undetermined"]
Evidence = Literal["witness", "proved", "measured"]

SLOTS = (2, 3, 4, 6, 8, 12, 16, 24)
SEEDS = range(2000, 2032)
REMEASURED = 6
"""Of the sequences for a randomised policy, so many are measured again with other coins."""
CLEAR = 4.0
"""How much better (in AICc) the best model must be than the next one."""
STEADY = 0.3
"""How far the slope between the last points may be from that of the whole fit, relatively."""

SINGLE = "single"
BATCH = "batch"
GROW = "grow"
PROVED: dict[str, dict[str, tuple[str, str]]] = {
    "leaf-lru": dict.fromkeys((SINGLE, BATCH), ("deterministic-lower", "marking-upper")),
    "node-lru": dict.fromkeys((SINGLE, BATCH), ("deterministic-lower", "marking-upper")),
    "vllm-lru": dict.fromkeys((SINGLE, BATCH), ("deterministic-lower", "marking-upper")),
    "fifo": dict.fromkeys((SINGLE, BATCH, GROW), ("deterministic-lower", "fifo-upper")),
    "rlt": dict.fromkeys((SINGLE, BATCH, GROW), ("yao-lower", "rlt-upper")),
    "rlt-step": {
        SINGLE: ("yao-lower", "rlt-step-single-upper"),
        BATCH: ("yao-lower", "rlt-step-batch-upper"),
        GROW: ("slack-linear-lower", "marking-upper"),
    },
    "rlt-node": {SINGLE: ("rlt-node-lower", "marking-upper")},
    "sglang-lru": {SINGLE: ("sglang-cuts-lower", "sglang-root-upper")},
    "random-leaf": dict.fromkeys((SINGLE, BATCH, GROW), ("random-leaf-lower", "random-leaf-upper")),
    "onlinemin": dict.fromkeys((SINGLE, BATCH, GROW), ("yao-lower", "onlinemin-upper")),
}
"""Policy -> setting -> the names of a lower and an upper bound in `theory.bounds.BOUNDS`."""
for _policy in ("leaf-lru", "node-lru", "vllm-lru"):
    PROVED[_policy][GROW] = ("deterministic-lower", "marking-upper")


@dataclass(frozen=True)
class Point:
    """The best ratio found at a capacity."""

    slots: int
    capacity: int
    beta: int
    score: Score
    found_by: str


@dataclass(frozen=True)
class Fit:
    """The least squares fit of ``ratio = intercept + slope * g(k)``.

    Attributes
    ----------
    order : {"constant", "logarithmic", "linear"}
        g is 0, ln or the identity; a faster growth is proved or not told.
    intercept, slope : float
        The coefficients.
    uncertainty : float
        Half of the 95 % interval of the slope (of the intercept, if constant).
    aicc : float
        Akaike's information criterion, corrected for few points: less is better.
    """

    order: Order
    intercept: float
    slope: float
    uncertainty: float
    aicc: float


@dataclass(frozen=True)
class Growth:
    """The verdict and what it stands on.

    Attributes
    ----------
    verdict : str
        The order of growth.
    evidence : {"witness", "proved", "measured"}
        What decided.
    reason : str
        In words.
    points : tuple of Point
        The best ratios found.
    fits : tuple of Fit
        All fits, the best first.
    """

    verdict: Verdict
    evidence: Evidence
    reason: str
    points: tuple[Point, ...]
    fits: tuple[Fit, ...]


def proved_growth(target: Target, grow: bool = False) -> tuple[Order, str, str] | None:
    """The order on which a proved lower and a proved upper bound agree, and their names.

    Examples
    --------
    >>> proved_growth(Target("rlt", 8))
    ('logarithmic', 'yao-lower', 'rlt-upper')
    >>> proved_growth(Target("rlt-step", 8, beta=4), grow=True)[0]
    'linear'
    >>> proved_growth(Target("sglang-lru", 8))[0]
    'superlinear'
    >>> proved_growth(Target("lfu", 8)) is None
    True
    """
    setting = GROW if grow else SINGLE if target.beta == 1 else BATCH
    names = PROVED.get(target.policy, {}).get(setting)
    if names is None:
        return None
    lower, upper = (_order(name, target, grow) for name in names)
    return (lower, *names) if lower == upper else None


def _order(name: str, target: Target, grow: bool) -> Order:
    """How a bound grows when the capacity grows (and with it the batches, if so)."""
    values = []
    for capacity in (2**7, 2**13):
        beta = growing_beta(capacity, target.min_length) if grow else target.beta
        length = target.min_length
        u = length + beta - 1
        k = capacity - u + 1
        given = {"B": capacity, "L": length, "beta": beta, "b": beta, "u": u, "k": k}
        values.append(approximate(name, **given, q=isqrt(2 * k // 3)))  # the best number of cuts
    rate = values[1] / values[0]  # over 64 times the capacity
    if rate > 256:
        return "superlinear"
    return "linear" if rate > 16 else "logarithmic" if rate > 1.1 else "constant"


def growing_beta(capacity: int, min_length: int) -> int:
    """The batch size that grows with the capacity: half of what fits, as in Theorem R4'.

    Examples
    --------
    >>> growing_beta(8, 1), growing_beta(9, 3)
    (4, 4)
    """
    return max(1, (capacity + 2 - min_length) // 2)


def growth(
    target: Target,
    best: Candidate,
    pool: Sequence[Candidate] = (),
    *,
    grow: bool = False,
    slots: Sequence[int] = SLOTS,
    stop: Callable[[], bool] | None = None,
) -> Growth:
    """Measure how the best ratio grows, and decide.

    Parameters
    ----------
    target : Target
        The policy, and L and beta.
    best : Candidate
        The certified worst case at the target's capacity.
    pool : sequence of Candidate
        Others, whose strategies are played at the other capacities too.
    grow : bool
        Whether beta grows with the capacity (`growing_beta`).
    slots : sequence of int
        The values of k to measure at (with `grow`: of the capacity minus L plus 1).
    stop : callable, optional
        Asked before every sequence; True ends the measurement. A point that is not complete then
        is left out: the best of a part would bend the fit.

    Examples
    --------
    >>> from adversary.cyclic import cyclic
    >>> target = Target("leaf-lru", 4)
    >>> found = growth(target, Candidate(cyclic(4), certify(cyclic(4), target), "x"), slots=(2, 4))
    >>> found.verdict, found.evidence, [point.score.text for point in found.points]
    ('linear', 'proved', ['2', '4'])
    """
    words = [Strategy("", letter) for letter in LETTERS]
    words += [c.strategy for c in (best, *pool) if c.strategy is not None]
    points = []
    for k in slots:
        capacity = k + target.min_length - 1 if grow else k + target.min_length + target.beta - 2
        beta = growing_beta(capacity, target.min_length) if grow else target.beta
        point = _point(replace(target, capacity=capacity, beta=beta), words, stop)
        if stop and stop():
            break
        if point is not None:
            points.append(point)
    bounded = [point for point in points if point.score.ratio is not None]
    fits = tuple(sorted(fit(bounded), key=lambda one: one.aicc))
    verdict, evidence, reason = _decide(target, best.score, points, fits, grow)
    return Growth(verdict, evidence, reason, tuple(points), fits)


def _point(
    target: Target, words: Sequence[Strategy], stop: Callable[[], bool] | None
) -> Point | None:
    """The best that strategies and families find at one capacity; None if it is stopped."""
    if stop and stop():
        return None
    tries = [(instance, f"family {name}") for name, instance in known(target)]
    for board in brooms(target)[: 2 if target.beta == 1 else 4]:  # with k + 1 and k + 2 leaves
        for word in dict.fromkeys(words):
            played = play(target, board, word, stop=stop)
            if played is not None:
                tries.append((played, "adaptive play"))
    ranked = []
    for instance, how in tries:
        if stop and stop():
            return None
        ranked.append((measure(instance, target, stop=stop).rank, instance, how))
    if not ranked:
        return None
    ranked.sort(key=lambda tried: tried[0], reverse=True)
    tries = [(instance, how) for _, instance, how in ranked]
    if not target.randomised:
        best, how = tries[0]
        return Point(target.k, target.capacity, target.beta, certify(best, target, stop), how)
    # The first measurement can flatter, above all one that ends before a late start wears off.
    scores = [measure(instance, target, SEEDS, stop) for instance, _ in tries[:REMEASURED]]
    scores = [  # "unbounded" may be the cost of a start that takes long
        certify(tried[0], target, stop) if score.ratio is None else score
        for tried, score in zip(tries, scores, strict=False)
    ]
    place = max(range(len(scores)), key=lambda i: scores[i].rank)
    return Point(target.k, target.capacity, target.beta, scores[place], tries[place][1])


def fit(points: Sequence[Point]) -> list[Fit]:
    """The three models, fitted to the ratios; nothing with fewer than four points.

    Examples
    --------
    >>> from fractions import Fraction
    >>> points = [Point(k, k, 1, Score(Fraction(3 * k), Fraction(2)), "") for k in (2, 4, 8, 16)]
    >>> best = min(fit(points), key=lambda one: one.aicc)
    >>> best.order, round(best.slope, 6)
    ('linear', 1.5)
    """
    if len(points) < 4:
        return []
    ratios = np.array([float(point.score.ratio or 0) for point in points])
    slots = [point.slots for point in points]
    models: list[tuple[Order, list[float]]] = [
        ("constant", []),
        ("logarithmic", [log(k) for k in slots]),
        ("linear", [float(k) for k in slots]),
    ]
    # What no model can explain: the measurement's own error, and a little for exact ratios.
    floor = float(np.mean([(p.score.half_width / 2) ** 2 for p in points])) + 1e-4
    return [_fit(order, column, ratios, floor) for order, column in models]


def _fit(order: Order, column: list[float], ratios: np.ndarray, floor: float) -> Fit:
    from scipy.special import stdtrit

    count = len(ratios)
    design = np.ones((count, 1)) if not column else np.column_stack([np.ones(count), column])
    coefficients, *_ = np.linalg.lstsq(design, ratios, rcond=None)
    residual = float(((ratios - design @ coefficients) ** 2).sum())
    free = count - design.shape[1]
    variance = residual / free
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    parameters = design.shape[1] + 1
    correction = 2 * parameters * (parameters + 1) / max(1, count - parameters - 1)
    aicc = count * log(residual / count + floor) + 2 * parameters + correction
    slope = float(coefficients[1]) if column else 0.0
    uncertainty = float(stdtrit(free, 0.975) * errors[-1])
    return Fit(order, float(coefficients[0]), slope, uncertainty, aicc)


def _decide(
    target: Target, best: Score, points: Sequence[Point], fits: Sequence[Fit], grow: bool
) -> tuple[Verdict, Evidence, str]:
    free = best.ratio is None
    if free and best.exact:
        return "unbounded", "witness", "a cycle costs the policy something and the optimum nothing"
    proved = proved_growth(target, grow)
    if proved is not None:
        order, lower, upper = proved
        return order, "proved", f"bounds {lower} and {upper}"
    if free or any(point.score.ratio is None for point in points):
        return "unbounded", "measured", "a cycle on which only the policy pays, as far as repeated"
    least = "yao-lower (Theorem 3)" if target.randomised else "deterministic-lower (Theorem 2)"
    if len(fits) < 2:
        return "undetermined", "measured", f"too few points for a fit; at least {least}"
    first, second = fits[0], fits[1]
    said = f"{first.order} fits best, slope {first.slope:.3g} +- {first.uncertainty:.2g}"
    if not _steady(first, points):
        return "undetermined", "measured", f"{said}, but not steadily; at least {least}"
    if second.aicc - first.aicc < CLEAR:
        return "undetermined", "measured", f"{said}, not clearly better than {second.order}"
    if first.order == "constant" or (first.order == "logarithmic" and not target.randomised):
        return "undetermined", "measured", f"{said}, but it is at least {least}"
    return first.order, "measured", f"{said}; proved from below by {least}"


def _steady(best: Fit, points: Sequence[Point]) -> bool:
    """Whether the upper half of the points still follows the fit."""
    if best.order == "constant":
        return True
    at = [log(p.slots) if best.order == "logarithmic" else float(p.slots) for p in points]
    first, last = points[len(points) // 2 - 1], points[-1]
    rise = float(last.score.ratio or 0) - float(first.score.ratio or 0)
    slope = rise / (at[-1] - at[len(points) // 2 - 1])
    return abs(slope - best.slope) <= STEADY * abs(best.slope)
