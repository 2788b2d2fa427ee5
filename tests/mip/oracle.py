"""The offline optimum by brute force: dynamic programming over all cache states.

It shares nothing with the solvers but the instance, and is only meant for a handful of tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from theory.model import Instance


def brute_force(instance: Instance, bypass: bool = False, closed: bool = True) -> int:
    """The fewest misses over all schedules; with ``closed=False`` caches need no parents."""
    parents = instance.trie.parents()
    cost: dict[frozenset[int], int] = {frozenset(): 0}
    for index in range(len(instance.steps)):
        footprint = frozenset(instance.footprint(index))
        after: dict[frozenset[int], int] = {}
        for before, paid in cost.items():
            total = paid + len(footprint - before)
            for cache in _caches(before | footprint, instance.capacity):
                if not bypass and not footprint <= cache:
                    continue
                if closed and any(parents[t] != -1 and parents[t] not in cache for t in cache):
                    continue
                if total < after.get(cache, total + 1):
                    after[cache] = total
        cost = after
    return min(cost.values())


def _caches(tokens: frozenset[int], capacity: int) -> Iterator[frozenset[int]]:
    for size in range(min(capacity, len(tokens)) + 1):
        for chosen in combinations(sorted(tokens), size):
            yield frozenset(chosen)


def small_forests(n: int) -> Iterator[list[int]]:
    """Every way to number a rooted forest of n tokens with parents first."""
    if n == 0:
        yield []
        return
    for parents in small_forests(n - 1):
        for parent in range(-1, n - 1):
            yield [*parents, parent]
