"""CLOCK whose reference bit is not set at insertion, only by a hit."""

from __future__ import annotations

from typing import ClassVar

from theory.eviction.clock import Clock

__all__ = ["ClearClock"]


class ClearClock(Clock):
    """`Clock` with the reference bit clear at insertion.

    Its ratio is at least 2k - 1, above the k = B - u + 1 of marking policies (adversary family
    ``clock-star``); on stars with B = 2, 3 it is exactly that.
    """

    bit_at_insertion: ClassVar[bool] = False
