"""What holds for every command; for JSON on stdout beside solvers see test_validate.py."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adversary.families import make_instance
from empirical.traces.base import Trace
from empirical.traces.mooncake import dump
from kvbounds.cli import COMMANDS
from tests.cli.command import call, fails

Capture = pytest.CaptureFixture[str]


def test_equal_timestamps_keep_the_order_of_the_file(capsys: Capture, tmp_path: Path) -> None:
    """The order of rows with equal times decides who hits (tests/cases/test_wall_clock_ties.py)."""
    a, b = [1], [2]
    hits = {}
    for name, order in (("aabb", [a, a, b, b]), ("abab", [a, b, a, b])):
        path = tmp_path / f"{name}.jsonl"
        dump(Trace.from_hash_ids(order, [7] * 4, [512] * 4, [1] * 4), path)
        done = call(capsys, "ratio", "--trace", path, "--capacity", 1, "--format", "json")
        hits[name] = done.json["rows"][0]["hits"]
    assert hits == {"aabb": 2 * 512, "abab": 0}


def test_a_prompt_that_is_too_long(capsys: Capture, tmp_path: Path) -> None:
    """One clear error, at once, whatever the options (see tests/cases/test_too_long.py)."""
    path = tmp_path / "long.jsonl"
    ids = [[1], list(range(10, 50)), [1]]
    dump(Trace.from_hash_ids(ids, [0, 1, 2], [512, 40 * 512, 512], [1] * 3), path)
    message = "long, line 2: its footprint of 40 blocks exceeds the capacity 39; raise the capacity"
    for options in ([], ["--overflow", "split"], ["--policy", "rlt"], ["--batch", "2"]):
        done = call(capsys, "ratio", "--trace", path, "--capacity", 39, *options)
        fails(done, 2, message)
        assert "at least 40" in done.err
    assert call(capsys, "ratio", "--trace", path, "--capacity", 40).code == 0
    instance = tmp_path / "i.json"
    make_instance("broom", {"capacity": 9, "length": 9, "leaves": 3}).save(instance)
    done = call(capsys, "ratio", "--instance", instance, "--capacity", 8)
    fails(done, 2, "its footprint of 9 tokens exceeds the capacity 8")


def test_help_is_quick_and_light() -> None:
    """Under half a second; measured as modules, because a busy machine has no clock."""
    code = (
        "import sys; from kvbounds.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'sympy', 'scipy', 'matplotlib', 'networkx', 'pulp', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", done.stdout, re.MULTILINE), name


@pytest.mark.parametrize("name", ["validate", "ratio", "trace"])
def test_help_of_a_command(capsys: Capture, name: str) -> None:
    done = call(capsys, name, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: kvbounds {name}")


@pytest.mark.parametrize(
    "group", [[], ["trace"], ["workers"]], ids=["kvbounds", "trace", "workers"]
)
def test_a_group_alone_shows_its_help(capsys: Capture, group: list[str]) -> None:
    done = call(capsys, *group)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: kvbounds")
    assert "\nCommands:\n" in done.out


def test_ctrl_c_ends_with_130(tmp_path: Path) -> None:
    """A real signal in the middle of the work; what was finished is kept."""
    code = """
import os, signal
from empirical import validate
true = validate.cases
def cases(**given):
    grid = list(true(**given))
    interrupt = validate.Case("interrupt", lambda: os.kill(os.getpid(), signal.SIGINT) or [])
    return iter([*grid[:2], interrupt, *grid[2:]])
validate.cases = cases
from kvbounds.cli import main
main(["validate", "--quick"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "kvbounds: error: interrupted; what was finished is kept\n"
    told = json.loads((tmp_path / "kvbounds-out" / "validate.json").read_text())
    assert (told["ok"], told["complete"], len(told["rows"])) == (False, False, 2)


def test_a_reader_that_has_gone_is_no_error() -> None:
    """As in ``kvbounds claims | head -1``: nothing on stderr, exit code 0."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kvbounds", "claims", "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0
