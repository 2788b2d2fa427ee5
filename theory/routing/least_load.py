"""Least load: the worker with the fewest queries (or tokens) in flight."""

from __future__ import annotations

from collections.abc import Iterable

from theory.errors import InputError
from theory.routing.base import Flight, RoutedQuery, Router, WorkerInfo

__all__ = ["LeastLoad"]


class LeastLoad(Router):
    """Send each query to the worker with the least in flight; ties rotate.

    Parameters
    ----------
    measure : {"requests", "tokens"}
        What is counted: queries, or the tokens of their prompts and answers.
    """

    def __init__(self, measure: str = "requests") -> None:
        if measure not in ("requests", "tokens"):
            raise InputError(f"measure can be 'requests' or 'tokens', not {measure!r}")
        self.measure = measure
        self.tokens: list[int] = []

    def bind(self, workers: Iterable[WorkerInfo], seed: int) -> None:
        super().bind(workers, seed)
        self.tokens = [0] * len(self.workers)

    def choose(self, query: RoutedQuery, now: float) -> int:
        load = self.requests if self.measure == "requests" else self.tokens
        return self.least(self.eligible(query), load.__getitem__)

    def assigned(self, flight: Flight) -> None:
        self.tokens[flight.worker] += flight.query.length + flight.query.output_tokens

    def released(self, flight: Flight, now: float, *, completed: bool) -> None:
        self.tokens[flight.worker] -= flight.query.length + flight.query.output_tokens
