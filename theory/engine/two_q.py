"""Kernel: 2Q among leaves."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Runs, StepCounts
from theory.engine.heap import new_heap
from theory.engine.kernel import kernel
from theory.engine.leaves import add_leaf, load, oldest_leaf, unload
from theory.engine.queues import enqueue, leave, new_queues, oldest_of

__all__ = ["two_queues"]

ABSENT, FIRST, OTHER, GHOST = range(4)


@kernel()
def two_queues(runs: Runs, capacity: int, counts: StepCounts) -> None:
    """Fill `counts`; runs are single units. Every use and eviction takes logarithmic time."""
    parent, _, start, use, step_start, last = runs
    hits, misses, evicted = counts
    units = len(parent)
    part = np.zeros(units, np.int32)
    time = np.zeros(units, np.int64)  # of the insertion, or of the last use
    cached = np.zeros(units, np.bool_)
    queues = new_queues(units, 1)
    ghosts = 0
    children = np.zeros(units, np.int32)
    inside = np.full(units, -1, np.int64)
    firsts = new_heap()
    others = new_heap()
    newcomers = 0  # the cached first-timers
    size = 0
    for step in range(len(start) - 1):
        footprint = use[start[step] : start[step + 1]]
        hit = 0
        fresh = 0  # the new first-timers
        for unit in footprint:
            inside[unit] = step
            if cached[unit]:
                hit += 1
            if part[unit] == GHOST:
                leave(queues, unit)
                ghosts -= 1
                part[unit] = OTHER
            if part[unit] == OTHER:
                time[unit] = step
            elif part[unit] == ABSENT:
                part[unit] = FIRST
                time[unit] = step
                fresh += 1
        hits[step] = hit
        misses[step] = len(footprint) - hit
        size += len(footprint) - hit
        evicted[step] = max(size - capacity, 0)
        while size > capacity:
            first = oldest_leaf(firsts, part, FIRST, time, children, inside, step)
            other = oldest_leaf(others, part, OTHER, time, children, inside, step)
            if first >= 0 and (4 * newcomers > capacity or other < 0):
                victim = first
                newcomers -= 1
                part[victim] = GHOST
                enqueue(queues, units, victim)
                ghosts += 1
                if ghosts > max(1, capacity // 2):
                    ghosts -= 1
                    gone = oldest_of(queues, units)
                    leave(queues, gone)
                    part[gone] = ABSENT
            else:
                victim = other
                part[victim] = ABSENT
            size -= 1
            above = unload(victim, parent, cached, children)
            if above >= 0 and part[above] == FIRST:
                firsts = add_leaf(firsts, time, above)
            elif above >= 0:
                others = add_leaf(others, time, above)
        newcomers += fresh
        load(footprint, parent, cached, children)
        for unit in last[step_start[step] : step_start[step + 1]]:
            if children[unit] == 0 and part[unit] == FIRST:
                firsts = add_leaf(firsts, time, unit)
            elif children[unit] == 0:
                others = add_leaf(others, time, unit)
