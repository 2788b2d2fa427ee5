"""Helpers of kernels: the evictable leaves of the parts of a cache, each part a heap by time.

A unit enters the heap of its part when it becomes a leaf or its time changes, and at the end of
each step that locked it; entries that are out of date are dropped when they are met.
"""

from __future__ import annotations

from theory.engine.arrays import Array, Flags, Indices
from theory.engine.heap import Heap, pop, push
from theory.engine.kernel import helper

__all__ = ["add_leaf", "load", "oldest_leaf", "unload"]


@helper
def add_leaf(heap: Heap, time: Array, unit: int) -> Heap:
    """Insert a leaf with its time; of equal times the later unit comes first."""
    return push(heap, time[unit], 1, -unit)


@helper
def oldest_leaf(
    heap: Heap,
    part: Indices,
    wanted: int,
    time: Array,
    children: Indices,
    inside: Array,
    step: int,
) -> int:
    """The evictable leaf of the part `wanted` with the least time, or -1."""
    while heap[0, 0] > 0:
        unit = -heap[1, 2]
        if (
            part[unit] == wanted
            and time[unit] == heap[1, 0]
            and children[unit] == 0
            and inside[unit] != step
        ):
            return int(unit)
        pop(heap)
    return -1


@helper
def load(footprint: Indices, parent: Indices, cached: Flags, children: Indices) -> None:
    """Take the units of a step into the cache, ancestors first."""
    for unit in footprint:
        if not cached[unit]:
            cached[unit] = True
            if parent[unit] >= 0:
                children[parent[unit]] += 1


@helper
def unload(leaf: int, parent: Indices, cached: Flags, children: Indices) -> int:
    """Take a leaf out of the cache; the unit above it if that is a leaf now, else -1."""
    cached[leaf] = False
    above = parent[leaf]
    if above < 0:
        return -1
    children[above] -= 1
    return int(above) if children[above] == 0 else -1
