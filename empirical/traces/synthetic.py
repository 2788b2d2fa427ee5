"""A seeded generator of traces: sessions of several turns below shared system prompts.

Sessions arrive as a Poisson process. Each picks a system prompt by a Zipf law and has a geometric
number of turns; a turn's prompt is everything said before, the last answer included, and a new
message of log-normal length. So prompts share prefixes within a session and, at their start, among
sessions, and their lengths have a heavy tail.
"""

from __future__ import annotations

from math import isfinite, log

import numpy as np

from empirical.traces.base import Trace
from theory.errors import InputError

__all__ = ["generate"]

_SIGMA = 1.0
"""Of the logarithm of all lengths: the 95th percentile is about three times the mean."""


def generate(
    requests: int = 2000,
    *,
    seed: int = 0,
    systems: int = 16,
    zipf: float = 1.0,
    system_tokens: int = 2048,
    message_tokens: int = 1024,
    answer_tokens: int = 256,
    turns: float = 4.0,
    rate: float = 4.0,
    think_ms: float = 30_000.0,
    block_size: int = 512,
    name: str = "synthetic",
) -> Trace:
    """Generate a trace; equal arguments give equal traces.

    Parameters
    ----------
    requests : int
        The number of rows.
    seed : int
        Seeds the generator.
    systems : int
        The number of system prompts.
    zipf : float
        The i-th most popular system prompt is chosen with weight ``i ** -zipf``; 0 is uniform.
    system_tokens, message_tokens, answer_tokens : int
        Mean lengths.
    turns : float
        Mean number of turns of a session, at least 1.
    rate : float
        Mean requests a second.
    think_ms : float
        Mean time between two turns of a session.
    block_size : int
        Tokens a block.
    name : str
        The name of the trace.

    Raises
    ------
    InputError
        If a parameter is out of range.

    Examples
    --------
    >>> trace = generate(100, seed=1)
    >>> len(trace), len(set(trace.session)) < 100
    (100, True)
    """
    _check(
        {
            "requests": requests,
            "systems": systems,
            "system_tokens": system_tokens,
            "message_tokens": message_tokens,
            "answer_tokens": answer_tokens,
            "block_size": block_size,
        },
        {"turns": (turns, 1.0), "rate": (rate, 1e-9), "think_ms": (think_ms, 0.0)},
        zipf,
    )
    random = np.random.default_rng(seed)

    def length(mean: int) -> int:
        return max(1, round(random.lognormal(log(mean) - _SIGMA**2 / 2, _SIGMA)))

    heads = [length(system_tokens) for _ in range(systems)]
    weights = np.arange(1, systems + 1, dtype=np.float64) ** -zipf
    weights /= weights.sum()
    ids: dict[tuple[int, ...], int] = {}
    rows: list[tuple[int, int, int, list[int], str]] = []
    now = 0.0
    session = 0
    # Past the number of requests: the last sessions overlap, and the latest rows are cut off.
    while len(rows) < requests + requests // 4 + 1:
        now += random.exponential(1000.0 * turns / rate)
        system = int(random.choice(systems, p=weights))
        time, prompt = now, heads[system]
        for turn in range(int(random.geometric(1.0 / turns))):
            prompt += length(message_tokens)
            full, part = divmod(prompt, block_size)
            shared = heads[system] // block_size
            keys: list[tuple[int, ...]] = [
                (system, place) if place < shared else (system, place, session)
                for place in range(full)
            ]
            if part:
                keys.append((system, full, session, turn))
            blocks = [ids.setdefault(key, len(ids)) for key in keys]
            answer = length(answer_tokens)
            rows.append((round(time), prompt, answer, blocks, f"session-{session}"))
            prompt += answer
            time += random.exponential(think_ms)
        session += 1
    rows.sort(key=lambda row: row[0])
    del rows[requests:]
    return Trace.from_hash_ids(
        [row[3] for row in rows],
        [row[0] for row in rows],
        [row[1] for row in rows],
        [row[2] for row in rows],
        block_size=block_size,
        session=[row[4] for row in rows],
        name=name,
    )


def _check(counts: dict[str, int], rates: dict[str, tuple[float, float]], zipf: float) -> None:
    for field, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise InputError(f"{count!r} is not a positive whole number", where=field)
    for field, (value, least) in rates.items():
        if not (isfinite(value) and value >= least):
            raise InputError(f"{value!r} is not a number of at least {least:g}", where=field)
    if not (isfinite(zipf) and zipf >= 0):
        raise InputError(f"{zipf!r} is not a number of at least 0", where="zipf")
