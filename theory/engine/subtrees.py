"""Helpers of kernels: subtrees as ranges."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Array, Indices
from theory.engine.kernel import helper

__all__ = ["subtrees"]


@helper
def subtrees(parent: Indices) -> tuple[Array, Array]:
    """Where every subtree begins and ends, in an order in which subtrees are ranges."""
    size = np.full(len(parent), 1, np.int64)
    for unit in range(len(parent) - 1, -1, -1):
        if parent[unit] >= 0:
            size[parent[unit]] += size[unit]
    begin = np.zeros(len(parent), np.int64)
    end = np.zeros(len(parent), np.int64)  # so far: what is taken of the subtree
    taken = 0
    for unit in range(len(parent)):
        above = parent[unit]
        if above < 0:
            begin[unit] = taken
            taken += size[unit]
        else:
            begin[unit] = end[above]
            end[above] += size[unit]
        end[unit] = begin[unit] + 1
    return begin, begin + size
