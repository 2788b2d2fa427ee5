"""The least makespan over all routings when the eviction policy is given: branch and bound."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mip.least_makespan import LeastMakespan
from mip.makespan_bounds import BOUNDS, least_costs
from mip.routing_data import RoutingData
from theory.cache import PrefixCache
from theory.errors import InputError, OptimumError
from theory.eviction import RandomisedPolicy, make_policy
from theory.load import route, serve
from theory.routing.instance import Duration, RoutingInstance

__all__ = ["FixedEvictionOptimum", "solve_fixed_eviction"]


@dataclass(frozen=True)
class FixedEvictionOptimum(LeastMakespan):
    """What is known about the least makespan under one eviction policy.

    Attributes
    ----------
    makespan, bound, proven, method, assignment
        As in `LeastMakespan`, among the routings served by `theory.load.serve` under this policy.
    nodes : int
        Partial routings that were looked at.
    """

    remedy: ClassVar[str] = "raise the number of nodes or give fewer queries"

    nodes: int


def solve_fixed_eviction(
    instance: RoutingInstance,
    eviction: str,
    *,
    seed: int = 0,
    starts: Iterable[Sequence[int]] = (),
    max_nodes: int = 200_000,
) -> FixedEvictionOptimum:
    """The best routing if every worker evicts by a given policy.

    A randomised policy is taken with the coins of `seed`, each worker's own, as `theory.load` does:
    the optimum is that of a router that knows them.

    Parameters
    ----------
    instance : RoutingInstance
        The instance.
    eviction : str
        The eviction policy of every worker.
    seed : int
        Seeds randomised policies.
    starts : iterable of sequences of int
        Routings to start from.
    max_nodes : int
        When to stop without a proof.

    Returns
    -------
    FixedEvictionOptimum
        Exact: no floating point is involved.

    Examples
    --------
    >>> from theory.load import Worker
    >>> from theory.trie import TokenTrie
    >>> trie, ends = TokenTrie.from_sequences(["abc", "xyz", "abd", "xyw", "abc"])
    >>> best = solve_fixed_eviction(RoutingInstance(trie, [Worker(4)] * 2, ends), "leaf-lru")
    >>> best.makespan, best.proven
    (4, True)
    """
    if max_nodes < 1:
        raise InputError(f"{max_nodes} nodes are none", where="max_nodes", fix="give at least 1")
    candidates = [tuple(start) for start in starts] or [
        route(instance, "lbgr", eviction, seed=seed).assignment
    ]
    tree = _Tree(instance, eviction, seed, max_nodes)
    for start in candidates:
        tree.offer(serve(instance, start, eviction, seed=seed).makespan, start)
    tree.search()
    makespan = serve(instance, tree.best, eviction, seed=seed).makespan
    if tree.data.quanta(makespan) != tree.least:
        raise OptimumError(
            f"branch and bound: its routing takes {makespan} ms, not {tree.data.ms(tree.least)} ms"
        )
    bound = tree.least if tree.complete else tree.floor
    return FixedEvictionOptimum(
        makespan,
        tree.data.ms(bound),
        tree.least == bound,
        f"branch and bound ({eviction})",
        tree.best,
        tree.nodes,
    )


class _Tree:
    """Depth-first search over the worker of query 0, 1, 2, ..."""

    def __init__(self, instance: RoutingInstance, eviction: str, seed: int, max_nodes: int) -> None:
        self.instance = instance
        self.data = RoutingData(instance, unit=1)
        self.max_nodes = max_nodes
        self.nodes = 0
        self.complete = True
        self.best: tuple[int, ...] = ()
        self.least = 0
        self.floor = max(bound(self.data) for bound in BOUNDS.values())
        costs = least_costs(self.data)
        self.rest = [sum(costs[j:]) for j in range(len(costs) + 1)]
        self.longest = [max(costs[j:], default=0) for j in range(len(costs) + 1)]
        self.caches = [
            PrefixCache(
                instance.trie,
                worker.capacity,
                make_policy(eviction),
                seed=seed * len(instance.workers) + index,
            )
            for index, worker in enumerate(instance.workers)
        ]
        policy = self.caches[0].policy
        self.random = isinstance(policy, RandomisedPolicy)
        self.stateful = not self.random and self.caches[0].tells_state
        self.seen: dict[Hashable, list[tuple[int, ...]]] = {}

    def offer(self, makespan: Duration, assignment: Sequence[int]) -> None:
        """Keep a routing if it is the best so far."""
        quanta = self.data.quanta(makespan)
        if not self.best or quanta < self.least:
            self.best, self.least = tuple(assignment), quanta

    def search(self) -> None:
        """Look for better routings until none can be left, or the nodes are used up."""
        self._branch([], self.caches, [0] * len(self.caches))

    def _branch(self, assignment: list[int], caches: list[PrefixCache], loads: list[int]) -> None:
        data, j = self.data, len(assignment)
        if j == len(data.used):
            if max(loads) < self.least:
                self.best, self.least = tuple(assignment), max(loads)
            return
        if self._dominated(j, caches, loads):
            return
        children = []
        for i in self._workers(j, assignment):
            if self.nodes >= self.max_nodes:
                self.complete = False
                return
            self.nodes += 1
            cache = caches[i].fork()
            misses = cache.serve([self.instance.queries[j]]).cost
            after = [*loads]
            after[i] += data.base[i][j] + data.miss[i] * misses
            children.append((max(after), after[i], i, cache, after))
        children.sort(key=lambda child: child[:3])
        for _, _, i, cache, after in children:
            if self._bound(j + 1, after) < self.least:
                self._branch([*assignment, i], [*caches[:i], cache, *caches[i + 1 :]], after)

    def _bound(self, j: int, loads: list[int]) -> int:
        """The makespan is at least this once queries 0 .. j-1 have given these loads."""
        even = -(-(sum(loads) + self.rest[j]) // len(loads))
        return max(self.floor, *loads, even, min(loads) + self.longest[j])

    def _workers(self, j: int, assignment: list[int]) -> Iterable[int]:
        """Where query j may go; of equal workers that are still unused only the first."""
        used = set(assignment)
        fresh: set[int] = set()
        for i, kind in enumerate(self.data.kind):
            if not self.data.fits[i][j]:
                continue
            if i not in used and not self.random:
                if kind in fresh:
                    continue
                fresh.add(kind)
            yield i

    def _dominated(self, j: int, caches: list[PrefixCache], loads: list[int]) -> bool:
        """Whether equal caches were met here before with loads that are all no larger."""
        if not self.stateful:
            return False
        key = (j, *(cache.state() for cache in caches))
        now = tuple(loads)
        known = self.seen.setdefault(key, [])
        if any(all(a <= b for a, b in zip(old, now, strict=True)) for old in known):
            return True
        known.append(now)
        return False
