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
    assert len(rows) == 312
    assert all(row["predicted_hits"] == row["measured_hits"] for row in rows)
    assert all(run["complete"] and not run["failures"] for run in RUNS.values())


@pytest.mark.parametrize(
    ("run", "computed"), [("lru", 1216), ("kvbounds-leaf-lru", 1216), ("kvbounds-rlt", 571)]
)
def test_the_worst_case_on_a_real_worker(run: str, computed: int) -> None:
    summary = RUNS[f"cyclic-{run}"]["summary"]
    assert summary["computed_tokens"] == computed
    assert (summary["opt_computed_at_least"], summary["opt_computed_at_most"]) == (320, 376)
    if run == "kvbounds-rlt":
        assert summary["ratio_at_most"] < 1.8
    else:
        assert summary["ratio_at_least"] > 3.2


def test_routers_on_real_workers() -> None:
    rows = {row["method"]: row for row in kept("compare-cpu.json")["rows"]}
    rate = {method: row["hit_rate"] for method, row in rows.items()}
    assert rate["kvbounds round-robin"] < rate["kvbounds lbgr"] < rate["kvbounds cache-aware"]
    assert rate["kvbounds lbgr"] < rate["sglang-router cache_aware"]
    assert all(row["answered"] == 288 and row["failed"] == 0 for row in rows.values())
