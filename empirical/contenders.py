"""Routers as processes: kvbounds' own gateway and its peers, started, awaited and stopped."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from theory.errors import InputError, KvboundsError

__all__ = ["PEERS", "Contender", "ContenderError", "kvbounds_router", "peer_router"]

PEERS: dict[str, tuple[str, str]] = {
    "sglang-router": ("sglang_router", "sglang-router==0.3.2"),
    "smg": ("smg", "smg==1.13.0"),
}
"""Peer -> its Python package, and what pip installs it by."""

_POLICIES = ("cache_aware", "round_robin")
_LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ContenderError(KvboundsError):
    """A router that is not installed, does not start, or does not find the workers."""


@dataclass(frozen=True)
class Contender:
    """A router that can be started.

    Attributes
    ----------
    name : str
        For tables: ``kvbounds lbgr``, ``sglang-router cache_aware``.
    command : tuple of str
        The command, but for its port and the workers.
    flag : str
        What names the workers on its command line.
    repeated : bool
        Whether that flag stands before each worker, or once before all.
    metrics_flag : str or None
        What names the port of its metrics, where they have one of their own.
    """

    name: str
    command: tuple[str, ...]
    flag: str
    repeated: bool = False
    metrics_flag: str | None = None

    @contextmanager
    def running(self, workers: Sequence[str], patience: float = 60.0) -> Iterator[str]:
        """Run it in front of `workers`; its URL, once it knows that all of them are up.

        Raises
        ------
        ContenderError
            If it ends, or is not ready after `patience` seconds; with the end of its log.
        """
        port, metrics = _free_ports(2)
        command = [*self.command, "--port", str(port)]
        if self.metrics_flag is not None:
            command += [self.metrics_flag, str(metrics)]
        if self.repeated:
            command += [word for url in workers for word in (self.flag, url)]
        else:
            command += [self.flag, *workers]
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
            try:
                url = f"http://127.0.0.1:{port}"
                deadline = time.monotonic() + patience
                while _workers_up(url) < len(workers):
                    if process.poll() is not None or time.monotonic() > deadline:
                        what = "is not ready" if process.poll() is None else "has ended"
                        raise ContenderError(f"{self.name} {what}: {_tail(log)}")
                    time.sleep(0.1)
                yield url
            finally:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def kvbounds_router(router: str, *options: str) -> Contender:
    """The gateway of this project with a router and options of ``kvbounds serve``."""
    command = (sys.executable, "-m", "kvbounds", "serve", "--router", router, *options)
    return Contender(f"kvbounds {router}", command, "--worker", repeated=True)


def peer_router(peer: str, python: str = sys.executable) -> list[Contender]:
    """A peer as ``NAME`` (with each of its usual policies) or ``NAME:POLICY``.

    Parameters
    ----------
    peer : str
        A name of `PEERS`.
    python : str
        The interpreter that has it.

    Raises
    ------
    InputError
        If there is no such peer.
    ContenderError
        If it is not installed.
    """
    name, _, policy = peer.partition(":")
    if name not in PEERS:
        raise InputError(
            f"unknown peer {name!r}", where="--peer", fix=f"choose from {', '.join(PEERS)}"
        )
    package, requirement = PEERS[name]
    try:
        found = subprocess.run(
            [python, "-c", f"import {package}.launch_router"], capture_output=True, check=False
        )
    except OSError as error:
        raise InputError(
            f"cannot run {python!r} ({error.strerror})", where="--peer-python"
        ) from error
    if found.returncode:
        raise ContenderError(f"{name} is not installed: pip install {requirement}")
    command = (python, "-m", f"{package}.launch_router", "--host", "127.0.0.1", "--policy")
    return [
        Contender(
            f"{name} {chosen}", (*command, chosen), "--worker-urls", False, "--prometheus-port"
        )
        for chosen in ([policy] if policy else _POLICIES)
    ]


def _workers_up(url: str) -> int:
    """How many workers a router says are up; all of these routers can be asked the same way."""
    try:
        with _LOCAL.open(f"{url}/workers", timeout=5) as answer:
            rows: list[dict[str, Any]] = json.load(answer)["workers"]
        return sum(bool(row.get("up", row.get("is_healthy"))) for row in rows)
    except (OSError, urllib.error.URLError, ValueError, KeyError, TypeError, AttributeError):
        return 0


def _tail(log: Any) -> str:
    """The last words of a log, on one line."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    return " | ".join(line.strip() for line in lines[-3:] if line.strip())[-500:] or "no output"


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
