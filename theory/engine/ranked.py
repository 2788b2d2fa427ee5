"""Kernel: policies that evict the leaf, or the leaf node, with the smallest key."""

from __future__ import annotations

import numpy as np

from theory.engine.flat import Array, Flags, Indices, Runs, StepCounts
from theory.engine.heap import new_heap, pop, push
from theory.engine.kernel import helper, kernel
from theory.engine.nodes import split

__all__ = ["FIFO", "FILO", "HITS_PER_TOKEN", "LFU", "LRU", "MRU", "SLRU", "smallest_key"]

LRU, MRU, FIFO, FILO, LFU, SLRU, HITS_PER_TOKEN = range(7)
"""The rules: what a node is ranked by, see `_rank` and the policies of these names."""

RULES = {
    "NodeLRU": LRU,
    "SGLangLRU": LRU,
    "MRU": MRU,
    "FIFO": FIFO,
    "FILO": FILO,
    "LFU": LFU,
    "SLRU": SLRU,
    "HitsPerToken": HITS_PER_TOKEN,
}
"""Class of policy -> its rule."""

LOW = 32
MASK = (1 << LOW) - 1


@helper
def _rank(
    rule: int, threshold: int, time: int, uses: int, node_weight: int, run: int
) -> tuple[int, int, int]:
    """The key: a fraction, then the time with ties to the later run."""
    age = (time << LOW) | (MASK - run)
    if rule in (MRU, FILO):
        return 0, 1, (-time << LOW) | (MASK - run)
    if rule == LFU:
        return uses, 1, age
    if rule == SLRU:
        return int(uses >= threshold), 1, age
    if rule == HITS_PER_TOKEN:
        return uses, node_weight, age
    return 0, 1, age


@helper
def _node_weight(
    parent: Indices,
    weight: Array,
    bottom: Flags,
    run: int,
) -> int:
    """The units of the node that ends at `run`."""
    total = int(weight[run])
    run = parent[run]
    while run >= 0 and not bottom[run]:
        total += weight[run]
        run = parent[run]
    return total


@kernel()
def smallest_key(
    runs: Runs,
    capacity: int,
    rule: int,
    threshold: int,
    whole_nodes: bool,
    refresh_rest: bool,
    counts: StepCounts,
) -> None:
    """Fill `counts`.

    Without `whole_nodes` every run leaves alone: then give runs of one unit. With `refresh_rest` a
    split refreshes the unmatched rest, as in SGLang (`theory.eviction.bookkeeping.touch`).

    A heap holds every evictable leaf with its current key, and entries that are out of date. A
    leaf enters it when it becomes a leaf, when its key or its node changes, and at the end of each
    step that locked it.
    """
    parent, weight, use, start = runs.parent, runs.weight, runs.use, runs.start
    last, step_start = runs.last, runs.step_start
    by_insertion = rule in (FIFO, FILO)
    cached = np.zeros(len(weight), np.bool_)
    bottom = np.full(len(weight), not whole_nodes)
    child = np.full(len(weight), -1, np.int32)
    children = np.zeros(len(weight), np.int32)
    inside = np.full(len(weight), -1, np.int64)
    time = np.zeros(len(weight), np.int64)  # of the last use, or of the insertion
    uses = np.zeros(len(weight), np.int64)
    rests = np.empty(len(weight), np.int32)
    cuts = np.empty(len(weight), np.int32)
    heap = new_heap()
    size = 0
    for step in range(len(start) - 1):
        first, stop = start[step], start[step + 1]
        queries = last[step_start[step] : step_start[step + 1]]
        below, cut = split(parent, queries, step, cached, bottom, child, inside, rests, cuts)
        if by_insertion:
            for run in cuts[:cut]:
                time[run] = 2 * step
                run = parent[run]
                while run >= 0 and not bottom[run]:
                    time[run] = 2 * step
                    run = parent[run]
        elif refresh_rest:
            for run in rests[:below]:
                time[run] = 2 * step
        hit = 0
        total = 0
        for run in use[first:stop]:
            total += weight[run]
            if cached[run]:
                hit += weight[run]
            if not (by_insertion and cached[run]):
                time[run] = 2 * step + 1
        if rule >= LFU:
            for run in queries:
                while run >= 0:
                    uses[run] += 1
                    run = parent[run]
        for run in rests[:below]:
            if bottom[run] and children[run] == 0 and inside[run] != step:
                node_weight = _node_weight(parent, weight, bottom, run)
                numerator, denominator, age = _rank(
                    rule, threshold, time[run], uses[run], node_weight, run
                )
                heap = push(heap, numerator, denominator, age)
        counts.hits[step] = hit
        counts.misses[step] = total - hit
        size += total - hit
        before = size
        while size > capacity:
            numerator, denominator, age = pop(heap)
            run = MASK - (age & MASK)
            if not cached[run] or children[run] > 0 or inside[run] == step:
                continue
            node_weight = _node_weight(parent, weight, bottom, run)
            if (numerator, denominator, age) != _rank(
                rule, threshold, time[run], uses[run], node_weight, run
            ):
                continue
            size -= node_weight
            while True:
                cached[run] = False
                uses[run] = 0
                bottom[run] = not whole_nodes
                run = parent[run]
                if run < 0:
                    break
                children[run] -= 1
                if bottom[run]:
                    break
            if run >= 0 and children[run] == 0 and inside[run] != step:
                numerator, denominator, age = _rank(
                    rule,
                    threshold,
                    time[run],
                    uses[run],
                    _node_weight(parent, weight, bottom, run),
                    run,
                )
                heap = push(heap, numerator, denominator, age)
        counts.evicted[step] = before - size
        for run in use[first:stop]:
            if not cached[run]:
                cached[run] = True
                if parent[run] >= 0:
                    children[parent[run]] += 1
                    child[parent[run]] = run
        for run in queries:
            if children[run] == 0:
                numerator, denominator, age = _rank(
                    rule,
                    threshold,
                    time[run],
                    uses[run],
                    _node_weight(parent, weight, bottom, run),
                    run,
                )
                heap = push(heap, numerator, denominator, age)
