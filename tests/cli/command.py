"""Run the command line, in this process or as a command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kvbounds.cli import main

__all__ = ["Done", "call", "command", "fails"]


class Done(NamedTuple):
    """Exit code, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What was printed, which must be JSON and nothing else."""
        return json.loads(self.out)


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> Done:
    """Run ``kvbounds`` in this process."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    streams = capsys.readouterr()
    assert isinstance(end.value.code, int)
    return Done(end.value.code, streams.out, streams.err)


def command(*arguments: object, folder: Path | None = None, timeout: float = 120) -> Done:
    """Run ``python -m kvbounds`` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "kvbounds", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=timeout,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def fails(done: Done, code: int, message: str) -> None:
    """Check that one line on stderr, and nothing on stdout, says what is wrong."""
    assert done.code == code, done
    assert done.out == ""
    assert done.err.startswith("kvbounds: error: ")
    assert done.err.count("\n") == 1, done.err
    assert message in done.err
