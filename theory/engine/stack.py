"""Kernel: the stack distances of Leaf-LRU."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Array, Runs
from theory.engine.kernel import kernel

__all__ = ["NEVER", "stack_positions"]

NEVER = 2**62
"""The position of a run that was not used before."""


@kernel(light=True)
def stack_positions(runs: Runs, position: Array) -> None:
    """Fill `position`: the units before each used run in the list of Lemma 2, before its step.

    A Fenwick tree holds the weight of every run at the place of its last use; a use later in time
    comes earlier in the list, and so does an ancestor within a step. O(n log n) for n uses.
    """
    _, weight, start, use, _, _ = runs
    uses = len(use)
    tree = np.zeros(uses + 1, np.int64)
    place_of = np.zeros(len(weight), np.int64)
    total = 0
    for step in range(len(start) - 1):
        first, stop = start[step], start[step + 1]
        for at in range(first, stop):
            run = use[at]
            place = place_of[run]
            if place == 0:
                position[at] = NEVER
                continue
            older = 0
            while place > 0:
                older += tree[place]
                place &= place - 1
            position[at] = total - older
        for at in range(first, stop):
            run = use[at]
            size = weight[run]
            place = place_of[run]
            if place > 0:
                while place <= uses:
                    tree[place] -= size
                    place += place & -place
            else:
                total += size
            place = first + stop - at
            place_of[run] = place
            while place <= uses:
                tree[place] += size
                place += place & -place
