"""Exact laws: every outcome of a step with its probability."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import NamedTuple

from theory.cache import PrefixCache, StepResult
from theory.eviction import POLICIES, RandomisedPolicy
from theory.model import Instance

WITH_LAW = sorted({*POLICIES, "onlinemin:epoch=0"} - {"onlinemin"})
"""The policies with a state; that of onlinemin counts an epoch, unless there is none."""


class Branch(NamedTuple):
    """One outcome of a step."""

    weight: Fraction
    result: StepResult
    cache: PrefixCache


def branches(cache: PrefixCache, step: Sequence[int]) -> list[Branch]:
    """All outcomes of serving `step`, for each toss and all victims; `cache` is unchanged."""
    begun = cache.begin_each(step)
    done: list[Branch] = []
    open_ = [(Fraction(1, len(begun)), start) for start in begun]
    while open_:
        weight, now = open_.pop()
        if now.excess <= 0:
            done.append(Branch(weight, now.finish(), now))
            continue
        if isinstance(now.policy, RandomisedPolicy):
            law = now.policy.distribution(now.leaves())
        else:
            law = {now.policy.choose(now.leaves()): Fraction(1)}
        for victim, share in law.items():
            if share:
                then = now.fork()
                then.evict(victim)
                open_.append((weight * share, then))
    return done


def law(cache: PrefixCache, step: Sequence[int]) -> dict[Hashable, Fraction]:
    """The distribution of (hits, misses, evicted in order, next state)."""
    result: dict[Hashable, Fraction] = {}
    for weight, outcome, then in branches(cache, step):
        key = (outcome, then.state())
        result[key] = result.get(key, Fraction(0)) + weight
    return result


def advance(
    now: list[tuple[Fraction, PrefixCache]], step: Sequence[int]
) -> tuple[list[tuple[Fraction, PrefixCache]], Fraction]:
    """Serve `step` from a law of caches; the next law, and the expected cost of the step."""
    cost = Fraction(0)
    done: dict[Hashable, tuple[Fraction, PrefixCache]] = {}
    layer: dict[Hashable, tuple[Fraction, PrefixCache]] = {}
    for weight, cache in now:
        begun = cache.begin_each(step)
        for start in begun:
            _add(layer, weight / len(begun), start)
    while layer:
        following: dict[Hashable, tuple[Fraction, PrefixCache]] = {}
        for weight, cache in layer.values():
            if cache.excess <= 0:
                cost += weight * cache.finish().cost
                _add(done, weight, cache)
                continue
            policy = cache.policy
            if isinstance(policy, RandomisedPolicy):
                victims = policy.distribution(cache.leaves())
            else:
                victims = {policy.choose(cache.leaves()): Fraction(1)}
            for victim, share in victims.items():
                if share:
                    then = cache.fork()
                    then.evict(victim)
                    _add(following, weight * share, then)
        layer = following
    return list(done.values()), cost


def _add(
    law: dict[Hashable, tuple[Fraction, PrefixCache]], weight: Fraction, cache: PrefixCache
) -> None:
    # Merged in the middle of a step too: all of a law serve the same step, and its misses are the
    # footprint without the cache, whatever has left since.
    before, kept = law.get(cache.state(), (Fraction(0), cache))
    law[cache.state()] = (before + weight, kept)


def laws(instance: Instance, policy: str) -> list[tuple[dict[frozenset[int], Fraction], Fraction]]:
    """After each step from an empty cache: the law of the cache, and the step's expected cost."""
    now = [(Fraction(1), PrefixCache(instance.trie, instance.capacity, policy))]
    result = []
    for step in instance.steps:
        now, cost = advance(now, step)
        caches: dict[frozenset[int], Fraction] = {}
        for weight, cache in now:
            cached = frozenset(cache.cached)
            caches[cached] = caches.get(cached, Fraction(0)) + weight
        result.append((caches, cost))
    return result


def expected_cost(instance: Instance, policy: str) -> Fraction:
    """The exact expected number of misses from an empty cache."""
    return sum((cost for _, cost in laws(instance, policy)), Fraction(0))
