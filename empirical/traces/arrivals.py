"""Arrival processes: when the queries of a trace arrive, in place of its own timestamps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from empirical.traces.base import Trace
from theory.errors import InputError

__all__ = ["PROCESSES", "retime", "stretch"]

Floats = NDArray[np.float64]


def _poisson(count: int, mean: float, cv: float, random: np.random.Generator) -> Floats:
    return random.exponential(mean, count)


def _bursty(count: int, mean: float, cv: float, random: np.random.Generator) -> Floats:
    shape = cv**-2
    return random.gamma(shape, mean / shape, count)


def _regular(count: int, mean: float, cv: float, random: np.random.Generator) -> Floats:
    return np.full(count, mean)


PROCESSES: dict[str, Callable[[int, float, float, np.random.Generator], Floats]] = {
    "poisson": _poisson,
    "bursty": _bursty,
    "regular": _regular,
}
"""Times between arrivals: exponential, gamma with a coefficient of variation, all equal."""


def retime(trace: Trace, process: str, rate: float, *, cv: float = 4.0, seed: int = 0) -> Trace:
    """The same queries in the same order, arriving by another process.

    Parameters
    ----------
    trace : Trace
        The queries.
    process : {"poisson", "bursty", "regular"}
        See `PROCESSES`.
    rate : float
        Mean queries a second. With sessions of several turns these are the turns: sessions begin
        at a rate that is lower by their mean number, and all turns carry the time at which their
        session begins (in a cluster they wait for one another).
    cv : float
        The coefficient of variation of the times between arrivals, for ``bursty``: above 1.
    seed : int
        Seeds the process.

    Raises
    ------
    InputError
        If there is no such process or a parameter is out of range.

    Examples
    --------
    >>> trace = Trace.from_hash_ids([[1], [2], [3]], [0, 0, 0], [8] * 3, [1] * 3, session="aab")
    >>> retime(trace, "regular", rate=3).timestamp
    array([  0.,   0., 500.])
    """
    if process not in PROCESSES:
        raise InputError(
            f"unknown process {process!r}", where="arrivals", fix=f"choose from {_names()}"
        )
    if not (isfinite(rate) and rate > 0):
        raise InputError(f"{rate!r} is not a positive number", where="arrivals: rate")
    if not (isfinite(cv) and cv > 0):
        raise InputError(f"{cv!r} is not a positive number", where="arrivals: cv")
    session = trace.session or [str(row) for row in range(len(trace))]
    begin = {name: place for place, name in enumerate(dict.fromkeys(session))}
    mean = 1000 / rate * len(session) / len(begin)
    gaps = PROCESSES[process](len(begin), mean, cv, np.random.default_rng(seed))
    times = np.cumsum(gaps) - gaps[0]
    stamps = times.round(3)[[begin[name] for name in session]]
    if (np.diff(stamps) >= 0).all():
        return replace(trace, timestamp=stamps)
    return Trace.from_hash_ids(  # the rows change their order
        [trace.hash_ids(row) for row in range(len(trace))],
        stamps,
        trace.input_length,
        trace.output_length,
        block_size=trace.block_size,
        session=trace.session,
        line=trace.line,
        name=trace.name,
    )


def stretch(trace: Trace, factor: float) -> Trace:
    """The same queries with all times multiplied by `factor`: at 2 the load is half.

    Examples
    --------
    >>> trace = Trace.from_hash_ids([[1], [2]], [0, 30], [8, 8], [1, 1])
    >>> stretch(trace, 2).timestamp
    array([ 0., 60.])
    """
    if not (isfinite(factor) and factor > 0):
        raise InputError(f"{factor!r} is not a positive number", where="arrivals: stretch")
    return replace(trace, timestamp=(factor * trace.timestamp).round(3))


def _names() -> str:
    return ", ".join(PROCESSES)
