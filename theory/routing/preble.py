"""Preble: exploit a long match, otherwise explore where the load is least."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from theory.routing.base import Flight, RoutedQuery, WorkerInfo, check_number
from theory.routing.prefix import PrefixRouter

__all__ = ["Preble"]


@dataclass
class _Assignment:
    """One assignment of the window; `worker` is None once it failed."""

    when: float
    worker: int | None
    work: float


class Preble(PrefixRouter):
    """Exploit if the longest match is longer than the rest of the prompt, else explore.

    *Exploit*: a worker with the longest match, the one with the least load among them; unless its
    load exceeds `imbalance` times the least load of all (or the prefill of this prompt, if that is
    more), then explore.
    *Explore*: the worker with the least L + M + P: the load L of the queries assigned within the
    last `window` ms (prefill of the misses and output), the cost M of what would have to be
    evicted (prefill time, weighted by how often each part was used relative to the queries in the
    window), and the prefill cost P of the misses. Ties rotate.

    Parameters
    ----------
    window : float
        In ms.
    imbalance : float
        At least 1.

    Notes
    -----
    Source: Srivatsa et al., Preble: efficient distributed prompt scheduling for LLM serving,
    ICLR 2025. Its splitting of hot prefixes onto more workers is what the load guard does here.
    """

    def __init__(self, window: float = 180_000.0, imbalance: float = 2.0) -> None:
        self.window = check_number(window, "window", 0, above=True)
        self.imbalance = check_number(imbalance, "imbalance", 1)

    def bind(self, workers: Iterable[WorkerInfo], seed: int) -> None:
        super().bind(workers, seed)
        self._recent: deque[_Assignment] = deque()
        self._pending: dict[Hashable, _Assignment] = {}
        self._count = [0] * len(self.workers)
        self._work = [0.0] * len(self.workers)

    def choose(self, query: RoutedQuery, now: float) -> int:
        self._expire(now)
        candidates = self.eligible(query)
        hits = self.hits(query)
        longest = max(hits[worker] for worker in candidates)
        if longest > query.length - longest:
            matched = [worker for worker in candidates if hits[worker] == longest]
            best = self.least(matched, self._work.__getitem__)
            least = min(self._work[worker] for worker in candidates)
            if self._work[best] <= self.imbalance * max(least, self._prefill(query, best, 0)):
                return best
        return self.least(candidates, lambda worker: self._cost(query, worker, hits[worker]))

    def _prefill(self, query: RoutedQuery, worker: int, hits: int) -> float:
        info = self.workers[worker]
        return info.alpha_miss * (query.length - hits) + info.alpha_cached * hits

    def _cost(self, query: RoutedQuery, worker: int, hits: int) -> float:
        info = self.workers[worker]
        evicted = 0.0
        if info.capacity is not None and self._count[worker]:
            new = len(query.prompt) - hits // query.tokens_per_symbol
            excess = self.index.sizes[worker] + new - info.capacity
            for victim in self.index.victims(worker, excess):
                tokens = victim.symbols * query.tokens_per_symbol
                evicted += info.alpha_miss * tokens * victim.uses / self._count[worker]
        return self._work[worker] + evicted + self._prefill(query, worker, hits)

    def assigned(self, flight: Flight) -> None:
        query, worker, now = flight
        self._expire(now)
        work = self._prefill(query, worker, self.hits(query)[worker])
        work += self.workers[worker].alpha_output * query.output_tokens
        entry = _Assignment(now, worker, work)
        self._recent.append(entry)
        self._pending[query.id] = entry
        self._count[worker] += 1
        self._work[worker] += work
        super().assigned(flight)

    def released(self, flight: Flight, now: float, *, completed: bool) -> None:
        entry = self._pending.pop(flight.query.id)
        if not completed:  # a completed query stays in the window, a failed one was no work
            self._drop(entry)

    def _expire(self, now: float) -> None:
        while self._recent and self._recent[0].when <= now - self.window:
            self._drop(self._recent.popleft())

    def _drop(self, entry: _Assignment) -> None:
        if entry.worker is None:
            return
        worker, entry.worker = entry.worker, None
        self._count[worker] -= 1
        # An empty window has no load, whatever the rounding of the sums.
        self._work[worker] = self._work[worker] - entry.work if self._count[worker] else 0.0

    def forget(self, worker: int) -> None:
        super().forget(worker)
        for entry in self._recent:
            if entry.worker == worker:
                self._drop(entry)
