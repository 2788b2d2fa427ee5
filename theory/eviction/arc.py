"""ARC on leaves: recency and frequency share the cache, and ghosts move the border."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from theory.eviction.base import EvictionPolicy, Sees, Step

__all__ = ["ARC"]


class ARC(EvictionPolicy):
    """Adaptive replacement, as far as leaves and batches allow ("ARC-like").

    Tokens used once and tokens used again are two lists, each with a list of ghosts: what left it
    lately. A miss on a ghost of the first list raises that list's target size, one of the second
    lowers it, by at least 1 and by the quotient of the ghosts' numbers, rounded down. The least
    recently used evictable leaf of the first list leaves while that list is larger than its target
    (or as large, if the step asks for a ghost of the second), else that of the second; where there
    is none, of the other. Ties go to the later token. The lists with their ghosts are cut to B and
    2B tokens after every step. Misses of a step are processed ancestors first.

    Source: N. Megiddo and D. S. Modha, ARC: a self-tuning, low overhead replacement cache,
    FAST 2003.
    """

    sees: Sees = "footprint"

    def __init__(self) -> None:
        self.once: dict[int, int] = {}  # token -> step of the last use
        self.again: dict[int, int] = {}
        self.ghosts_once: list[int] = []  # the oldest first
        self.ghosts_again: list[int] = []
        self.target = 0
        self.favours_again = False  # whether this step asks for a ghost of the second list

    def on_step(self, step: Step) -> None:
        self.ghosts_once, self.ghosts_again = self._kept_ghosts()
        self.favours_again = False
        for token in step.tokens:
            if token in self.ghosts_once:
                gain = max(1, len(self.ghosts_again) // len(self.ghosts_once))
                self.target = min(self.cache.capacity, self.target + gain)
                self.ghosts_once.remove(token)
                self.again[token] = step.number
            elif token in self.ghosts_again:
                loss = max(1, len(self.ghosts_once) // len(self.ghosts_again))
                self.target = max(0, self.target - loss)
                self.ghosts_again.remove(token)
                self.again[token] = step.number
                self.favours_again = True
            elif token in self.once or token in self.again:
                self.once.pop(token, None)
                self.again[token] = step.number
            else:
                self.once[token] = step.number

    def choose(self, leaves: Sequence[int]) -> int:
        once = [leaf for leaf in leaves if leaf in self.once]
        again = [leaf for leaf in leaves if leaf in self.again]
        size = sum(token in self.cache.cached for token in self.once)
        wide = size > self.target or (size == self.target and self.favours_again)
        if once and (wide or not again):
            return min(once, key=lambda token: (self.once[token], -token))
        return min(again, key=lambda token: (self.again[token], -token))

    def on_evict(self, token: int) -> None:
        if token in self.once:
            del self.once[token]
            self.ghosts_once.append(token)
        else:
            del self.again[token]
            self.ghosts_again.append(token)

    def _kept_ghosts(self) -> tuple[list[int], list[int]]:
        """The ghosts that stay: at most B tokens in the first list with them, 2B in all."""
        capacity = self.cache.capacity
        once = self.ghosts_once[max(0, len(self.once) + len(self.ghosts_once) - capacity) :]
        total = len(self.once) + len(self.again) + len(once) + len(self.ghosts_again)
        return once, self.ghosts_again[max(0, total - 2 * capacity) :]

    def state(self) -> Hashable:
        parts = (
            tuple(sorted(part, key=lambda token: (part[token], -token)))
            for part in (self.once, self.again)
        )
        once, again = self._kept_ghosts()
        return (*parts, tuple(once), tuple(again), self.target)
