"""Kernel: the offline optimum at one capacity (model, Lemma 1)."""

from __future__ import annotations

import numpy as np

from theory.engine.bits import add, empty, largest, remove
from theory.engine.flat import Indices, Runs, StepCounts
from theory.engine.kernel import BOOL, COUNTS, INDICES, INT, NOTHING, RUNS, kernel

__all__ = ["farthest_next_use", "next_uses"]


@kernel(INDICES, RUNS)
def next_uses(runs: Runs) -> Indices:
    """The step of the next use of each used run; the number of steps stands for never."""
    steps = len(runs.start) - 1
    following = np.full(len(runs.weight), steps, np.int32)
    result = np.empty(len(runs.use), np.int32)
    for step in range(steps - 1, -1, -1):
        for place in range(runs.start[step], runs.start[step + 1]):
            result[place] = following[runs.use[place]]
            following[runs.use[place]] = step
    return result


@kernel(NOTHING, RUNS, INDICES, INT, BOOL, COUNTS)
def farthest_next_use(
    runs: Runs, next_use: Indices, capacity: int, bypass: bool, counts: StepCounts
) -> None:
    """Fill `counts` by the greedy rule of Lemma 1.

    Cached runs wait in one queue for each step of next use, first in, first out, descendants
    before ancestors. A use of a descendant is a use of its ancestors, so of two runs with the same
    next use the descendant entered no later: the front of the last queue is always a leaf.
    """
    weight, use, start = runs.weight, runs.use, runs.start
    steps = len(start) - 1
    cached = np.zeros(len(weight), np.int64)
    front = np.full(steps + 1, -1, np.int32)
    back = np.full(steps + 1, -1, np.int32)
    behind = np.full(len(weight), -1, np.int32)
    bits, begin = empty(steps + 1)
    size = 0
    for step in range(steps):
        # The queue of this step holds the cached runs of its footprint: they are locked now.
        if front[step] >= 0:
            front[step] = -1
            remove(bits, begin, step)
        hit = 0
        total = 0
        for place in range(start[step], start[step + 1]):
            hit += cached[use[place]]
            total += weight[use[place]]
        counts.hits[step] = hit
        counts.misses[step] = total - hit
        before = size + total - hit
        size = before
        # With bypass nothing is locked: the footprint takes part in the choice, and what is not
        # used again does not stay at all.
        for turn in range(2):
            if (turn == 0) == bypass:
                for place in range(start[step + 1] - 1, start[step] - 1, -1):
                    run = use[place]
                    queue = next_use[place]
                    if bypass and queue == steps:
                        cached[run] = 0
                        size -= weight[run]
                        continue
                    cached[run] = weight[run]
                    behind[run] = -1
                    if front[queue] < 0:
                        front[queue] = run
                        add(bits, begin, queue)
                    else:
                        behind[back[queue]] = run
                    back[queue] = run
            else:
                while size > capacity:
                    queue = largest(bits, begin)
                    run = front[queue]
                    gone = min(size - capacity, cached[run])
                    size -= gone
                    cached[run] -= gone
                    if cached[run] == 0:
                        front[queue] = behind[run]
                        if front[queue] < 0:
                            remove(bits, begin, queue)
        counts.evicted[step] = before - size
