"""RLT with marks cleared per step: uniform among all unmarked leaves."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from theory.eviction.base import RandomisedPolicy, Sees, Step, uniform

__all__ = ["StepRLT"]


class StepRLT(RandomisedPolicy):
    """Evict a uniformly random unmarked leaf; all marks are cleared once a step at most.

    The step-granular reading of RLT (model, section 4).

    A step whose footprint would bring the marks above B clears them first; then the footprint is
    marked, and every eviction takes a uniformly random unmarked leaf. Source: the marks are
    cleared inside ``evict`` in this way in the code published with the paper. Under batches its
    ratio is linear in k, not logarithmic (Theorems R4, R4').

    Attributes
    ----------
    marked : set of int
        T: the tokens used in this phase. All of them are cached.
    """

    sees: Sees = "footprint"

    def __init__(self) -> None:
        self.marked: set[int] = set()

    def on_step(self, step: Step) -> None:
        if len(self.marked.union(step.tokens)) > self.cache.capacity:
            self.marked = set()
        self.marked.update(step.tokens)

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return uniform([leaf for leaf in leaves if leaf not in self.marked])

    def state(self) -> frozenset[int]:
        return frozenset(self.marked)
