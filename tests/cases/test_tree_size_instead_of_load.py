"""One hot prefix and m workers: a router that looks at cached prefixes alone uses one of them."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.theory.routing.fleet import bound, query, send
from theory.routing import ROUTERS

HOT = "a shared system prompt of forty characters"


@pytest.mark.parametrize("spec", [*ROUTERS, "cache-aware:preset=smg", "lbgr:preset=paper"])
def test_a_burst_of_one_hot_prefix_uses_all_workers(spec: str) -> None:
    router = bound(spec, 4, capacity=10_000)
    counts = Counter(send(router, query(n, f"{HOT}{n}")) for n in range(400))
    assert set(counts) == {0, 1, 2, 3}
    # Preble lets a worker have twice the load of another; no router lets it have half of all.
    assert max(counts.values()) < 200, counts


@pytest.mark.parametrize("preset", ["paper", "smg"])
def test_the_size_of_the_tree_does_not_outweigh_the_load(preset: str) -> None:
    """Worker 1 has the smaller tree, but all the queries: it must not get more of them."""
    router = bound(f"cache-aware:preset={preset}", 2)
    finished = query(1000, "x" * 500)
    router.on_assigned(finished, 0, 0.0)
    router.on_completed(finished, 0, 0.0)
    workers = [send(router, query(n, [n] * 5)) for n in range(300)]
    assert abs(workers.count(0) - workers.count(1)) <= 66


def test_the_fault_is_there_without_a_bound_on_the_load() -> None:
    router = bound("consistent-hash:load-factor=inf", 4)
    assert len({send(router, query(n, f"{HOT}{n}")) for n in range(400)}) == 1
