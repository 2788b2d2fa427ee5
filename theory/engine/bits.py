"""Helpers of kernels: a set of small integers that finds its largest member in constant time."""

from __future__ import annotations

from math import frexp

import numpy as np

from theory.engine.arrays import Array
from theory.engine.kernel import helper

__all__ = ["add", "empty", "largest", "remove"]


@helper
def empty(limit: int) -> tuple[Array, Array]:
    """A set that can hold 0 .. limit - 1: words of 32 members, words of 32 words, and so on.

    Returns the words of all levels in one array, and where each level begins.
    """
    levels = 1
    words = (limit + 31) >> 5
    while words > 1:
        levels += 1
        words = (words + 31) >> 5
    begin = np.zeros(levels + 1, np.int64)
    words = limit
    for level in range(levels):
        words = (words + 31) >> 5
        begin[level + 1] = begin[level] + words
    return np.zeros(begin[levels], np.int64), begin


@helper
def add(bits: Array, begin: Array, member: int) -> None:
    """Insert a member."""
    for level in range(len(begin) - 1):
        word = begin[level] + (member >> 5)
        old = bits[word]
        bits[word] = old | (1 << (member & 31))
        if old != 0:
            return
        member >>= 5


@helper
def remove(bits: Array, begin: Array, member: int) -> None:
    """Delete a member."""
    for level in range(len(begin) - 1):
        word = begin[level] + (member >> 5)
        bits[word] &= ~(1 << (member & 31))
        if bits[word] != 0:
            return
        member >>= 5


@helper
def largest(bits: Array, begin: Array) -> int:
    """The largest member; the set must not be empty."""
    member = 0
    for level in range(len(begin) - 2, -1, -1):
        # The exponent of a float is the place of the highest bit.
        highest = frexp(float(bits[begin[level] + member]))[1] - 1
        member = (member << 5) + highest
    return member
