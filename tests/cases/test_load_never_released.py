"""Load that is not released, on failure as on completion, makes a worker look busy for ever."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.theory.routing.fleet import bound, query, send
from theory.errors import RoutingError
from theory.routing import ROUTERS, Router
from theory.routing.lbgr import LBGR
from theory.routing.least_load import LeastLoad
from theory.routing.lmetric import LMetric
from theory.routing.preble import Preble

SPECS = [*ROUTERS, "cache-aware:preset=smg", "lbgr:preset=paper", "least-load:measure=tokens"]


def loads(router: Router) -> list[float]:
    """Everything that the router counts as load."""
    counted: list[float] = [*router.requests, len(router.in_flight)]
    if isinstance(router, LBGR):
        counted += [router.decayed(worker, 1e9) for worker in range(len(router.workers))]
        counted.append(len(router._shares))
    if isinstance(router, LeastLoad):
        counted += router.tokens
    if isinstance(router, LMetric):
        counted += router.queued
    return counted


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("ending", ["completed", "failed", "down"])
def test_nothing_is_left_when_nothing_is_in_flight(spec: str, ending: str) -> None:
    router = bound(spec, 3, capacity=20)
    asked = [query(n, f"{n % 4}abc{n}", output=n % 3) for n in range(60)]
    workers = [send(router, each, float(n)) for n, each in enumerate(asked)]
    assert sum(router.requests) == 60
    if ending == "down":
        for worker in range(3):
            router.on_worker_down(worker, 100.0)
    for each, worker in zip(asked, workers, strict=True):
        if ending == "completed":
            router.on_completed(each, worker, 100.0)
        elif ending == "failed":
            router.on_failed(each, worker, 100.0)
    assert not any(loads(router)), loads(router)


@pytest.mark.parametrize("spec", SPECS)
def test_failures_do_not_drive_queries_away(spec: str) -> None:
    """All queries of worker 0 fail at once, again and again: it must not be starved for that."""
    router = bound(spec, 2, seed=1)
    counts: Counter[int] = Counter()
    for number in range(480):
        asked = query(number, [number], session=f"s{number}")
        worker = send(router, asked, 10.0 * number)
        counts[worker] += 1
        if worker == 0:
            router.on_failed(asked, 0, 10.0 * number + 1.0)
        else:
            router.on_completed(asked, 1, 10.0 * number + 1.0)
    assert counts[0] >= 180, counts


def test_prebles_window_forgets_failures_but_keeps_completions() -> None:
    router = bound("preble", 2)
    assert isinstance(router, Preble)
    done, lost = query(0, "abcd"), query(1, "efgh")
    router.on_assigned(done, 0, 0.0)
    router.on_assigned(lost, 1, 0.0)
    router.on_completed(done, 0, 1.0)
    router.on_failed(lost, 1, 1.0)
    assert router._work == [4.0, 0.0]
    assert router._count == [1, 0]


@pytest.mark.parametrize("spec", SPECS)
def test_releasing_twice_or_elsewhere_is_an_error_and_changes_nothing(spec: str) -> None:
    router = bound(spec, 2, capacity=20)
    first, second = query(0, "abc"), query(1, "abd")
    home = send(router, first, 0.0)
    send(router, second, 0.0)
    before = loads(router)
    with pytest.raises(RoutingError, match="query 0: the query is not in flight on worker"):
        router.on_completed(first, 1 - home, 1.0)
    with pytest.raises(RoutingError, match="query 7: the query is not in flight"):
        router.on_failed(query(7, "abc"), 0, 1.0)
    with pytest.raises(RoutingError, match="query 0: the query is already in flight"):
        router.on_assigned(first, home, 1.0)
    with pytest.raises(RoutingError, match="query 9: 5 is no worker"):
        router.on_assigned(query(9, "abc"), 5, 1.0)
    assert loads(router) == before
    router.on_completed(first, home, 1.0)
    after = loads(router)
    with pytest.raises(RoutingError, match="not in flight"):
        router.on_completed(first, home, 1.0)
    assert loads(router) == after
