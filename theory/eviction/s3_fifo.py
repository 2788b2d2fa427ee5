"""S3-FIFO on leaves: a small queue for the new, a main queue, and a memory of what left."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from theory.errors import PolicyError
from theory.eviction.base import EvictionPolicy, Sees, Step

__all__ = ["S3FIFO"]

MOST_HITS = 3


class S3FIFO(EvictionPolicy):
    """Quick demotion: what is not used again soon leaves from the small queue.

    A new token enters the small queue, or the main one if it left the small queue lately (it is a
    *ghost*). While the small queue has at least its share, its oldest leaf is looked at: used more
    than once since it came, it moves to the main queue, else it leaves and is a ghost. Otherwise
    the oldest leaf of the main queue is looked at: used, it starts again with one use fewer, else
    it leaves. If the queue whose turn it is has no evictable leaf, it is the other one's turn.
    Tokens of one step enter the later one first; there are at most B minus the share ghosts.

    Parameters
    ----------
    share : float
        The small queue's share of the capacity.

    Source: J. Yang et al., FIFO queues are all you need for cache eviction, SOSP 2023.
    """

    sees: Sees = "footprint"

    def __init__(self, share: float = 0.1) -> None:
        if not 0 < share < 1:
            raise PolicyError(f"share {share!r} is not between 0 and 1")
        self.share = share
        self.small: list[int] = []  # the oldest first
        self.main: list[int] = []
        self.ghosts: list[int] = []
        self.hits: dict[int, int] = {}
        self.loaded: tuple[int, ...] = ()  # the misses of the last step, in no queue yet

    def small_size(self, capacity: int) -> int:
        """The small queue's share of a capacity, in tokens; at least one."""
        return max(1, int(self.share * capacity))

    def on_step(self, step: Step) -> None:
        self._enter()
        self.loaded = step.misses[::-1]
        for token in step.hits:
            self.hits[token] = min(MOST_HITS, self.hits[token] + 1)

    def _enter(self) -> None:
        for token in self.loaded:
            self.hits[token] = 0
            if token in self.ghosts:
                self.ghosts.remove(token)
                self.main.append(token)
            else:
                self.small.append(token)
        self.loaded = ()

    def choose(self, leaves: Sequence[int]) -> int:
        evictable = set(leaves)
        small_size = self.small_size(self.cache.capacity)
        while True:
            small = next((t for t in self.small if t in evictable), None)
            main = next((t for t in self.main if t in evictable), None)
            if small is not None and (len(self.small) >= small_size or main is None):
                if self.hits[small] <= 1:
                    return small
                self.small.remove(small)
                self.main.append(small)
                self.hits[small] = 0
            else:
                assert main is not None, "every evictable leaf is in one of the queues"
                if self.hits[main] == 0:
                    return main
                self.main.remove(main)
                self.main.append(main)
                self.hits[main] -= 1

    def on_evict(self, token: int) -> None:
        del self.hits[token]
        if token in self.main:
            self.main.remove(token)
            return
        self.small.remove(token)
        self.ghosts.append(token)
        capacity = self.cache.capacity
        most = capacity - self.small_size(capacity)
        del self.ghosts[: max(0, len(self.ghosts) - most)]

    def state(self) -> Hashable:
        queues = (tuple((t, self.hits[t]) for t in queue) for queue in (self.small, self.main))
        return (*queues, tuple(self.ghosts), self.loaded)
