"""Policies with one fault each, named after the check that must find it."""

from __future__ import annotations

import random
import time
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Self

from theory.eviction import EvictionPolicy, RandomisedPolicy, Step
from theory.eviction.base import CacheView, uniform
from theory.eviction.leaf_lru import LeafLRU


class Good(LeafLRU):
    """Nothing is wrong with it."""


class NoOnStep(EvictionPolicy):
    """Cannot be built: a method is missing."""

    def choose(self, leaves: Sequence[int]) -> int:
        return leaves[0]


class RaisesWhenBuilt(LeafLRU):
    def __init__(self) -> None:
        raise RuntimeError("no")


class BindsNothing(LeafLRU):
    def bind(self, cache: CacheView) -> None:  # type: ignore[override]
        self.cache = cache


class Pages(LeafLRU):
    granularity = "page"  # type: ignore[assignment]


class Outsider(LeafLRU):
    """Evicts the token used last, leaf or not."""

    def choose(self, leaves: Sequence[int]) -> int:
        return self.state()[-1]


class Forgets(LeafLRU):
    """Forgets a token one step too early."""

    def on_evict(self, token: int) -> None:
        super().on_evict(token)
        if token == 0:
            raise KeyError(token)


class Meddles(LeafLRU):
    """Takes a victim out of the cache by its own hand."""

    def choose(self, leaves: Sequence[int]) -> int:
        victim = super().choose(leaves)
        self.cache.cached.remove(victim)  # type: ignore[attr-defined]
        return victim


class GlobalCoins(LeafLRU):
    def choose(self, leaves: Sequence[int]) -> int:
        return random.choice(leaves)


class WallClock(LeafLRU):
    def choose(self, leaves: Sequence[int]) -> int:
        return leaves[time.perf_counter_ns() // 100 % len(leaves)]


class Shared(LeafLRU):
    """Its memory belongs to the class."""

    uses: dict[int, int] = {}  # noqa: RUF012 - the fault

    def on_step(self, step: Step) -> None:
        super().on_step(step)
        for token in step.tokens:
            self.uses[token] = self.uses.get(token, 0) + 1

    def choose(self, leaves: Sequence[int]) -> int:
        return max(leaves, key=lambda leaf: (self.uses.get(leaf, 0) % 3, leaf))


class ChangesGranularity(LeafLRU):
    def on_step(self, step: Step) -> None:
        super().on_step(step)
        if step.number == 3:
            self.granularity = "node"


class Shallow(EvictionPolicy):
    """A memory of lists in a dict, which `fork` does not copy."""

    def __init__(self) -> None:
        self.times: dict[int, list[int]] = {}

    def on_step(self, step: Step) -> None:
        for token in step.tokens:
            self.times.setdefault(token, []).append(step.number)

    def choose(self, leaves: Sequence[int]) -> int:
        return min(leaves, key=lambda leaf: (len(self.times[leaf]), leaf))


class ForksItself(LeafLRU):
    def fork(self, cache: CacheView) -> Self:
        return self


class Draws(RandomisedPolicy):
    """Right, with nothing to remember."""

    def on_step(self, step: Step) -> None:
        pass

    def state(self) -> Hashable:
        return ()

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return uniform(leaves)


class NoCoins(Draws):
    def bind(self, cache: CacheView, seed: int) -> None:
        self.cache = cache


class AddsUpToMore(Draws):
    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return dict.fromkeys(leaves, Fraction(1, 2))


class Floats(Draws):
    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return dict.fromkeys(leaves, 1 / len(leaves))  # type: ignore[arg-type]


class Strays(Draws):
    """Gives what is no leaf a probability, and does not draw it."""

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return uniform([*leaves, -1])

    def choose(self, leaves: Sequence[int]) -> int:
        return self.random.choice(leaves)


class DrawsTheLaw(Draws):
    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return {self.random.choice(leaves): Fraction(1)}


class OtherCoins(Draws):
    """Draws from a generator of its own, that no seed reaches."""

    def __init__(self) -> None:
        self.own = random.Random()

    def choose(self, leaves: Sequence[int]) -> int:
        return self.own.choice(leaves)


class Loaded(Draws):
    """Draws the first leaf more often than it says."""

    def choose(self, leaves: Sequence[int]) -> int:
        return leaves[0] if self.random.random() < 0.5 else self.random.choice(leaves)


class TossesUntold(Draws):
    """A coin in `on_step`, and the default of `tosses`."""

    side = 0

    def on_step(self, step: Step) -> None:
        self.side = self.random.randrange(2)

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return {leaves[-self.side]: Fraction(1)}

    def state(self) -> Hashable:
        return self.side


class TossesWrongly(TossesUntold):
    """Two outcomes are told; the second comes three times in four."""

    def on_step(self, step: Step) -> None:
        self.side = int(self.random.randrange(4) > 0)

    def tosses(self, step: Step) -> Sequence[Self]:
        both = [self.fork(self.cache), self.fork(self.cache)]
        for side, one in enumerate(both):
            one.side = side
        return both


class Unhashable(LeafLRU):
    def state(self) -> Hashable:  # type: ignore[override]
        return [*super().state()]


class LeavesOut(LeafLRU):
    """Its victims depend on the recency, and its state does not tell."""

    def state(self) -> Hashable:  # type: ignore[override]
        return ()


class LeavesOutLate(Good):
    """A counter that shows after seven steps only."""

    steps = 0

    def on_step(self, step: Step) -> None:
        super().on_step(step)
        self.steps += 1

    def choose(self, leaves: Sequence[int]) -> int:
        return leaves[self.steps // 7 % len(leaves)]


class TimeStamps(LeafLRU):
    """Right, but for times in place of ranks."""

    def state(self) -> Hashable:  # type: ignore[override]
        return tuple(sorted(self.last.items()))


class SeesNothing(LeafLRU):
    sees = "nothing"  # type: ignore[assignment]


class SeesMore(EvictionPolicy):
    """Says that the footprint is all it sees, and looks at the first query."""

    sees = "footprint"

    def __init__(self) -> None:
        self.first = 0

    def on_step(self, step: Step) -> None:
        self.first = step.queries[0]

    def choose(self, leaves: Sequence[int]) -> int:
        return leaves[self.first % len(leaves)]

    def state(self) -> Hashable:
        return self.first


class SeesOrder(SeesMore):
    """The same, with a weaker promise that it breaks too."""

    sees = "queries"
