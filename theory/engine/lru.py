"""Kernel: Leaf-LRU at one capacity."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Runs, StepCounts
from theory.engine.kernel import kernel

__all__ = ["leaf_lru"]


@kernel(light=True)
def leaf_lru(runs: Runs, capacity: int, counts: StepCounts) -> None:
    """Fill `counts`.

    The cache is the top of the list of Lemma 2, so its last run is the victim: a doubly linked
    list, and every use and every eviction takes constant time.
    """
    _, weight, start, use, _, _ = runs
    hits, misses, evicted = counts
    end = len(weight)  # the list is circular; this entry stands before its first and after its last
    before = np.full(end + 1, -1, np.int32)
    after = np.full(end + 1, -1, np.int32)
    before[end] = after[end] = end
    cached = np.zeros(end, np.int64)
    size = 0
    for step in range(len(start) - 1):
        hit = 0
        total = 0
        for place in range(start[step + 1] - 1, start[step] - 1, -1):
            run = use[place]
            hit += cached[run]
            total += weight[run]
            cached[run] = weight[run]
            if before[run] >= 0:
                after[before[run]] = after[run]
                before[after[run]] = before[run]
            after[run] = after[end]
            before[run] = end
            before[after[end]] = run
            after[end] = run
        size += total - hit
        excess = max(size - capacity, 0)
        size -= excess
        hits[step] = hit
        misses[step] = total - hit
        evicted[step] = excess
        while excess > 0:
            run = before[end]
            gone = min(excess, cached[run])
            excess -= gone
            cached[run] -= gone
            if cached[run] == 0:
                before[end] = before[run]
                after[before[run]] = end
                before[run] = -1
