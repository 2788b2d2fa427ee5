"""Kernel: uniformly random leaves: RLT, its step-granular reading, and without marks."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Runs, StepCounts
from theory.engine.fenwick import change, empty, kth
from theory.engine.kernel import kernel
from theory.engine.twister import State, below

__all__ = ["PHASES", "randomised_leaf_token"]

ONE_STEP, MARKED, OLD_FIRST = range(3)
"""When a phase ends: at every step, or when there are more marks than units; in the last form
the marks of the phase before become candidates only when no other one is left."""

PHASES = {"RandomLeaf": ONE_STEP, "StepRLT": MARKED, "RLT": OLD_FIRST}
"""Class of policy -> its phases."""


@kernel()
def randomised_leaf_token(
    runs: Runs, capacity: int, phases: int, state: State, counts: StepCounts
) -> None:
    """Fill `counts`.

    All units of a run are marked together, and a run has at most one leaf, its deepest cached
    unit. The candidates, the unmarked leaves, are kept in a set that finds the k-th in the order of
    tokens.
    """
    parent, weight, start, use, _, _ = runs
    hits, misses, evicted = counts
    cached = np.zeros(len(weight), np.int64)
    children = np.zeros(len(weight), np.int32)  # the number of cached children
    phase_of = np.zeros(len(weight), np.int64)  # the phase of the last mark
    phase = 1
    marked = np.empty(len(weight), np.int32)  # the runs with a mark
    previous = np.empty(len(weight), np.int32)
    count = 0
    marks = 0  # the units with a mark
    tree = empty(len(weight))
    candidate = np.zeros(len(weight), np.bool_)
    candidates = 0
    size = 0
    for step in range(len(start) - 1):
        hit = 0
        total = 0
        fresh = 0
        for place in range(start[step], start[step + 1]):
            run = use[place]
            hit += cached[run]
            total += weight[run]
            if phase_of[run] != phase:
                fresh += weight[run]
        released = 0
        waiting = 0
        if phases == ONE_STEP or marks + fresh > capacity:
            marked, previous = previous, marked
            waiting = count
            if phases != OLD_FIRST:
                released, waiting = waiting, 0
            phase += 1
            count = 0
            marks = 0
        for place in range(start[step], start[step + 1]):
            run = use[place]
            if phase_of[run] != phase:
                phase_of[run] = phase
                marked[count] = run
                count += 1
                marks += weight[run]
                if candidate[run]:
                    candidate[run] = False
                    candidates -= 1
                    change(tree, run, -1)
        hits[step] = hit
        misses[step] = total - hit
        size += total - hit
        excess = max(size - capacity, 0)
        evicted[step] = excess
        size -= excess
        while True:
            if waiting > 0 and candidates == 0:
                released, waiting = waiting, 0
            for place in range(released):
                run = previous[place]
                if phase_of[run] != phase and cached[run] > 0 and children[run] == 0:
                    candidate[run] = True
                    candidates += 1
                    change(tree, run, 1)
            released = 0
            if excess == 0:
                break
            run = kth(tree, below(state, candidates))
            excess -= 1
            cached[run] -= 1
            if cached[run] == 0:
                candidate[run] = False
                candidates -= 1
                change(tree, run, -1)
                above = parent[run]
                if above >= 0:
                    children[above] -= 1
                    held = phase_of[above] == phase or (
                        waiting > 0 and phase_of[above] == phase - 1
                    )
                    if children[above] == 0 and not held:
                        candidate[above] = True
                        candidates += 1
                        change(tree, above, 1)
        for place in range(start[step], start[step + 1]):
            run = use[place]
            if cached[run] == 0 and parent[run] >= 0:
                children[parent[run]] += 1
            cached[run] = weight[run]
