"""The policy zoo: one table of all policies, and its figure."""

from __future__ import annotations

import json

import pytest

from empirical.traces.mooncake import load
from empirical.zoo import exact_worst, on_trace, zoo_row
from kvbounds.cli import main
from theory.errors import InadmissibleStepError, PolicyError
from theory.exact.cycle import cycle_ratio
from theory.model import Instance

TRACE = "".join(
    json.dumps(
        {
            "timestamp": 100 * i,
            "input_length": 1024,
            "output_length": 1,
            "hash_ids": [0, 1 + i % 5],
        }
    )
    + "\n"
    for i in range(60)
)


def call(capsys, *arguments):
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as end:
        main(["zoo", *arguments])
    streams = capsys.readouterr()
    return end.value.code, streams.out, streams.err


@pytest.mark.parametrize(
    ("policy", "ratio"),
    [("leaf-lru", "2"), ("clock-clear", "3"), ("slru", "unbounded"), ("rlt", "2")],
)
def test_exact_ratios_on_small_tries(policy, ratio):
    # Leaf-LRU: B. Without a bit at insertion: 2 B - 1. rlt: 2 H_2 - 1.
    assert exact_worst(policy) == ratio


def test_a_row_tells_what_is_known():
    row = zoo_row("leaf-lru", capacity=3, evaluations=100)
    assert row.score.ratio == 3
    assert row.proved == ("deterministic-lower", "3", "marking-upper", "3")
    assert row.marking.violation is None
    assert cycle_ratio(row.witness, "leaf-lru").ratio == 3


def test_table_and_figure(capsys, tmp_path):
    trace = tmp_path / "t.jsonl"
    trace.write_text(TRACE)
    folder = tmp_path / "zoo"
    options = ["--out", str(folder), "--policy", "leaf-lru,mru,arc", "--capacity", "2"]
    options += ["--evaluations", "1", "--trace", str(trace), "--blocks", "3"]
    code, out, err = call(capsys, *options)
    assert code == 0
    assert "zoo.json" in err
    shown, on_the_trace = out.split("\n\n")
    assert [line.split()[0] for line in shown.splitlines()[2:]] == ["leaf-lru", "mru", "arc"]
    names, rates = zip(*(line.split()[:2] for line in on_the_trace.splitlines()[3:]), strict=True)
    assert names == ("leaf-lru", "mru", "arc")
    assert float(rates[0]) == round(59 / 120, 4)
    table = json.loads((folder / "zoo.json").read_text())
    by_name = {row["policy"]: row for row in table["rows"]}
    assert by_name["mru"]["ratio"] == "unbounded"
    assert by_name["leaf-lru"]["growth"] == "linear"
    for row in by_name.values():
        witness = Instance.from_json(row["witness"])
        assert cycle_ratio(witness, row["policy"]).text == row["ratio"]
        # Five leaves in turn below a shared block, room for two of them.
        measured = row["traces"][load(trace).name]
        assert measured["tokens"] == 60 * 1024
        assert measured["hit_rate"] <= measured["opt_hit_rate"] < 1
    assert by_name["leaf-lru"]["traces"][load(trace).name]["hits"] == 59 * 512
    worst, real = (folder / "zoo.md").read_text().split("\n\n")
    # The best worst case first; a header and a ruler above, the optimum below.
    assert [line.split("`")[1] for line in worst.splitlines()[2:]] == ["arc", "leaf-lru", "mru"]
    assert [line.split()[1] for line in real.splitlines()[2:]][-1] == "optimum"
    for lines in (worst.splitlines(), real.splitlines()):
        assert len({line.count(" | ") for line in lines}) == 1
    assert (folder / "zoo.png").read_bytes().startswith(b"\x89PNG")
    again = call(capsys, *options, "--format", "json", "--quiet")
    assert json.loads(again[1]) == table


def test_a_long_trace_without_a_kernel_is_left_out(tmp_path, monkeypatch):
    trace = tmp_path / "t.jsonl"
    trace.write_text(TRACE)
    monkeypatch.setattr("empirical.ratio.MAX_OPERATIONS", 10)
    assert on_trace("tests.exact.policies:FirstLeaf", load(trace), 3) is None
    assert on_trace("leaf-lru", load(trace), 3) is not None


def test_a_fault_on_a_trace_is_no_dash_in_the_table(tmp_path):
    trace = tmp_path / "t.jsonl"
    trace.write_text(TRACE)
    with pytest.raises(InadmissibleStepError):
        on_trace("leaf-lru", load(trace), 1)
    with pytest.raises(PolicyError, match="not an evictable leaf"):
        on_trace("tests.cases.own_policies:NamesAList", load(trace), 3)


def test_traces_that_cannot_be_measured_are_told_before_the_attacks(capsys, tmp_path, monkeypatch):
    trace = tmp_path / "t.jsonl"
    trace.write_text(TRACE)
    monkeypatch.setattr("empirical.zoo.zoo_row", None)
    options = ("--out", str(tmp_path / "zoo"), "--policy", "mru", "--trace", str(trace))
    code, _, err = call(capsys, *options, "--blocks", "1")
    assert (code, "exceeds the capacity 1" in err) == (2, True)
    code, _, err = call(capsys, *options, "--trace", str(trace))
    assert (code, "two traces have this name" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policy", "nope"], "unknown eviction policy 'nope'"),
        (["--policy", "mru", "--capacity", "0"], "0 is not a positive whole number"),
        (["--policy", "mru", "--trace", "missing.jsonl"], "missing.jsonl"),
        (["--policy", ","], "--policy: the list is empty"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(capsys, tmp_path, arguments, words):
    code, out, err = call(capsys, "--out", str(tmp_path / "zoo"), *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
