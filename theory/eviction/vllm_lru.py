"""vLLM's LRU: fixed blocks in the order of the free queue, tails first."""

from __future__ import annotations

from collections.abc import Sequence

from theory.eviction.base import EvictionPolicy, Step

__all__ = ["VllmLRU"]


class VllmLRU(EvictionPolicy):
    """Evict the head of vLLM's free queue; a unit of the trie is a block.

    A block joins the queue when the last query that uses it is freed. The queries of a batch are
    freed in their order, and each frees its blocks tail first. So the order is: step, then the
    index of the last query of the batch that uses the block, then deepest first. Within one query
    that is a total order, and a block always stands before its ancestors.
    """

    def __init__(self) -> None:
        self.freed: dict[int, tuple[int, int]] = {}

    def on_step(self, step: Step) -> None:
        for index, query in enumerate(step.queries):
            self.freed.update(dict.fromkeys(self.cache.trie.path(query), (step.number, index)))

    def _place(self, token: int) -> tuple[tuple[int, int], int]:
        return self.freed[token], -token

    def choose(self, leaves: Sequence[int]) -> int:
        return min(leaves, key=self._place)

    def on_evict(self, token: int) -> None:
        del self.freed[token]

    def state(self) -> tuple[int, ...]:
        return tuple(sorted(self.freed, key=self._place))
