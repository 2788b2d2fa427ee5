"""Routers side by side: the same workers, the same requests, one after the other.

Before each run the workers' caches are emptied, so that no router profits from the one before. Hit
rates are the server's own counts. Times mean something only where the machine has nothing else to
do; the load of it is reported with them.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from empirical.calibration import fit_times
from empirical.contenders import Contender, ContenderError
from empirical.sglang.client import Answer, ServerError, flush, generate
from empirical.sglang.plan import FIRST_ID, Plan
from empirical.sglang.target import Target

__all__ = ["COMPARE", "DIRECT", "Comparison", "median_interval", "milliseconds_per_miss"]

COMPARE = "kvbounds/compare/1"

DIRECT = "no router"
"""The row of the client that sends to the workers in turn by itself."""

_SHORT = tuple(range(FIRST_ID, FIRST_ID + 4))  # a prompt that takes next to no time


@dataclass
class _Runs:
    """What has come out for one router."""

    answers: list[Answer] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0
    load: list[float] = field(default_factory=list)  # of the machine after each run, per core
    added: list[float] = field(default_factory=list)  # ms that the router added to short requests


@dataclass
class Comparison:
    """Routers on the same workers and requests. Build it, `run` it, and ask for its `report`.

    Parameters
    ----------
    plan : Plan
        What is sent.
    targets : sequence of Target
        The workers, idle.
    contenders : sequence of Contender
        The routers.
    concurrency : int or None
        So many clients, each of which sends the next request when its last one is answered; None:
        every request is sent at its time of arrival.
    repeats : int
        How often every router has its turn; what comes out is taken together.
    probes : int
        Short requests a run by which the overhead is measured.
    timeout : float
        Seconds of silence after which a request has failed.
    left_out : dict of str to str
        Routers that could not take part, and why.
    """

    plan: Plan
    targets: Sequence[Target]
    contenders: Sequence[Contender]
    concurrency: int | None = None
    repeats: int = 1
    probes: int = 100
    timeout: float = 60.0
    left_out: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for target in self.targets:
            self.plan.check_fits(target.capacity, target.page_size)
        self._runs: dict[str, _Runs] = {}

    @property
    def turns(self) -> int:
        """The number of runs."""
        return self.repeats * (1 + len(self.contenders))

    def run(self, on_run: Callable[[str], None] = lambda name: None) -> None:
        """Give every router its turns; `on_run` is told its name before each.

        A router that does not start is left out, with the reason.
        """
        urls = [target.url for target in self.targets]
        for _ in range(self.repeats):
            on_run(DIRECT)
            self._turn(DIRECT, urls)
            for contender in self.contenders:
                if contender.name in self.left_out:
                    continue
                on_run(contender.name)
                try:
                    with contender.running(urls) as url:
                        self._turn(contender.name, [url])
                    if self.probes:
                        with contender.running(urls[:1]) as url:
                            self._probe(contender.name, url)
                except ContenderError as error:
                    self.left_out[contender.name] = str(error)

    def _turn(self, name: str, urls: Sequence[str]) -> None:
        """Empty the caches and send the plan to `urls` in turn."""
        runs = self._runs.setdefault(name, _Runs())
        for target in self.targets:
            generate(target.url, _SHORT, 1, timeout=self.timeout)
            flush(target.url)
        start = time.perf_counter()
        with self._pool() as pool:
            waiting = []
            for query, arrival in enumerate(self.plan.arrivals):
                if self.concurrency is None:
                    time.sleep(max(0.0, start + arrival / 1e3 - time.perf_counter()))
                waiting.append(pool.submit(self._ask, query, urls[query % len(urls)]))
            for one in waiting:
                found = one.result()
                if isinstance(found, Answer):
                    runs.answers.append(found)
                else:
                    runs.failures.append(str(found))
        runs.seconds += time.perf_counter() - start
        runs.load.append(os.getloadavg()[0] / (os.cpu_count() or 1))

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        pool = ThreadPoolExecutor(self.concurrency or 256)
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, query: int, url: str) -> Answer | ServerError:
        prompt, output = self.plan.prompts[query], self.plan.outputs[query]
        try:
            return generate(url, prompt, output, timeout=self.timeout)
        except ServerError as error:
            return error

    def _probe(self, name: str, router: str) -> None:
        """Measure what the router adds to a short request, with one worker behind it.

        The same request goes to the same worker without the router just before or just after, in
        turn, since a server is a little slower when it has only just answered.
        """
        worker = self.targets[0].url
        for number in range(self.probes):
            took = {}
            for url in (router, worker) if number % 2 else (worker, router):
                took[url] = generate(url, _SHORT, 1, timeout=self.timeout).latency_ms
            self._runs[name].added.append(took[router] - took[worker])

    def report(self) -> dict[str, Any]:
        """The report, schema ``kvbounds/compare/1``."""
        return {
            "schema": COMPARE,
            "name": self.plan.name,
            "requests": len(self.plan.prompts),
            "sent": "at their times of arrival"
            if self.concurrency is None
            else f"{self.concurrency} at a time",
            "repeats": self.repeats,
            "workers": [
                {
                    key: value
                    for key, value in target._asdict().items()
                    if key not in ("url", "seed")
                }
                for target in self.targets
            ],
            "rows": [self._row(name, runs) for name, runs in self._runs.items()],
            "left_out": [{"method": name, "reason": why} for name, why in self.left_out.items()],
        }

    def _row(self, name: str, runs: _Runs) -> dict[str, Any]:
        prompt = sum(answer.prompt_tokens for answer in runs.answers)
        cached = sum(answer.cached_tokens for answer in runs.answers)
        output = sum(len(answer.output) for answer in runs.answers)
        row: dict[str, Any] = {
            "method": name,
            "answered": len(runs.answers),
            "failed": len(runs.failures),
            "prompt_tokens": prompt,
            "cached_tokens": cached,
            "hit_rate": round(cached / prompt, 6) if prompt else None,
        }
        for key, times in (
            ("ttft", [answer.ttft_ms for answer in runs.answers]),
            ("latency", [answer.latency_ms for answer in runs.answers]),
        ):
            for percent in (50, 95):
                value = round(float(np.percentile(times, percent)), 3) if times else None
                row[f"p{percent}_{key}_ms"] = value
        row["throughput_tok_s"] = round((prompt + output) / runs.seconds, 3)
        row["requests_s"] = round(len(runs.answers) / runs.seconds, 3)
        low, middle, high = median_interval(runs.added) if runs.added else (None, None, None)
        row["load_per_core"] = round(statistics.mean(runs.load), 2)
        row |= {"overhead_ms": middle, "overhead_low_ms": low, "overhead_high_ms": high}
        if runs.failures:
            row["first_failure"] = runs.failures[0]
        return row


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median of a sample between the ends of its 95 % interval, by order statistics.

    Examples
    --------
    >>> median_interval(range(101))
    (40, 50, 60)
    """
    ordered = sorted(values)
    half = 0.98 * len(ordered) ** 0.5  # ranks: half of 1.96 standard deviations of a fair binomial
    middle = (len(ordered) - 1) / 2
    low, high = max(0, round(middle - half)), min(len(ordered) - 1, round(middle + half))
    return round(ordered[low], 3), round(statistics.median(ordered), 3), round(ordered[high], 3)


def milliseconds_per_miss(plan: Plan, target: Target, queries: int = 24) -> float | None:
    """What a missed token takes on a worker, fitted to some queries sent one by one.

    None if the fit finds no positive value. The worker's cache is emptied first.
    """
    flush(target.url)
    rows = []
    for prompt in plan.prompts[:queries]:
        answer = generate(target.url, prompt, 1)
        rows.append(
            {
                "prompt_tokens": answer.prompt_tokens,
                "measured_hits": answer.cached_tokens,
                "output_tokens": 1,
                "ttft_ms": answer.ttft_ms,
                "latency_ms": answer.latency_ms,
            }
        )
    found = fit_times(rows)["alpha_miss_ms"]
    return float(found["value"]) if found and found["value"] > 0 else None
