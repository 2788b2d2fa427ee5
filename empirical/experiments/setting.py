"""One setting of the cluster: everything that a run depends on, as plain values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from empirical.cluster.metrics import hit_rate_bound, summary, timings
from empirical.cluster.profiles import Profile, find_profile
from empirical.cluster.simulate import ClusterRun, simulate
from empirical.cluster.worker import Batching
from empirical.traces import mooncake
from empirical.traces import workload as workloads
from empirical.traces.arrivals import PROCESSES, retime, stretch
from empirical.traces.base import Trace
from theory.errors import InputError

__all__ = ["Setting", "is_file", "trace_file"]


@dataclass(frozen=True)
class Setting:
    """A run of the cluster. Equal settings give equal results.

    Attributes
    ----------
    workload : str
        A workload (see `empirical.traces.workload`), or a trace file (in the Mooncake format),
        looked for in the folder KVBOUNDS_TRACES too.
    router, eviction : str
        See `theory.routing` and `empirical.cluster.evictions`; a user's own class counts as the
        same as long as its name is the same.
    workers : int
        How many.
    profile : str
        One for all workers, or one for each, joined by commas.
    seed : int
        Seeds the workload, the arrivals, the router and the evictions.
    trace_seed : int, optional
        Seeds the workload and the arrivals in place of `seed`.
    queries : int, optional
        Only the first so many rows.
    arrivals : str
        ``trace`` (its timestamps), ``trace:stretch=2`` (everything takes twice as long),
        ``poisson:rate=12``, ``bursty:rate=12,cv=4``, ``regular:rate=12`` or ``closed:clients=128``.
    think_ms : float
        Between an answer and what waits for it.
    speed : float
        How many times as fast as its profile every worker is.
    capacity : int, optional
        Tokens of KV memory of a worker; by default those of the profile.
    memory_fraction : float, optional
        The share of the GPUs' memory for weights and KV cache, in place of the profile's.
    scheduler, chunk, max_running, reserve
        See `Batching`.
    window : str
        The queries that are counted: ``all`` or ``last-half``.
    """

    workload: str
    router: str = "lbgr"
    eviction: str = "leaf-lru"
    workers: int = 4
    profile: str = "llama-3.1-8b-l40"
    seed: int = 0
    trace_seed: int | None = None
    queries: int | None = None
    arrivals: str = "trace"
    think_ms: float = 0.0
    speed: float = 1.0
    capacity: int | None = None
    memory_fraction: float | None = None
    scheduler: str = "prefill-first"
    chunk: int = 8192
    max_running: int = 256
    reserve: float = 0.7
    window: str = "all"

    @property
    def method(self) -> str:
        """Router and eviction, as tables call them."""
        return f"{self.router} + {self.eviction}"

    def but(self, **changes: Any) -> Setting:
        """The same setting with some fields changed."""
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Setting:
        """Read all fields."""
        return cls(**{field.name: value[field.name] for field in fields(cls)})

    def profiles(self) -> list[Profile]:
        """The profile of each worker."""
        if self.workers < 1:
            raise InputError(
                f"{self.workers} workers serve nothing", where="workers", fix="give at least 1"
            )
        names = [name.strip() for name in self.profile.split(",")]
        if len(names) not in (1, self.workers):
            raise InputError(
                f"{len(names)} profiles for {self.workers} workers",
                where="profile",
                fix="give one, or one for each worker",
            )
        found = [find_profile(name, self.memory_fraction).faster(self.speed) for name in names]
        return found * self.workers if len(found) == 1 else found

    def trace(self) -> Trace:
        """The queries with their arrivals."""
        seed = self.seed if self.trace_seed is None else self.trace_seed
        return _trace(self.workload, self.arrivals, self.queries, seed)

    def simulate(self) -> ClusterRun:
        """Run it."""
        kind, values = _arrivals(self.arrivals)
        return simulate(
            self.trace(),
            self.router,
            self.eviction,
            profiles=self.profiles(),
            capacity=self.capacity,
            batching=Batching(self.scheduler, self.chunk, self.max_running, self.reserve),
            clients=int(values["clients"]) if kind == "closed" else None,
            think_ms=self.think_ms,
            seed=self.seed,
        )

    def run(self, *, timed: bool = False) -> dict[str, Any]:
        """Run it; its figures (`empirical.cluster.metrics`), with times of this machine if `timed`.

        Examples
        --------
        >>> row = Setting("gsp:groups=2,prompts=4,lengths=512,rate=1", workers=1).run()
        >>> row["hit_rate"] == row["hit_rate_bound"] == 0.375
        True
        """
        run = self.simulate()
        found = summary(run, self.window)
        found["hit_rate_bound"] = hit_rate_bound(self.trace()) if self.window == "all" else None
        return found | timings(run) if timed else found


ARRIVAL_KEYS = {"trace": ("stretch",), "closed": ("clients",)} | {
    name: ("rate", "cv") if name == "bursty" else ("rate",) for name in PROCESSES
}
OPTIONAL = ("cv", "stretch")


def _arrivals(text: str) -> tuple[str, dict[str, float]]:
    kind, _, rest = text.partition(":")
    if kind not in ARRIVAL_KEYS:
        raise InputError(
            f"unknown arrivals {kind!r}",
            where="arrivals",
            fix=f"choose from {', '.join(ARRIVAL_KEYS)}",
        )
    values: dict[str, float] = {}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key not in ARRIVAL_KEYS[kind]:
            raise InputError(f"{kind} has no key {key!r}", where="arrivals")
        try:
            values[key] = float(Fraction(value))
        except (ValueError, ZeroDivisionError):
            raise InputError(f"cannot read {part!r}", where="arrivals") from None
    for key in ARRIVAL_KEYS[kind]:
        if key not in values and key not in OPTIONAL:
            raise InputError(
                f"{kind} needs a {key}", where="arrivals", fix=f"write {kind}:{key}=12"
            )
    return kind, values


def is_file(workload: str) -> bool:
    """Whether a workload is a trace file: by the ending of its name, or because it is there.

    Examples
    --------
    >>> is_file("absent.jsonl.gz"), is_file("gsp:groups=2"), is_file("gsp")
    (True, False, False)
    """
    if workload.partition(":")[0] in workloads.WORKLOADS:
        return False
    named = workload.endswith((".jsonl", ".jsonl.gz")) and ":" not in workload
    return named or trace_file(workload).is_file()


def trace_file(name: str) -> Path:
    """A trace file where it is named, or in the folder KVBOUNDS_TRACES."""
    folder = os.environ.get("KVBOUNDS_TRACES", "")
    path = Path(name)
    if path.is_file() or not folder or path.is_absolute():
        return path
    return Path(folder) / path


@lru_cache(maxsize=4)
def _trace(source: str, arrivals: str, queries: int | None, seed: int) -> Trace:
    found = mooncake.load(trace_file(source)) if is_file(source) else workloads.parse(source, seed)
    if queries is not None and queries < len(found):
        found = found.select(range(queries))
    kind, values = _arrivals(arrivals)
    if kind in PROCESSES:
        found = retime(found, kind, seed=seed, **values)
    if "stretch" in values:
        found = stretch(found, values["stretch"])
    return found
