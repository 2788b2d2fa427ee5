"""What the prefix-aware routers share: an index of the prompts that each worker was sent."""

from __future__ import annotations

from collections.abc import Iterable

from theory.routing.base import Flight, RoutedQuery, Router, WorkerInfo
from theory.routing.index import PrefixIndex

__all__ = ["LARGEST_TREE", "PrefixRouter"]

LARGEST_TREE = 2**24
"""Symbols that are remembered of a worker whose capacity is not known (as in SGLang's router)."""


class PrefixRouter(Router):
    """A router that remembers which prompts it sent where.

    Attributes
    ----------
    index : PrefixIndex
        What each worker was sent, the least recently sent forgotten first.
    bounded : bool
        Whether it is bounded by the worker's capacity, if that is known: more cannot be cached.
    """

    index: PrefixIndex
    bounded: bool = True

    def bind(self, workers: Iterable[WorkerInfo], seed: int) -> None:
        super().bind(workers, seed)
        limits = [
            info.capacity if self.bounded and info.capacity is not None else LARGEST_TREE
            for info in self.workers
        ]
        self.index = PrefixIndex(len(self.workers), limits)

    def hits(self, query: RoutedQuery) -> list[int]:
        """The tokens of `query` that each worker is believed to have cached."""
        return [query.tokens(symbols) for symbols in self.index.match(query.prompt)]

    def assigned(self, flight: Flight) -> None:
        self.index.insert(flight.worker, flight.query.prompt)

    def forget(self, worker: int) -> None:
        self.index.remove(worker)
