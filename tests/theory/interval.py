"""A confidence interval for the mean of independent runs."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

from scipy.stats import t


def interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean of `values`."""
    mean = fmean(values)
    half = t.ppf((1 + confidence) / 2, len(values) - 1) * stdev(values) / sqrt(len(values))
    return mean - half, mean + half
