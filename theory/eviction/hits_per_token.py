"""Hits per token: evict the radix node with the fewest uses for its size."""

from __future__ import annotations

from fractions import Fraction

from theory.eviction.base import Step
from theory.eviction.bookkeeping import count_uses
from theory.eviction.lfu import LFU

__all__ = ["HitsPerToken"]


class HitsPerToken(LFU):
    """Evict the leaf node with the smallest uses / size; ties to the older, then the later token.

    Uses as in `LFU`. A node is split before the matched part is refreshed; both parts keep the
    count, so a split raises the rank of both.

    Notes
    -----
    Not competitive: on ``a a (b c)^inf`` with B = 2 every step misses, and the optimum stops
    missing (adversary family ``frequency``).
    """

    def __init__(self) -> None:
        super().__init__(granularity="node")

    def on_step(self, step: Step) -> None:
        self.last.update(dict.fromkeys(step.tokens, step.number))
        count_uses(self.uses, step, self.cache.trie)

    def _key(self, token: int) -> tuple[Fraction, tuple[int, int]]:
        return Fraction(self.uses[token], len(self.cache.node(token))), self._age(token)
