"""Kernel: the footprints of all steps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from theory.engine.kernel import kernel

__all__ = ["footprints"]


@kernel("Tuple((i8[::1], i4[::1]))(i4[::1], i8[::1], i4[::1])")
def footprints(
    parent: npt.NDArray[np.int32],
    step_start: npt.NDArray[np.int64],
    last: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The runs of every footprint, ancestors first, and where each footprint begins."""
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
        place = start[step + 1]
        for query in range(step_start[step], step_start[step + 1]):
            run = last[query]
            while run >= 0 and seen[run] != step:
                seen[run] = step
                place -= 1
                use[place] = run
                run = parent[run]
        if step_start[step + 1] - step_start[step] > 1:
            use[start[step] : start[step + 1]].sort()
    return start, use
