"""What the ledger says of the kept reports of real workers is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

REPORTS = Path(__file__).parents[2] / "docs" / "reports"


def kept(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((REPORTS / name).read_text(encoding="utf-8"))
    return value


RUNS = kept("replay-cpu.json")["runs"]


def test_every_query_had_the_hits_that_were_predicted() -> None:
    rows = [row for run in RUNS.values() for row in run["rows"]]
    assert len(rows) == 597
    assert all(row["predicted_hits"] == row["measured_hits"] for row in rows)
    assert all(run["complete"] and not run["failures"] for run in RUNS.values())


COMPUTED = {
    "cyclic": {"lru": 1216, "kvbounds-leaf-lru": 1216, "kvbounds-rlt": 571},
    "twice": {"lru": 4340, "kvbounds-leaf-lru": 902, "kvbounds-rlt": 638},
}
OPTIMUM = {"cyclic": (320, 376), "twice": (416, 497)}


@pytest.mark.parametrize("case", COMPUTED)
def test_worst_cases_on_a_real_worker(case: str) -> None:
    for eviction, computed in COMPUTED[case].items():
        summary = RUNS[f"{case}-{eviction}"]["summary"]
        assert summary["computed_tokens"] == computed
        found = summary["opt_computed_at_least"], summary["opt_computed_at_most"]
        assert found == OPTIMUM[case]


def test_the_ratios_on_a_real_worker() -> None:
    least = {name: run["summary"]["ratio_at_least"] for name, run in RUNS.items()}
    most = {name: run["summary"]["ratio_at_most"] for name, run in RUNS.items()}
    assert least["cyclic-lru"] > 3.2 and least["cyclic-kvbounds-leaf-lru"] > 3.2
    assert most["cyclic-kvbounds-rlt"] < 1.8
    assert least["twice-lru"] > 8.7
    assert most["twice-kvbounds-leaf-lru"] < 2.2 and most["twice-kvbounds-rlt"] < 1.6


def test_routers_on_real_workers() -> None:
    rows = {row["method"]: row for row in kept("compare-cpu.json")["rows"]}
    rate = {method: row["hit_rate"] for method, row in rows.items()}
    assert rate["kvbounds round-robin"] < rate["kvbounds lbgr"] < rate["kvbounds cache-aware"]
    assert rate["kvbounds lbgr"] < rate["sglang-router cache_aware"]
    assert all(row["answered"] == 288 and row["failed"] == 0 for row in rows.values())
