"""Policies of a user, good and bad."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction

from theory.eviction import EvictionPolicy, RandomisedPolicy
from theory.eviction.base import Step
from theory.eviction.leaf_lru import LeafLRU


class Stateless(EvictionPolicy):
    """Runs, but gives no state."""

    def on_step(self, step: Step) -> None:
        pass

    def choose(self, leaves: Sequence[int]) -> int:
        return leaves[0]


class FirstLeaf(Stateless):
    """Evicts the first leaf; its state is the cache alone."""

    def state(self) -> Hashable:
        return ()


class LastQueryFirst(Stateless):
    """Evicts the leaf whose place the first query of the step gives, so it sees the order."""

    def __init__(self) -> None:
        self.shift = 0

    def on_step(self, step: Step) -> None:
        self.shift = step.queries[0]

    def choose(self, leaves: Sequence[int]) -> int:
        return leaves[self.shift % len(leaves)]

    def state(self) -> Hashable:
        return ()


class NotOne(RandomisedPolicy):
    """Its probabilities add up to 1/2."""

    def on_step(self, step: Step) -> None:
        pass

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return {leaves[0]: Fraction(1, 2)}

    def state(self) -> Hashable:
        return ()


class AnyLeaf(RandomisedPolicy):
    """Evicts a leaf at random, as random-leaf does, but has no state and no kernel."""

    def on_step(self, step: Step) -> None:
        pass

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return {leaf: Fraction(1, len(leaves)) for leaf in leaves}


class Sticky(RandomisedPolicy):
    """Evicts the first leaf with probability 1/3, else the last: its laws rarely return."""

    def on_step(self, step: Step) -> None:
        pass

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        if len(leaves) == 1:
            return {leaves[0]: Fraction(1)}
        return {leaves[0]: Fraction(1, 3), leaves[-1]: Fraction(2, 3)}

    def state(self) -> Hashable:
        return ()


class OrderedLRU(LeafLRU):
    """Leaf-LRU that promises nothing about what it sees."""

    sees = "order"
