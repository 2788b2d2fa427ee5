"""Kernel: CLOCK and SIEVE among leaves."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Runs, StepCounts
from theory.engine.kernel import kernel

__all__ = ["second_chance"]


@kernel()
def second_chance(
    runs: Runs, capacity: int, bit_at_insertion: bool, behind_hand: bool, counts: StepCounts
) -> None:
    """Fill `counts`; runs are single units.

    The circle is a doubly linked list, and the hand the next unit to look at. After the step new
    units enter, the later one first: just `behind_hand` (CLOCK), or behind the newest one (SIEVE).
    """
    parent, _, start, use, _, _ = runs
    hits, misses, evicted = counts
    after = np.full(len(parent), -1, np.int32)
    before = np.full(len(parent), -1, np.int32)
    hand = -1
    oldest = -1
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
        hits[step] = hit
        misses[step] = stop - first - hit
        size += stop - first - hit
        evicted[step] = max(size - capacity, 0)
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
            if oldest == victim:
                oldest = hand
            if hand == victim:
                hand = oldest = -1
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
                hand = oldest = run
                after[run] = before[run] = run
            else:
                place_before = hand if behind_hand else oldest
                after[run] = place_before
                before[run] = before[place_before]
                after[before[place_before]] = run
                before[place_before] = run
