"""``kvbounds replay`` and ``calibrate`` over fake servers: prompts, faults, reports."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adversary.families import cyclic
from empirical.calibration import fit_times, profile_of
from empirical.sglang.plan import of_instance, vocabulary
from tests.cli.command import call, fails
from tests.sglang.processes import fake_python, free_ports, kvbounds, listening, until
from theory.model import Instance
from theory.trie import TokenTrie

WORKLOAD = ("--workload", "gsp:groups=2,prompts=6,scale=1/16")


def run(folder: Path, *arguments: object, fault: str = "", count: int = 2) -> tuple[Any, str, int]:
    """Replay on fake workers; the report, stderr and the exit code."""
    report = folder / "report.json"
    start = ("--start", count, "--port", free_ports(count), "--python", fake_python(folder))
    process = kvbounds("replay", *arguments, *start, "--out", report, "--quiet", fault=fault)
    _, err = process.communicate(timeout=120)
    return json.loads(report.read_text()) if report.exists() else None, err, process.returncode


@pytest.mark.parametrize("mode", ["sequential", "batch", "timestamps"])
def test_every_query_once(tmp_path: Path, mode: str) -> None:
    """All queries come back with what was predicted, whatever the mode."""
    report, err, code = run(tmp_path, *WORKLOAD, "--mode", mode, "--batch", 4)
    assert (code, err) == (0, "")
    assert report["schema"] == "kvbounds/replay/1"
    assert report["complete"]
    assert report["failures"] == []
    assert sorted(row["query"] for row in report["rows"]) == list(range(12))
    assert {row["worker"] for row in report["rows"]} == {0, 1}
    assert report["summary"]["measured_hits"] == sum(r["measured_hits"] for r in report["rows"])
    if mode == "sequential":
        assert report["summary"]["exact_rows"] == 12
        assert report["fit"]["queries"] == 12
    else:
        assert report["fit"] is None


@pytest.mark.parametrize("fault", ["die-after:4", "error-after:4", "cut-after:4", "hang-after:4"])
def test_a_worker_fails(tmp_path: Path, fault: str) -> None:
    """One of two workers fails in mid-run: its query goes to the other, nothing is counted twice.

    The other one fails later, at its own fourth request: what was finished is kept.
    """
    report, err, code = run(tmp_path, *WORKLOAD, "--timeout", 2, fault=fault)
    assert code == 2
    assert err.count("\n") == 1
    assert "queries were not answered, and no worker is left" in err
    assert not report["complete"]
    done = [row["query"] for row in report["rows"]]
    assert done == list(range(4))  # two a worker, after the request that warms it up
    assert [(f["query"], f["worker"]) for f in report["failures"]] == [(4, 0), (4, 1)]
    assert report["summary"]["exact_rows"] == 4


def test_one_of_two_workers_fails(tmp_path: Path) -> None:
    """The survivor answers everything that is left."""
    folders = [tmp_path / name for name in ("good", "bad")]
    port = free_ports(2)
    processes = []
    for folder, fault, number in zip(folders, ("", "error-after:4"), (port, port + 1), strict=True):
        folder.mkdir()
        options = ("--port", number, "--python", fake_python(folder), "--quiet")
        processes.append(kvbounds("workers", "start", *options, fault=fault))
    try:
        urls = [process.stdout.readline().strip() for process in processes if process.stdout]
        out = tmp_path / "report.json"
        words = [word for url in urls for word in ("--worker", url)]
        process = kvbounds("replay", *WORKLOAD, *words, "--out", out, "--mode", "batch")
        stdout, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert "failed: query" in stdout
        report = json.loads(out.read_text())
        assert sorted(row["query"] for row in report["rows"]) == list(range(12))
        assert len(report["failures"]) == 1
        assert "answered 500" in report["failures"][0]["error"]
        assert sum(row["worker"] == 1 for row in report["rows"]) == 2
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C keeps what has come back, and stops the workers."""
    port = free_ports(1)
    out = tmp_path / "report.json"
    start = ("--start", 1, "--port", port, "--python", fake_python(tmp_path))
    process = kvbounds("replay", *WORKLOAD, *start, "--out", out, "--quiet", fault="hang-after:6")
    log = tmp_path / "seen"
    assert until(lambda: listening(port))
    assert not until(log.exists, 2)  # long enough for the first five requests
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    report = json.loads(out.read_text())
    assert [row["query"] for row in report["rows"]] == [0, 1, 2, 3]
    assert not report["complete"]
    assert not listening(port)


ROWS = [
    {
        "prompt_tokens": prompt,
        "output_tokens": output,
        "measured_hits": hits,
        "ttft_ms": 5 + 0.25 * (prompt - hits) + 0.125 * hits,
        "latency_ms": 5
        + 0.25 * (prompt - hits)
        + 0.125 * hits
        + sum(2 + 0.5 * (prompt + i) for i in range(1, output)),
    }
    for prompt, hits, output in [(10, 0, 3), (10, 4, 1), (30, 16, 5), (50, 8, 9), (70, 64, 2)]
]
"""Times that follow the linear model exactly."""


def test_calibrate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, profile = tmp_path / "report.json", tmp_path / "profile.json"
    value = {"schema": "kvbounds/replay/1", "name": "x", "workers": []}
    report.write_text(json.dumps(value | {"fit": fit_times(ROWS), "rows": ROWS}))
    done = call(capsys, "calibrate", report, "--out", profile, "--format", "json")
    assert done.code == 0
    assert done.json == json.loads(profile.read_text())
    assert done.json["schema"] == "kvbounds/profile/1"
    assert done.json["prefill_ms_per_token"]["value"] == pytest.approx(0.25)
    assert done.json["decode_ms_per_sequence"]["value"] == pytest.approx(2)
    short = [row | {"output_tokens": 1} for row in ROWS]
    report.write_text(json.dumps(value | {"fit": fit_times(short), "rows": short}))
    table = call(capsys, "calibrate", report)
    assert table.code == 0
    assert "decode_ms_per_sequence       -  not told by this replay" in table.out


def test_a_profile_has_no_negative_times() -> None:
    """Where cached tokens seem to save time, the others are fitted without them."""
    rows = [row | {"ttft_ms": 50 + 0.25 * row["prompt_tokens"]} for row in ROWS]
    rows = [row | {"ttft_ms": row["ttft_ms"] - 0.5 * row["measured_hits"]} for row in rows]
    fit = fit_times(rows)
    assert fit["alpha_cached_ms"]["value"] == pytest.approx(-0.25)
    report = {"name": "x", "workers": [], "fit": fit, "rows": rows}
    profile = profile_of(report, "report")
    assert profile["cached_ms_per_token"] == {"value": 0, "low": 0, "high": 0}
    misses = np.array([row["prompt_tokens"] - row["measured_hits"] for row in rows])
    slope, intercept = np.polyfit(misses, [row["ttft_ms"] for row in rows], 1)
    assert profile["prefill_ms_per_token"]["value"] == pytest.approx(slope)
    assert profile["fixed_ms"]["value"] == pytest.approx(intercept)


def test_the_fit_is_exact_on_exact_times() -> None:
    fit = fit_times(ROWS)
    for name, value in {
        "fixed_ms": 5,
        "alpha_miss_ms": 0.25,
        "alpha_cached_ms": 0.125,
        "decode_ms": 2,
        "context_ms": 0.5,
    }.items():
        assert fit[name]["value"] == pytest.approx(value)
        assert fit[name]["high"] - fit[name]["low"] < 1e-6


def test_what_cannot_be_told_is_not_told() -> None:
    """Hits and misses that always add up to the same leave one coefficient open."""
    rows = [
        {
            "prompt_tokens": 20,
            "output_tokens": 1,
            "measured_hits": hits,
            "ttft_ms": float(hits),
            "latency_ms": float(hits),
        }
        for hits in (3, 5, 9, 11)
    ]
    fit = fit_times(rows)
    assert fit["alpha_cached_ms"] is None
    assert fit["decode_ms"] is None
    assert fit["alpha_miss_ms"] is not None
    assert fit_times(rows[:1])["alpha_miss_ms"] is None
    assert fit_times([])["queries"] == 0


@pytest.mark.parametrize("stretch", [1, 3])
def test_prompts_share_what_the_queries_share(stretch: int) -> None:
    instance = cyclic(capacity=9, length=4)
    plan = of_instance(instance, cycles=2, stretch=stretch)
    assert len(plan.prompts) == 2 * len(instance.cycle) + len(instance.prefix)
    ends = [query for step in instance.unrolled(2).steps for query in step]
    for first, mine in zip(ends, plan.prompts, strict=True):
        for second, other in zip(ends, plan.prompts, strict=True):
            both = set(instance.trie.path(first)) & set(instance.trie.path(second))
            same = 0
            while same < min(len(mine), len(other)) and mine[same] == other[same]:
                same += 1
            assert same == stretch * len(both)


def test_more_tokens_than_token_ids() -> None:
    """Ids are used again, but never for two siblings."""
    span = 31_997
    trie = TokenTrie.from_parents([-1] * 3 + [2] * 4 + [2] * (span - 4))
    ids = vocabulary(trie)
    children = [ids[token] for token, parent in enumerate(trie.parents()) if parent == 2]
    assert len(set(children)) == len(children) == span
    assert min(ids) >= 3
    assert max(ids) < 32_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "exactly one source of queries"),
        ((*WORKLOAD, "--trace", "x"), "exactly one source of queries"),
        (WORKLOAD, "use --worker URL or --start N"),
        ((*WORKLOAD, "--start", 1, "--worker", "http://a:1"), "use --worker URL or --start N"),
        ((*WORKLOAD, "--worker", "ftp://a"), "no URL of a worker"),
        ((*WORKLOAD, "--worker", "http://a:b"), "no URL of a worker"),
        ((*WORKLOAD, "--worker", "http://127.0.0.1:9"), "http://127.0.0.1:9 failed"),
        ((*WORKLOAD, "--start", 1, "--capacity", 40), "tokens do not fit a worker of 40"),
        ((*WORKLOAD, "--start", 1, "--router", "oracle"), "oracle"),
        (("--instance", "nowhere.json", "--start", 1), "cannot be read"),
    ],
)
def test_bad_usage(
    capsys: pytest.CaptureFixture[str], arguments: tuple[object, ...], message: str
) -> None:
    fails(call(capsys, "replay", "--quiet", *arguments), 2, message)


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ({"schema": "kvbounds/instance/1"}, "has schema"),
        ({"schema": "kvbounds/replay/1", "fit": None}, "has no fitted times"),
        (
            {
                "schema": "kvbounds/replay/1",
                "name": "x",
                "workers": [],
                "fit": {
                    "queries": 9,
                    "alpha_miss_ms": {"value": -2.0, "low": -3.0, "high": -1.0},
                },
            },
            "a missed token takes -2 ms",
        ),
    ],
)
def test_bad_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], report: object, message: str
) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    fails(call(capsys, "calibrate", path), 2, message)


def test_instances_of_one_query(tmp_path: Path) -> None:
    """The least that can be replayed."""
    path = tmp_path / "one.json"
    Instance(TokenTrie.from_parents([-1]), 1, [[0]], name="one").save(path)
    report, err, code = run(tmp_path, "--instance", path, "--capacity", 16, count=1)
    assert (code, err) == (0, "")
    assert report["summary"]["computed_tokens"] == 1
