"""Helpers of kernels: a binary heap of entries (numerator, denominator, age).

The smallest fraction comes first, then the smallest age. The number of entries is kept in the first
row, so entries begin at row 1 and the children of row i are rows 2i and 2i + 1. Entries are never
deleted inside: whoever pops must recognise those that are out of date.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from theory.engine.kernel import helper

__all__ = ["Heap", "new_heap", "pop", "push"]

Heap = npt.NDArray[np.int64]


@helper
def new_heap() -> Heap:
    """An empty heap."""
    return np.zeros((64, 3), np.int64)


@helper
def _less(n1: int, d1: int, age1: int, n2: int, d2: int, age2: int) -> bool:
    left, right = n1 * d2, n2 * d1
    return left < right or (left == right and age1 < age2)


@helper
def push(heap: Heap, numerator: int, denominator: int, age: int) -> Heap:
    """Insert an entry; returns the heap, which may have moved."""
    heap[0, 0] += 1
    place = heap[0, 0]
    if place == len(heap):
        larger = np.zeros((2 * place, 3), np.int64)
        larger[:place] = heap
        heap = larger
    while place > 1:
        above = place >> 1
        if not _less(numerator, denominator, age, heap[above, 0], heap[above, 1], heap[above, 2]):
            break
        heap[place] = heap[above]
        place = above
    heap[place, 0] = numerator
    heap[place, 1] = denominator
    heap[place, 2] = age
    return heap


@helper
def pop(heap: Heap) -> tuple[int, int, int]:
    """Delete and return the smallest entry; the heap must not be empty."""
    result = heap[1, 0], heap[1, 1], heap[1, 2]
    size = heap[0, 0] - 1
    heap[0, 0] = size
    numerator, denominator, age = heap[size + 1, 0], heap[size + 1, 1], heap[size + 1, 2]
    place = 1
    while 2 * place <= size:
        child = 2 * place
        if child < size and _less(
            heap[child + 1, 0],
            heap[child + 1, 1],
            heap[child + 1, 2],
            heap[child, 0],
            heap[child, 1],
            heap[child, 2],
        ):
            child += 1
        if not _less(heap[child, 0], heap[child, 1], heap[child, 2], numerator, denominator, age):
            break
        heap[place] = heap[child]
        place = child
    heap[place, 0] = numerator
    heap[place, 1] = denominator
    heap[place, 2] = age
    return result
