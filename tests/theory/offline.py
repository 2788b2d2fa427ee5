"""The offline optimum by brute force over all cache states, prefix-closed or not."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from theory.model import Instance
from theory.trie import ROOT

Cache = frozenset[int]


def subsets(tokens: Iterable[int]) -> list[Cache]:
    pool = sorted(tokens)
    return [frozenset(c) for size in range(len(pool) + 1) for c in combinations(pool, size)]


def brute_force(instance: Instance, *, closed: bool = True, any_start: bool = False) -> int:
    """The fewest misses of any schedule, with caches that need or need not be prefix-closed.

    With `any_start` the schedule may begin with any cache of at most B tokens, for free.
    """
    parents = instance.trie.parents()

    def allowed(cache: Cache) -> bool:
        small = len(cache) <= instance.capacity
        return small and not (
            closed and any(parents[t] not in cache for t in cache if parents[t] != ROOT)
        )

    states = [c for c in subsets(range(len(instance.trie))) if allowed(c)]
    cost = {state: 0 for state in states if any_start or not state}
    for index in range(len(instance.steps)):
        footprint = frozenset(instance.footprint(index))
        following: dict[Cache, int] = {}
        for before, paid in cost.items():
            now = paid + len(footprint - before)
            for after in subsets((before | footprint) - footprint):
                state = after | footprint
                if allowed(state) and now < following.get(state, now + 1):
                    following[state] = now
        cost = following
    return min(cost.values())
