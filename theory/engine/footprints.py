"""Kernel: the footprints of all steps."""

from __future__ import annotations

import numpy as np

from theory.engine.flat import Array, Indices
from theory.engine.kernel import BOOL, INDICES, INTS, PAIR, kernel

__all__ = ["footprints"]


@kernel(PAIR, INDICES, INTS, INDICES, BOOL)
def footprints(
    parent: Indices, step_start: Array, last: Indices, by_query: bool
) -> tuple[Array, Indices]:
    """Where each footprint begins, and the runs of every footprint.

    They come in the order of runs or, with `by_query`, those of the last query first, then those
    of the query before that are not among them, and so on; ancestors first within each query.
    """
    steps = len(step_start) - 1
    start = np.zeros(steps + 1, np.int64)
    seen = np.full(len(parent), -1, np.int64)
    for step in range(steps):
        size = start[step]
        for query in range(step_start[step], step_start[step + 1]):
            run = last[query]
            while run >= 0 and seen[run] != step:
                seen[run] = step
                size += 1
                run = parent[run]
        start[step + 1] = size
    use = np.empty(start[steps], np.int32)
    seen[:] = -1
    for step in range(steps):
        place = start[step]
        for query in range(step_start[step + 1] - 1, step_start[step] - 1, -1):
            first = place
            run = last[query]
            while run >= 0 and seen[run] != step:
                seen[run] = step
                place += 1
                run = parent[run]
            run = last[query]
            for at in range(place - 1, first - 1, -1):
                use[at] = run
                run = parent[run]
        if not by_query and step_start[step + 1] - step_start[step] > 1:
            use[start[step] : place].sort()
    return start, use
