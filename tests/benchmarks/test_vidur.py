"""The simulated cluster against Vidur, another simulator: each latency, without shared prefixes.

Vidur keeps no prefix cache, so no prompts share anything here. Both get the same arrivals, lengths,
memory and iteration times; what is left to differ is how queues, batches and events are handled.
KVBOUNDS_VIDUR_PYTHON names the interpreter that has it (``pip install vidur==0.0.26``).
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
from tests.benchmarks.race import Table

LENGTHS = "gsp:groups=64,prompts=16,ratio=0,lengths=512+1024+2048,output=32,block=16"
"""No prompt is longer than what an iteration takes: Vidur's prefill-first scheduler cuts none."""


@pytest.fixture(name="python")
def _python() -> str:
    python = os.environ.get("KVBOUNDS_VIDUR_PYTHON")
    if python is None and importlib.util.find_spec("vidur") is None:
        pytest.skip("vidur is not installed, and KVBOUNDS_VIDUR_PYTHON names no interpreter")
    return python or sys.executable


def vidur(python: str, setting: Setting) -> dict[str, Any]:
    """Vidur's latencies, request by request."""
    trace, (profile, *_) = setting.trace(), setting.profiles()
    columns = (trace.timestamp, trace.input_length, trace.output_length)
    given = {
        "times_ms": [
            profile.fixed_ms,
            profile.prefill_ms_per_token,
            profile.decode_ms_per_sequence,
            profile.context_ms_per_token,
        ],
        "block_size": trace.block_size,
        "capacity": profile.capacity,
        "scheduler": setting.scheduler,
        "chunk": setting.chunk,
        "max_running": setting.max_running,
        "workers": setting.workers,
        "requests": list(zip(*(column.tolist() for column in columns), strict=True)),
    }
    done = subprocess.run(
        [python, str(Path(__file__).with_name("vidur_peer.py"))],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    ("scheduler", "rate"),
    [("prefill-first", 8), ("prefill-first", 16), ("mixed", 8), ("mixed", 16), ("mixed", 24)],
)
def test_every_latency_is_vidurs(python: str, table: Table, scheduler: str, rate: int) -> None:
    setting = Setting(
        f"{LENGTHS},rate={rate}",
        router="round-robin",
        speed=1.25,
        scheduler=scheduler,
        reserve=0.0,  # Vidur admits without a reserve for the answers
    )
    theirs = vidur(python, setting)
    began = time.perf_counter()
    ours = setting.simulate()
    seconds = time.perf_counter() - began
    assert theirs["restarts"] == 0
    assert ours.hits.sum() == 0
    first, last = ours.first_token - ours.arrival, ours.finish - ours.arrival
    assert np.abs(first - np.array(theirs["first_ms"])).max() < 1e-6
    assert np.abs(last - np.array(theirs["last_ms"])).max() < 1e-6
    table.add(
        f"{len(last):,} queries at {rate}/s, {scheduler}, P50 latency {np.median(last):,.1f} ms",
        f"{seconds:.2f} s",
        f"{theirs['seconds']:.2f} s",
        f"{theirs['seconds'] / seconds:.1f}x",
        "",
    )
