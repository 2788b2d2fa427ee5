"""Kernel: RLT weighted by tokens."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Runs, StepCounts
from theory.engine.fenwick import change, empty, kth
from theory.engine.kernel import kernel
from theory.engine.minima import ABSENT, assign, minimum, none
from theory.engine.subtrees import subtrees
from theory.engine.twister import State, below

__all__ = ["randomised_token"]

LOW = 32
MASK = (1 << LOW) - 1


@kernel()
def randomised_token(runs: Runs, capacity: int, state: State, counts: StepCounts) -> None:
    """Fill `counts`; runs are single units. Marks as in `rlt-step`.

    What is below an unmarked unit is unmarked, so every cached one can be drawn; the deepest one
    below it is a leaf. Every use and every eviction takes logarithmic time.
    """
    parent, _, start, use, _, _ = runs
    hits, misses, evicted = counts
    units = len(parent)
    begin, end = subtrees(parent)
    rank = np.zeros(units, np.int64)  # the deepest unit first and, of equals, the later one
    for unit in range(units):
        above = rank[parent[unit]] >> LOW if parent[unit] >= 0 else units
        rank[unit] = ((above - 1) << LOW) | (MASK - unit)
    ranks = none(units)
    cached = np.zeros(units, np.bool_)
    phase_of = np.zeros(units, np.int64)  # the phase of the last mark
    phase = 1
    marked = np.empty(units, np.int32)
    previous = np.empty(units, np.int32)
    marks = 0
    drawable = empty(units)  # the cached units without a mark
    unmarked = np.zeros(units, np.bool_)
    number = 0
    size = 0
    for step in range(len(start) - 1):
        footprint = use[start[step] : start[step + 1]]
        hit = 0
        fresh = 0
        for unit in footprint:
            if cached[unit]:
                hit += 1
            if phase_of[unit] != phase:
                fresh += 1
        released = 0
        if marks + fresh > capacity:
            marked, previous = previous, marked
            released = marks
            marks = 0
            phase += 1
        for unit in footprint:
            if phase_of[unit] != phase:
                phase_of[unit] = phase
                marked[marks] = unit
                marks += 1
                if unmarked[unit]:
                    unmarked[unit] = False
                    number -= 1
                    change(drawable, unit, -1)
        for unit in previous[:released]:
            if phase_of[unit] != phase:
                unmarked[unit] = True
                number += 1
                change(drawable, unit, 1)
        hits[step] = hit
        misses[step] = len(footprint) - hit
        size += len(footprint) - hit
        evicted[step] = max(size - capacity, 0)
        while size > capacity:
            drawn = kth(drawable, below(state, number))
            leaf = MASK - (minimum(ranks, begin[drawn], end[drawn]) & MASK)
            cached[leaf] = False
            assign(ranks, begin[leaf], ABSENT)
            unmarked[leaf] = False
            number -= 1
            change(drawable, leaf, -1)
            size -= 1
        for unit in footprint:
            if not cached[unit]:
                cached[unit] = True
                assign(ranks, begin[unit], rank[unit])
