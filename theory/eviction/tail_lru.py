"""Tail-optimised LRU: first evict what a short recomputation makes up for."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from theory.errors import PolicyError
from theory.eviction.base import EvictionPolicy, Sees, Step

__all__ = ["TailLRU"]


class TailLRU(EvictionPolicy):
    """Evict the oldest leaf whose loss leaves a short recomputation, else the oldest leaf.

    A leaf is *spare* if the last query that used it, asked again, would have to recompute at most
    `threshold` tokens once the leaf is gone: the time to the first token stays within its target.
    So the tails of many queries go before the whole of one. Ties go to the later token; of several
    queries in the last step that used a token, the longest counts.

    Parameters
    ----------
    threshold : int
        Tokens that may be recomputed without harm; with 0 it is Leaf-LRU.

    Source: the tail-optimised LRU of Tail-optimized caching for LLM inference (2025), in the
    token-trie model: the next prompt of a conversation is taken to be the last one.
    """

    sees: Sees = "queries"

    def __init__(self, threshold: int = 2) -> None:
        if not isinstance(threshold, int) or threshold < 0:
            raise PolicyError(f"threshold {threshold!r} is not a whole number from 0 on")
        self.threshold = threshold
        self.last: dict[int, int] = {}
        self.length: dict[int, int] = {}  # token -> length of the last query that used it

    def on_step(self, step: Step) -> None:
        trie = self.cache.trie
        for query in sorted(step.queries, key=trie.depth):
            self.length.update(dict.fromkeys(trie.path(query), trie.depth(query)))
        self.last.update(dict.fromkeys(step.tokens, step.number))

    def _key(self, token: int) -> tuple[bool, int, int]:
        lost = self.length[token] - self.cache.trie.depth(token) + 1
        return lost > self.threshold, self.last[token], -token

    def choose(self, leaves: Sequence[int]) -> int:
        return min(leaves, key=self._key)

    def on_evict(self, token: int) -> None:
        del self.last[token], self.length[token]

    def state(self) -> Hashable:
        order = sorted(self.last, key=lambda token: (self.last[token], -token))
        return tuple((token, self.length[token]) for token in order)
