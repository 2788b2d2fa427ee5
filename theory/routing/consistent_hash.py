"""Consistent hashing of the prefix, with bounded loads."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from hashlib import blake2b
from math import ceil

from theory.errors import InputError
from theory.routing.base import RoutedQuery, Router, WorkerInfo, check_number

__all__ = ["ConsistentHash"]


class ConsistentHash(Router):
    """Hash the first symbols of the prompt onto a ring of workers.

    A query goes to the first worker at or after its point on the ring that has fewer than
    ceil(`load_factor` * (queries in flight + 1) / workers) queries, so no queue is longer than
    that. A worker that leaves moves only its own keys.

    Parameters
    ----------
    prefix : int
        Symbols that are hashed; a shorter prompt is hashed whole.
    points : int
        Points on the ring for each worker.
    load_factor : float
        At least 1; ``inf`` for a ring without bounds.

    Notes
    -----
    Source: Mirrokni, Thorup, Zadimoghaddam, Consistent hashing with bounded loads, 2018.
    """

    def __init__(self, prefix: int = 16, points: int = 64, load_factor: float = 1.25) -> None:
        for name, value in (("prefix", prefix), ("points", points)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name}={value!r} is not a positive integer")
        self.prefix, self.points = prefix, points
        self.load_factor = check_number(load_factor, "load-factor", 1)

    def bind(self, workers: Iterable[WorkerInfo], seed: int) -> None:
        super().bind(workers, seed)
        self._ring = sorted(
            (_point(f"worker {worker}/{point}"), worker)
            for worker in range(len(self.workers))
            for point in range(self.points)
        )

    def choose(self, query: RoutedQuery, now: float) -> int:
        candidates = set(self.eligible(query))
        in_flight = sum(self.requests[worker] for worker in candidates)
        # Some worker has at most the mean load, which is below the bound: the walk ends.
        limit = self.load_factor * (in_flight + 1) / len(candidates)
        start = bisect_right(self._ring, (_point(repr(query.prompt[: self.prefix])), -1))
        for place in range(len(self._ring)):
            worker = self._ring[(start + place) % len(self._ring)][1]
            if worker in candidates and (
                limit == float("inf") or self.requests[worker] < ceil(limit)
            ):
                return worker
        raise AssertionError(f"no worker below {limit} among {self.requests}")


def _point(key: str) -> int:
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")
