"""SGLang's own eviction on a worker: whole radix nodes, split where a match ends."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise

from empirical.cluster.leaf_cache import LeafLRUCache

__all__ = ["SGLangLRUCache"]


class SGLangLRUCache(LeafLRUCache):
    """Evict the leaf node that was used least recently, as `theory.eviction.sglang_lru` does.

    A match that ends inside a node makes the rest of it young, just older than the match. Each
    chunk of a prefill is a node of its own.
    """

    def _reset(self, seed: int) -> None:
        super()._reset(seed)
        self._ends: set[int] = set()  # the last blocks of the nodes
        self._child: dict[int, int] = {}  # the block below, where that is in the same node

    def _use(self, path: Sequence[int]) -> None:
        if path:
            self._cut(path[-1])
            self._child.update(pairwise(path))
        self.last.update(dict.fromkeys(path, 2 * self.clock + 1))

    def _branch(self, block: int) -> None:
        self._cut(block)

    def _cut(self, end: int) -> None:
        """Split the node of `end` below it; the rest becomes young."""
        block = end
        while block not in self._ends and block in self.below:
            block = self._child[block]
            self.last[block] = 2 * self.clock
        if block != end and not self.locks[block]:
            self._let_go(block)
        self._ends.add(end)

    def _evict(self, blocks: int) -> None:
        while blocks > 0:
            last, negative = heappop(self._heap)
            block: int | None = -negative
            if self.last.get(-negative) != last or self.locks[-negative] or -negative in self.below:
                continue
            while block is not None:
                self._ends.discard(block)
                del self.last[block]
                blocks -= 1
                block = self._remove(block)
                if block in self._ends:
                    heappush(self._heap, (self.last[block], -block))
                    break
