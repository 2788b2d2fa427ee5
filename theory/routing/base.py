"""The protocol of a router: what it is told, and what it decides.

A router names a worker for each query. It sees queries, completions and failures, never the
caches of the workers; times are milliseconds of a clock that is passed in. The same class runs in
the sequential load model, in the simulated cluster and behind an HTTP server.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from theory.errors import InputError, RoutingError

__all__ = ["Flight", "RoutedQuery", "Router", "WorkerInfo"]


@dataclass(frozen=True, slots=True)
class RoutedQuery:
    """A query, as a router sees it.

    Parameters
    ----------
    id : hashable
        Distinct among the queries in flight.
    prompt : tuple of hashable
        The symbols of the prompt: token ids, block ids or the nodes of a trie path. Two prompts
        share exactly the prefix on which their symbols agree.
    length : int
        The length of the prompt in tokens.
    output_tokens : int
        The answer's length, or the most that it may have.
    session : str, optional
        The conversation that the query belongs to.
    tokens_per_symbol : int
        Tokens that one symbol stands for; the last symbol may stand for fewer.

    Examples
    --------
    >>> query = RoutedQuery(id=7, prompt=(3, 1, 4), length=40, tokens_per_symbol=16)
    >>> query.tokens(2), query.tokens(3)
    (32, 40)
    """

    id: Hashable
    prompt: tuple[Hashable, ...]
    length: int
    output_tokens: int = 0
    session: str | None = None
    tokens_per_symbol: int = 1

    def tokens(self, symbols: int) -> int:
        """The tokens in the first `symbols` symbols of the prompt."""
        return min(symbols * self.tokens_per_symbol, self.length)


class WorkerInfo(NamedTuple):
    """What a router may know of a worker beforehand.

    Attributes
    ----------
    capacity : int or None
        Symbols of prompts that its cache holds, if known.
    alpha_miss, alpha_cached, alpha_output : float
        Service time per missed, cached and output token, in ms.
    """

    capacity: int | None = None
    alpha_miss: float = 1.0
    alpha_cached: float = 0.0
    alpha_output: float = 0.0


class Flight(NamedTuple):
    """A query on its way: assigned, and neither completed nor failed.

    Attributes
    ----------
    query : RoutedQuery
        The query.
    worker : int
        Where it was sent.
    since : float
        When it was assigned, in ms.
    """

    query: RoutedQuery
    worker: int
    since: float


class Router(ABC):
    """A router. Subclasses implement `choose` and, if they learn, `assigned` and `released`.

    Attributes
    ----------
    workers : tuple of WorkerInfo
        All workers; set before the first query.
    requests : list of int
        The queries in flight on each worker.
    in_flight : dict
        The flights by query id.
    random : random.Random
        The generator of a randomised router, seeded.
    """

    workers: tuple[WorkerInfo, ...]
    requests: list[int]
    in_flight: dict[Hashable, Flight]
    random: random.Random

    def bind(self, workers: Iterable[WorkerInfo], seed: int) -> None:
        """Meet the workers, all of them idle and with empty caches.

        Raises
        ------
        RoutingError
            If there is no worker.
        """
        self.workers = tuple(workers)
        if not self.workers:
            raise RoutingError("there is no worker", where="workers", fix="give at least 1")
        self.requests = [0] * len(self.workers)
        self.in_flight = {}
        self.random = random.Random(seed)
        self._down: set[int] = set()
        self._latest = len(self.workers) - 1

    @abstractmethod
    def choose(self, query: RoutedQuery, now: float) -> int:
        """Name the worker for `query`, one of `eligible(query)`. Changes no load."""

    def on_assigned(self, query: RoutedQuery, worker: int, now: float) -> None:
        """Learn that `query` was sent to `worker` (not always the one that was chosen).

        Raises
        ------
        RoutingError
            If the worker does not exist or the query is already in flight; nothing changes.
        """
        if not 0 <= worker < len(self.workers):
            raise RoutingError(f"{worker} is no worker", where=f"query {query.id}")
        if query.id in self.in_flight:
            raise RoutingError("the query is already in flight", where=f"query {query.id}")
        flight = Flight(query, worker, now)
        self.in_flight[query.id] = flight
        self.requests[worker] += 1
        self._latest = worker
        self.assigned(flight)

    def on_completed(self, query: RoutedQuery, worker: int, now: float) -> None:
        """Learn that `worker` has finished `query`: its load is released.

        Raises
        ------
        RoutingError
            If the query is not in flight on that worker; nothing changes.
        """
        self._release(query, worker, now, completed=True)

    def on_failed(self, query: RoutedQuery, worker: int, now: float) -> None:
        """Learn that `query` failed or was cancelled: its load is released all the same.

        Raises
        ------
        RoutingError
            If the query is not in flight on that worker; nothing changes.
        """
        self._release(query, worker, now, completed=False)

    def on_worker_down(self, worker: int, now: float) -> None:
        """Learn that `worker` takes no queries and has lost its cache; its flights fail."""
        self._down.add(worker)
        for flight in [f for f in self.in_flight.values() if f.worker == worker]:
            self._release(flight.query, worker, now, completed=False)
        self.forget(worker)

    def on_worker_up(self, worker: int) -> None:
        """Learn that `worker` takes queries again, with an empty cache."""
        self._down.discard(worker)

    def _release(self, query: RoutedQuery, worker: int, now: float, *, completed: bool) -> None:
        flight = self.in_flight.get(query.id)
        if flight is None or flight.worker != worker:
            raise RoutingError(
                f"the query is not in flight on worker {worker}", where=f"query {query.id}"
            )
        del self.in_flight[query.id]
        self.requests[worker] -= 1
        self.released(flight, now, completed=completed)

    def assigned(self, flight: Flight) -> None:  # noqa: B027 - most routers need not know
        """Account for a query that was sent; for subclasses."""

    def released(  # noqa: B027 - most routers need not know
        self, flight: Flight, now: float, *, completed: bool
    ) -> None:
        """Account for a query that has left, completed or not; for subclasses."""

    def forget(self, worker: int) -> None:  # noqa: B027 - most routers remember nothing
        """Drop what was known of the cache of `worker`; for subclasses."""

    def eligible(self, query: RoutedQuery) -> list[int]:
        """The workers that are up and whose cache the query fits into.

        Raises
        ------
        RoutingError
            If there is none.
        """
        size = len(query.prompt)
        found = [
            index
            for index, info in enumerate(self.workers)
            if index not in self._down and (info.capacity is None or size <= info.capacity)
        ]
        if not found:
            raise RoutingError(
                f"its {size} symbols fit no worker that is up",
                where=f"query {query.id}",
                fix="raise a worker's capacity, or bring a worker up",
            )
        return found

    def rotate(self, tied: Sequence[int]) -> int:
        """Break a tie: the first of `tied` after the worker that was used last, cyclically.

        Examples
        --------
        >>> from theory.routing import make_router
        >>> router = make_router("least-load")
        >>> router.bind([WorkerInfo()] * 3, seed=0)
        >>> router.rotate([0, 1, 2]), router.rotate([1, 2])
        (0, 1)
        """
        size = len(self.workers)
        return min(tied, key=lambda worker: (worker - self._latest - 1) % size)

    def least(self, candidates: Iterable[int], key: Callable[[int], Any]) -> int:
        """The candidate with the least key; ties rotate."""
        scores = {worker: key(worker) for worker in candidates}
        best = min(scores.values())
        return self.rotate([worker for worker, score in scores.items() if score == best])


def check_number(
    value: Any, name: str, low: float, high: float = float("inf"), *, above: bool = False
) -> float:
    """Return a router's parameter if it is a number in [low, high] (or (low, high])."""
    fine = isinstance(value, int | float) and not isinstance(value, bool)
    if not fine or not low <= value <= high or (above and value == low):
        bound = "above" if above else "at least"
        upper = "" if high == float("inf") else f" and at most {high:g}"
        raise InputError(f"{name}={value!r} is not a number {bound} {low:g}{upper}")
    return float(value)
