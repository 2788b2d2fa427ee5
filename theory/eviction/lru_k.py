"""LRU-K on leaves: the K-th last use counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from theory.errors import PolicyError
from theory.eviction.base import EvictionPolicy, Sees, Step

__all__ = ["LRUK"]


class LRUK(EvictionPolicy):
    """Evict the leaf whose K-th last use is oldest, never being oldest of all.

    Uses are counted since the insertion. Ties go to the leaf whose last use is oldest, then to the
    later token.

    Parameters
    ----------
    uses : int
        K, at least 1; with 1 it is Leaf-LRU.

    Source: E. J. O'Neil, P. E. O'Neil and G. Weikum, The LRU-K page replacement algorithm for
    database disk buffering, SIGMOD 1993.
    """

    sees: Sees = "footprint"

    def __init__(self, uses: int = 2) -> None:
        if not isinstance(uses, int) or uses < 1:
            raise PolicyError(f"uses {uses!r} is not a positive integer")
        self.k = uses
        self.times: dict[int, tuple[int, ...]] = {}  # the last K uses, the newest last

    def on_step(self, step: Step) -> None:
        for token in step.tokens:
            self.times[token] = (*self.times.get(token, ()), step.number)[-self.k :]

    def _key(self, token: int) -> tuple[int, int, int]:
        times = self.times[token]
        return times[0] if len(times) == self.k else -1, times[-1], -token

    def choose(self, leaves: Sequence[int]) -> int:
        return min(leaves, key=self._key)

    def on_evict(self, token: int) -> None:
        del self.times[token]

    def state(self) -> Hashable:
        # Only the order of the times matters.
        every = sorted({time for times in self.times.values() for time in times})
        rank = {time: place for place, time in enumerate(every)}
        return tuple(
            (token, tuple(rank[time] for time in self.times[token])) for token in sorted(self.times)
        )
