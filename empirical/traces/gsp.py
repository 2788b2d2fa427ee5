"""Generated shared prefixes (GSP): groups of prompts that share their first tokens.

The paper's synthetic workload. All prompts of a group have the same total length and share a
fraction of it; the rest is their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from empirical.traces.base import Trace
from theory.errors import InputError

__all__ = ["LENGTHS", "ORDERS", "generate"]

LENGTHS = (512, 1024, 2048, 4096, 8192)
"""The paper's total lengths, in tokens."""

ORDERS = ("random", "grouped", "round-robin")
"""Arrival orders; round-robin over the groups is the paper's worst one."""


def generate(
    groups: int = 128,
    prompts: int = 32,
    *,
    seed: int = 0,
    ratio: float = 0.5,
    lengths: Sequence[int] = LENGTHS,
    draw: str = "cycle",
    order: str = "random",
    output: int = 4,
    rate: float = 12.0,
    scale: float = 1.0,
    block: int | None = None,
    requests: int | None = None,
    name: str = "gsp",
) -> Trace:
    """Generate a trace; equal arguments give equal traces.

    Parameters
    ----------
    groups : int
        Groups of prompts; the tokens of different groups differ from the first one on.
    prompts : int
        Prompts a group.
    seed : int
        Seeds the order, the drawn lengths and the arrivals.
    ratio : float
        The shared fraction of the length, in [0, 1); at least one token is the prompt's own.
    lengths : sequence of int
        Total lengths in tokens, the answer not counted.
    draw : {"cycle", "random"}
        Whether the groups take the lengths in turn, or each draws one uniformly.
    order : {"random", "grouped", "round-robin"}
        Shuffled; group by group; or one prompt of every group in turn.
    output : int
        Tokens of every answer.
    rate : float
        Mean arrivals a second, a Poisson process; ``inf``: all arrive at time 0.
    scale : float
        Multiplies the lengths.
    block : int, optional
        Tokens a block; by default 64 times the scale, at least 1.
    requests : int, optional
        Keep only so many, the first to arrive.
    name : str
        The name of the trace.

    Raises
    ------
    InputError
        If a parameter is out of range.

    Examples
    --------
    >>> trace = generate(2, 2, lengths=[4, 8], order="grouped", block=1)
    >>> trace.input_length, trace.hash_ids(3)
    (array([4, 4, 8, 8]), [6, 7, 8, 9, 14, 15, 16, 17])

    Notes
    -----
    Source: the paper's experiments: 128 groups of 32 prompts, ratio 0.5, 12 requests a second, 4
    output tokens.
    """
    _check(groups, prompts, ratio, lengths, draw, order, output, rate, scale, block, requests)
    random = np.random.default_rng(seed)
    size = max(1, round(64 * scale)) if block is None else block
    totals = [max(1, round(length * scale)) for length in lengths]
    if draw == "cycle":
        drawn = [totals[group % len(totals)] for group in range(groups)]
    else:
        drawn = [totals[place] for place in random.integers(len(totals), size=groups).tolist()]
    rows = _ordered(groups, prompts, order, random)[:requests]
    ids: dict[tuple[int, ...], int] = {}
    hash_ids = []
    for group, prompt in rows:
        shared = min(round(drawn[group] * ratio), drawn[group] - 1) // size  # whole blocks
        hash_ids.append(
            [
                ids.setdefault(
                    (group, place) if place < shared else (group, place, prompt), len(ids)
                )
                for place in range(-(-drawn[group] // size))
            ]
        )
    gaps = random.exponential(1000.0 / rate, size=len(rows))
    return Trace.from_hash_ids(
        hash_ids,
        np.cumsum(gaps).round(3),
        [drawn[group] for group, _ in rows],
        [output] * len(rows),
        block_size=size,
        name=name,
    )


def _ordered(
    groups: int, prompts: int, order: str, random: np.random.Generator
) -> list[tuple[int, int]]:
    if order == "round-robin":
        return [(group, prompt) for prompt in range(prompts) for group in range(groups)]
    rows = [(group, prompt) for group in range(groups) for prompt in range(prompts)]
    if order == "random":
        return [rows[place] for place in random.permutation(len(rows)).tolist()]
    return rows


def _check(
    groups: int,
    prompts: int,
    ratio: float,
    lengths: Sequence[int],
    draw: str,
    order: str,
    output: int,
    rate: float,
    scale: float,
    block: int | None,
    requests: int | None,
) -> None:
    counts = {"groups": groups, "prompts": prompts, "output": output}
    counts |= {"block": 1 if block is None else block}
    counts |= {"requests": 1 if requests is None else requests}
    counts |= {"lengths": min(lengths, default=0)}
    for field, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise InputError(f"{count!r} is not a positive whole number", where=field)
    if groups * prompts > 10**7:
        raise InputError(f"{groups * prompts:,} prompts are too many", where="groups")
    if not 0 <= ratio < 1:
        raise InputError(f"{ratio!r} is not in [0, 1)", where="ratio")
    if not rate > 0:
        raise InputError(f"{rate!r} is not positive", where="rate")
    if not (isfinite(scale) and scale > 0):
        raise InputError(f"{scale!r} is not a positive number", where="scale")
    for field, value, known in (("draw", draw, ("cycle", "random")), ("order", order, ORDERS)):
        if value not in known:
            raise InputError(f"{value!r} is not one of {', '.join(known)}", where=field)
