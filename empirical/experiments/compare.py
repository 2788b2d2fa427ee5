"""Is one method better than another? Paired over seeds, with an interval."""

from __future__ import annotations

from typing import NamedTuple

from empirical.experiments.sweep import Row
from empirical.intervals import student

__all__ = ["Comparison", "compare"]


class Comparison(NamedTuple):
    """A difference between two methods on the same seeds.

    Attributes
    ----------
    difference : float
        The mean of (second - first).
    low, high : float or None
        Its 95 % Student t interval; None for a single seed.
    verdict : str
        ``higher`` or ``lower`` if the interval leaves out 0, else ``no difference shown``.
    """

    difference: float
    low: float | None
    high: float | None
    verdict: str


def compare(first: Row, second: Row, metric: str) -> Comparison:
    """How `metric` of `second` differs from that of `first`.

    Examples
    --------
    >>> one, two = ({"by_seed": {"hit_rate": rates}} for rates in ([0.2, 0.3], [0.3, 0.41]))
    >>> compare(one, two, "hit_rate").verdict
    'higher'
    """
    before, after = (row["by_seed"].get(metric) for row in (first, second))
    if before is None or after is None:  # a single seed
        difference = second[metric] - first[metric]
        return Comparison(difference, None, None, "no difference shown")
    found = student([b - a for a, b in zip(before, after, strict=True)])
    low, high = found.low, found.high
    assert low is not None and high is not None
    verdict = "higher" if low > 0 else "lower" if high < 0 else "no difference shown"
    return Comparison(found.mean, low, high, verdict)
