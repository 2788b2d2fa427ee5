"""SIEVE on leaves: one queue, a moving hand, and no reordering."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from theory.eviction.base import EvictionPolicy, Sees, Step

__all__ = ["Sieve"]


class Sieve(EvictionPolicy):
    """Evict the next leaf without a visit, from the hand towards the newest (SIEVE).

    The hand passes tokens that are no evictable leaf, clears the bit of a visited leaf, and stays
    where it has evicted; from the newest it goes on with the oldest. A visited token keeps its
    place, and new ones enter as the newest, of one step the later token first. A hit sets the bit.

    Source: Y. Zhang et al., SIEVE is simpler than LRU, NSDI 2024.
    """

    sees: Sees = "footprint"

    def __init__(self) -> None:
        self.queue: list[int] = []  # the oldest first
        self.hand = 0
        self.visited: set[int] = set()
        self.loaded: tuple[int, ...] = ()  # the misses of the last step, not yet in the queue

    def on_step(self, step: Step) -> None:
        self.queue.extend(self.loaded)
        self.loaded = step.misses[::-1]
        self.visited.update(step.hits)

    def choose(self, leaves: Sequence[int]) -> int:
        evictable = set(leaves)
        while True:
            token = self.queue[self.hand]
            if token in evictable and token not in self.visited:
                return token
            if token in evictable:
                self.visited.remove(token)
            self.hand = (self.hand + 1) % len(self.queue)

    def on_evict(self, token: int) -> None:
        place = self.queue.index(token)
        del self.queue[place]
        self.hand -= place < self.hand
        if self.hand == len(self.queue):
            self.hand = 0
        self.visited.discard(token)

    def state(self) -> Hashable:
        queue = (*self.queue, *self.loaded)
        return self.hand, tuple((token, token in self.visited) for token in queue)
