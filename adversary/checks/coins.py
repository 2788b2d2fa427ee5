"""Checks of the coins of a randomised policy: its laws, and whether its draws follow them.

Where a class draws in a way of its own, draws are counted. By Hoeffding's inequality and the union
bound a right policy is told a wrong one with probability below `ERROR`; a probability that is wrong
by less than the `margin` can go unseen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from fractions import Fraction
from math import log, sqrt
from random import Random
from typing import Any

from theory.cache import PrefixCache
from theory.errors import PolicyError
from theory.eviction import RandomisedPolicy, make_policy
from theory.eviction.base import check_law
from theory.model import Instance

__all__ = ["ERROR", "draws", "law", "margin", "tosses", "tosses_are_told"]

DRAWS = 1000
PLACES = 3
"""In each instance, the places where draws are counted."""
ERROR = Fraction(1, 10**6)
"""The probability that any of the tests of one call is failed by a right policy."""
MOST_TESTS = 10**4
"""More tests than one call of the checks makes; each has its share of the error."""


def margin(draws: int = DRAWS) -> float:
    """How far a frequency may be from its probability, by chance.

    Examples
    --------
    >>> round(margin(), 3)
    0.109
    """
    return sqrt(log(2 * MOST_TESTS / ERROR) / (2 * draws))


def law(policy: str, instance: Instance, seed: int) -> str | None:
    """`distribution` is exact, names leaves only, and tosses no coin.

    What else goes wrong in a run is told by other checks.
    """
    cache = PrefixCache(instance.trie, instance.capacity, make_policy(policy), seed=seed)
    made = cache.policy
    assert isinstance(made, RandomisedPolicy)
    for number, step in enumerate(instance.steps):
        try:
            cache.begin(step)
        except (Exception, SystemExit):
            return None
        while cache.excess > 0:
            leaves = cache.leaves()
            fault = _of_law(made, leaves)
            if fault is not None:
                return f"step {number}: {fault}"
            try:
                victim = made.choose(list(leaves))
                if victim in leaves and not made.distribution(list(leaves)).get(victim):
                    return f"step {number}: choose() returns {victim}, whose probability is zero"
                cache.evict(victim)
            except (Exception, SystemExit):
                return None
        cache.finish()
    return None


def _of_law(made: RandomisedPolicy, leaves: list[int]) -> str | None:
    coins = made.random.getstate()
    told = made.distribution(list(leaves))
    try:
        check_law(told, made)
    except PolicyError as error:
        return f"{error.what}; {error.fix}"
    strange = [victim for victim, share in told.items() if share and victim not in leaves]
    if strange:
        return f"gives {strange[0]!r} a probability, which is no leaf"
    if made.random.getstate() != coins:
        return "distribution() draws from self.random"
    if made.distribution(list(leaves)) != told:
        return "distribution() is another one when it is asked again"
    return None


def draws(policy: str, instance: Instance, seed: int) -> str | None:
    """The draws of `choose` have the frequencies that `distribution` tells."""
    cache = PrefixCache(instance.trie, instance.capacity, make_policy(policy), seed=seed)
    coins = Random(f"{seed}/draws")
    places = 0
    for number, step in enumerate(instance.steps):
        cache.begin(step)
        while cache.excess > 0:
            made, leaves = cache.policy, cache.leaves()
            assert isinstance(made, RandomisedPolicy)
            told = made.distribution(list(leaves))
            if len(told) > 1 and places < PLACES:
                places += 1
                seen: Counter[Hashable] = Counter()
                for _ in range(DRAWS):
                    copy = cache.fork().policy
                    copy.random = coins  # type: ignore[attr-defined]
                    seen[copy.choose(list(leaves))] += 1
                fault = _far(seen, told, "draws")
                if fault is not None:
                    return f"step {number}: choose() {fault}"
            cache.evict(made.choose(leaves))
        cache.finish()
    return None


def tosses_are_told(policy: str, instance: Instance, seed: int) -> str | None:
    """`on_step` draws nothing, so that the default of `tosses` is right."""
    cache = PrefixCache(instance.trie, instance.capacity, make_policy(policy), seed=seed)
    for number, step in enumerate(instance.steps):
        coins = cache.policy.random.getstate()  # type: ignore[attr-defined]
        cache.begin(step)
        if cache.policy.random.getstate() != coins:  # type: ignore[attr-defined]
            return f"step {number}: on_step() draws from self.random, and tosses() is not given"
        while cache.excess > 0:
            cache.evict(cache.policy.choose(cache.leaves()))
        cache.finish()
    return None


def tosses(policy: str, instance: Instance, seed: int) -> str | None:
    """`tosses` gives the outcomes of `on_step` with their frequencies."""
    cache = PrefixCache(instance.trie, instance.capacity, make_policy(policy), seed=seed)
    coins = Random(f"{seed}/tosses")
    places = 0
    for number, step in enumerate(instance.steps):
        begun = cache.begin_each(step)
        if not begun:
            return f"step {number}: tosses() gives no outcome"
        strange = [one for one in begun if type(one.policy) is not type(cache.policy)]
        if strange or len({id(one.policy) for one in begun}) < len(begun):
            return f"step {number}: tosses() gives no list of independent policies"
        if cache.tells_state and places < PLACES and len(begun) > 1:
            places += 1
            told: dict[Hashable, Fraction] = {}
            for one in begun:
                key = one.policy.state()
                told[key] = told.get(key, Fraction(0)) + Fraction(1, len(begun))
            seen: Counter[Hashable] = Counter()
            for _ in range(DRAWS):
                copy = cache.fork()
                copy.policy.random = coins  # type: ignore[attr-defined]
                copy.begin(step)
                seen[copy.policy.state()] += 1
            fault = _far(seen, told, "has")
            if fault is not None:
                return f"step {number}: on_step() {fault}, by tosses()"
        cache.serve(step)
    return None


def _far(seen: Counter[Hashable], told: Mapping[Any, Fraction], verb: str) -> str | None:
    """The outcome whose frequency is too far from its probability."""
    for outcome in {**told, **seen}:
        share = told.get(outcome, Fraction(0))
        rate = seen[outcome] / DRAWS
        if (seen[outcome] and not share) or abs(rate - float(share)) > margin():
            return f"{verb} {outcome} {seen[outcome]} times in {DRAWS}, its probability is {share}"
    return None
