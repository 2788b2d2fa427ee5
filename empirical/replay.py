"""Replay the sequences of adversaries and workloads on real workers; hold the model to them.

Every query of an instance or a trace becomes a prompt of token ids, is routed, sent, and compared
with what the model of the server predicts (`empirical.sglang.prediction`).
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal, NamedTuple

from empirical.calibration import REPLAY, fit_times
from empirical.sglang.client import Answer, ServerError, flush, generate
from empirical.sglang.plan import Plan
from empirical.sglang.prediction import Request, page_trie, predict
from empirical.sglang.target import Target
from theory.model import Instance
from theory.routing import RoutedQuery, Router, WorkerInfo, make_router
from theory.trie import ROOT

__all__ = ["Mode", "Replay"]

Mode = Literal["sequential", "batch", "timestamps"]
"""One by one; the queries of a step together; each at its time of arrival."""


class _Done(NamedTuple):
    """A query that has come back: from which worker, when it was sent, with what."""

    query: int
    worker: int
    sent_ms: float
    result: Answer | ServerError


@dataclass
class Replay:
    """A replay on some workers. Build it, `run` it, and ask for its `report`.

    Parameters
    ----------
    plan : Plan
        What is sent.
    targets : sequence of Target
        The workers.
    router : str
        A name (see `theory.routing.make_router`).
    mode : {"sequential", "batch", "timestamps"}
        When the queries are sent.
    seed : int
        Seeds the router.
    timeout : float
        Seconds of silence after which a worker has failed.

    Notes
    -----
    A worker that fails is taken out: its queries in flight are sent to another one, and nothing is
    sent to it any more. If none is left the replay ends, and the report is marked as incomplete.
    """

    plan: Plan
    targets: Sequence[Target]
    router: str = "round-robin"
    mode: Mode = "sequential"
    seed: int = 0
    timeout: float = 60.0
    done: list[_Done] = field(default_factory=list, init=False)
    failures: list[_Done] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        for target in self.targets:
            self.plan.check_fits(target.capacity, target.page_size)
        self._router: Router = make_router(self.router)
        self._router.bind([WorkerInfo(capacity=t.capacity) for t in self.targets], self.seed)
        self._up = set(range(len(self.targets)))
        self._back: queue.SimpleQueue[_Done] = queue.SimpleQueue()
        self._flying = 0

    def run(self, on_done: Callable[[], None] = lambda: None) -> None:
        """Warm the workers up, empty their caches, and send everything.

        The longest prompt warms them up, so that no time that is measured is of a first call.
        `on_done` is called after every answer. Interrupted, the replay keeps what has come back.
        """
        longest = max(self.plan.prompts, key=len)
        for target in self.targets:
            generate(target.url, longest, 2, timeout=self.timeout)
            flush(target.url)
        self._start = time.perf_counter()
        groups = [list(g) for _, g in groupby(range(len(self.plan.prompts)), self._together)]
        pool = ThreadPoolExecutor(max(map(len, groups)) if self.mode == "batch" else 256)
        try:
            for group in groups:
                for query in group:
                    if self.mode == "timestamps":
                        self._wait_until(self.plan.arrivals[query], pool, on_done)
                    self._send(query, pool)
                while self._flying and self.mode != "timestamps":
                    self._receive(pool, on_done, None)
            while self._flying:
                self._receive(pool, on_done, None)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _together(self, query: int) -> int:
        return self.plan.steps[query] if self.mode == "batch" else query

    def _now(self) -> float:
        return (time.perf_counter() - self._start) * 1e3

    def _routed(self, query: int) -> RoutedQuery:
        prompt = self.plan.prompts[query]
        return RoutedQuery(query, prompt, len(prompt), self.plan.outputs[query])

    def _send(self, query: int, pool: ThreadPoolExecutor) -> None:
        """Route a query and send it, if a worker is left."""
        if not self._up:
            return
        routed, now = self._routed(query), self._now()
        worker = self._router.choose(routed, now)
        self._router.on_assigned(routed, worker, now)
        self._flying += 1
        pool.submit(self._ask, query, worker)

    def _ask(self, query: int, worker: int) -> None:
        sent = self._now()
        try:
            result: Answer | ServerError = generate(
                self.targets[worker].url,
                self.plan.prompts[query],
                self.plan.outputs[query],
                timeout=self.timeout,
            )
        except ServerError as error:
            result = error
        self._back.put(_Done(query, worker, sent, result))

    def _receive(
        self, pool: ThreadPoolExecutor, on_done: Callable[[], None], wait: float | None
    ) -> None:
        """Wait for an answer, at most `wait` seconds."""
        try:
            back = self._back.get(timeout=wait)
        except queue.Empty:
            return
        self._flying -= 1
        routed = self._routed(back.query)
        if isinstance(back.result, ServerError):
            self.failures.append(back)
            if back.worker in self._up:
                self._up.discard(back.worker)
                self._router.on_worker_down(back.worker, self._now())  # its other flights too
            self._send(back.query, pool)
            return
        self.done.append(back)
        if back.worker in self._up:
            self._router.on_completed(routed, back.worker, self._now())
        on_done()

    def _wait_until(
        self, arrival: float, pool: ThreadPoolExecutor, on_done: Callable[[], None]
    ) -> None:
        while (left := arrival - self._now()) > 0:
            if self._flying:
                self._receive(pool, on_done, left / 1e3)
            else:
                time.sleep(left / 1e3)

    # What came out.

    def predicted(self) -> dict[int, int]:
        """The predicted cached tokens by query: every worker serves in the order of sending."""
        found: dict[int, int] = {}
        for worker, target in enumerate(self.targets):
            served = self._served(worker)
            requests = [self._request(back) for back in served]
            hits = predict(
                requests,
                target.capacity,
                target.eviction,
                page_size=target.page_size,
                seed=target.seed,
                chunk=target.chunk,
                overlap=target.overlap,
            )
            found.update(zip((back.query for back in served), hits, strict=True))
        return found

    def _served(self, worker: int) -> list[_Done]:
        mine = (back for back in self.done if back.worker == worker)
        return sorted(mine, key=lambda back: back.sent_ms)

    def _request(self, back: _Done) -> Request:
        assert isinstance(back.result, Answer)
        return Request(self.plan.prompts[back.query], back.result.output)

    def report(self) -> dict[str, Any]:
        """The report, schema ``kvbounds/replay/1``."""
        predicted = self.predicted()
        rows: list[dict[str, Any]] = []
        for back in sorted(self.done):
            assert isinstance(back.result, Answer)
            rows.append(
                {
                    "worker": back.worker,
                    "query": back.query,
                    "step": self.plan.steps[back.query],
                    "prompt_tokens": back.result.prompt_tokens,
                    "output_tokens": len(back.result.output),
                    "predicted_hits": predicted[back.query],
                    "measured_hits": back.result.cached_tokens,
                    "sent_ms": round(back.sent_ms, 3),
                    "ttft_ms": round(back.result.ttft_ms, 3),
                    "latency_ms": round(back.result.latency_ms, 3),
                }
            )
        return {
            "schema": REPLAY,
            "name": self.plan.name,
            "mode": self.mode,
            "router": self.router,
            "seed": self.seed,
            "workers": [
                {key: value for key, value in target._asdict().items() if key != "url"}
                for target in self.targets
            ],
            "complete": len(rows) == len(self.plan.prompts),
            "failures": [
                {"query": back.query, "worker": back.worker, "error": str(back.result)}
                for back in self.failures
            ],
            "summary": self._summary(rows),
            "fit": fit_times(rows) if self.mode == "sequential" else None,
            "rows": rows,
        }

    def _summary(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        prompt = sum(row["prompt_tokens"] for row in rows)
        hits = sum(row["measured_hits"] for row in rows)
        least, reached = self._optimum()
        return {
            "queries": len(rows),
            "prompt_tokens": prompt,
            "exact_rows": sum(row["predicted_hits"] == row["measured_hits"] for row in rows),
            "predicted_hits": sum(row["predicted_hits"] for row in rows),
            "measured_hits": hits,
            "hit_rate": hits / prompt if prompt else None,
            "computed_tokens": prompt - hits,
            "opt_computed_at_least": least,
            "opt_computed_at_most": reached,
            "ratio_at_least": (prompt - hits) / reached if reached else None,
            "ratio_at_most": (prompt - hits) / least if least else None,
        }

    def _optimum(self) -> tuple[int | None, int | None]:
        """Bounds of the tokens that the best eviction would compute, on the same routing.

        The optimum of the token model never computes the last token of a prompt again, so a server
        cannot do better; its schedule, with those computed, can be reached. None for answers of
        several tokens, which are cached too.
        """
        if any(output > 1 for output in self.plan.outputs) or not self.done:
            return None, None
        from theory.engine import Flat, optimum

        least = reached = 0
        for worker, target in enumerate(self.targets):
            requests = [self._request(back) for back in self._served(worker)]
            trie, paged = page_trie(requests, target.page_size)
            least += sum(request.length for request in paged)
            reached += sum(request.length for request in paged)
            whole = [request for request in paged if request.prompt != ROOT]
            if not whole:
                continue
            pages = target.capacity // target.page_size
            instance = Instance(trie, pages, [[request.prompt] for request in whole])
            counts = optimum(Flat.from_instance(instance), pages)
            least -= int(counts.hits.sum()) * target.page_size
            for request, hits, misses in zip(
                whole, counts.hits.tolist(), counts.misses.tolist(), strict=True
            ):
                again = misses == 0 and request.length % target.page_size == 0
                reached -= (hits - again) * target.page_size
        return least, reached
