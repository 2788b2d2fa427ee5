"""Small fleets and queries for the tests of routers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from theory.routing import RoutedQuery, Router, WorkerInfo, make_router


def query(
    number: int, prompt: Sequence[object] | str, output: int = 0, session: str | None = None
) -> RoutedQuery:
    """A query of one token a symbol."""
    return RoutedQuery(number, tuple(prompt), len(prompt), output, session)


def bound(
    spec: str | Router, workers: int = 4, *, capacity: int | None = None, seed: int = 0
) -> Router:
    """A router that knows its workers: equal ones with 1 ms a missed token."""
    router = make_router(spec) if isinstance(spec, str) else spec
    router.bind([WorkerInfo(capacity)] * workers, seed)
    return router


def send(router: Router, asked: RoutedQuery, now: float = 0.0) -> int:
    """Let the router choose and tell it so."""
    worker = router.choose(asked, now)
    assert worker in router.eligible(asked)
    router.on_assigned(asked, worker, now)
    return worker


def send_all(router: Router, prompts: Iterable[str], now: float = 0.0) -> list[int]:
    """Send prompts that all arrive at once, none of which completes."""
    return [send(router, query(number, prompt), now) for number, prompt in enumerate(prompts)]
