"""Means over seeds with their spread and a 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

__all__ = ["Interval", "student"]


class Interval(NamedTuple):
    """A mean over independent runs.

    Attributes
    ----------
    mean, sd : float
        The mean and the sample standard deviation (the spread); ``sd`` is 0 for a single run.
    low, high : float or None
        The 95 % Student t interval of the mean; None for a single run.
    runs : int
        The number of runs.
    """

    mean: float
    sd: float
    low: float | None
    high: float | None
    runs: int


def student(values: Sequence[float]) -> Interval:
    """The mean of independent runs, their spread and the 95 % Student t interval of the mean.

    Examples
    --------
    >>> found = student([1.0, 2.0, 3.0])
    >>> found.mean, found.sd, round(found.low, 3), round(found.high, 3)
    (2.0, 1.0, -0.484, 4.484)
    """
    runs = len(values)
    mean = sum(values) / runs
    if runs == 1:
        return Interval(mean, 0.0, None, None, 1)
    from scipy.special import stdtrit

    sd = sqrt(sum((value - mean) ** 2 for value in values) / (runs - 1))
    half = float(stdtrit(runs - 1, 0.975)) * sd / sqrt(runs)
    return Interval(mean, sd, mean - half, mean + half, runs)
