"""The commands simulate and experiment as a user meets them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kvbounds.cli import main

TINY = ["simulate", "--workload", "gsp:groups=4,prompts=4,lengths=512,rate=8", "--workers", "2"]
CONTRACT = (
    "method",
    "hit_rate",
    "p50_latency_ms",
    "p95_latency_ms",
    "p50_ttft_ms",
    "p95_ttft_ms",
    "throughput_tok_s",
)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    captured = capsys.readouterr()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, captured.out, captured.err


def test_json_is_stable_and_keeps_its_contract(capsys: pytest.CaptureFixture[str]) -> None:
    options = [*TINY, "--router", "lbgr,cache-aware", "--eviction", "rlt", "--format", "json"]
    code, out, _ = call(capsys, *options, "--seeds", "2", "--quiet")
    assert code == 0
    rows = json.loads(out)["rows"]
    assert [row["method"] for row in rows] == ["lbgr + rlt", "cache-aware + rlt"]
    for row in rows:
        assert all(field in row for field in CONTRACT)
        assert "routing_us" not in row
    assert call(capsys, *options, "--seeds", "2", "--quiet")[1] == out


def test_the_table_names_its_denominators(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, *TINY, "--window", "last-half", "--timings")
    assert (code, err) == (0, "")
    assert "8 queries (last-half)" in out
    assert "cached prompt tokens / 4,096 prompt tokens" in out
    assert "routing us" in out


def test_any_policy_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "newest.py").write_text(
        "from theory.eviction import EvictionPolicy\n\n\n"
        "class Newest(EvictionPolicy):\n"
        "    def on_step(self, step):\n        pass\n\n"
        "    def choose(self, leaves):\n        return max(leaves)\n\n\n"
        "class Broken(Newest):\n"
        "    def choose(self, leaves):\n        return leaves[10**6]\n"
    )
    small = [*TINY, "--capacity", "1024", "--jobs", "1", "--quiet", "--eviction"]
    code, out, err = call(capsys, *small, "fifo,slru:threshold=3,newest:Newest", "--format", "json")
    assert (code, err) == (0, "")
    assert [row["eviction"] for row in json.loads(out)["rows"]] == [
        "fifo",
        "slru:threshold=3",
        "newest:Newest",
    ]
    code, out, err = call(capsys, *small, "newest:Broken")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "Broken: finds no victim among" in err
    assert "newest.py, line 14" in err


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.jsonl.gz", "trace", "gsp", "gsp:prompts=2"])
def test_any_existing_file_is_a_trace(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    row = b'{"timestamp": 0, "input_length": 8, "output_length": 1, "hash_ids": [1]}\n'
    (tmp_path / name).write_bytes(gzip.compress(row) if name.endswith(".gz") else row)
    code, out, _ = call(capsys, "simulate", "--trace", name)
    assert code == 0
    assert "1 queries (all)" in out
    assert "8 prompt tokens" in out


def test_finished_runs_are_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    first = call(capsys, *TINY, "--out", str(file), "--seeds", "2")
    again = call(capsys, *TINY, "--out", str(file), "--seeds", "2")
    assert first[1] == again[1]
    assert "run 2 of 2" in first[2]
    assert again[2] == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate"], "exactly one source"),
        (["simulate", "--trace", "none.jsonl"], "none.jsonl: cannot be read"),
        (["simulate", "--trace", "trace.csv"], "trace.csv: cannot be read"),
        ([*TINY, "--router", "fastest"], "unknown router 'fastest'"),
        ([*TINY, "--eviction", "fifi"], "choose from 2q, arc, clock"),
        ([*TINY, "--eviction", "onlinemin"], "does not run on a worker; choose from 2q"),
        ([*TINY, "--capacity", "100"], "with its answer: its footprint of 9 blocks"),
        ([*TINY, "--profile", "h100"], "unknown profile 'h100'"),
        ([*TINY, "--arrivals", "closed"], "closed needs a clients"),
        (["experiment", "ablations"], "unknown experiment 'ablations'"),
        (["experiment", "ablation", "--backend", "slurm"], "unknown backend 'slurm'"),
        (["experiment", "lbgr-traces"], "in the environment variable KVBOUNDS_TRACES"),
    ],
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.delenv("KVBOUNDS_TRACES", raising=False)
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_the_ablation_prints_the_rows_beside_the_papers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ["experiment", "ablation", "--queries", "40", "--seeds", "2", "--jobs", "1"]
    code, out, _ = call(capsys, *options, "--quiet", "--out", str(tmp_path))
    assert code == 0
    for text in ("cache-aware + leaf-lru", "lbgr + rlt", "26,680", "2,263"):
        assert text in out
    assert (tmp_path / "ablation.md").exists()
    value = json.loads((tmp_path / "ablation.json").read_text())
    assert value["schema"] == "kvbounds/experiment/1"
    assert all(field in value["rows"][0] for field in CONTRACT)


def test_the_list_of_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "experiment", "list")
    assert code == 0
    assert "ablation" in out
    assert "workers" in out
