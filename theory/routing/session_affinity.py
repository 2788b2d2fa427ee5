"""Session affinity: a conversation stays on its worker."""

from __future__ import annotations

from collections.abc import Iterable

from theory.errors import InputError
from theory.routing.base import Flight, RoutedQuery, Router, WorkerInfo

__all__ = ["SessionAffinity"]


class SessionAffinity(Router):
    """Send a session to the worker of its last query, a new one to the least loaded worker.

    A query without a session goes to the worker with the fewest queries in flight. Ties rotate.

    Parameters
    ----------
    sessions : int
        How many sessions are remembered; the least recently used is forgotten first.
    """

    def __init__(self, sessions: int = 100_000) -> None:
        if not isinstance(sessions, int) or isinstance(sessions, bool) or sessions < 1:
            raise InputError(f"sessions={sessions!r} is not a positive integer")
        self.sessions = sessions

    def bind(self, workers: Iterable[WorkerInfo], seed: int) -> None:
        super().bind(workers, seed)
        self._home: dict[str, int] = {}

    def choose(self, query: RoutedQuery, now: float) -> int:
        candidates = self.eligible(query)
        home = None if query.session is None else self._home.get(query.session)
        if home is not None and home in candidates:
            return home
        return self.least(candidates, self.requests.__getitem__)

    def assigned(self, flight: Flight) -> None:
        session = flight.query.session
        if session is None:
            return
        self._home.pop(session, None)
        self._home[session] = flight.worker
        if len(self._home) > self.sessions:
            del self._home[next(iter(self._home))]

    def forget(self, worker: int) -> None:
        self._home = {session: home for session, home in self._home.items() if home != worker}
