"""Kernel: policies that evict the leaf, or the leaf node, with the smallest key."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Array, Flags, Indices, Runs, StepCounts
from theory.engine.heap import new_heap, pop, push
from theory.engine.kernel import helper, kernel
from theory.engine.nodes import split
from theory.eviction.gdsf import UNIT

__all__ = ["RULES", "smallest_key"]

LRU, MRU, FIFO, FILO, LFU, SLRU, LFU_AGEING, LRU_K, TAIL_LRU, HITS_PER_TOKEN, GDSF = range(11)

RULES = {
    "NodeLRU": LRU,
    "SGLangLRU": LRU,
    "MRU": MRU,
    "FIFO": FIFO,
    "FILO": FILO,
    "LFU": LFU,
    "SLRU": SLRU,
    "LFUAgeing": LFU_AGEING,
    "LRUK": LRU_K,
    "TailLRU": TAIL_LRU,
    "HitsPerToken": HITS_PER_TOKEN,
    "GDSF": GDSF,
}
"""Class of policy -> its rule."""

LOW = 32
MASK = (1 << LOW) - 1


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


@helper
def _rank(
    rule: int,
    value: Array,
    uses: Array,
    time: Array,
    parent: Indices,
    weight: Array,
    bottom: Flags,
    run: int,
) -> tuple[int, int, int]:
    """The key of a node: a fraction, then the time with ties to the later run."""
    numerator = value[run]
    denominator = 1
    if rule == HITS_PER_TOKEN:
        denominator = _node_weight(parent, weight, bottom, run)
    elif rule == GDSF:
        numerator += UNIT * uses[run] // _node_weight(parent, weight, bottom, run)
    age = -time[run] if rule in (MRU, FILO) else time[run]
    return numerator, denominator, (age << LOW) | (MASK - run)


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
    parent, weight, start, use, step_start, last = runs
    hits, misses, evicted = counts
    by_insertion = rule in (FIFO, FILO)
    cached = np.zeros(len(weight), np.bool_)
    bottom = np.full(len(weight), not whole_nodes)
    child = np.full(len(weight), -1, np.int32)
    children = np.zeros(len(weight), np.int32)
    inside = np.full(len(weight), -1, np.int64)
    time = np.zeros(len(weight), np.int64)  # of the last use, or of the insertion
    uses = np.zeros(len(weight), np.int64)
    value = np.zeros(len(weight), np.int64)  # the first part of the key
    kept = np.zeros(len(weight), np.int64)  # how many times of use are known
    times = np.zeros((len(weight) if rule == LRU_K else 0, threshold), np.int64)
    depth = np.zeros(len(weight), np.int64)
    longest = np.zeros(len(weight), np.int64)  # query of the last step that used the run
    if rule == TAIL_LRU:
        for run in range(len(weight)):
            depth[run] = weight[run] + (depth[parent[run]] if parent[run] >= 0 else 0)
    age = 0  # of the cache: the key of what was evicted last
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
            longest[run] = 0
        for query in queries:
            run = query
            while run >= 0:
                uses[run] += 1
                longest[run] = max(longest[run], depth[query])
                run = parent[run]
        for run in use[first:stop]:
            if rule in (LFU, HITS_PER_TOKEN):
                value[run] = uses[run]
            elif rule == SLRU:
                value[run] = uses[run] >= threshold
            elif rule == LFU_AGEING:
                value[run] = uses[run] + age
            elif rule == GDSF:
                value[run] = age
            elif rule == TAIL_LRU:
                value[run] = longest[run] - depth[run] + 1 > threshold
            elif rule == LRU_K:
                if not cached[run]:
                    kept[run] = 0
                times[run, kept[run] % threshold] = step
                kept[run] += 1
                value[run] = times[run, kept[run] % threshold] if kept[run] >= threshold else -1
        for run in rests[:below]:
            if bottom[run] and children[run] == 0 and inside[run] != step:
                numerator, denominator, order = _rank(
                    rule, value, uses, time, parent, weight, bottom, run
                )
                heap = push(heap, numerator, denominator, order)
        hits[step] = hit
        misses[step] = total - hit
        size += total - hit
        before = size
        while size > capacity:
            numerator, denominator, order = pop(heap)
            run = MASK - (order & MASK)
            if not cached[run] or children[run] > 0 or inside[run] == step:
                continue
            if (numerator, denominator, order) != _rank(
                rule, value, uses, time, parent, weight, bottom, run
            ):
                continue
            size -= _node_weight(parent, weight, bottom, run)
            age = numerator
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
                numerator, denominator, order = _rank(
                    rule, value, uses, time, parent, weight, bottom, run
                )
                heap = push(heap, numerator, denominator, order)
        evicted[step] = before - size
        for run in use[first:stop]:
            if not cached[run]:
                cached[run] = True
                # As old as the cache is after the evictions.
                if rule == LFU_AGEING:
                    value[run] = uses[run] + age
                elif rule == GDSF:
                    value[run] = age
                if parent[run] >= 0:
                    children[parent[run]] += 1
                    child[parent[run]] = run
        for run in queries:
            if children[run] == 0:
                numerator, denominator, order = _rank(
                    rule, value, uses, time, parent, weight, bottom, run
                )
                heap = push(heap, numerator, denominator, order)
