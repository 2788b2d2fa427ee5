"""What the plugin's evictions cost against SGLang's own Python tree, per evicted token.

``KVBOUNDS_SGLANG_PYTHON`` names a Python that has SGLang, if this one has not.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.race import Table


def test_eviction_time(table: Table) -> None:
    python = os.environ.get("KVBOUNDS_SGLANG_PYTHON")
    if python is None and importlib.util.find_spec("sglang") is None:
        pytest.skip("SGLang is not installed, and KVBOUNDS_SGLANG_PYTHON names no Python with it")
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [python or sys.executable, "-m", "tests.benchmarks.sglang_eviction"],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    own = found.pop("lru")
    for name, ours in found.items():
        for page_size, spent in ours.items():
            table.add(
                f"evicting by {name}, page size {page_size}",
                f"{spent:.0f} ns/token",
                f"{own[page_size]:.0f} ns/token",
                f"{own[page_size] / spent:.2f}x",
                ">= 1x",
            )
