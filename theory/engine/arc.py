"""Kernel: ARC among leaves."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Runs, StepCounts
from theory.engine.heap import new_heap
from theory.engine.kernel import kernel
from theory.engine.leaves import add_leaf, load, oldest_leaf, unload
from theory.engine.queues import enqueue, leave, new_queues, oldest_of

__all__ = ["adaptive_replacement"]

ABSENT, ONCE, AGAIN, GHOST_ONCE, GHOST_AGAIN = range(5)


@kernel()
def adaptive_replacement(runs: Runs, capacity: int, counts: StepCounts) -> None:
    """Fill `counts`; runs are single units. Every use and eviction takes logarithmic time."""
    parent, _, start, use, step_start, last = runs
    hits, misses, evicted = counts
    units = len(parent)
    part = np.zeros(units, np.int32)
    number = np.zeros(5, np.int64)  # of the units in each part
    time = np.zeros(units, np.int64)  # of the last use
    cached = np.zeros(units, np.bool_)
    queues = new_queues(units, 5)
    children = np.zeros(units, np.int32)
    inside = np.full(units, -1, np.int64)
    once_leaves = new_heap()
    again_leaves = new_heap()
    target = 0
    size = 0
    for step in range(len(start) - 1):
        footprint = use[start[step] : start[step + 1]]
        while number[GHOST_ONCE] > 0 and number[ONCE] + number[GHOST_ONCE] > capacity:
            gone = oldest_of(queues, units + GHOST_ONCE)
            leave(queues, gone)
            part[gone] = ABSENT
            number[GHOST_ONCE] -= 1
        while number[GHOST_AGAIN] > 0 and np.sum(number[1:]) > 2 * capacity:
            gone = oldest_of(queues, units + GHOST_AGAIN)
            leave(queues, gone)
            part[gone] = ABSENT
            number[GHOST_AGAIN] -= 1
        favours_again = False
        hit = 0
        fresh = 0  # the units that join the first list, not cached yet
        for unit in footprint:
            inside[unit] = step
            time[unit] = step
            if cached[unit]:
                hit += 1
            before = part[unit]
            if before == ABSENT:
                fresh += 1
                part[unit] = ONCE
                number[ONCE] += 1
                continue
            if before == GHOST_ONCE:
                gain = number[GHOST_AGAIN] // number[GHOST_ONCE]
                target = min(capacity, target + max(1, gain))
                leave(queues, unit)
            elif before == GHOST_AGAIN:
                loss = number[GHOST_ONCE] // number[GHOST_AGAIN]
                target = max(0, target - max(1, loss))
                leave(queues, unit)
                favours_again = True
            number[before] -= 1
            part[unit] = AGAIN
            number[AGAIN] += 1
        hits[step] = hit
        misses[step] = len(footprint) - hit
        size += len(footprint) - hit
        evicted[step] = max(size - capacity, 0)
        while size > capacity:
            once = oldest_leaf(once_leaves, part, ONCE, time, children, inside, step)
            again = oldest_leaf(again_leaves, part, AGAIN, time, children, inside, step)
            excess = number[ONCE] - fresh - target
            wide = excess > 0 or (excess == 0 and favours_again)
            if once >= 0 and (wide or again < 0):
                victim, from_part, ghost = once, ONCE, GHOST_ONCE
            else:
                victim, from_part, ghost = again, AGAIN, GHOST_AGAIN
            number[from_part] -= 1
            part[victim] = ghost
            number[ghost] += 1
            enqueue(queues, units + ghost, victim)
            size -= 1
            above = unload(victim, parent, cached, children)
            if above >= 0 and part[above] == ONCE:
                once_leaves = add_leaf(once_leaves, time, above)
            elif above >= 0:
                again_leaves = add_leaf(again_leaves, time, above)
        load(footprint, parent, cached, children)
        for unit in last[step_start[step] : step_start[step + 1]]:
            if children[unit] == 0 and part[unit] == ONCE:
                once_leaves = add_leaf(once_leaves, time, unit)
            elif children[unit] == 0:
                again_leaves = add_leaf(again_leaves, time, unit)
