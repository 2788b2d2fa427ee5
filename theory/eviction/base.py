"""The protocol of an eviction policy: what a policy is told, and what it decides.

A policy sees the steps one by one and names the victim among the evictable leaves. It is a small
class; the fifteen lines of ``leaf_lru.py`` are a complete example. The same class runs in the
executable cache, in the exact solver and in the adversaries.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Sequence
from copy import copy
from fractions import Fraction
from math import lcm
from typing import Literal, NamedTuple, Protocol, Self

from theory.errors import PolicyError
from theory.trie import TokenTrie

__all__ = [
    "CacheView",
    "EvictionPolicy",
    "Granularity",
    "RandomisedPolicy",
    "Sees",
    "Step",
    "check_law",
    "uniform",
]

Granularity = Literal["token", "node"]
"""What an eviction frees: one token, or a whole radix node."""

Sees = Literal["footprint", "queries", "order"]
"""What of a batch can change a policy's decisions."""


class Step(NamedTuple):
    """One step, as a policy sees it before any eviction.

    Attributes
    ----------
    number : int
        The number of the step: the logical time. No policy reads a clock.
    queries : tuple of int
        The distinct queries in their order, each by its last token.
    tokens : tuple of int
        The footprint U_j in the order of tokens (ancestors first).
    hits, misses : tuple of int
        The tokens of the footprint that are cached, and those that are not, in the same order.
    split_off : tuple of int
        Cached tokens outside the footprint whose radix node was matched in part: the unmatched
        rest of split nodes. Always empty for token-granular policies.
    cuts : tuple of int
        Cached tokens at which this step splits a radix node: the last tokens of the upper parts.
        Always empty for token-granular policies.
    """

    number: int
    queries: tuple[int, ...]
    tokens: tuple[int, ...]
    hits: tuple[int, ...]
    misses: tuple[int, ...]
    split_off: tuple[int, ...] = ()
    cuts: tuple[int, ...] = ()


class CacheView(Protocol):
    """What a policy may ask of the cache that it serves."""

    @property
    def trie(self) -> TokenTrie:
        """The token trie."""

    @property
    def capacity(self) -> int:
        """B, in tokens."""

    @property
    def cached(self) -> Collection[int]:
        """The cached tokens; treat it as read-only."""

    def node(self, bottom: int) -> tuple[int, ...]:
        """The tokens that leave with the leaf `bottom`, top first."""


class EvictionPolicy(ABC):
    """A deterministic eviction policy; see `RandomisedPolicy` for the other kind.

    Attributes
    ----------
    granularity : {"token", "node"}
        Token-granular: every candidate is one leaf token of the cached trie. Node-granular: the
        cache keeps radix nodes, split where a match ends; every candidate is the last token of a
        leaf node, and the whole node leaves (so more may be freed than was asked for). An
        instance may override its class.
    sees : {"footprint", "queries", "order"}
        What of a batch can change the policy's decisions: the footprint alone, the set of its
        queries, or their order too. A promise that lets the exact solver leave out steps that
        make no difference; the default promises nothing.
    cache : CacheView
        The cache that is served; set before the first step.

    Notes
    -----
    An attribute that is a dict, set or list is copied by `fork`; keep nothing deeper than that,
    or override `fork`.
    """

    granularity: Granularity = "token"
    sees: Sees = "order"
    cache: CacheView

    def bind(self, cache: CacheView, seed: int) -> None:
        """Meet the empty cache. `seed` seeds the generator of a randomised policy.

        Raises
        ------
        PolicyError
            If the policy serves a cache already: what it remembers would be of the other cache.
        """
        if hasattr(self, "cache"):
            raise PolicyError(
                "serves another cache already",
                where=f"policy {type(self).__name__}",
                fix="build one policy for each cache",
            )
        self.cache = cache

    @abstractmethod
    def on_step(self, step: Step) -> None:
        """Learn of a step, before its evictions."""

    @abstractmethod
    def choose(self, leaves: Sequence[int]) -> int:
        """Name the victim among the evictable leaves, which come in the order of tokens."""

    def on_evict(self, token: int) -> None:  # noqa: B027 - most policies need not know
        """Learn that `token` has left the cache (once for each token of a node, deepest first)."""

    def state(self) -> Hashable:
        """What the future decisions depend on, besides the cache: equal states, equal futures.

        The exact solver needs it to be canonical: ranks instead of times, so that the number of
        reachable states is finite.

        Raises
        ------
        NotImplementedError
            By default: such a policy runs, but has no exact ratio.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no state()")

    def fork(self, cache: CacheView) -> Self:
        """An independent copy that serves `cache`."""
        new = copy(self)
        for key, value in vars(self).items():
            if isinstance(value, dict | set | list | random.Random):
                setattr(new, key, copy(value))
        new.cache = cache
        return new


def check_law(law: object, policy: EvictionPolicy) -> None:
    """Check that `law` is an exact distribution, as `RandomisedPolicy.distribution` promises.

    Raises
    ------
    PolicyError
        If it is no dict of Fractions (or ints) that are not negative and add up to 1.
    """
    wrong = None
    if not isinstance(law, dict):
        wrong = f"{law!r} is no dict"
    elif not all(isinstance(weight, Fraction | int) for weight in law.values()):
        wrong = f"the probabilities {[*law.values()]} are not all Fractions"
    elif any(weight < 0 for weight in law.values()) or _total(law.values()) != 1:
        wrong = f"the probabilities {[str(weight) for weight in law.values()]} are no distribution"
    if wrong:
        raise PolicyError(
            wrong,
            where=f"policy {type(policy).__name__}, distribution()",
            fix="return a dict from leaves to exact Fractions that add up to 1",
        )


def _total(weights: Collection[Fraction | int]) -> Fraction:
    """Their sum, over one common denominator: many times as fast as one by one."""
    common = lcm(*(weight.denominator for weight in weights))
    return Fraction(sum(w.numerator * (common // w.denominator) for w in weights), common)


class RandomisedPolicy(EvictionPolicy):
    """A policy that draws its victim from a distribution, given exactly.

    A policy that also tosses coins when it learns of a step says so in `tosses`.
    """

    random: random.Random

    def bind(self, cache: CacheView, seed: int) -> None:
        super().bind(cache, seed)
        self.random = random.Random(seed)

    def tosses(self, step: Step) -> Sequence[Self]:
        """Learn of a step as in `on_step`: one policy for each equally likely toss of its coins.

        They are independent; this policy is used up, or is one of them. No number is drawn. By
        default there are no coins in `on_step`.
        """
        self.on_step(step)
        return [self]

    @abstractmethod
    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        """The probability of each victim; zero probabilities may be left out."""

    def choose(self, leaves: Sequence[int]) -> int:
        """Draw from `distribution` (in exact arithmetic: one integer draw).

        Raises
        ------
        PolicyError
            If the probabilities are no exact distribution.
        """
        law = self.distribution(leaves)
        check_law(law, self)
        denominator = lcm(*(weight.denominator for weight in law.values()))
        draw = self.random.randrange(denominator)
        for token, weight in law.items():
            draw -= weight.numerator * (denominator // weight.denominator)
            if draw < 0:
                return token
        raise AssertionError("unreachable: the probabilities add up to 1")


def uniform(tokens: Collection[int]) -> dict[int, Fraction]:
    """The uniform distribution on `tokens`."""
    return dict.fromkeys(tokens, Fraction(1, len(tokens)))
