"""Shared prefixes of unequal lengths: GSP whose lengths follow a law, with the same total.

The laws differ in their tails only: the mean length, the number of groups and prompts, the shared
fraction and, up to rounding, the sum of all lengths are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np
from numpy.typing import NDArray

from empirical.traces import gsp
from empirical.traces.base import Trace
from theory.errors import InputError

__all__ = ["LAWS", "draw", "generate"]

Floats = NDArray[np.float64]


def _fixed(count: int, random: np.random.Generator) -> Floats:
    return np.ones(count)


def _uniform(count: int, random: np.random.Generator) -> Floats:
    return random.uniform(0.0, 2.0, count)


def _lognormal(count: int, random: np.random.Generator) -> Floats:
    return random.lognormal(-0.5, 1.0, count)


def _pareto(count: int, random: np.random.Generator) -> Floats:
    return 1.0 + random.pareto(1.5, count)


LAWS: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "fixed": _fixed,
    "uniform": _uniform,
    "log-normal": _lognormal,
    "pareto": _pareto,
}
"""All equal; uniform from 0; sigma = 1; exponent 1.5, whose variance is infinite."""


def draw(law: str, count: int, mean: int, longest: int, random: np.random.Generator) -> list[int]:
    """Draw `count` lengths from 1 to `longest`, scaled so that their mean is `mean`.

    Examples
    --------
    >>> lengths = draw("pareto", 100, 3000, 50000, np.random.default_rng(0))
    >>> round(sum(lengths) / 100, -1), max(lengths) > 4 * min(lengths)
    (3000.0, True)
    """
    if law not in LAWS:
        raise InputError(f"unknown law {law!r}", where="law", fix=f"choose from {', '.join(LAWS)}")
    if not 1 <= mean <= longest:
        raise InputError(f"the mean {mean} is not from 1 to {longest}", where="mean")
    raw = LAWS[law](count, random)
    low, high = 0.0, longest / raw.min() if raw.min() > 0 else 1e12

    def cut(scale: float) -> Floats:
        return np.clip(np.rint(scale * raw), 1, longest)

    for _ in range(int(log(1e18, 2))):  # halve the scale's range until lengths no longer change
        middle = (low + high) / 2
        low, high = (middle, high) if cut(middle).mean() < mean else (low, middle)
    return [int(length) for length in cut(high)]


def generate(
    groups: int = 128,
    prompts: int = 32,
    *,
    seed: int = 0,
    law: str = "pareto",
    mean: int = 3174,
    longest: int = 32768,
    ratio: float = 0.5,
    order: str = "random",
    output: int = 4,
    rate: float = 12.0,
    block: int = 64,
    name: str = "lengths",
) -> Trace:
    """GSP with the total length of each group drawn from a law.

    Parameters
    ----------
    groups, prompts, seed, ratio, order, output, rate, block, name
        As in `empirical.traces.gsp.generate`.
    law : {"fixed", "uniform", "log-normal", "pareto"}
        See `LAWS`.
    mean, longest : int
        Of the lengths, in tokens; 3174 is the mean of the paper's.

    Examples
    --------
    >>> trace = generate(64, 2, law="log-normal", mean=500)
    >>> bool(abs(trace.input_length.mean() - 500) < 5)
    True
    """
    for field, count in (("groups", groups), ("prompts", prompts)):
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise InputError(f"{count!r} is not a positive whole number", where=field)
    lengths = draw(law, groups, mean, longest, np.random.default_rng(seed))
    return gsp.generate(
        groups,
        prompts,
        seed=seed,
        ratio=ratio,
        lengths=lengths,
        order=order,
        output=output,
        rate=rate,
        block=block,
        name=name,
    )
