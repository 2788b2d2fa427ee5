"""Against kvcache-simulator (its core is C++) on the conversation trace."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from empirical.traces.base import Trace
from empirical.traces.mooncake import load
from tests.benchmarks.race import Table, best, kvbounds, process, race
from theory.engine import StackDistances, optimum, simulate
from theory.engine import kernel as kernels

MODEL, BYTES_A_BLOCK = "cohere-command-a-03-2025", 67814245.91076028
"""A model of the peer, and what a block of 512 tokens takes there: capacities are given in GiB."""

SIXTEEN = list(range(2000, 32001, 2000))


@pytest.fixture(name="conversations")
def _conversations(traces: Path) -> Path:
    return traces / "mooncake_conversation_trace.jsonl"


@pytest.fixture(name="peer")
def _peer(conversations: Path) -> Callable[[list[int]], list[object]]:
    pytest.importorskip("kvcache_sim", reason="kvcache-simulator is not installed ([bench])")

    def command(capacities: list[int]) -> list[object]:
        budgets = ",".join(str(c * BYTES_A_BLOCK / 2**30 + 1e-6) for c in capacities)
        words: list[object] = [sys.executable, "-m", "kvcache_sim", "run", "--trace", conversations]
        words += ["--model", MODEL, "--block-size", 512, "--budgets-gib", budgets]
        return [*words, "--policies", "lru,optimal", "--format", "json"]

    process(*command([2000]))()  # it compiles itself at its first run
    return command


@pytest.mark.parametrize(("capacities", "target"), [(SIXTEEN, 0.8), ([8192], 1.5)])
def test_whole_process(
    capacities: list[int],
    target: float,
    conversations: Path,
    peer: Callable[[list[int]], list[object]],
    table: Table,
) -> None:
    arguments = ["curve", "--trace", conversations, "--policy", "leaf-lru,opt"]
    arguments += ["--capacities", ",".join(map(str, capacities)), "--window", "last-half"]
    ours, theirs = race([kvbounds(*arguments), process(*peer(capacities))], turns=7)
    table.add(
        f"conversation trace, {len(capacities)} capacities, whole process",
        f"{ours:.2f} s",
        f"{theirs:.2f} s",
        f"{ours / theirs:.2f}",
        f"<= {target}",
    )
    assert ours <= target * theirs


def test_both_have_the_same_hit_rates(
    conversations: Path, peer: Callable[[list[int]], list[object]]
) -> None:
    done = subprocess.run(
        [str(word) for word in peer([2048, 8192, 32768])], check=True, capture_output=True
    )
    theirs = [point["results"] for point in json.loads(done.stdout)["points"]]
    trace = load(conversations)
    flat, half = trace.flat(), len(trace) // 2
    for capacity, results in zip([2048, 8192, 32768], theirs, strict=True):
        for name, hits in (
            ("lru", simulate(flat, "leaf-lru", capacity).hits),
            ("optimal", optimum(flat, capacity, bypass=True).hits),
        ):
            tokens = np.minimum(512 * hits, trace.input_length)[half:].sum()
            assert abs(int(tokens) / results[name]["totalTokens"] - results[name]["hitRate"]) < 5e-5


def test_simulation_alone(
    conversations: Path,
    peer: Callable[[list[int]], list[object]],
    table: Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels, "PATIENCE", -1)
    trace = load(conversations)
    core = _core(trace, tmp_path)
    one, sixteen = race([process(*core([2000])), process(*core(SIXTEEN))])
    theirs = (sixteen - one) / 15  # what one more capacity takes, reading and counting left out
    flat = trace.flat()

    def both() -> None:
        simulate(flat, "leaf-lru", 8192)
        optimum(flat, 8192)

    both()
    ours = best(both, turns=20)
    table.add(
        "leaf-lru and optimum at one capacity, simulation alone",
        f"{1000 * ours:.1f} ms",
        f"{1000 * theirs:.1f} ms",
        f"{theirs / ours:.0f}x",
        ">= 3x",
    )
    assert theirs >= 3 * ours


def test_every_capacity_in_one_pass(
    conversations: Path, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "PATIENCE", -1)
    flat = load(conversations).flat()
    StackDistances(flat).misses()
    seconds = best(lambda: StackDistances(flat).misses())
    table.add(f"leaf-lru at all {flat.units:,} capacities", f"{1000 * seconds:.1f} ms", "", "", "")
    assert seconds < 1


def _core(trace: Trace, folder: Path) -> Callable[[list[int]], list[object]]:
    """The peer's C++ program on the trace, without its Python part."""
    backend: Any = importlib.import_module("kvcache_sim.cpp_backend")
    program = backend.ensure_cpp_simulator()
    paths = [trace.hash_ids(row) for row in range(len(trace))]
    ids = np.array([block for path in paths for block in path], np.uint32)
    tokens = np.full(len(ids), 512, np.uint16)
    ends = np.cumsum([len(path) for path in paths]).astype(np.uint32)
    for name, array in (("ids", ids), ("tokens", tokens), ("ends", ends)):
        array.tofile(folder / name)

    def command(capacities: list[int]) -> list[object]:
        words = [program, "--policy", "batch", "--policies", "lru,optimal"]
        words += ["--ids", folder / "ids", "--tokens", folder / "tokens"]
        words += ["--request-ends", folder / "ends", "--request-count", len(paths)]
        words += ["--total-blocks", len(ids), "--warmup-requests", len(paths) // 2]
        return [*words, "--capacities", ",".join(map(str, capacities))]

    return command
