"""Dynamic threshold: cache-aware routing whose thresholds follow the arrival pattern."""

from __future__ import annotations

from collections.abc import Iterable

from theory.routing.base import Flight, RoutedQuery, WorkerInfo, check_number
from theory.routing.prefix import PrefixRouter

__all__ = ["DynamicThreshold"]


class DynamicThreshold(PrefixRouter):
    """Cache-aware routing with thresholds that it estimates itself.

    *Balance.* By Little's law a worker has, on average, (arrival rate) * (latency) / workers
    queries in flight. Both are followed by exponentially weighted means; the load counts as
    imbalanced where max - min exceeds `slack` times that number (at least 1).

    *Match.* A match counts as good where it is at least as long, relative to the prompt, as the
    exponentially weighted mean of the best matches so far, and not empty.

    Otherwise as `CacheAware` with the fallback ``least-load``; all ties rotate.

    Parameters
    ----------
    smoothing : float
        The weight of the newest observation, in (0, 1].
    slack : float
        How much imbalance is tolerated, as a multiple of the mean queue.

    Notes
    -----
    The baseline that the paper's reviewers asked for: a threshold that adapts to the arrivals.
    """

    def __init__(self, smoothing: float = 0.1, slack: float = 1.0) -> None:
        self.smoothing = check_number(smoothing, "smoothing", 0, 1, above=True)
        self.slack = check_number(slack, "slack", 0)

    def bind(self, workers: Iterable[WorkerInfo], seed: int) -> None:
        super().bind(workers, seed)
        self.interval: float | None = None  # mean time between arrivals, in ms
        self.latency: float | None = None  # mean latency, in ms
        self.match_rate: float | None = None  # mean share of the best match
        self._arrival: float | None = None

    def choose(self, query: RoutedQuery, now: float) -> int:
        candidates = self.eligible(query)
        queues = [self.requests[worker] for worker in candidates]
        if max(queues) - min(queues) > self.tolerance():
            return self.least(candidates, self.requests.__getitem__)
        hits = self.hits(query)
        longest = max(hits[worker] for worker in candidates)
        if longest and longest >= (self.match_rate or 0.0) * query.length:
            matched = [worker for worker in candidates if hits[worker] == longest]
            return self.least(matched, self.requests.__getitem__)
        return self.least(candidates, self.requests.__getitem__)

    def tolerance(self) -> float:
        """The difference between the longest and the shortest queue that counts as balanced."""
        if self.interval is None or self.latency is None or self.interval <= 0:
            return max(1.0, self.slack)
        return max(1.0, self.slack * self.latency / self.interval / len(self.workers))

    def assigned(self, flight: Flight) -> None:
        query, now = flight.query, flight.since
        share = max(self.hits(query)) / query.length if query.length else 0.0
        self.match_rate = self._mean(self.match_rate, share)
        if self._arrival is not None:
            self.interval = self._mean(self.interval, max(0.0, now - self._arrival))
        self._arrival = now
        super().assigned(flight)

    def released(self, flight: Flight, now: float, *, completed: bool) -> None:
        if completed:
            self.latency = self._mean(self.latency, now - flight.since)

    def _mean(self, mean: float | None, value: float) -> float:
        return value if mean is None else mean + self.smoothing * (value - mean)
