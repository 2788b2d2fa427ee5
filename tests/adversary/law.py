"""The exact law of a randomised policy on a short sequence, by going through all its choices."""

from __future__ import annotations

from fractions import Fraction

from theory.cache import PrefixCache
from theory.model import Instance


def expected_costs(instance: Instance, policy: str) -> list[Fraction]:
    """The expected misses of every step, exactly."""
    layer = [(Fraction(1), PrefixCache(instance.trie, instance.capacity, policy))]
    costs = []
    for step in instance.steps:
        for _, cache in layer:
            cache.begin(step)
        costs.append(Fraction(0))
        merged: dict[object, tuple[Fraction, PrefixCache]] = {}
        while layer:
            following: dict[object, tuple[Fraction, PrefixCache]] = {}
            for weight, cache in layer:
                if cache.excess <= 0:
                    costs[-1] += weight * cache.finish().cost
                    _merge(merged, weight, cache)
                    continue
                law = cache.policy.distribution(cache.leaves())
                for victim, probability in law.items():
                    if probability:
                        other = cache.fork()
                        other.evict(victim)
                        _merge(following, weight * probability, other)
            layer = list(following.values())
        layer = list(merged.values())
        assert sum(weight for weight, _ in layer) == 1
    return costs


def _merge(into, weight, cache):
    key = cache.state()
    seen, kept = into.get(key, (Fraction(0), cache))
    into[key] = seen + weight, kept
