"""GDSF: frequency over size, with an age; the size is that of the radix node."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import lcm

from theory.eviction.base import EvictionPolicy, Granularity, Sees, Step
from theory.eviction.bookkeeping import count_uses

__all__ = ["GDSF", "UNIT"]

UNIT = lcm(*range(1, 21))
"""What one use of a node of one token is worth."""


class GDSF(EvictionPolicy):
    """Evict the leaf node with the lowest age + uses / size (greedy dual, size and frequency).

    The age of the cache is the priority of what was evicted last; a node takes it over whenever it
    is used (a new one after the evictions that made room for it). A split node's parts keep uses
    and age. Ties go to the node whose last use is oldest, then to the later token. Priorities are
    whole numbers of 1 / `UNIT`, rounded down: nothing is rounded where nodes have up to 20 tokens.

    Source: L. Cherkasova, Improving WWW proxies performance with greedy-dual-size-frequency caching
    policy, HP Labs 1998; with all costs equal.
    """

    granularity: Granularity = "node"
    sees: Sees = "queries"

    def __init__(self) -> None:
        self.uses: dict[int, int] = {}
        self.base: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.age = 0
        self.loaded: tuple[int, ...] = ()  # the misses of the last step

    def on_step(self, step: Step) -> None:
        self.base.update(dict.fromkeys((*self.loaded, *step.hits), self.age))
        self.loaded = step.misses
        count_uses(self.uses, step, self.cache.trie)
        self.last.update(dict.fromkeys(step.tokens, step.number))

    def _priority(self, token: int) -> int:
        return self.base[token] + UNIT * self.uses[token] // len(self.cache.node(token))

    def choose(self, leaves: Sequence[int]) -> int:
        victim = min(leaves, key=lambda t: (self._priority(t), self.last[t], -t))
        self.age = self._priority(victim)
        return victim

    def on_evict(self, token: int) -> None:
        del self.uses[token], self.base[token], self.last[token]

    def state(self) -> Hashable:
        order = sorted(self.last, key=lambda token: (self.last[token], -token))
        base = {**self.base, **dict.fromkeys(self.loaded, self.age)}
        return tuple((t, self.uses[t], base[t] - self.age) for t in order)
