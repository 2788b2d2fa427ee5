"""Random leaf, without marks: the memoryless rule."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from theory.eviction.base import RandomisedPolicy, Sees, Step, uniform

__all__ = ["RandomLeaf"]


class RandomLeaf(RandomisedPolicy):
    """Evict a uniformly random evictable leaf, whatever has happened.

    What RLT is without its marks. On stars it is RAND of paging, with ratio exactly B (P. Raghavan
    and M. Snir, Memory versus randomization in on-line algorithms, ICALP 1989).
    """

    sees: Sees = "footprint"

    def on_step(self, step: Step) -> None:
        pass

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return uniform(leaves)

    def state(self) -> tuple[()]:
        return ()
