"""The prefix caches of the simulated cluster against those of Dynamo's mocker, query by query.

Dynamo's mocker stands in for vLLM's engine: prefix caching in blocks, LRU. Its times are those of
another GPU, so queries come one at a time here, and what is compared is what each finds cached.
KVBOUNDS_DYNAMO_PYTHON names the interpreter that has it: ``pip install ai-dynamo-runtime==1.6.1``,
then ``pip install --no-deps ai-dynamo==1.6.1``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from empirical.experiments.setting import Setting
from empirical.traces.mooncake import dump
from tests.benchmarks.race import Table

ALONE = "regular:rate=0.001"
GSP = Setting("gsp:groups=64,prompts=16,block=64", router="round-robin", arrivals=ALONE)
LARGE = GSP.but(profile="llama-3.1-70b-h200x4")


@pytest.fixture(name="python")
def _python() -> str:
    python = os.environ.get("KVBOUNDS_DYNAMO_PYTHON")
    if python is None and importlib.util.find_spec("dynamo") is None:
        pytest.skip("dynamo is not installed, and KVBOUNDS_DYNAMO_PYTHON names no interpreter")
    return python or sys.executable


def dynamo(python: str, setting: Setting, file: Path) -> dict[str, Any]:
    """What Dynamo reuses, request by request."""
    trace, capacity = setting.trace(), setting.profiles()[0].capacity
    assert capacity is not None
    dump(trace, file)
    blocks = capacity // trace.block_size
    words = [python, Path(__file__).with_name("dynamo_peer.py"), file]
    words += [setting.workers, blocks, trace.block_size, setting.chunk]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    ("name", "setting", "share"),
    [
        ("gsp", GSP, 1.0),
        ("conversation", LARGE.but(workload="mooncake_conversation_trace.jsonl"), 0.99),
        ("synthetic", LARGE.but(workload="mooncake_synthetic_trace.jsonl"), 0.98),
    ],
)
def test_the_same_prompts_are_found_cached(
    python: str,
    traces: Path,
    table: Table,
    tmp_path: Path,
    name: str,
    setting: Setting,
    share: float,
) -> None:
    """Two things differ: only here may the last block be partial, and there a prompt takes its
    blocks chunk by chunk, so that another one is evicted now and then.
    """
    theirs = dynamo(python, setting, tmp_path / "trace.jsonl")
    began = time.perf_counter()
    ours = setting.simulate()
    seconds = time.perf_counter() - began
    assert ours.worker.tolist() == theirs["worker"]
    assert sum(worker.evicted for worker in ours.workers) > 1000
    hits = np.array(theirs["hits"])
    same = float(np.mean(ours.hits == hits))
    tokens = ours.length.sum()
    table.add(
        f"{name}: {same:.2%} of {len(hits):,} queries find the same; hit rates "
        f"{ours.hits.sum() / tokens:.2%} and {hits.sum() / tokens:.2%}",
        f"{seconds:.2f} s",
        f"{theirs['seconds']:.2f} s",
        f"{theirs['seconds'] / seconds:.2f}x",
        f">= {share:.0%} the same",
    )
    assert same >= share
