"""The eviction policies of a worker, for single blocks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from heapq import heappop, heappush

from empirical.cluster.cache import BlockCache

__all__ = ["LeafLRUCache", "RLTCache", "StepRLTCache"]


class LeafLRUCache(BlockCache):
    """Leaf-LRU: the leaf that was used least recently; ties go to the later block."""

    def _reset(self, seed: int) -> None:
        self.last: dict[int, int] = {}
        # (last use, -block) of what was an evictable leaf when it was pushed.
        self._heap: list[tuple[int, int]] = []

    def _use(self, path: Sequence[int]) -> None:
        self.last.update(dict.fromkeys(path, self.clock))

    def _let_go(self, block: int) -> None:
        if block not in self.below:
            heappush(self._heap, (self.last[block], -block))

    def _evict(self, blocks: int) -> None:
        while blocks:
            last, negative = heappop(self._heap)
            block = -negative
            # Held, used or evicted since it was pushed, or no leaf: then the entry is outdated.
            if self.last.get(block) != last or self.locks[block] or block in self.below:
                continue
            del self.last[block]
            blocks -= 1
            above = self._remove(block)
            if above is not None:
                heappush(self._heap, (self.last[above], -above))


class RLTCache(BlockCache):
    """RLT: a uniformly random unmarked leaf.

    What a query holds is marked. A phase ends when an eviction finds no unmarked leaf: then only
    what is held stays marked. When queries follow one another this is the generation-first rule of
    `theory.eviction.rlt`: it spares the old marks until nothing else is left, too.
    """

    clear_first = False
    """Whether an eviction of more blocks than are unmarked ends the phase before it begins."""

    def _reset(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.marked: set[int] = set()
        self._leaves: list[int] = []  # the unmarked leaves
        self._place: dict[int, int] = {}

    @property
    def candidates(self) -> list[int]:
        """The unmarked leaves, among which the next victim is drawn if there are any."""
        return sorted(self._leaves)

    def _use(self, path: Sequence[int]) -> None:
        self.marked.update(path)
        for block in path:
            if block in self._place:
                self._discard(block)

    def _let_go(self, block: int) -> None:
        """It stays marked."""

    def _evict(self, blocks: int) -> None:
        if self.clear_first and blocks > len(self.locks) - len(self.marked):
            self._end_phase()
        for _ in range(blocks):
            if not self._leaves:
                self._end_phase()
            victim = self._leaves[self._random.randrange(len(self._leaves))]
            self._discard(victim)
            above = self._remove(victim)
            if above is not None and above not in self.marked:
                self._add(above)

    def _end_phase(self) -> None:
        self.marked = {block for block, locks in self.locks.items() if locks}
        self._leaves, self._place = [], {}
        for block in self.locks:
            if block not in self.marked and block not in self.below:
                self._add(block)

    def _add(self, block: int) -> None:
        self._place[block] = len(self._leaves)
        self._leaves.append(block)

    def _discard(self, block: int) -> None:
        place, last = self._place.pop(block), self._leaves.pop()
        if last != block:
            self._leaves[place] = last
            self._place[last] = place


class StepRLTCache(RLTCache):
    """The step-granular rule: marks are cleared before an eviction that they could not outlast."""

    clear_first = True
