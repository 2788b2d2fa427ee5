"""RLT weighted by tokens: a uniformly random unmarked token, then the deepest tail below it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from theory.eviction.rlt_step import StepRLT
from theory.trie import ROOT

__all__ = ["TokenRLT"]


class TokenRLT(StepRLT):
    """Draw an unmarked token uniformly and evict the deepest leaf at or below it.

    Among equally deep leaves the later token leaves. Marks as in `rlt-step`. Ratio at most
    2(1 + H_{k-1}) when every phase ends with exactly B distinct tokens (variant c).
    """

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        tail = self._tails(leaves)
        law = dict.fromkeys(sorted(set(tail.values())), Fraction(0))
        for leaf in tail.values():
            law[leaf] += Fraction(1, len(tail))
        return law

    def choose(self, leaves: Sequence[int]) -> int:
        tail = self._tails(leaves)
        return tail[sorted(tail)[self.random.randrange(len(tail))]]

    def _tails(self, leaves: Sequence[int]) -> dict[int, int]:
        """For each unmarked token the leaf that leaves if it is drawn."""
        trie = self.cache.trie
        tail: dict[int, int] = {}
        for leaf in sorted(leaves, key=lambda token: (trie.depth(token), token)):
            token = leaf
            while token != ROOT and token not in self.marked:
                tail[token] = leaf
                token = trie.parent(token)
        return tail
