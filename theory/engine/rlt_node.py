"""Kernel: RLT at node granularity."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Runs, StepCounts
from theory.engine.fenwick import change, empty, kth
from theory.engine.kernel import kernel
from theory.engine.nodes import split
from theory.engine.twister import State, below

__all__ = ["randomised_leaf_node"]


@kernel()
def randomised_leaf_node(runs: Runs, capacity: int, state: State, counts: StepCounts) -> None:
    """Fill `counts`: marks as in `rlt-step`, victims are whole leaf nodes."""
    parent, weight, start, use, step_start, last = runs
    hits, misses, evicted = counts
    cached = np.zeros(len(weight), np.bool_)
    bottom = np.zeros(len(weight), np.bool_)
    child = np.full(len(weight), -1, np.int32)
    children = np.zeros(len(weight), np.int32)
    inside = np.full(len(weight), -1, np.int64)
    rests = np.empty(len(weight), np.int32)
    cuts = np.empty(len(weight), np.int32)
    phase_of = np.zeros(len(weight), np.int64)
    phase = 1
    marked = np.empty(len(weight), np.int32)
    previous = np.empty(len(weight), np.int32)
    count = 0
    marks = 0
    tree = empty(len(weight))
    candidate = np.zeros(len(weight), np.bool_)
    candidates = 0
    size = 0
    for step in range(len(start) - 1):
        queries = last[step_start[step] : step_start[step + 1]]
        split(parent, queries, step, cached, bottom, child, inside, rests, cuts)
        hit = 0
        total = 0
        fresh = 0
        for run in use[start[step] : start[step + 1]]:
            total += weight[run]
            if cached[run]:
                hit += weight[run]
            if phase_of[run] != phase:
                fresh += weight[run]
        released = 0
        if marks + fresh > capacity:
            marked, previous = previous, marked
            released = count
            phase += 1
            count = 0
            marks = 0
        for run in use[start[step] : start[step + 1]]:
            if phase_of[run] != phase:
                phase_of[run] = phase
                marked[count] = run
                count += 1
                marks += weight[run]
                if candidate[run]:
                    candidate[run] = False
                    candidates -= 1
                    change(tree, run, -1)
        for run in previous[:released]:
            if phase_of[run] != phase and children[run] == 0:
                candidate[run] = True
                candidates += 1
                change(tree, run, 1)
        hits[step] = hit
        misses[step] = total - hit
        size += total - hit
        before = size
        while size > capacity:
            run = kth(tree, below(state, candidates))
            candidate[run] = False
            candidates -= 1
            change(tree, run, -1)
            while True:
                cached[run] = False
                bottom[run] = False
                size -= weight[run]
                run = parent[run]
                if run < 0:
                    break
                children[run] -= 1
                if bottom[run]:
                    break
            if run >= 0 and children[run] == 0 and phase_of[run] != phase:
                candidate[run] = True
                candidates += 1
                change(tree, run, 1)
        evicted[step] = before - size
        for run in use[start[step] : start[step + 1]]:
            if not cached[run]:
                cached[run] = True
                if parent[run] >= 0:
                    children[parent[run]] += 1
                    child[parent[run]] = run
