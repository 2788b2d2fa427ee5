"""What the gateway tells of itself, in the text format of Prometheus."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["OUTCOMES", "Metrics"]

OUTCOMES = ("answered", "refused", "failed", "cancelled")
"""How a request can end.

``answered``: the whole answer of a worker, whatever its status, was passed back. ``refused``: the
gateway did not take it (full, too large, not JSON). ``failed``: no worker could answer it, or one
broke off. ``cancelled``: the client hung up first. Every request ends in exactly one way.
"""


class Metrics:
    """Counters, gauges and histograms of one gateway."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        self.received = Counter("kvbounds_requests", "Requests that came", **own)
        outcomes = Counter("kvbounds_outcomes", "Requests by how they ended", ["outcome"], **own)
        self.outcome = {name: outcomes.labels(name) for name in OUTCOMES}
        self.retries = Counter("kvbounds_retries", "Requests sent to another worker", **own)
        self.latency = Histogram(
            "kvbounds_request_seconds",
            "Whole requests that were answered",
            buckets=(0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300),
            **own,
        )
        self.placing = Histogram(
            "kvbounds_placing_seconds",
            "From the last byte of a request to its place at a worker",
            buckets=(3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 0.1, 1, 10, 100),
            **own,
        )
        self.waiting = Gauge("kvbounds_waiting", "Requests that wait for a worker", **own)
        self.held = Gauge("kvbounds_held", "Requests that have not ended", **own)
        self._answers = Counter(
            "kvbounds_worker_answers", "Answers of a worker", ["worker", "status"], **own
        )
        self._failures = Counter(
            "kvbounds_worker_failures", "Requests that a worker failed", ["worker"], **own
        )
        self._in_flight = Gauge("kvbounds_in_flight", "Requests at a worker", ["worker"], **own)
        self._up = Gauge("kvbounds_worker_up", "1 if it takes requests", ["worker"], **own)
        self._known: dict[tuple[str, int], Any] = {}

    def answer(self, worker: str, status: int) -> None:
        """Count an answer of a worker."""
        counter = self._known.get((worker, status))
        if counter is None:
            counter = self._known[worker, status] = self._answers.labels(worker, str(status))
        counter.inc()

    def failure(self, worker: str) -> None:
        """Count a request that a worker failed."""
        self._failures.labels(worker).inc()

    def state(self, worker: str, *, up: bool, in_flight: int) -> None:
        """Set the gauges of a worker."""
        self._up.labels(worker).set(up)
        self._in_flight.labels(worker).set(in_flight)

    def value(self, name: str, **labels: str) -> float:
        """The present value of a sample, 0 if there is none yet.

        Examples
        --------
        >>> metrics = Metrics()
        >>> metrics.outcome["refused"].inc()
        >>> metrics.value("kvbounds_outcomes_total", outcome="refused")
        1.0
        """
        return self.registry.get_sample_value(name, labels) or 0.0

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)
