"""2Q on leaves: first-timers in a FIFO queue, the others under LRU."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from theory.eviction.base import EvictionPolicy, Sees, Step

__all__ = ["TwoQ"]


class TwoQ(EvictionPolicy):
    """Evict first-timers while they have more than a quarter of the cache (the full 2Q).

    A new token enters the queue of first-timers, where hits change nothing. When it leaves from
    there it is remembered, half a capacity of such tokens at most; if it comes back while it is, it
    joins the others, of which the least recently used leaf leaves. If the part whose turn it is has
    no evictable leaf, it is the other one's turn. Ties go to the later token.

    Source: T. Johnson and D. Shasha, 2Q: a low overhead high performance buffer management
    replacement algorithm, VLDB 1994.
    """

    sees: Sees = "footprint"

    def __init__(self) -> None:
        self.first: dict[int, int] = {}  # first-timer -> step of its insertion
        self.last: dict[int, int] = {}  # the others -> step of the last use
        self.ghosts: list[int] = []  # the oldest first

    def on_step(self, step: Step) -> None:
        for token in step.tokens:
            if token in self.ghosts:
                self.ghosts.remove(token)
                self.last[token] = step.number
            elif token in self.last:
                self.last[token] = step.number
            elif token not in self.first:
                self.first[token] = step.number

    def choose(self, leaves: Sequence[int]) -> int:
        first = [leaf for leaf in leaves if leaf in self.first]
        others = [leaf for leaf in leaves if leaf in self.last]
        missing = sum(token not in self.cache.cached for token in self.first)
        many = 4 * (len(self.first) - missing) > self.cache.capacity
        if first and (many or not others):
            return min(first, key=lambda token: (self.first[token], -token))
        return min(others, key=lambda token: (self.last[token], -token))

    def on_evict(self, token: int) -> None:
        if token in self.first:
            del self.first[token]
            self.ghosts.append(token)
            del self.ghosts[: max(0, len(self.ghosts) - max(1, self.cache.capacity // 2))]
        else:
            del self.last[token]

    def state(self) -> Hashable:
        parts = (
            tuple(sorted(part, key=lambda token: (part[token], -token)))
            for part in (self.first, self.last)
        )
        return (*parts, tuple(self.ghosts))
