"""Who waits for whom: turns of a session for their predecessors, clients for their answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from math import isfinite

from empirical.traces.base import Trace
from theory.errors import InputError

__all__ = ["Turns", "answers"]


class Turns:
    """When the queries of a trace arrive.

    Parameters
    ----------
    trace : Trace
        Queries without a session are sessions of their own.
    clients : int, optional
        Closed loop: so many sessions at a time, in the order of their first turns; timestamps do
        not count.
    think_ms : float
        Between an answer and what waits for it.

    Examples
    --------
    >>> trace = Trace.from_hash_ids([[1], [2], [3]], [0, 5, 6], [8] * 3, [1] * 3, session="aab")
    >>> turns = Turns(trace)
    >>> list(turns.begin()), list(turns.after(0, now=9.0))
    ([(0.0, 0), (6.0, 2)], [(9.0, 1)])
    """

    def __init__(self, trace: Trace, clients: int | None = None, think_ms: float = 0.0) -> None:
        if clients is not None and clients < 1:
            raise InputError(f"{clients} clients ask for nothing", where="clients", fix="give 1")
        if not (isfinite(think_ms) and think_ms >= 0):
            raise InputError(f"{think_ms!r} is no time in ms", where="think time")
        self.clients, self.think_ms = clients, think_ms
        self.timestamp: list[float] = (trace.timestamp - trace.timestamp[0]).tolist()
        chains = sessions(trace)
        self.next = {row: later for chain in chains for row, later in pairwise(chain)}
        self.firsts = deque(chain[0] for chain in chains)

    def begin(self) -> Iterator[tuple[float, int]]:
        """The times and rows of those that wait for nobody."""
        count = len(self.firsts) if self.clients is None else min(self.clients, len(self.firsts))
        for _ in range(count):
            row = self.firsts.popleft()
            yield (self.timestamp[row] if self.clients is None else 0.0), row

    def after(self, row: int, now: float) -> Iterator[tuple[float, int]]:
        """The times and rows of those that waited for `row`, which was answered at `now`."""
        ready = now + self.think_ms
        following = self.next.get(row)
        if self.clients is None:
            if following is not None:
                yield max(ready, self.timestamp[following]), following
        elif following is not None:
            yield ready, following
        elif self.firsts:
            yield ready, self.firsts.popleft()


def sessions(trace: Trace) -> list[list[int]]:
    """The rows of each session in order, by first turn."""
    if trace.session is None:
        return [[row] for row in range(len(trace))]
    found: dict[str, list[int]] = {}
    for row, session in enumerate(trace.session):
        found.setdefault(session, []).append(row)
    return list(found.values())


def answers(trace: Trace) -> dict[int, list[int]]:
    """The full blocks that the answer of a turn adds to its prompt, if the next turn repeats both.

    The last token of an answer has no KV entry, so it fills no block.
    """
    found: dict[int, list[int]] = {}
    size = trace.block_size
    for chain in sessions(trace):
        for row, later in pairwise(chain):
            length = int(trace.input_length[row])
            end = length + int(trace.output_length[row]) - 1
            if trace.input_length[later] < end or end // size <= length // size:
                continue
            before, whole = trace.hash_ids(row), trace.hash_ids(later)
            full = length // size
            if before[:full] == whole[:full]:
                found[row] = whole[full : end // size]
    return found
