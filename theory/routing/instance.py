"""An instance of the routing problem: the queries in order of arrival, and the workers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from theory.errors import InadmissibleStepError, InputError, RoutingError
from theory.jsonfile import read_json, write_json
from theory.model import Instance, check_capacity
from theory.routing.base import RoutedQuery, WorkerInfo
from theory.trie import TokenTrie

__all__ = ["Duration", "RoutingInstance", "Worker", "exact"]

Duration = int | Fraction
"""An exact time in ms."""

SCHEMA = "kvbounds/routing/1"


def exact(value: Any, where: str = "") -> Duration:
    """The number `value` without rounding: an int if it is whole, else a Fraction.

    A float is taken as the decimal that it prints as.

    Examples
    --------
    >>> exact(0.1), exact("3/4"), exact(2.0)
    (Fraction(1, 10), Fraction(3, 4), 2)
    """
    try:
        if isinstance(value, bool):
            raise ValueError
        number = Fraction(str(value) if isinstance(value, float) else value)
    except (ValueError, TypeError, ZeroDivisionError):
        raise InputError(f"{value!r} is not a number", where=where) from None
    return int(number) if number.denominator == 1 else number


@dataclass(frozen=True)
class Worker:
    """One worker: its cache and its speed.

    Parameters
    ----------
    capacity : int
        B_i, in nodes of the trie.
    alpha_miss, alpha_cached : number
        Service time per missed and per cached node, in ms; alpha_miss >= alpha_cached >= 0.
    alpha_output : number
        Service time per output token, in ms.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> Worker(8, alpha_miss=2, alpha_cached="1/2").cost(hits=3, misses=1, output=0)
    Fraction(7, 2)
    """

    capacity: int
    alpha_miss: Duration = 1
    alpha_cached: Duration = 0
    alpha_output: Duration = 0

    def __post_init__(self) -> None:
        check_capacity(self.capacity)
        for name in ("alpha_miss", "alpha_cached", "alpha_output"):
            value = exact(getattr(self, name), name)
            if value < 0:
                raise InputError(f"{value} is negative", where=name, fix="give at least 0")
            object.__setattr__(self, name, value)
        if self.alpha_cached > self.alpha_miss:
            raise InputError(
                f"a hit takes longer than a miss ({self.alpha_cached} > {self.alpha_miss} ms)",
                where="alpha_cached",
                fix="give at most alpha_miss",
            )

    def cost(self, hits: int, misses: int, output: int) -> Duration:
        """The service time of a query, in ms."""
        time = self.alpha_cached * hits + self.alpha_miss * misses + self.alpha_output * output
        return exact(time)

    @property
    def info(self) -> WorkerInfo:
        """What a router may know of the worker."""
        return WorkerInfo(
            self.capacity,
            float(self.alpha_miss),
            float(self.alpha_cached),
            float(self.alpha_output),
        )


@dataclass(frozen=True)
class RoutingInstance:
    """Queries to be routed, and the workers: immutable, validated.

    Parameters
    ----------
    trie : TokenTrie
        The tokens (or blocks).
    workers : sequence of Worker
        At least one; equal or not.
    queries : sequence of int
        In order of arrival, each by its last node.
    outputs : sequence of int, optional
        Output tokens of each query; 0 by default.
    arrivals : sequence of float, optional
        In ms, ascending; 0 by default.
    sessions : sequence of (str or None), optional
        The conversation of each query.
    name : str
        A short name for tables.
    notes : mapping
        Where the instance comes from. JSON values only.

    Raises
    ------
    InadmissibleStepError
        If a query fits no worker.
    InputError
        If there is no worker or no query, or a field is out of range.

    Examples
    --------
    >>> trie, ends = TokenTrie.from_sequences(["abc", "abd", "xyz"])
    >>> instance = RoutingInstance(trie, [Worker(4)] * 2, ends)
    >>> instance.worker_instance(0, [0, 0, 1]).steps
    ((2,), (3,))
    """

    trie: TokenTrie
    workers: tuple[Worker, ...]
    queries: tuple[int, ...]
    outputs: tuple[int, ...]
    arrivals: tuple[float, ...]
    sessions: tuple[str | None, ...]
    name: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __init__(
        self,
        trie: TokenTrie,
        workers: Iterable[Worker],
        queries: Iterable[int],
        outputs: Iterable[int] | None = None,
        arrivals: Iterable[float] | None = None,
        sessions: Iterable[str | None] | None = None,
        name: str = "",
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        queries, workers = tuple(queries), tuple(workers)
        count = len(queries)
        for key, value in (
            ("trie", trie),
            ("workers", workers),
            ("queries", queries),
            ("outputs", (0,) * count if outputs is None else tuple(outputs)),
            ("arrivals", (0.0,) * count if arrivals is None else tuple(arrivals)),
            ("sessions", (None,) * count if sessions is None else tuple(sessions)),
            ("name", name),
            ("notes", dict(notes or {})),
        ):
            object.__setattr__(self, key, value)
        self._check()

    def _check(self) -> None:
        if not self.workers:
            raise InputError("there is no worker", where="workers", fix="give at least 1")
        if not self.queries:
            raise InputError("there is no query", where="queries", fix="give at least 1")
        for name in ("outputs", "arrivals", "sessions"):
            if len(getattr(self, name)) != len(self.queries):
                raise InputError(
                    f"{len(getattr(self, name))} values for {len(self.queries)} queries", where=name
                )
        largest = max(worker.capacity for worker in self.workers)
        before = 0.0
        for index, (query, output, arrival) in enumerate(
            zip(self.queries, self.outputs, self.arrivals, strict=True)
        ):
            self.trie.check(query, where=f"query {index}")
            length = self.trie.depth(query)
            if length > largest:
                raise InadmissibleStepError(
                    step=index, footprint=length, capacity=largest, queries=1
                )
            if not isinstance(output, int) or isinstance(output, bool) or output < 0:
                raise InputError(
                    f"{output!r} output tokens are no number of tokens", where=f"query {index}"
                )
            if not math.isfinite(arrival) or arrival < before:
                raise InputError(
                    f"the arrival {arrival} ms does not follow {before} ms",
                    where=f"query {index}",
                    fix="order the queries by arrival",
                )
            before = arrival

    def fits(self, index: int, worker: int) -> bool:
        """Whether query `index` fits into the cache of `worker`."""
        return self.trie.depth(self.queries[index]) <= self.workers[worker].capacity

    def first(self, count: int) -> RoutingInstance:
        """The first `count` queries."""
        return RoutingInstance(
            self.trie,
            self.workers,
            self.queries[:count],
            self.outputs[:count],
            self.arrivals[:count],
            self.sessions[:count],
            self.name,
            self.notes,
        )

    def worker_instance(self, worker: int, assignment: Sequence[int]) -> Instance | None:
        """What `worker` has to serve under `assignment`; None if that is nothing."""
        steps = [[q] for q, w in zip(self.queries, assignment, strict=True) if w == worker]
        return Instance(self.trie, self.workers[worker].capacity, steps) if steps else None

    def check_assignment(self, assignment: Sequence[int]) -> None:
        """Raise `RoutingError` unless `assignment` names a fitting worker for each query."""
        if len(assignment) != len(self.queries):
            raise RoutingError(f"{len(assignment)} workers for {len(self.queries)} queries")
        for index, worker in enumerate(assignment):
            if not 0 <= worker < len(self.workers):
                raise RoutingError(f"{worker} is no worker", where=f"query {index}")
            if not self.fits(index, worker):
                raise RoutingError(f"does not fit worker {worker}", where=f"query {index}")

    def routed(self) -> list[RoutedQuery]:
        """The queries as routers see them."""
        paths = {query: self.trie.path(query) for query in set(self.queries)}
        return [
            RoutedQuery(index, paths[query], len(paths[query]), output, session)
            for index, (query, output, session) in enumerate(
                zip(self.queries, self.outputs, self.sessions, strict=True)
            )
        ]

    def to_json(self) -> dict[str, Any]:
        """The JSON form, schema ``kvbounds/routing/1``."""
        value: dict[str, Any] = {"schema": SCHEMA, "name": self.name}
        value.update(self.trie.to_json())
        value["workers"] = [
            {
                "capacity": worker.capacity,
                "alpha_miss": str(worker.alpha_miss),
                "alpha_cached": str(worker.alpha_cached),
                "alpha_output": str(worker.alpha_output),
            }
            for worker in self.workers
        ]
        value["queries"] = list(self.queries)
        if any(self.outputs):
            value["outputs"] = list(self.outputs)
        if any(self.arrivals):
            value["arrivals"] = list(self.arrivals)
        if any(session is not None for session in self.sessions):
            value["sessions"] = list(self.sessions)
        if self.notes:
            value["notes"] = dict(self.notes)
        return value

    @classmethod
    def from_json(cls, value: Any, where: str = "instance") -> Self:
        """Read the JSON form.

        Raises
        ------
        InputError
            With the JSON pointer of the first field that is missing or wrong.
        """
        if not isinstance(value, dict):
            raise InputError("is not a JSON object", where=f"{where}#")
        trie = TokenTrie.from_json(value, where)
        workers = []
        for index, given in enumerate(_list(value, "workers", where)):
            pointer = f"{where}#/workers/{index}"
            if not isinstance(given, dict):
                raise InputError("is not a JSON object", where=pointer)
            known = ("capacity", "alpha_miss", "alpha_cached", "alpha_output")
            if unknown := [key for key in given if key not in known]:
                raise InputError(f"has no field {unknown[0]!r}", where=pointer)
            try:
                workers.append(Worker(**{"capacity": None, **given}))
            except InputError as error:
                raise InputError(
                    error.what, where=f"{pointer}/{error.where}", fix=error.fix
                ) from None
        rows = {
            key: _list(value, key, where) if key in value else None
            for key in ("outputs", "arrivals", "sessions")
        }
        try:
            return cls(
                trie,
                workers,
                _list(value, "queries", where),
                **rows,
                name=str(value.get("name", "")),
                notes=value.get("notes"),
            )
        except InputError as error:
            raise InputError(error.what, where=f"{where}: {error.where}", fix=error.fix) from None
        except TypeError:
            raise InputError("has a value of the wrong type", where=f"{where}#") from None

    def save(self, path: str | Path) -> None:
        """Write the instance to `path` as JSON, atomically."""
        write_json(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an instance from a JSON file."""
        return cls.from_json(read_json(path, SCHEMA), where=str(path))


def _list(value: Mapping[str, Any], key: str, where: str) -> list[Any]:
    found = value.get(key)
    if not isinstance(found, list):
        raise InputError("is not a list", where=f"{where}#/{key}")
    return found
