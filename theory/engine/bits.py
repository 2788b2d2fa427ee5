"""Helpers of kernels: a set of small integers that finds its largest member in constant time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from theory.engine.kernel import inlined

__all__ = ["add", "empty", "largest", "remove"]

Bits = npt.NDArray[np.uint64]
Levels = npt.NDArray[np.int64]

ONE = np.uint64(1)


@inlined
def empty(limit: int) -> tuple[Bits, Levels]:
    """A set that can hold 0 .. limit - 1: words of 64 members, words of 64 words, and so on.

    Returns the words of all levels in one array, and where each level begins.
    """
    levels = 1
    words = (limit + 63) >> 6
    while words > 1:
        levels += 1
        words = (words + 63) >> 6
    begin = np.zeros(levels + 1, np.int64)
    words = limit
    for level in range(levels):
        words = (words + 63) >> 6
        begin[level + 1] = begin[level] + words
    return np.zeros(begin[levels], np.uint64), begin


@inlined
def add(bits: Bits, begin: Levels, member: int) -> None:
    """Insert a member."""
    for level in range(len(begin) - 1):
        word = begin[level] + (member >> 6)
        old = bits[word]
        bits[word] = old | (ONE << np.uint64(member & 63))
        if old != 0:
            return
        member >>= 6


@inlined
def remove(bits: Bits, begin: Levels, member: int) -> None:
    """Delete a member (nothing happens if it is not there)."""
    for level in range(len(begin) - 1):
        word = begin[level] + (member >> 6)
        bits[word] &= ~(ONE << np.uint64(member & 63))
        if bits[word] != 0:
            return
        member >>= 6


@inlined
def largest(bits: Bits, begin: Levels) -> int:
    """The largest member; the set must not be empty."""
    member = 0
    for level in range(len(begin) - 2, -1, -1):
        word = bits[begin[level] + member]
        member <<= 6
        for shift in (32, 16, 8, 4, 2, 1):
            if word >> np.uint64(shift) != 0:
                word >>= np.uint64(shift)
                member += shift
    return member
