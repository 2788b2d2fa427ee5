"""Who goes where, and who waits: a router, the places at each worker, and a queue before them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable

from theory.errors import RoutingError
from theory.routing import RoutedQuery, Router

__all__ = ["Dispatcher"]


class Dispatcher:
    """Gives queries a place at a worker, in the order in which they came.

    The router decides. Only where the worker that it names has no place free, or has failed this
    query before, does the query go to another one: of those that have, the one with the fewest
    queries. A query that finds no place waits; each place that is left goes to the first query
    in the queue that can take it.

    Parameters
    ----------
    router : Router
        Bound to its workers.
    places : int
        Queries that a worker may have at once.
    clock : callable
        The time in ms.

    Attributes
    ----------
    in_flight : list of int
        The places taken at each worker.
    """

    def __init__(self, router: Router, places: int, clock: Callable[[], float]) -> None:
        self.router = router
        self.in_flight = [0] * len(router.workers)
        self._places = places
        self._clock = clock
        self._up = set(range(len(router.workers)))
        self._queue: dict[asyncio.Future[int], tuple[RoutedQuery, frozenset[int]]] = {}
        self._placed: dict[Hashable, int] = {}

    @property
    def up(self) -> int:
        """The number of workers that take queries."""
        return len(self._up)

    @property
    def waiting(self) -> int:
        """The number of queries that wait for a place."""
        return len(self._queue)

    async def place(self, query: RoutedQuery, tried: frozenset[int] = frozenset()) -> int:
        """Take a place for `query` at a worker outside `tried`; waits while there is none.

        Whoever gets a place gives it back with `leave`. Cancelled, it has none.

        Raises
        ------
        RoutingError
            If no worker is up, or those that are have been tried.
        """
        index = self._take(query, tried)
        if index is not None:
            return index
        place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._queue[place] = (query, tried)
        try:
            return await place
        except asyncio.CancelledError:
            self._queue.pop(place, None)
            if place.done() and not place.cancelled() and place.exception() is None:
                self.leave(query, completed=False)  # it was given at the same moment
            raise

    def leave(self, query: RoutedQuery, *, completed: bool) -> None:
        """Give back the place of `query` and release its load."""
        index = self._placed.pop(query.id)
        self.in_flight[index] -= 1
        # Of a worker that has been taken out since, the router has released all queries.
        flight = self.router.in_flight.get(query.id)
        if flight is not None:
            told = self.router.on_completed if completed else self.router.on_failed
            told(query, index, self._clock())
        self._serve_queue()

    def down(self, index: int) -> None:
        """Send nothing to this worker any more."""
        self._up.discard(index)
        self.router.on_worker_down(index, self._clock())
        self._serve_queue(to_all=True)

    def back(self, index: int) -> None:
        """Send to this worker again."""
        self._up.add(index)
        self.router.on_worker_up(index)
        self._serve_queue()

    def _take(self, query: RoutedQuery, tried: frozenset[int]) -> int | None:
        """A worker with a place for `query`, taken; None if it has to wait."""
        able = [i for i in self.router.eligible(query) if i not in tried]
        if not able:
            raise RoutingError("every worker that is up has failed it", where=f"query {query.id}")
        free = [i for i in able if self.in_flight[i] < self._places]
        if not free:
            return None
        now = self._clock()
        index = self.router.choose(query, now)
        if index not in free:
            index = min(free, key=self.in_flight.__getitem__)
        self.router.on_assigned(query, index, now)
        self.in_flight[index] += 1
        self._placed[query.id] = index
        return index

    def _serve_queue(self, *, to_all: bool = False) -> None:
        """Give places to those that wait; `to_all`, also tell those that wait in vain."""
        for place, (query, tried) in list(self._queue.items()) if self._queue else ():
            if not to_all and all(self.in_flight[i] >= self._places for i in self._up):
                break
            if place.done():  # cancelled; its task is about to notice
                continue
            try:
                index = self._take(query, tried)
            except Exception as error:  # the query's own handler is the one to deal with it
                del self._queue[place]
                place.set_exception(error)
                continue
            if index is not None:
                del self._queue[place]
                place.set_result(index)
