"""LFU with dynamic ageing on leaves: the evicted one's priority is the newcomers' start."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from theory.eviction.base import EvictionPolicy, Sees, Step
from theory.eviction.bookkeeping import count_uses

__all__ = ["LFUAgeing"]


class LFUAgeing(EvictionPolicy):
    """Evict the leaf with the lowest priority: its uses since the insertion, plus the age.

    The age of the cache is the priority of what was evicted last; a token's priority takes it over
    whenever the token is used (a new one's after the evictions that made room for it). So no count
    protects for ever. Ties go to the leaf whose last use
    is oldest, then to the later token.

    Source: M. Arlitt et al., Evaluating content management techniques for web proxy caches, 1999
    (LFU-DA).
    """

    sees: Sees = "queries"

    def __init__(self) -> None:
        self.uses: dict[int, int] = {}
        self.priority: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.age = 0
        self.loaded: tuple[int, ...] = ()  # the misses of the last step

    def on_step(self, step: Step) -> None:
        self.priority.update((token, self.uses[token] + self.age) for token in self.loaded)
        self.loaded = step.misses
        count_uses(self.uses, step, self.cache.trie)
        self.priority.update((token, self.uses[token] + self.age) for token in step.hits)
        self.last.update(dict.fromkeys(step.tokens, step.number))

    def _key(self, token: int) -> tuple[int, int, int]:
        return self.priority[token], self.last[token], -token

    def choose(self, leaves: Sequence[int]) -> int:
        return min(leaves, key=self._key)

    def on_evict(self, token: int) -> None:
        self.age = self.priority.pop(token)
        del self.uses[token], self.last[token]

    def state(self) -> Hashable:
        # Priorities count from the age: a shift of all of them changes nothing.
        order = sorted(self.last, key=lambda token: (self.last[token], -token))
        new = {token: self.uses[token] + self.age for token in self.loaded}
        return tuple((t, self.uses[t], {**self.priority, **new}[t] - self.age) for t in order)
