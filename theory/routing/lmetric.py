"""LMetric: the new prefill tokens of a worker times its batch size."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from theory.routing.base import Flight, RoutedQuery, WorkerInfo
from theory.routing.prefix import PrefixRouter

__all__ = ["LMetric"]


class LMetric(PrefixRouter):
    """Send each query where (new prefill tokens) * (batch size) is least; ties rotate.

    New prefill tokens are the tokens that the worker would still have to compute: the misses of
    all queries in flight there, this one included. The batch size counts this query too, so that
    idle workers are compared by the misses alone.

    Notes
    -----
    A multiplicative score needs no weights: it has no parameter.
    """

    def bind(self, workers: Iterable[WorkerInfo], seed: int) -> None:
        super().bind(workers, seed)
        self.queued = [0] * len(self.workers)
        self._misses: dict[Hashable, int] = {}

    def choose(self, query: RoutedQuery, now: float) -> int:
        hits = self.hits(query)
        return self.least(
            self.eligible(query),
            lambda w: (self.queued[w] + query.length - hits[w]) * (self.requests[w] + 1),
        )

    def assigned(self, flight: Flight) -> None:
        misses = flight.query.length - self.hits(flight.query)[flight.worker]
        self._misses[flight.query.id] = misses
        self.queued[flight.worker] += misses
        super().assigned(flight)

    def released(self, flight: Flight, now: float, *, completed: bool) -> None:
        self.queued[flight.worker] -= self._misses.pop(flight.query.id)
