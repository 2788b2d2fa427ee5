"""Run ``kvbounds`` as a process over fake servers, and look for what it leaves behind."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["alive", "fake_python", "free_ports", "kvbounds", "log_pid", "until"]

FAKE_SERVER = Path(__file__).with_name("fake_server.py")


def fake_python(folder: Path) -> str:
    """An interpreter that runs the fake server whatever it is asked to run."""
    script = folder / "python-with-fake-sglang"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE_SERVER}" "$@"\n')
    script.chmod(0o755)
    return str(script)


def free_ports(count: int) -> int:
    """The first of `count` consecutive free ports."""
    for first in range(32000 + os.getpid() % 500 * 16, 60000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise AssertionError("no free ports")


def kvbounds(*arguments: object, fault: str = "") -> subprocess.Popen[str]:
    """Start ``python -m kvbounds``, its streams captured."""
    return subprocess.Popen(
        [sys.executable, "-m", "kvbounds", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "FAKE": fault},
    )


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def log_pid(log: Path, word: str) -> int:
    """The process id that follows `word` in a log."""
    words = log.read_text(encoding="utf-8").split()
    return int(words[words.index(word) + 1])


def until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    """Wait for a condition; False if it does not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def listening(port: int) -> bool:
    """Whether somebody listens on the port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
