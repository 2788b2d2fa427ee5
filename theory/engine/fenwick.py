"""Helpers of kernels: a set of small integers that finds its k-th smallest member.

A Fenwick tree of counts over 0 .. size - 1, where the size is a power of two. Source: Fenwick,
"A new data structure for cumulative frequency tables", 1994.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from theory.engine.kernel import helper

__all__ = ["Counts", "change", "empty", "kth"]

Counts = npt.NDArray[np.int32]


@helper
def empty(limit: int) -> Counts:
    """An empty set that can hold 0 .. limit - 1."""
    size = 1
    while size < limit:
        size *= 2
    return np.zeros(size + 1, np.int32)


@helper
def change(tree: Counts, member: int, by: int) -> None:
    """Insert (by = 1) or delete (by = -1) a member."""
    place = member + 1
    while place < len(tree):
        tree[place] += by
        place += place & -place


@helper
def kth(tree: Counts, k: int) -> int:
    """The member that has exactly k smaller ones."""
    place = 0
    reach = len(tree) >> 1
    while reach > 0:
        # Right of the middle if the left half holds at most k members.
        if tree[place + reach] <= k:
            place += reach
            k -= tree[place]
        reach >>= 1
    return place
