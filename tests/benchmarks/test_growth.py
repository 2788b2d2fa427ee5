"""Growth with the length of the trace, and how many seeds a second."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from math import log
from pathlib import Path
from typing import Any

import pytest

from empirical.curve import measure
from empirical.ratio import RatioStudy
from empirical.traces.mooncake import load
from tests.benchmarks.race import Table
from theory.engine import kernel as kernels

GIB = 2**30


def grown(blocks: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.growing", str(blocks)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def test_growth(table: Table) -> None:
    found = [grown(blocks) for blocks in (10**5, 10**6, 10**7)]
    for measured in found:
        n = measured["blocks"]
        table.add(
            f"{n:,} blocks: leaf-lru at all capacities, 16 of them step by step",
            f"{measured['curve']:.2f} s",
            "",
            f"{1e9 * measured['curve'] / (n * log(n)):.1f} ns/(n ln n)",
            "<= 60 s, 4 GiB at 10^7",
        )
        table.add(
            "  optimum at one capacity", f"{measured['optimum']:.2f} s", "",
            f"peak {measured['peak'] / GIB:.2f} GiB", "",
        )  # fmt: skip
    assert found[-1]["curve"] < 60
    assert found[-1]["peak"] < 4 * GIB
    million, ten_million = found[1:]
    times = ten_million["curve"] / million["curve"]
    assert times < 2 * 10 * log(10**7) / log(10**6)


def test_seeds_a_second(traces: Path, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "PATIENCE", -1)
    trace = load(traces / "mooncake_conversation_trace.jsonl")
    measure(RatioStudy(trace, seeds=2), ["rlt"], [8192])
    seeds = 40
    wall, processor = time.perf_counter(), time.process_time()
    measure(RatioStudy(trace, seeds=seeds), ["rlt"], [8192])
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    table.add("rlt at 8,192 blocks, seeds a second, now", f"{seeds / wall:.0f}", "", "", "")
    # The runs share nothing, so processor time tells what two idle processors would do.
    rate = 2 * seeds / processor
    table.add("  on two processors without other load", f"{rate:.0f}", "", "", ">= 20")
    assert rate >= 20
