"""Against libCacheSim on flat traces: every query is one unit, so Leaf-LRU is LRU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.benchmarks.race import Table, best, race
from theory.engine import Flat, simulate
from theory.engine import kernel as kernels

REQUESTS, OBJECTS, CAPACITY = 2_000_000, 400_000, 40_000


def test_lru(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peer: Any = pytest.importorskip("libcachesim", reason="libcachesim is not installed ([bench])")
    monkeypatch.setattr(kernels, "PATIENCE", -1)
    rng = np.random.default_rng(5)
    objects = rng.zipf(1.1, REQUESTS) % OBJECTS
    flat = Flat(np.full(OBJECTS, -1), np.arange(REQUESTS + 1), objects)
    row = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
    rows = np.zeros(REQUESTS, row)
    rows["object"], rows["size"], rows["next"] = objects + 1, 1, -1
    rows.tofile(tmp_path / "trace")

    def theirs() -> float:
        trace = str(tmp_path / "trace")
        reader = peer.TraceReader(trace, peer.TraceType.ORACLE_GENERAL_TRACE)
        return float(peer.LRU(CAPACITY).process_trace(reader)[0])

    misses = int(simulate(flat, "leaf-lru", CAPACITY).misses.sum())
    assert round(theirs() * REQUESTS) == pytest.approx(misses, abs=2)
    mine, other = race([lambda: simulate(flat, "leaf-lru", CAPACITY), theirs])
    prepared = best(lambda: Flat(flat.parent, flat.step_start, flat.query).runs)
    table.add(
        f"flat trace of {REQUESTS:,} requests, LRU, in process",
        f"{REQUESTS / mine / 1e6:.1f} M/s",
        f"{REQUESTS / other / 1e6:.1f} M/s",
        f"{other / mine:.1f}x",
        ">= 0.5x",
    )
    table.add(
        "  the same with the arrays prepared anew",
        f"{REQUESTS / (mine + prepared) / 1e6:.1f} M/s",
        f"{REQUESTS / other / 1e6:.1f} M/s",
        f"{other / (mine + prepared):.1f}x",
        "",
    )
    assert mine <= 2 * other
