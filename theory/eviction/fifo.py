"""FIFO: evict the leaf that was inserted first."""

from __future__ import annotations

from collections.abc import Sequence

from theory.eviction.base import EvictionPolicy, Sees, Step
from theory.eviction.bookkeeping import check_granularity

__all__ = ["FIFO"]


class FIFO(EvictionPolicy):
    """Evict the leaf with the oldest insertion; ties go to the later token.

    Ratio at most B; with batches it can exceed B - u + 1 (adversary family ``fifo-batch``).

    Parameters
    ----------
    granularity : {"token", "node"}
        With ``"node"`` it is SGLang's rule, key ``creation_time``: when a node is split, its
        upper part counts as created in that step, just before the step's new nodes; the rest
        keeps its age.
    """

    sees: Sees = "footprint"

    def __init__(self, granularity: str = "token") -> None:
        self.granularity = check_granularity(granularity)
        self.created: dict[int, int] = {}

    def on_step(self, step: Step) -> None:
        for cut in step.cuts:
            self.created.update(dict.fromkeys(self.cache.node(cut), 2 * step.number))
        self.created.update(dict.fromkeys(step.misses, 2 * step.number + 1))

    def _key(self, token: int) -> tuple[int, int]:
        return self.created[token], -token

    def choose(self, leaves: Sequence[int]) -> int:
        return min(leaves, key=self._key)

    def on_evict(self, token: int) -> None:
        del self.created[token]

    def state(self) -> tuple[int, ...]:
        return tuple(sorted(self.created, key=self._key))
