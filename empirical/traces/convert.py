"""Traces from traces: other blocks, fewer requests; and traces from instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from empirical.traces.base import Trace
from empirical.traces.steps import TraceSteps
from theory.errors import InputError
from theory.model import Instance

__all__ = ["MAX_BLOCKS", "Summary", "from_instance", "reblock", "shorter_than", "summarise"]

MAX_BLOCKS = 20_000_000
"""The most block ids in a trace that is cut anew; more would make a file of hundreds of MB."""


def from_instance(instance: Instance) -> Trace:
    """An instance as a trace with one token a block: its steps are milliseconds.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> trace = from_instance(Instance(TokenTrie.from_parents([-1, 0, 0]), 3, [[1, 2], [1]]))
    >>> trace.timestamp, trace.input_length
    (array([0., 0., 1.]), array([2, 2, 2]))
    """
    queries = [(step, query) for step, batch in enumerate(instance.steps) for query in batch]
    paths = [instance.trie.path(query) for _, query in queries]
    return Trace.from_hash_ids(
        paths,
        [step for step, _ in queries],
        [len(path) for path in paths],
        [1] * len(paths),
        block_size=1,
        name=instance.name or "instance",
    )


def reblock(trace: Trace, block_size: int) -> Trace:
    """The same prompts in blocks of another size.

    A full block is shared by all prompts with the same tokens up to its end, a partial one by
    prompts that end at the same token (`TokenTrie.paged`).

    Raises
    ------
    InputError
        If there would be too many blocks to write down.

    Examples
    --------
    >>> trace = Trace.from_hash_ids([[0, 1]], [0], [9], [1], block_size=8)
    >>> [len(reblock(trace, size).parent) for size in (2, 8, 16)]
    [5, 2, 1]
    """
    steps = trace.steps(unit="token", page_size=block_size)
    blocks = int(steps.units.depth.sum())
    if blocks > MAX_BLOCKS:
        raise InputError(
            f"blocks of {block_size} tokens would make {blocks:,} ids, more than {MAX_BLOCKS:,}",
            where="block size",
            fix="give larger blocks or fewer requests",
        )
    flat = steps.flat.expanded()
    parent = flat.parent.tolist()
    paths: list[list[int]] = []
    for end in flat.query.tolist():
        path = []
        while end >= 0:
            path.append(end)
            end = parent[end]
        paths.append(path[::-1])
    return Trace.from_hash_ids(
        paths,
        trace.timestamp,
        trace.input_length,
        trace.output_length,
        block_size=block_size,
        session=trace.session,
        line=trace.line,
        name=trace.name,
    )


def shorter_than(trace: Trace, tokens: int) -> Trace:
    """The requests with prompts of at most `tokens` tokens."""
    chosen = trace.input_length <= tokens
    if not chosen.any():
        raise InputError(
            f"no prompt has at most {tokens} tokens",
            where=trace.name or "trace",
            fix=f"the shortest has {trace.input_length.min()}",
        )
    return trace.select(chosen)


@dataclass(frozen=True)
class Summary:
    """What is in a trace.

    Attributes
    ----------
    requests, sessions : int
        Rows, and distinct sessions among them (None if they are not told).
    blocks, distinct_blocks : int
        All blocks of all prompts, and different ones.
    reuse : float
        The part of the blocks that had been seen before.
    block_size : int
        Tokens a block.
    input_length, output_length : dict
        min, mean, p50, p95 and max, in tokens.
    u, longest : int
        The smallest and the largest footprint of a request, in blocks.
    span_s : float
        From the first to the last arrival, in s.
    distinct_timestamps : int
        Requests with equal timestamps keep the order of the file.
    infinite_hit_rate : dict
        Hit tokens over prompt tokens with an unlimited cache, over all requests and the last half.
    """

    name: str
    requests: int
    sessions: int | None
    blocks: int
    distinct_blocks: int
    reuse: float
    block_size: int
    input_length: dict[str, float]
    output_length: dict[str, float]
    prompt_tokens: int
    u: int
    longest: int
    span_s: float
    distinct_timestamps: int
    infinite_hit_rate: dict[str, float]


def summarise(trace: Trace) -> Summary:
    """Summarise a trace.

    Examples
    --------
    >>> trace = Trace.from_hash_ids([[7, 8], [7, 8]], [0, 5], [600, 600], [1, 1])
    >>> found = summarise(trace)
    >>> found.reuse, found.infinite_hit_rate["all"], found.u
    (0.5, 0.5, 2)
    """
    blocks = int(trace.blocks.sum())
    steps = trace.steps()
    hits = steps.hit_tokens(trace.new_blocks)
    return Summary(
        name=trace.name,
        requests=len(trace),
        sessions=None if trace.session is None else len(set(trace.session)),
        blocks=blocks,
        distinct_blocks=len(trace.parent),
        reuse=1 - len(trace.parent) / blocks,
        block_size=trace.block_size,
        input_length=_spread(trace.input_length),
        output_length=_spread(trace.output_length),
        prompt_tokens=int(trace.input_length.sum()),
        u=int(trace.blocks.min()),
        longest=int(trace.blocks.max()),
        span_s=float(trace.timestamp[-1] - trace.timestamp[0]) / 1000,
        distinct_timestamps=len(np.unique(trace.timestamp)),
        infinite_hit_rate={
            "all": _rate(steps, hits, steps.window("all")),
            "last_half": _rate(steps, hits, steps.window("last-half")),
        },
    )


def _rate(steps: TraceSteps, hits: Any, counted: Any) -> float:
    return float(hits[counted].sum() / steps.prompt_tokens[counted].sum())


def _spread(lengths: Any) -> dict[str, float]:
    p50, p95 = np.percentile(lengths, (50, 95), method="inverted_cdf")
    return {
        "min": int(lengths.min()),
        "mean": float(lengths.mean()),
        "p50": int(p50),
        "p95": int(p95),
        "max": int(lengths.max()),
    }
