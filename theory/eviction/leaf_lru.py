"""Leaf-LRU: evict the leaf whose last use is oldest (SGLang's rule at token granularity)."""

from __future__ import annotations

from collections.abc import Sequence

from theory.eviction.base import EvictionPolicy, Sees, Step

__all__ = ["LeafLRU"]


class LeafLRU(EvictionPolicy):
    """Evict the least recently used leaf; ties go to the later token.

    The tie rule makes it a stack policy (model, Lemma 2). Ratio exactly B - u + 1 (Theorems 1, 2).
    """

    sees: Sees = "footprint"

    def __init__(self) -> None:
        self.last: dict[int, int] = {}

    def on_step(self, step: Step) -> None:
        self.last.update(dict.fromkeys(step.tokens, step.number))

    def choose(self, leaves: Sequence[int]) -> int:
        return min(leaves, key=lambda token: (self.last[token], -token))

    def on_evict(self, token: int) -> None:
        del self.last[token]

    def state(self) -> tuple[int, ...]:
        return tuple(sorted(self.last, key=lambda token: (self.last[token], -token)))
