"""Helpers of kernels: an array that finds the minimum of a range.

A segment tree: the minima of pairs, of fours, and so on. The entries are at first `ABSENT`.
"""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Array
from theory.engine.kernel import helper

__all__ = ["ABSENT", "assign", "minimum", "none"]

ABSENT = 2**62


@helper
def none(limit: int) -> Array:
    """Entries 0 .. limit - 1, all absent."""
    size = 1
    while size < limit:
        size *= 2
    return np.full(2 * size, ABSENT, np.int64)


@helper
def assign(tree: Array, place: int, value: int) -> None:
    """Change an entry."""
    node = (len(tree) >> 1) + place
    tree[node] = value
    node >>= 1
    while node > 0:
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
        node >>= 1


@helper
def minimum(tree: Array, first: int, stop: int) -> int:
    """The smallest of the entries first .. stop - 1."""
    left = (len(tree) >> 1) + first
    right = (len(tree) >> 1) + stop
    least = ABSENT
    while left < right:
        if left & 1:
            least = min(least, tree[left])
            left += 1
        if right & 1:
            right -= 1
            least = min(least, tree[right])
        left >>= 1
        right >>= 1
    return least
