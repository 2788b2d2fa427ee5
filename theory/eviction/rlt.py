"""RLT, Randomised Leaf Token: marking, and uniform among the unmarked leaves."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from theory.eviction.base import RandomisedPolicy, Sees, Step, uniform

__all__ = ["RLT"]


class RLT(RandomisedPolicy):
    """Evict a uniformly random unmarked leaf; the marks of the phase before fall last (RLT).

    The paper's rule, completed for batches, in its generation-first form (model, section 4).

    A step whose footprint would bring the marks above B starts a new phase: the marks of the old
    one become the *previous generation*. The footprint is marked. Evictions take a uniformly
    random unmarked leaf outside the previous generation while there is one, then any uniformly
    random unmarked leaf. By Lemma 3 marks and cache have the law of the token-by-token rule.
    Ratio at most 2(1 + H_{k-1}), additive constant B (Theorem R5).

    Attributes
    ----------
    marked : set of int
        T: the tokens used in this phase. All of them are cached.
    previous : set of int
        T' in the first step of a phase, else empty: from an empty cache that step evicts every
        unmarked token outside T' (proof of Theorem R5), so later the preference is idle.
    """

    sees: Sees = "footprint"

    def __init__(self) -> None:
        self.marked: set[int] = set()
        self.previous: set[int] = set()

    def on_step(self, step: Step) -> None:
        self.previous = set()
        if len(self.marked.union(step.tokens)) > self.cache.capacity:
            self.previous, self.marked = self.marked, set()
        self.marked.update(step.tokens)

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        unmarked = [leaf for leaf in leaves if leaf not in self.marked]
        return uniform([leaf for leaf in unmarked if leaf not in self.previous] or unmarked)

    def state(self) -> frozenset[int]:
        return frozenset(self.marked)
