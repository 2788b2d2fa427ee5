"""How kernels run: helpers, the compiler and its cache, patience."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory.engine import Flat, bits, expect, fenwick, heap, simulate, twister
from theory.engine import kernel as kernels
from theory.engine.arrays import StepCounts
from theory.engine.lru import leaf_lru

ROOT = Path(__file__).parents[2]


@given(st.integers(0, 2**70), st.lists(st.integers(1, 2**31), min_size=1, max_size=50))
def test_draws_are_those_of_python(seed: int, limits: list[int]) -> None:
    state, python = twister.seeded(seed), random.Random(seed)
    assert [twister.below(state, n) for n in limits] == [python.randrange(n) for n in limits]


def test_draws_are_those_of_python_beyond_one_block_of_words() -> None:
    state, python = twister.seeded(7), random.Random(7)
    limits = [3 + i % 1000 for i in range(5000)]
    assert [twister.below(state, n) for n in limits] == [python.randrange(n) for n in limits]


@given(st.integers(1, 5000), st.data())
def test_sets_of_bits(limit: int, data: st.DataObject) -> None:
    words, begin = bits.empty(limit)
    members: set[int] = set()
    for _ in range(data.draw(st.integers(1, 40))):
        member = data.draw(st.integers(0, limit - 1))
        if member in members:
            bits.remove(words, begin, member)
        else:
            bits.add(words, begin, member)
        members ^= {member}
        if members:
            assert bits.largest(words, begin) == max(members)
        else:
            assert not words.any()


@given(st.integers(1, 300), st.data())
def test_sets_with_ranks(limit: int, data: st.DataObject) -> None:
    tree = fenwick.empty(limit)
    members: set[int] = set()
    for _ in range(data.draw(st.integers(1, 40))):
        member = data.draw(st.integers(0, limit - 1))
        fenwick.change(tree, member, -1 if member in members else 1)
        members ^= {member}
        for rank, expected in enumerate(sorted(members)):
            assert fenwick.kth(tree, rank) == expected


@given(st.lists(st.tuples(*[st.integers(1, 9)] * 3), max_size=200))
def test_heap_of_fractions(entries: list[tuple[int, int, int]]) -> None:
    array = heap.new_heap()
    for entry in entries:
        array = heap.push(array, *entry)
    popped = [tuple(map(int, heap.pop(array))) for _ in entries]
    assert sorted(popped) == sorted(entries)
    keys = [(numerator / denominator, age) for numerator, denominator, age in popped]
    assert keys == sorted(keys)


@pytest.fixture(name="flat")
def _flat() -> Flat:
    return Flat(np.array([-1, -1, -1]), np.arange(101), np.arange(100) % 3)


def test_patience_has_an_end(flat: Flat, monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[str] = []
    monkeypatch.setattr(kernels, "_interpreted", 0)
    monkeypatch.setattr(kernels, "PATIENCE", 250)
    for way in ("interpreted", "compiled"):
        monkeypatch.setattr(
            kernels.Kernel, way, property(lambda _, way=way: lambda *_: ways.append(way))
        )
    for _ in range(4):
        leaf_lru(flat.runs, 2, StepCounts.empty(flat.steps))
    assert ways == ["interpreted", "interpreted", "compiled", "compiled"]


def test_much_work_is_compiled_at_once(flat: Flat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_interpreted", 0)
    monkeypatch.setattr(kernels, "PATIENCE", 250)
    expect(200)
    assert kernels._interpreted == 0
    expect(251)
    monkeypatch.setattr(kernels.Kernel, "interpreted", property(lambda _: pytest.fail))
    assert simulate(flat, "leaf-lru", 2).misses.sum() == 100


COMPILE = """
from theory.engine import kernel
kernel.expect(2**62)
import numpy as np
from theory.engine import Flat, simulate
flat = Flat(np.array([-1, -1, -1]), np.arange(101), np.arange(100) % 3)
print(simulate(flat, "leaf-lru", 2).misses.sum(), simulate(flat, "leaf-lru", 3).misses.sum())
"""


def compiled_elsewhere(folder: Path, cache: Path) -> str:
    """Run kernels from a copy of the package that keeps no cache beside the source."""
    copy = folder / "site"
    if not copy.exists():
        shutil.copytree(ROOT / "theory", copy / "theory", ignore=shutil.ignore_patterns("__py*"))
        (copy / "theory" / "engine" / "__pycache__").write_text("a file, so no folder can be made")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA"))}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE],
        env={**kept, "PYTHONPATH": str(copy), "HOME": str(cache), "XDG_CACHE_HOME": str(cache)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
def test_a_read_only_package_keeps_its_kernels_in_the_cache_folder_of_the_user(
    tmp_path: Path,
) -> None:
    assert compiled_elsewhere(tmp_path, tmp_path / "cache") == "100 3\n"
    (index,) = (tmp_path / "cache").rglob("*.nbi")
    assert index.name.startswith("lru.leaf_lru")
    index.write_bytes(b"damaged")
    assert compiled_elsewhere(tmp_path, tmp_path / "cache") == "100 3\n"


@pytest.mark.slow
def test_kernels_run_where_nothing_can_be_kept(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    assert compiled_elsewhere(tmp_path, nowhere / "cache") == "100 3\n"
