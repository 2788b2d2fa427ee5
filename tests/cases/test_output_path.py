"""Where a result goes is looked at before the work; a device is written to, a link followed.

``attack --out`` to a missing folder failed after the whole search, and ``--out`` of a device
replaced it by a file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import adversary.search
from tests.cli.command import call, fails
from theory.errors import InputError
from theory.jsonfile import check_writable, read_json, write_json

Capture = pytest.CaptureFixture[str]
RUNS = [
    ("attack", "--policy", "fifo", "--capacity", "4", "--out"),
    ("attack", "--policy", "fifo", "--capacity", "4", "--resume"),
    ("exact", "--parents=-1,-1,-1", "--capacity", "2", "--certificate"),
    ("exact", "--all-forests", "3-3", "--capacity", "2", "--out"),
    ("simulate", "--workload", "gsp:groups=2,prompts=2", "--out"),
]


@pytest.mark.parametrize("arguments", RUNS, ids=lambda a: f"{a[0]} {a[-1]}")
def test_before_the_work(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    def work(*given: object, **named: object) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr(adversary.search.Search, "advance", work)
    monkeypatch.setattr("theory.exact.exact_ratio", work)
    monkeypatch.setattr("kvbounds.cli.sweep._run", work)
    monkeypatch.setattr("empirical.experiments.sweep.Sweep.run", work)
    fails(call(capsys, *arguments, tmp_path / "none" / "x.json"), 2, "No such file or directory")
    if arguments[-1] in ("--out", "--certificate") and "simulate" not in arguments:
        fails(call(capsys, *arguments, tmp_path), 2, "cannot be written (Is a directory)")


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    check_writable(pipe)
    write_json(pipe, {"a": 1})
    reader.join(10)
    assert pipe.is_fifo()
    assert read == ['{\n  "a": 1\n}\n']


def test_a_link_is_followed(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(there / "file.json")
    check_writable(link)
    write_json(link, [1])
    assert link.is_symlink()
    assert read_json(there / "file.json") == [1]


def test_a_folder_that_is_not_writable(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o555)
    with pytest.raises(InputError, match="Permission denied"):
        check_writable(tmp_path / "x.json")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full")
@pytest.mark.parametrize("form", [[], ["--format", "json"]], ids=["table", "json"])
def test_stdout_is_full(form: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kvbounds", "claims", *form],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("kvbounds: error: the output: No space left on device; make room")
    assert done.stderr.count("\n") == 1


def test_stdout_is_closed() -> None:
    line = f'exec "{sys.executable}" -m kvbounds claims theorem-1 >&-'
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
