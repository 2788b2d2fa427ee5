"""Many settings, in parallel; finished ones are kept in a file and not run again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from empirical.experiments.on_ray import on_ray
from empirical.experiments.setting import Setting
from empirical.intervals import student
from theory.errors import InputError
from theory.jsonfile import check_writable, read_json, write_json

__all__ = ["Row", "Sweep", "table"]

SCHEMA = "kvbounds/runs/1"
SAVE_EVERY = 8

HEADLINES = ("hit_rate", "p50_latency_ms", "p95_latency_ms", "p50_ttft_ms", "throughput_tok_s")
"""What is kept seed by seed, for paired comparisons."""

Row = dict[str, Any]
"""A setting over its seeds: means, ``intervals`` of the means, headlines ``by_seed``."""


class Sweep:
    """Runs settings, each at most once.

    Parameters
    ----------
    path : str or Path, optional
        The file that holds the finished runs; without one they are kept in memory only.
    jobs : int
        Processes; -1 for one a core.
    backend : {"loky", "ray"}
        This machine, or the cluster that ray is connected to.
    timed : bool
        Whether to measure routing and eviction on this machine too; such runs are not kept.
    on_done : callable
        Called after each run.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        jobs: int = 1,
        backend: str = "loky",
        timed: bool = False,
        on_done: Callable[[int, int], None] = lambda done, count: None,
    ) -> None:
        self.path = None if path is None or timed else Path(path)
        if jobs == 0:
            raise InputError("0 processes do nothing", where="jobs", fix="give 1 or more, or -1")
        self.jobs, self.backend, self.timed, self.on_done = jobs, backend, timed, on_done
        check_writable(self.path)
        self.known: dict[Setting, dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            for number, run in enumerate(read_json(self.path, SCHEMA).get("runs", [])):
                try:
                    self.known[Setting.from_json(run["setting"])] = run["result"]
                except (KeyError, TypeError):
                    raise InputError(
                        "is no finished run",
                        where=f"{self.path}#/runs/{number}",
                        fix="delete the file",
                    ) from None

    def run(self, settings: Iterable[Setting]) -> dict[Setting, dict[str, Any]]:
        """The figures of all `settings`; what is finished is kept when this is interrupted."""
        wanted = list(dict.fromkeys(settings))
        todo = [setting for setting in wanted if setting not in self.known]
        count = len(todo)
        try:
            for done, (setting, result) in enumerate(self._results(todo), 1):
                self.known[setting] = result
                if done % SAVE_EVERY == 0:
                    self._save()
                self.on_done(done, count)
        finally:
            if todo:
                self._save()
        return {setting: self.known[setting] for setting in wanted}

    def _results(self, todo: Sequence[Setting]) -> Iterator[tuple[Setting, dict[str, Any]]]:
        if self.jobs == 1 or len(todo) < 2:
            for setting in todo:
                yield setting, setting.run(timed=self.timed)
            return
        work = partial(_run, timed=self.timed)
        if self.backend == "ray":
            yield from on_ray(work, todo, self.jobs)
            return
        from joblib import Parallel, delayed

        yield from Parallel(
            n_jobs=self.jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs"
        )(delayed(work)(setting) for setting in todo)

    def rows(self, settings: Iterable[Setting], seeds: Sequence[int]) -> list[Row]:
        """Each setting over `seeds`; see `table`."""
        chosen = list(settings)
        results = self.run(setting.but(seed=seed) for setting in chosen for seed in seeds)
        return [
            table(setting, {seed: results[setting.but(seed=seed)] for seed in seeds})
            for setting in chosen
        ]

    def _save(self) -> None:
        if self.path is None:
            return
        runs = [
            {"setting": setting.to_json(), "result": result}
            for setting, result in self.known.items()
        ]
        runs.sort(key=lambda run: repr(run["setting"]))
        write_json(self.path, {"schema": SCHEMA, "runs": runs})


def table(setting: Setting, results: Mapping[int, Mapping[str, Any]]) -> Row:
    """A setting over seeds: the mean of each figure, and its 95 % Student t interval.

    Examples
    --------
    >>> row = table(Setting("gsp"), {0: {"hit_rate": 0.25}, 1: {"hit_rate": 0.75}})
    >>> row["method"], row["hit_rate"], row["seeds"]
    ('lbgr + leaf-lru', 0.5, [0, 1])
    """
    row: Row = {"method": setting.method} | setting.to_json()
    del row["seed"]
    row["seeds"] = list(results)
    intervals: dict[str, list[float] | None] = {}
    for name in next(iter(results.values())):
        values = [result[name] for result in results.values()]
        if any(value is None for value in values):
            row[name] = None
            continue
        found = student(values)
        row[name] = values[0] if found.sd == 0 else found.mean
        if found.low is not None and found.high is not None:
            intervals[name] = [found.low, found.high]
    row["intervals"] = intervals
    row["by_seed"] = {
        name: [result[name] for result in results.values()]
        for name in HEADLINES
        if name in intervals
    }
    return row


def _run(setting: Setting, *, timed: bool) -> tuple[Setting, dict[str, Any]]:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent keeps what is finished
    return setting, setting.run(timed=timed)
