"""Intervals against scipy's own."""

from __future__ import annotations

import random

import pytest
from scipy import stats

from empirical.intervals import student


@pytest.mark.parametrize("runs", [2, 3, 20, 200])
def test_equals_scipy(runs: int) -> None:
    draw = random.Random(runs)
    values = [draw.gauss(3, 2) for _ in range(runs)]
    found = student(values)
    low, high = stats.t.interval(0.95, runs - 1, loc=sum(values) / runs, scale=stats.sem(values))
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert found.sd == pytest.approx(stats.tstd(values))
    assert found.runs == runs


def test_one_run_has_no_interval() -> None:
    assert student([2.5]) == (2.5, 0.0, None, None, 1)


def test_it_covers_the_mean_as_often_as_it_says() -> None:
    draw = random.Random(1)
    covered = 0
    for _ in range(2000):
        found = student([draw.gauss(0, 1) for _ in range(5)])
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0 <= found.high
    assert 0.935 < covered / 2000 < 0.965
