"""Kernel: the offline optimum at one capacity (model, Lemma 1)."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Array, Intervals
from theory.engine.bits import add, empty, largest, remove
from theory.engine.kernel import kernel

__all__ = ["farthest_next_use"]


@kernel(light=True)
def farthest_next_use(
    intervals: Intervals, footprint: Array, capacity: int, bypass: bool, hits: Array, kept: Array
) -> None:
    """Fill `hits`, and `kept`: the units at hand before each step that hit in it or later.

    The sweep in the proof of Lemma 1. Units with the same next use are alike, so all that counts
    is how many are kept for each step to come. Those that a step does not use must fit beside its
    footprint, and those with the farthest next use give way. With `bypass` the footprint needs no
    room, but all that is kept from one step to the next must fit.
    """
    start, end, weight = intervals
    steps = len(start) - 1
    waiting = np.zeros(steps, np.int64)  # the units that are kept for each step
    bits, begin = empty(steps)  # the steps for which there are some
    farthest = -1  # the last of these steps; -1 if it must be looked up
    size = 0
    for step in range(steps):
        for interval in range(start[max(step - 1, 0)], start[step]):  # of the step before
            to = end[interval]
            if waiting[to] == 0:
                add(bits, begin, to)
                if 0 <= farthest < to:
                    farthest = to
            waiting[to] += weight[interval]
            size += weight[interval]
        room = capacity if bypass else capacity - footprint[step] + waiting[step]
        while size > room:
            if farthest < 0:
                farthest = largest(bits, begin)
            gone = min(size - room, waiting[farthest])
            size -= gone
            waiting[farthest] -= gone
            if waiting[farthest] == 0:
                remove(bits, begin, farthest)
                farthest = -1
        kept[step] = size
        hits[step] = waiting[step]
        if waiting[step] > 0:
            size -= waiting[step]
            waiting[step] = 0
            remove(bits, begin, step)
            if farthest == step:
                farthest = -1
