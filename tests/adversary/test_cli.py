"""The command ``kvbounds adversary``."""

from __future__ import annotations

import json

import pytest

from adversary.families import FAMILIES, make_instance, parameters
from kvbounds.cli import main
from theory.cache import run
from theory.model import Instance


def call(capsys, *arguments):
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as end:
        main(["adversary", *arguments])
    streams = capsys.readouterr()
    return end.value.code, streams.out, streams.err


def test_written_instance_runs_again(capsys, tmp_path):
    path = tmp_path / "cyclic.json"
    options = ["cyclic", "--capacity", "8", "-L", "3", "--beta", "2", "--cycles", "4"]
    code, out, err = call(capsys, *options, "--out", str(path), "--format", "json")
    assert code == 0
    assert err == f"written to {path}\n"
    about = json.loads(out)
    assert {key: about[key] for key in ("B", "u", "k", "beta", "L", "steps", "cycle")} == {
        "B": 8,
        "u": 4,
        "k": 5,
        "beta": 2,
        "L": 3,
        "steps": 24,
        "cycle": 0,
    }
    instance = Instance.load(path)
    assert instance.notes["parameters"]["length"] == 3
    assert run(instance, "leaf-lru").misses == 4 + 23
    call(capsys, *options, "--out", str(path), "--quiet")
    assert Instance.load(path) == instance


def test_settings_and_play_against_a_policy(capsys):
    code, out, _ = call(
        capsys,
        "chains",
        "--set",
        "lengths=3,3,2,handle=1",
        "--set",
        "steps=20",
        "--capacity",
        "6",
        "--against",
        "fifo",
        "--out",
        "-",
    )
    assert code == 0
    given = {"lengths": (3, 3, 2), "handle": 1, "steps": 20, "capacity": 6, "against": "fifo"}
    played = Instance.from_json(json.loads(out))
    assert played == make_instance("chains", given)
    assert all(step.misses for step in run(played, "fifo").steps)


def test_table(capsys):
    code, out, err = call(capsys, "sglang")
    assert (code, err) == (0, "")
    assert out.splitlines()[2].split() == ["sglang", "5", "1", "5", "1", "1", "7", "19", "15"]
    assert "B - u + 1 = 5" in out


def test_list_names_every_family_and_parameter(capsys):
    code, out, _ = call(capsys, "--list")
    assert code == 0
    for family in FAMILIES:
        (line,) = [line for line in out.splitlines() if line.split()[0] == family]
        assert all(f" {name}=" in line for name in parameters(family))
    code, out, _ = call(capsys, "--list", "--format", "json")
    listed = json.loads(out)["families"]
    assert [row["family"] for row in listed] == list(FAMILIES)
    assert all(row["parameters"].keys() == parameters(row["family"]).keys() for row in listed)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], "unknown family 'nope'; choose from cyclic"),
        ([], "no family is named"),
        (["cyclic", "--set", "foo"], "--set: 'foo' is not key=value"),
        (["cyclic", "--set", "beta=x"], "--set beta: 'x' is not an integer"),
        (["chains", "--set", "lengths=1,x"], "--set lengths: '1,x' is not a list of integers"),
        (["sglang", "--capacity", "3"], "family sglang: has no parameter 'capacity'"),
        (["cyclic", "--capacity", "0"], "0 is not a positive whole number"),
        (["cyclic", "--against", "rlt"], "randomised"),
        (["yao", "--cycles", "3"], "the instance has no cycle"),
        (["yao", "--seed", "-1"], "--seed"),
        (["cyclic", "--out", "/nonexistent/x.json"], "cannot be written"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(capsys, arguments, words):
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
