"""CLOCK whose reference bit is not set at insertion, only by a hit."""

from __future__ import annotations

from typing import ClassVar

from theory.eviction.clock import Clock

__all__ = ["ClearClock"]


class ClearClock(Clock):
    """`Clock` with the reference bit clear at insertion.

    Its ratio is 2B on stars with B = 2, 3, 4, above B - u + 1 (adversary family ``clock-star``).
    """

    bit_at_insertion: ClassVar[bool] = False
