"""Equal scores must not mean the same worker for ever, among whichever workers are tied."""

from __future__ import annotations

import pytest

from tests.theory.routing.fleet import bound, query, send
from theory.routing import ROUTERS

SCORED = [spec for spec in ROUTERS if spec not in ("random", "power-of-two", "consistent-hash")]


@pytest.mark.parametrize("spec", SCORED)
def test_equal_scores_go_round(spec: str) -> None:
    router = bound(spec, 5)
    workers = []
    for number in range(25):
        asked = query(number, [number] * 3)
        worker = send(router, asked)
        workers.append(worker)
        router.on_failed(asked, worker, 0.0)  # so that all scores are equal again
    assert [workers.count(worker) for worker in range(5)] == [5] * 5, workers


def test_only_the_tied_workers_take_turns() -> None:
    router = bound("least-load", 4)
    router.on_assigned(query(100, "a"), 2, 0.0)
    workers = []
    for number in range(9):
        asked = query(number, "a")
        worker = send(router, asked)
        workers.append(worker)
        router.on_completed(asked, worker, 0.0)
    assert workers == [3, 0, 1, 3, 0, 1, 3, 0, 1]


def test_the_tie_rule_is_reproducible() -> None:
    def choices() -> list[int]:
        router = bound("lbgr", 3)
        return [send(router, query(n, f"{n % 3}{n}")) for n in range(30)]

    assert choices() == choices()
