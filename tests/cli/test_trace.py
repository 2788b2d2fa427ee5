"""The commands ``kvbounds trace inspect, generate, convert``."""

from __future__ import annotations

from pathlib import Path

import pytest

from empirical.traces.mooncake import load
from tests.cli.command import call, fails
from theory.model import Instance

Capture = pytest.CaptureFixture[str]


def make(capsys: Capture, path: Path, *options: object) -> Path:
    done = call(capsys, "trace", "generate", "--requests", 60, "--out", path, *options)
    assert done == (0, "", done.err)
    return path


def test_generate_inspect(capsys: Capture, tmp_path: Path) -> None:
    path = make(capsys, tmp_path / "t.jsonl.gz", "--seed", 3, "--block-size", 64)
    trace = load(path)
    told = call(capsys, "trace", "inspect", path, "--format", "json").json
    assert told["schema"] == "kvbounds/trace-summary/1"
    assert (told["requests"], told["block_size"], told["name"]) == (60, 64, "t")
    assert told["blocks"] == int(trace.blocks.sum())
    assert told["distinct_blocks"] == len(trace.parent)
    assert told["u"] == int(trace.blocks.min())
    table = call(capsys, "trace", "inspect", path)
    assert table.code == 0
    assert f"{told['u']} (= u) to {told['longest']} blocks a request" in table.out


def test_generate_is_seeded(capsys: Capture, tmp_path: Path) -> None:
    one, two, other = (
        make(capsys, tmp_path / f"{name}.jsonl.gz", "--seed", seed).read_bytes()
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert one == two != other


def test_convert_there_and_back(capsys: Capture, tmp_path: Path) -> None:
    plain = make(capsys, tmp_path / "t.jsonl")
    packed, again = tmp_path / "p.jsonl.gz", tmp_path / "again.jsonl"
    for source, target in ((plain, packed), (packed, again)):
        assert call(capsys, "trace", "convert", source, "--out", target).code == 0
    assert again.read_bytes() == plain.read_bytes()


def test_convert_cuts_and_reblocks(capsys: Capture, tmp_path: Path) -> None:
    plain, cut = make(capsys, tmp_path / "t.jsonl"), tmp_path / "cut.jsonl"
    options = ["--rows", 20, "--longest", 4000, "--block-size", 128, "--quiet"]
    done = call(capsys, "trace", "convert", plain, "--out", cut, *options)
    assert done == (0, "", "")
    before = [n for n in load(plain, limit=20).input_length.tolist() if n <= 4000]
    trace = load(cut)
    assert trace.input_length.tolist() == before
    assert trace.block_size == 128


def test_convert_to_an_instance_and_back(capsys: Capture, tmp_path: Path) -> None:
    plain = make(capsys, tmp_path / "t.jsonl")
    path, back = tmp_path / "i.json", tmp_path / "back.jsonl"
    options = ["--capacity", 100, "--batch", 2]
    done = call(capsys, "trace", "convert", plain, "--out", path, *options)
    assert done.code == 0
    instance = Instance.load(path)
    assert (instance.capacity, len(instance.steps)) == (100, 30)
    assert done.err == f"{path}: 30 steps on {len(instance.trie)} tokens\n"
    assert call(capsys, "trace", "convert", path, "--out", back, "--rows", 7).code == 0
    assert len(load(back)) == 7
    ratio = call(capsys, "ratio", "--instance", path, "--format", "json").json
    trace = call(
        capsys, "ratio", "--trace", plain, "--capacity", 100, "--batch", 2, "--format", "json"
    ).json
    assert ratio["rows"][0]["run_misses"] == trace["rows"][0]["run_misses"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generate", "--out", "t.txt"], "--out: 't.txt' is of no known kind; end it with .jsonl"),
        (["generate"], "Missing option '--out'"),
        (["generate", "--out", "t.jsonl", "--requests", "0"], "requests: 0 is not a positive"),
        (["generate", "--out", "t.jsonl", "--turns", "0"], "turns: 0.0 is not a number of at"),
        (["generate", "--out", "no/t.jsonl"], "no/t.jsonl: cannot be written"),
        (["inspect", "missing.jsonl"], "missing.jsonl: cannot be read"),
        (["inspect"], "Missing argument 'FILE'"),
        (["convert", "missing.jsonl", "--out", "t.jsonl"], "missing.jsonl: cannot be read"),
        (["convert", "missing.json", "--out", "t.jsonl"], "missing.json: cannot be read"),
        (["convert", "t.jsonl", "--out", "t.csv"], "'t.csv' is of no known kind"),
        (["turn"], "No such command 'turn'"),
    ],
)
def test_bad_usage(
    capsys: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    fails(call(capsys, "trace", *arguments), 2, message)


def test_an_instance_needs_a_capacity(capsys: Capture, tmp_path: Path) -> None:
    plain = make(capsys, tmp_path / "t.jsonl")
    done = call(capsys, "trace", "convert", plain, "--out", tmp_path / "i.json")
    fails(done, 2, "--capacity: an instance needs a capacity")
