"""Policies of users, each with one fault."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from fractions import Fraction

from theory.eviction import EvictionPolicy, RandomisedPolicy, Step


class First(EvictionPolicy):
    """Evicts the first leaf; the others differ from it in their fault."""

    def on_step(self, step: Step) -> None:
        pass

    def choose(self, leaves: Sequence[int]) -> int:
        return leaves[0]


class Raises(First):
    def choose(self, leaves: Sequence[int]) -> int:
        raise RuntimeError("two\nlines")


class Exits(First):
    def choose(self, leaves: Sequence[int]) -> int:
        raise SystemExit(7)


class NamesAList(First):
    def choose(self, leaves: Sequence[int]) -> int:
        return list(leaves)  # type: ignore[return-value]


class Unhashable(First):
    def state(self) -> Hashable:
        return []


class StateRaises(First):
    def state(self) -> Hashable:
        return 1 // 0


class Coins(First):
    """Tosses coins of its own, and says nothing of it."""

    def choose(self, leaves: Sequence[int]) -> int:
        return random.choice(leaves)


class CoinsWithState(Coins):
    def state(self) -> Hashable:
        return ()


class Forgetful(First):
    """Its choice depends on a counter that is not in its state."""

    def __init__(self) -> None:
        self.steps = 0

    def on_step(self, step: Step) -> None:
        self.steps += 1

    def choose(self, leaves: Sequence[int]) -> int:
        return leaves[self.steps // 7 % len(leaves)]

    def state(self) -> Hashable:
        return ()


class Draws(RandomisedPolicy):
    def on_step(self, step: Step) -> None:
        pass

    def state(self) -> Hashable:
        return ()

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return {leaves[0]: Fraction(1)}


class TooLittle(Draws):
    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return {leaves[0]: Fraction(1, 2)}


class TooMuch(Draws):
    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return {leaf: Fraction(1) for leaf in (leaves[0], leaves[-1] + 1)}


class Negative(Draws):
    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return {leaves[0]: Fraction(2), leaves[0] + 1: Fraction(-1)}


class Floats(Draws):
    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return {leaf: 1 / len(leaves) for leaf in leaves}  # type: ignore[misc]


class NoDict(Draws):
    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return list(leaves)  # type: ignore[return-value]


class Talks(First):
    def on_step(self, step: Step) -> None:
        print("a step")

    def state(self) -> Hashable:
        return ()
