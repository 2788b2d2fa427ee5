"""Sequential arrivals meet idle workers: a fixed tie rule gives them all to worker 0 (448 : 0)."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.theory.routing.fleet import bound, query, send
from theory.routing import ROUTERS


@pytest.mark.parametrize("spec", [*ROUTERS, "cache-aware:preset=smg", "least-load:measure=tokens"])
def test_idle_workers_share_sequential_arrivals(spec: str) -> None:
    router = bound(spec, 4, seed=2)
    counts: Counter[int] = Counter()
    for number in range(448):
        # Nothing is shared, and each query is done before the next one comes.
        asked = query(number, [number] * 4, session=f"s{number}")
        worker = send(router, asked, 1000.0 * number)
        counts[worker] += 1
        router.on_completed(asked, worker, 1000.0 * number + 4.0)
    even = 112
    tolerance = 40 if spec in ("random", "power-of-two", "consistent-hash") else 12
    assert all(abs(counts[worker] - even) <= tolerance for worker in range(4)), counts


def test_the_papers_setting_has_the_fault() -> None:
    """It keeps the first worker unless another is better by more than 1 ms; so it is an option."""
    router = bound("lbgr:preset=paper:features=none", 4)
    for number in range(448):
        asked = query(number, [number] * 4)
        assert send(router, asked, 1000.0 * number) == 0
        router.on_completed(asked, 0, 1000.0 * number + 4.0)
