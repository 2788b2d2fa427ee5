"""Kernel: S3-FIFO among leaves."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Runs, StepCounts
from theory.engine.heap import new_heap
from theory.engine.kernel import kernel
from theory.engine.leaves import add_leaf, load, oldest_leaf, unload
from theory.engine.queues import enqueue, leave, new_queues, oldest_of

__all__ = ["small_and_main"]

ABSENT, SMALL, MAIN, GHOST = range(4)


@kernel()
def small_and_main(
    runs: Runs, capacity: int, small_size: int, most_hits: int, counts: StepCounts
) -> None:
    """Fill `counts`; runs are single units, and `small_size` is the small queue's share of them.

    A queue is kept by the times at which its units entered it. Every use, eviction and move takes
    logarithmic time, and a unit moves at most once for each of its uses.
    """
    parent, _, start, use, step_start, last = runs
    hits, misses, evicted = counts
    units = len(parent)
    part = np.zeros(units, np.int32)
    time = np.zeros(units, np.int64)  # of the entry: how many came before
    entries = 0
    uses = np.zeros(units, np.int64)
    cached = np.zeros(units, np.bool_)
    queues = new_queues(units, 1)
    ghosts = 0
    children = np.zeros(units, np.int32)
    inside = np.full(units, -1, np.int64)
    small_leaves = new_heap()
    main_leaves = new_heap()
    smalls = 0
    size = 0
    for step in range(len(start) - 1):
        if step > 0:
            for place in range(start[step] - 1, start[step - 1] - 1, -1):
                unit = use[place]
                if part[unit] == SMALL or part[unit] == MAIN:
                    continue
                uses[unit] = 0
                time[unit] = entries
                entries += 1
                if part[unit] == GHOST:
                    leave(queues, unit)
                    ghosts -= 1
                    part[unit] = MAIN
                    if children[unit] == 0:
                        main_leaves = add_leaf(main_leaves, time, unit)
                else:
                    smalls += 1
                    part[unit] = SMALL
                    if children[unit] == 0:
                        small_leaves = add_leaf(small_leaves, time, unit)
        footprint = use[start[step] : start[step + 1]]
        hit = 0
        for unit in footprint:
            inside[unit] = step
            if cached[unit]:
                hit += 1
                uses[unit] = min(most_hits, uses[unit] + 1)
        hits[step] = hit
        misses[step] = len(footprint) - hit
        size += len(footprint) - hit
        evicted[step] = max(size - capacity, 0)
        while size > capacity:
            small = oldest_leaf(small_leaves, part, SMALL, time, children, inside, step)
            main = oldest_leaf(main_leaves, part, MAIN, time, children, inside, step)
            if small >= 0 and (smalls >= small_size or main < 0):
                victim = small
                smalls -= 1
                stays = uses[small] > 1
                uses[small] = 0
            else:
                victim = main
                stays = uses[main] > 0
                uses[main] -= 1
            if stays:
                part[victim] = MAIN
                time[victim] = entries
                entries += 1
                main_leaves = add_leaf(main_leaves, time, victim)
                continue
            if part[victim] == SMALL:
                part[victim] = GHOST
                enqueue(queues, units, victim)
                ghosts += 1
                if ghosts > capacity - small_size:
                    ghosts -= 1
                    gone = oldest_of(queues, units)
                    leave(queues, gone)
                    part[gone] = ABSENT
            else:
                part[victim] = ABSENT
            size -= 1
            above = unload(victim, parent, cached, children)
            if above >= 0 and part[above] == SMALL:
                small_leaves = add_leaf(small_leaves, time, above)
            elif above >= 0:
                main_leaves = add_leaf(main_leaves, time, above)
        load(footprint, parent, cached, children)
        for unit in last[step_start[step] : step_start[step + 1]]:
            if children[unit] == 0 and part[unit] == SMALL:
                small_leaves = add_leaf(small_leaves, time, unit)
            elif children[unit] == 0 and part[unit] == MAIN:
                main_leaves = add_leaf(main_leaves, time, unit)
