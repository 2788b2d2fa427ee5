"""Against the real RadixCache of SGLang, in tokens per second.

``KVBOUNDS_SGLANG_PYTHON`` names a Python that has SGLang, if this one has not.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.race import Table, best
from theory.engine import Flat, simulate
from theory.engine import kernel as kernels
from theory.trie import TokenTrie

QUERIES, LENGTH, SHARED, PREFIXES, CAPACITY = 2000, 512, 256, 200, 65536


def test_radix_cache(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = os.environ.get("KVBOUNDS_SGLANG_PYTHON")
    if python is None and importlib.util.find_spec("sglang") is None:
        pytest.skip("SGLang is not installed, and KVBOUNDS_SGLANG_PYTHON names no Python with it")
    monkeypatch.setattr(kernels, "PATIENCE", -1)
    rng = np.random.default_rng(0)
    shared = rng.integers(0, 32000, (PREFIXES, SHARED))
    weight = 1 / np.arange(1, PREFIXES + 1)
    chosen = rng.choice(PREFIXES, QUERIES, p=weight / weight.sum())
    own = rng.integers(0, 32000, (QUERIES, LENGTH - SHARED))
    queries = np.hstack([shared[chosen], own])
    (tmp_path / "queries.json").write_text(json.dumps(queries.tolist()))

    trie, ends = TokenTrie.from_sequences(queries.tolist())
    parent = np.array(trie.parents())
    flat = Flat(parent, np.arange(QUERIES + 1), np.array(ends))
    hits = int(simulate(flat, "sglang-lru", CAPACITY).hits.sum())
    ours = best(lambda: simulate(flat, "sglang-lru", CAPACITY), turns=20)
    prepared = best(lambda: Flat(flat.parent, flat.step_start, flat.query).runs, turns=20)

    script = Path(__file__).with_name("sglang_radix.py")
    done = subprocess.run(
        [python or sys.executable, str(script), str(tmp_path), str(CAPACITY)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout.splitlines()[-1])
    assert theirs["hits"] == hits
    tokens = QUERIES * LENGTH
    for what, seconds, target in (
        ("2,000 queries of 512 tokens, sglang-lru, simulation alone", ours, ">= 20x"),
        ("  the same with the arrays prepared anew", ours + prepared, ""),
    ):
        table.add(
            what,
            f"{tokens / seconds / 1e6:.0f} M tokens/s",
            f"{tokens / theirs['seconds'] / 1e6:.1f} M tokens/s",
            f"{theirs['seconds'] / seconds:.0f}x",
            target,
        )
    assert theirs["seconds"] >= 20 * ours
