"""The cluster, event by event: arrivals, a router, and workers that batch.

Equal times have an order: iterations end first, by number of worker; then queries arrive, by row;
then idle workers with something to do begin an iteration, by number. So a router has heard of every
completion up to the time at which it decides. It sees what a router in front of real workers sees:
queries, its own assignments and completions; never the caches or queues of the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from empirical.cluster.evictions import make_cache
from empirical.cluster.profiles import Profile
from empirical.cluster.sessions import Turns, answers
from empirical.cluster.worker import Batching, Query, Worker
from empirical.traces.base import Trace
from theory.errors import InadmissibleStepError, InputError, RoutingError
from theory.routing import RoutedQuery, Router, WorkerInfo, make_router

__all__ = ["ClusterRun", "WorkerStats", "simulate"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ITERATION_END, ARRIVAL = 0, 1


@dataclass(frozen=True)
class WorkerStats:
    """What a worker did.

    Attributes
    ----------
    served : int
        Queries.
    busy_ms : float
        In iterations.
    iterations, retractions, evicted : int
        How many; evictions in blocks.
    """

    served: int
    busy_ms: float
    iterations: int
    retractions: int
    evicted: int


@dataclass(frozen=True)
class ClusterRun:
    """A run, query by query, in the rows of the trace.

    Attributes
    ----------
    arrival, first_token, finish : float64[rows]
        In ms.
    worker : int64[rows]
        Who served it.
    length, hits, output : int64[rows]
        Tokens of the prompt, those found cached when it was first admitted, and of the answer.
    recomputed : int64[rows]
        Tokens computed again after retractions; in no hit rate.
    workers : list of WorkerStats
        By worker.
    routing_seconds, eviction_seconds : float
        What all decisions of the router and all evictions took here, by the clock on the wall.
    """

    arrival: Floats
    first_token: Floats
    finish: Floats
    worker: Integers
    length: Integers
    hits: Integers
    output: Integers
    recomputed: Integers
    workers: list[WorkerStats]
    routing_seconds: float = field(compare=False)
    eviction_seconds: float = field(compare=False)


class _Cluster:
    """The state of a run."""

    def __init__(
        self,
        trace: Trace,
        workers: list[Worker],
        router: Router,
        turns: Turns,
    ) -> None:
        self.trace, self.workers, self.router, self.turns = trace, workers, router, turns
        rows = len(trace)
        self.arrival = np.full(rows, np.nan)
        self.first_token = np.full(rows, np.nan)
        self.finish = np.full(rows, np.nan)
        self.assigned = np.full(rows, -1, np.int64)
        self.queries: list[Query | None] = [None] * rows
        self.hits = np.zeros(rows, np.int64)
        self.recomputed = np.zeros(rows, np.int64)
        self.routed: dict[int, RoutedQuery] = {}
        self.routing_seconds = 0.0
        self.answers = answers(trace)
        self.events: list[tuple[float, int, int]] = [
            (time, ARRIVAL, row) for time, row in turns.begin()
        ]
        self.events.sort()
        self.idle = [True] * len(workers)

    def run(self) -> None:
        while self.events:
            now = self.events[0][0]
            touched: set[int] = set()
            while self.events and self.events[0][0] == now:
                _, kind, number = heappop(self.events)
                if kind == ITERATION_END:
                    self.idle[number] = True
                    touched.add(number)
                    self._end_iteration(number, now)
                else:
                    touched.add(self._arrive(number, now))
            for number in sorted(touched):
                if self.idle[number]:
                    time = self.workers[number].start()
                    if time is not None:
                        self.idle[number] = False
                        heappush(self.events, (now + time, ITERATION_END, number))

    def _arrive(self, row: int, now: float) -> int:
        trace = self.trace
        path = trace.hash_ids(row)
        query = RoutedQuery(
            id=row,
            prompt=tuple(path),
            length=int(trace.input_length[row]),
            output_tokens=int(trace.output_length[row]),
            session=None if trace.session is None else trace.session[row],
            tokens_per_symbol=trace.block_size,
        )
        began = perf_counter()
        worker = self.router.choose(query, now)
        if worker not in self.router.eligible(query):
            raise RoutingError(
                f"{type(self.router).__name__} chose {worker!r}, which is no eligible worker",
                where=f"query {row}",
                fix="return one of eligible(query)",
            )
        self.router.on_assigned(query, worker, now)
        self.routing_seconds += perf_counter() - began
        self.routed[row] = query
        self.arrival[row] = now
        self.assigned[row] = worker
        self.workers[worker].waiting.append(
            Query(row, path, query.length, query.output_tokens, self.answers.get(row, ()))
        )
        return worker

    def _end_iteration(self, number: int, now: float) -> None:
        worker = self.workers[number]
        ended = worker.finish()
        for query in ended.started:
            self.first_token[query.row] = now + worker.profile.request_ms
        for query in ended.finished:
            row = query.row
            self.finish[row] = now + worker.profile.request_ms
            self.hits[row], self.recomputed[row] = query.hits, query.recomputed
            began = perf_counter()
            self.router.on_completed(self.routed.pop(row), number, now)
            self.routing_seconds += perf_counter() - began
            for time, following in self.turns.after(row, now):
                heappush(self.events, (time, ARRIVAL, following))


def simulate(
    trace: Trace,
    router: str | Router,
    eviction: str = "leaf-lru",
    *,
    profiles: Sequence[Profile],
    capacity: int | None = None,
    batching: Batching | None = None,
    clients: int | None = None,
    think_ms: float = 0.0,
    seed: int = 0,
) -> ClusterRun:
    """Serve a trace on a cluster.

    A turn of a session arrives at its timestamp, or `think_ms` after the turn before it has been
    answered, whichever is later.

    Parameters
    ----------
    trace : Trace
        The queries.
    router : str or Router
        A name (see `theory.routing.make_router`) or a router.
    eviction : str
        A name of `empirical.cluster.evictions.EVICTIONS`, for every worker.
    profiles : sequence of Profile
        One a worker.
    capacity : int, optional
        Tokens of KV memory of every worker, cut to whole blocks; by default those of the profiles.
    batching : Batching, optional
        How workers batch.
    clients : int, optional
        Closed loop: so many clients, each of which takes the next session (or query) when it has
        finished one. The timestamps are not used.
    think_ms : float
        Between an answer and the next turn.
    seed : int
        Seeds the router and the evictions, each worker's differently.

    Raises
    ------
    InadmissibleStepError
        If a query with its answer does not fit into a worker that is free of all others.
    InputError
        If a parameter is out of range.

    Examples
    --------
    >>> from empirical.cluster.profiles import PROFILES
    >>> from empirical.traces.workload import parse
    >>> trace = parse("gsp:groups=1,prompts=4,lengths=512,rate=1")
    >>> run = simulate(trace, "round-robin", profiles=[PROFILES["llama-3.1-8b-l40"]] * 2)
    >>> run.worker.tolist(), run.hits.tolist()
    ([0, 1, 0, 1], [0, 0, 256, 256])
    """
    if not profiles:
        raise InputError("there is no worker", where="workers", fix="give at least 1")
    size = trace.block_size
    blocks = []
    for profile in profiles:
        tokens = profile.capacity if capacity is None else capacity
        if tokens is None:
            raise InputError(f"{profile.name} has no capacity", where="profile", fix="give one")
        blocks.append(tokens // size)
    _check_fit(trace, min(blocks))
    parent = trace.parent.tolist()
    batching = Batching() if batching is None else batching
    workers = [
        Worker(
            make_cache(eviction, parent, room, seed * len(profiles) + number),
            profile,
            size,
            batching,
        )
        for number, (profile, room) in enumerate(zip(profiles, blocks, strict=True))
    ]
    chosen = make_router(router) if isinstance(router, str) else router
    chosen.bind(
        [
            WorkerInfo(
                room,
                profile.prefill_ms_per_token,
                profile.cached_ms_per_token,
                profile.decode_ms_per_sequence,
            )
            for profile, room in zip(profiles, blocks, strict=True)
        ],
        seed,
    )
    cluster = _Cluster(trace, workers, chosen, Turns(trace, clients, think_ms))
    cluster.run()
    return ClusterRun(
        cluster.arrival,
        cluster.first_token,
        cluster.finish,
        cluster.assigned,
        trace.input_length,
        cluster.hits,
        trace.output_length,
        cluster.recomputed,
        [
            WorkerStats(w.served, w.busy_ms, w.iterations, w.retractions, w.cache.evicted)
            for w in workers
        ],
        cluster.routing_seconds,
        sum(worker.cache.eviction_seconds for worker in workers),
    )


def _check_fit(trace: Trace, room: int) -> None:
    need = -(-(trace.input_length + trace.output_length) // trace.block_size)
    row = int(need.argmax())
    if need[row] > room:
        raise InadmissibleStepError(
            step=row,
            footprint=int(need[row]),
            capacity=room,
            queries=1,
            where=f"{trace.name}, query {row} with its answer",
            unit="blocks",
        )
