"""What a run of the cluster comes to: hit rate, latencies, throughput, balance."""

from __future__ import annotations

from typing import Any

import numpy as np

from empirical.cluster.sessions import answers
from empirical.cluster.simulate import ClusterRun
from empirical.traces.base import Trace
from theory.errors import InputError

__all__ = ["PERCENTILES", "hit_rate_bound", "summary", "timings"]

PERCENTILES = (50, 95, 99)
"""Interpolated linearly, over the queries of the window."""


def summary(run: ClusterRun, window: str = "all") -> dict[str, Any]:
    """The figures of a run.

    Parameters
    ----------
    run : ClusterRun
        The run.
    window : {"all", "last-half"}
        The queries that are counted: all, or those with row >= rows // 2. The figures of the
        workers (imbalance, utilisation, retractions, evictions) are of the whole run.

    Returns
    -------
    dict
        - ``hit_rate``: prompt tokens found cached at the first admission / prompt tokens
          (``hit_tokens`` / ``prompt_tokens``);
        - ``p50_latency_ms`` and so on: from arrival to the last token, and ``..._ttft_ms`` to the
          first;
        - ``throughput_tok_s``: prompt and output tokens a second, from the first arrival of the
          window to its last completion; ``requests_s`` likewise;
        - ``imbalance``: the busiest worker's time in iterations over the mean; ``utilisation``:
          the mean over the time from the first arrival to the last completion;
        - ``recomputed_tokens``: prefill repeated after retractions, which no hit rate counts.
    """
    if window not in ("all", "last-half"):
        raise InputError(f"the window can be 'all' or 'last-half', not {window!r}")
    rows = slice(len(run.length) // 2 if window == "last-half" else 0, None)
    latency = (run.finish - run.arrival)[rows]
    ttft = (run.first_token - run.arrival)[rows]
    length, hits, output = run.length[rows], run.hits[rows], run.output[rows]
    span = float(run.finish[rows].max() - run.arrival[rows].min()) / 1000
    busy = np.array([worker.busy_ms for worker in run.workers])
    found: dict[str, Any] = {
        "hit_rate": float(hits.sum() / length.sum()),
        "hit_tokens": int(hits.sum()),
        "prompt_tokens": int(length.sum()),
        "output_tokens": int(output.sum()),
        "requests": len(length),
    }
    for name, values in (("latency", latency), ("ttft", ttft)):
        for percentile in PERCENTILES:
            found[f"p{percentile}_{name}_ms"] = float(np.percentile(values, percentile))
        found[f"mean_{name}_ms"] = float(values.mean())
    found |= {
        "throughput_tok_s": float((length.sum() + output.sum()) / span),
        "output_tok_s": float(output.sum() / span),
        "requests_s": len(length) / span,
        "imbalance": float(busy.max() / busy.mean()),
        "utilisation": float(busy.mean() / (run.finish.max() - run.arrival.min())),
        "retractions": sum(worker.retractions for worker in run.workers),
        "recomputed_tokens": int(run.recomputed.sum()),
        "evicted_blocks": sum(worker.evicted for worker in run.workers),
    }
    return found


def timings(run: ClusterRun) -> dict[str, float]:
    """What decisions take here, by the clock on the wall: microseconds a query."""
    queries = len(run.length)
    blocks = max(1, sum(worker.evicted for worker in run.workers))
    return {
        "routing_us": 1e6 * run.routing_seconds / queries,
        "eviction_us": 1e6 * run.eviction_seconds / queries,
        "eviction_us_per_block": 1e6 * run.eviction_seconds / blocks,
    }


def hit_rate_bound(trace: Trace) -> float:
    """A hit rate that no cluster of any size, router or eviction exceeds on a whole trace.

    Each distinct block is computed at least once, as part of a prompt or of an answer that the
    next turn repeats; the order of service does not matter.

    Examples
    --------
    >>> trace = Trace.from_hash_ids([[1, 2], [1, 3]], [0, 1], [8, 8], [1, 1], block_size=4)
    >>> hit_rate_bound(trace)
    0.25
    """
    computed = int(trace.fill.sum())
    computed -= sum(
        int(trace.fill[block]) for block in {b for tail in answers(trace).values() for b in tail}
    )
    return 1.0 - computed / int(trace.input_length.sum())
