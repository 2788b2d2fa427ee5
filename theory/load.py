"""The sequential load model: what routings and eviction policies cost (model, section 5).

Queries arrive one by one. Each is routed to a worker when it arrives and served by the worker's
prefix cache; its service time is added to the worker's load. The objective is the makespan, the
largest load. Loads are exact (int or Fraction); the clock that routers see is a float.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from theory.cache import MatchRule, PrefixCache
from theory.errors import RoutingError
from theory.eviction import make_policy
from theory.routing import Router, make_router
from theory.routing.instance import Duration, RoutingInstance, Worker, exact

__all__ = [
    "Cluster",
    "Duration",
    "LoadResult",
    "RoutingInstance",
    "Served",
    "Worker",
    "route",
    "serve",
]


class Served(NamedTuple):
    """One query after it was served.

    Attributes
    ----------
    query, worker : int
        Which query, and where.
    hits, misses : int
        In nodes.
    cost : int or Fraction
        Its service time, in ms.
    arrival, start, finish : float
        In ms: the worker serves its queries one after the other.
    """

    query: int
    worker: int
    hits: int
    misses: int
    cost: Duration
    arrival: float
    start: float
    finish: float


@dataclass(frozen=True)
class LoadResult:
    """A whole run.

    Attributes
    ----------
    served : tuple of Served
        One a query, in order of arrival.
    loads : tuple of (int or Fraction)
        P_i: the accumulated load of each worker, in ms.
    """

    served: tuple[Served, ...]
    loads: tuple[Duration, ...]

    @property
    def makespan(self) -> Duration:
        """The largest load, in ms."""
        return max(self.loads)

    @property
    def assignment(self) -> tuple[int, ...]:
        """The worker of each query."""
        return tuple(row.worker for row in self.served)

    @property
    def hits(self) -> int:
        """All hits, in nodes."""
        return sum(row.hits for row in self.served)

    @property
    def misses(self) -> int:
        """All misses, in nodes."""
        return sum(row.misses for row in self.served)


class Cluster:
    """The workers of an instance with their caches, queries being served one by one.

    Parameters
    ----------
    instance : RoutingInstance
        The queries and the workers.
    eviction : str
        The eviction policy of every worker.
    seed : int
        Seeds randomised policies, each worker's differently.
    match : {"full", "all-but-last"}
        The match rule.

    Attributes
    ----------
    loads : list of (int or Fraction)
        P_i so far, in ms.
    """

    def __init__(
        self,
        instance: RoutingInstance,
        eviction: str = "leaf-lru",
        *,
        seed: int = 0,
        match: MatchRule = "full",
    ) -> None:
        self.instance = instance
        self.caches = [
            PrefixCache(
                instance.trie,
                worker.capacity,
                make_policy(eviction),
                seed=seed * len(instance.workers) + index,
                match=match,
            )
            for index, worker in enumerate(instance.workers)
        ]
        self.loads: list[Duration] = [0] * len(instance.workers)
        self.free = [0.0] * len(instance.workers)

    def serve(self, query: int, worker: int) -> Served:
        """Serve query number `query` on `worker` and add its cost to the load."""
        instance = self.instance
        step = self.caches[worker].serve([instance.queries[query]])
        misses = step.cost
        hits = len(step.hits) + len(step.misses) - misses
        cost = instance.workers[worker].cost(hits, misses, instance.outputs[query])
        self.loads[worker] = exact(self.loads[worker] + cost)
        arrival = instance.arrivals[query]
        start = max(arrival, self.free[worker])
        self.free[worker] = finish = start + float(cost)
        return Served(query, worker, hits, misses, cost, arrival, start, finish)


def serve(
    instance: RoutingInstance,
    assignment: Sequence[int],
    eviction: str = "leaf-lru",
    *,
    seed: int = 0,
    match: MatchRule = "full",
) -> LoadResult:
    """Serve every query on the worker that `assignment` names.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> trie, ends = TokenTrie.from_sequences(["abc", "abd", "xyz"])
    >>> serve(RoutingInstance(trie, [Worker(4)] * 2, ends), [0, 0, 1]).loads
    (4, 3)
    """
    instance.check_assignment(assignment)
    cluster = Cluster(instance, eviction, seed=seed, match=match)
    served = tuple(cluster.serve(index, worker) for index, worker in enumerate(assignment))
    return LoadResult(served, tuple(cluster.loads))


def route(
    instance: RoutingInstance,
    router: str | Router,
    eviction: str = "leaf-lru",
    *,
    seed: int = 0,
    match: MatchRule = "full",
) -> LoadResult:
    """Let a router assign the queries as they arrive.

    Before a query is routed the router learns of every query that has completed by then, in the
    order of completion: a query completes when its worker has served all before it and it.

    Parameters
    ----------
    instance : RoutingInstance
        The queries and the workers.
    router : str or Router
        A name (see `theory.routing.make_router`) or a router.
    eviction : str
        The eviction policy of every worker.
    seed : int
        Seeds the router and the policies.
    match : {"full", "all-but-last"}
        The match rule.

    Raises
    ------
    RoutingError
        If the router names no worker, or one that the query does not fit.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> trie, ends = TokenTrie.from_sequences(["abc", "abd", "xyz"])
    >>> route(RoutingInstance(trie, [Worker(4)] * 2, ends), "round-robin").loads
    (6, 3)
    """
    chosen = make_router(router) if isinstance(router, str) else router
    chosen.bind([worker.info for worker in instance.workers], seed)
    cluster = Cluster(instance, eviction, seed=seed, match=match)
    pending: list[tuple[float, int, int]] = []  # (finish, query, worker)
    queries = instance.routed()
    served: list[Served] = []
    for query, arrival in zip(queries, instance.arrivals, strict=True):
        while pending and pending[0][0] <= arrival:
            finish, done, worker = heappop(pending)
            chosen.on_completed(queries[done], worker, finish)
        worker = chosen.choose(query, arrival)
        if worker not in chosen.eligible(query):
            raise RoutingError(
                f"{type(chosen).__name__} chose {worker!r}, which is no eligible worker",
                where=f"query {query.id}",
                fix="return one of eligible(query)",
            )
        chosen.on_assigned(query, worker, arrival)
        row = cluster.serve(len(served), worker)
        served.append(row)
        heappush(pending, (row.finish, row.query, worker))
    return LoadResult(tuple(served), tuple(cluster.loads))
