"""``kvbounds curve``: files, tables, and one line for what is wrong."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from empirical.traces.mooncake import dump
from tests.cli.command import call, fails
from tests.empirical.test_curve import conversations

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A small trace on disk."""
    path = tmp_path / "talks.jsonl"
    dump(conversations(), path)
    return path


def test_writes_three_files_and_prints_the_same_json(
    trace: Path, tmp_path: Path, capsys: Capture
) -> None:
    arguments = ["curve", "--trace", trace, "--policy", "leaf-lru,rlt,opt,opt-bypass"]
    arguments += ["--capacities", "4,40,80", "--seeds", 3, "--out", tmp_path / "out"]
    done = call(capsys, *arguments, "--format", "json")
    assert done.code == 0
    assert "no values at 4 without bypass: the largest step needs a capacity of" in done.err
    assert done.json == json.loads((tmp_path / "out" / "curve.json").read_text())
    (entry,) = done.json["traces"]
    assert entry["trace"] == "talks"
    assert set(entry["policies"]) == {"leaf-lru", "rlt", "opt", "opt-bypass"}
    for columns in entry["policies"].values():
        assert columns["capacity"] == [4, 40, 80]
        assert len(columns["hit_rate"]) == len(columns["ratio"]) == 3
    assert entry["policies"]["rlt"]["seeds"] == 3
    assert (tmp_path / "out" / "curve.csv").read_text().startswith("trace,policy,capacity,")
    assert (tmp_path / "out" / "curve.png").read_bytes().startswith(b"\x89PNG")
    again = call(capsys, *arguments, "--format", "json", "--jobs", 3)
    assert again.out == done.out


def test_tells_what_the_numbers_mean(trace: Path, capsys: Capture) -> None:
    done = call(capsys, "curve", "--trace", trace, "--trace", trace, "--window", "last-half")
    assert done.code == 0
    assert done.out.count("talks: hit rate") == 2
    assert "prompt tokens of the last half of the 120 requests" in done.out
    assert "in a cache without limit" in done.out
    assert "rlt: means over 20" in done.out


def test_pages_of_tokens(trace: Path, capsys: Capture) -> None:
    done = call(
        capsys, "curve", "--trace", trace, "--unit", "token", "--page-size", 4,
        "--capacities", "400,800", "--policy", "leaf-lru,fifo,opt", "--format", "json",
    )  # fmt: skip
    (entry,) = done.json["traces"]
    assert entry["capacity_unit"] == "tokens, kept in whole pages of 4"
    assert entry["policies"]["fifo"]["ratio"][0] >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--capacities", "0"], "capacity: 0 is not a positive whole number"),
        (
            ["--policy", "rlt", "--capacities", "3"],
            "blocks exceeds the capacity 3; raise the capacity to at least",
        ),
        (["--capacities", "many"], "--capacities: 'many' is not an integer"),
        (["--capacities", "9" * 30], "is more than any trace has"),
        (["--policy", "nope"], "unknown eviction policy 'nope'"),
        (["--policy", ","], "--policy: the list is empty"),
        (["--page-size", "40", "--capacities", "7"], "7 holds no page of 40"),
        (["--window", "half"], "--window"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, trace: Path, capsys: Capture
) -> None:
    fails(call(capsys, "curve", "--trace", trace, *arguments), 2, message)


def test_a_trace_that_memory_cannot_hold(
    trace: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "talks.jsonl.gz"
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    assert call(capsys, "curve", "--trace", packed, "--policy", "leaf-lru").code == 0
    monkeypatch.setattr("theory.memory.available_memory", lambda: 1000)
    for path in (trace, packed):
        fails(
            call(capsys, "curve", "--trace", path, "--policy", "leaf-lru"),
            2,
            f"{path}: the trace needs about 0.0 GiB of memory, 0.0 GiB are available",
        )


def test_a_limit_on_memory_is_respected(trace: Path) -> None:
    resource = pytest.importorskip("resource")
    from theory.memory import available_memory

    free = available_memory()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 40, hard))
        assert available_memory() == pytest.approx(min(free or 1 << 40, 1 << 40), rel=0.2)
        resource.setrlimit(resource.RLIMIT_AS, (1, hard))
        assert (available_memory() or 0) < 0
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_short_sequences_do_not_load_the_compiler(trace: Path) -> None:
    code = (
        "import sys; from kvbounds.cli import main\n"
        f"try: main(['curve', '--trace', {str(trace)!r}, '--policy', 'leaf-lru,opt', '--quiet'])\n"
        "except SystemExit: print([m for m in ('numba', 'scipy', 'sympy', 'matplotlib', 'pulp')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
