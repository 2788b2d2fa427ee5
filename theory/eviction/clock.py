"""CLOCK: a hand goes round the cached tokens and gives each used leaf a second chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from theory.eviction.base import EvictionPolicy, Sees, Step

__all__ = ["Clock"]


class Clock(EvictionPolicy):
    """Second chance among leaves; the reference bit is set at insertion.

    The hand skips tokens that are no evictable leaf, clears the bit of a leaf that has it, and
    evicts the first leaf without. The new tokens of a step enter just behind the hand, the later
    token first, so that the hand meets a token before its ancestors. A hit sets the bit.

    Notes
    -----
    `choose` moves the hand: call it once for each eviction, on a `fork` to look ahead.
    """

    bit_at_insertion: ClassVar[bool] = True
    sees: Sees = "footprint"

    def __init__(self) -> None:
        self.circle: list[int] = []  # from the hand on
        self.used: set[int] = set()  # the tokens whose bit is set
        self.loaded: tuple[int, ...] = ()  # the misses of the last step, not yet in the circle

    def on_step(self, step: Step) -> None:
        self.circle.extend(self.loaded)
        self.loaded = step.misses[::-1]
        self.used.update(step.tokens if self.bit_at_insertion else step.hits)

    def choose(self, leaves: Sequence[int]) -> int:
        evictable = set(leaves)
        place = 0
        while self.circle[place] not in evictable or self.circle[place] in self.used:
            if self.circle[place] in evictable:
                self.used.remove(self.circle[place])
            place = (place + 1) % len(self.circle)
        self.circle = self.circle[place:] + self.circle[:place]
        return self.circle[0]

    def on_evict(self, token: int) -> None:
        self.circle.remove(token)
        self.used.discard(token)

    def state(self) -> tuple[tuple[int, bool], ...]:
        return tuple((token, token in self.used) for token in (*self.circle, *self.loaded))
