"""Kernel: CLOCK among leaves."""

from __future__ import annotations

import numpy as np

from theory.engine.flat import Runs, StepCounts
from theory.engine.kernel import kernel

__all__ = ["second_chance"]


@kernel()
def second_chance(runs: Runs, capacity: int, bit_at_insertion: bool, counts: StepCounts) -> None:
    """Fill `counts`; runs are single units.

    The circle is a doubly linked list, and the hand the next unit to look at. New units enter just
    behind the hand after the step, the later one first.
    """
    parent, use, start = runs.parent, runs.use, runs.start
    after = np.full(len(parent), -1, np.int32)
    before = np.full(len(parent), -1, np.int32)
    hand = -1
    cached = np.zeros(len(parent), np.bool_)
    used = np.zeros(len(parent), np.bool_)
    children = np.zeros(len(parent), np.int32)
    inside = np.full(len(parent), -1, np.int64)
    size = 0
    for step in range(len(start) - 1):
        first, stop = start[step], start[step + 1]
        hit = 0
        for run in use[first:stop]:
            inside[run] = step
            if cached[run]:
                hit += 1
            if bit_at_insertion or cached[run]:
                used[run] = True
        counts.hits[step] = hit
        counts.misses[step] = stop - first - hit
        size += stop - first - hit
        counts.evicted[step] = max(size - capacity, 0)
        while size > capacity:
            if children[hand] > 0 or inside[hand] == step:
                hand = after[hand]
                continue
            if used[hand]:
                used[hand] = False
                hand = after[hand]
                continue
            victim = hand
            size -= 1
            cached[victim] = False
            if parent[victim] >= 0:
                children[parent[victim]] -= 1
            hand = after[victim]
            if hand == victim:
                hand = -1
            else:
                before[hand] = before[victim]
                after[before[victim]] = hand
        for place in range(stop - 1, first - 1, -1):
            run = use[place]
            if cached[run]:
                continue
            cached[run] = True
            if parent[run] >= 0:
                children[parent[run]] += 1
            if hand < 0:
                hand = run
                after[run] = before[run] = run
            else:
                after[run] = hand
                before[run] = before[hand]
                after[before[hand]] = run
                before[hand] = run
