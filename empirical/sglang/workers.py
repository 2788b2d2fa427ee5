"""Real SGLang workers: started, watched and stopped; random weights, so nothing is fetched."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from empirical.sglang.options import EVICTIONS, WorkerOptions, tiny_model
from theory.errors import KvboundsError

__all__ = [
    "EVICTIONS",
    "Worker",
    "WorkerError",
    "WorkerOptions",
    "fleet",
    "interrupt_on_signals",
    "tiny_model",
]

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opens local URLs, whatever proxy the environment names."""


class WorkerError(KvboundsError):
    """A worker that did not start or has died, with the last lines of its log."""


@dataclass
class Worker:
    """One SGLang server in a process group of its own.

    Attributes
    ----------
    url : str
        Where it answers.
    log : Path
        All that it has printed.
    """

    options: WorkerOptions
    port: int
    folder: Path
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.folder / f"worker-{self.port}.log"

    def start(self, python: str = sys.executable) -> None:
        """Start the server; returns at once.

        Raises
        ------
        WorkerError
            If SGLang is not installed or the port is busy.
        """
        if find_spec("sglang") is None and python == sys.executable:
            raise WorkerError(
                'SGLang is not installed; run pip install "kvbounds[sglang]" on a GPU machine or '
                "empirical/sglang/install_cpu.sh VENV on a CPU one"
            )
        _check_free(self.port)
        model = self.options.model or tiny_model(self.folder / "tiny-model")
        try:
            with self.log.open("wb") as log:
                self.process = subprocess.Popen(
                    self.options.command(python, model, self.port),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self.options.environment(),
                    cwd=self.folder,
                    start_new_session=True,
                    preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509 - only calls the kernel
                )
        except OSError as error:
            raise WorkerError(f"{python} cannot be run ({error.strerror})") from error

    @property
    def alive(self) -> bool:
        """Whether the server's process runs."""
        return self.process is not None and self.process.poll() is None

    def tail(self, lines: int = 5) -> str:
        """The last lines of the log, on one line."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "no log"
        return " | ".join(line.strip() for line in text.splitlines()[-lines:] if line.strip())

    def healthy(self, timeout: float = 2.0) -> bool:
        """Whether the server says that it can serve."""
        try:
            with _DIRECT.open(f"{self.url}/health", timeout=timeout) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError, ValueError):
            return False

    def wait_ready(self, timeout: float = 300.0) -> None:
        """Wait until it serves.

        Raises
        ------
        WorkerError
            If it dies or is not ready in time, with its log's last lines.
        """
        deadline = time.monotonic() + timeout
        while True:
            self.check_alive()
            if self.healthy():
                return
            if time.monotonic() > deadline:
                raise WorkerError(
                    f"worker {self.url} was not ready after {timeout:g} s: {self.tail()}"
                )
            time.sleep(0.3)

    def check_alive(self) -> None:
        """Do nothing while the server's process runs.

        Raises
        ------
        WorkerError
            If it has died, with its log's last lines.
        """
        if not self.alive:
            code = self.process.returncode if self.process else None
            raise WorkerError(f"worker {self.url} died (exit code {code}): {self.tail()}")

    def stop(self, grace: float = 5.0) -> None:
        """Stop the server and every process that it has started; a second call does nothing."""
        if self.process is None:
            return
        group = self.process.pid
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, grace)):
            if not _signal_group(group, number):
                break
            deadline = time.monotonic() + patience
            while _signal_group(group, 0) and time.monotonic() < deadline:
                self.process.poll()  # a dead leader is a zombie until it is asked
                time.sleep(0.05)
        self.process.wait()
        self.process = None


def _signal_group(group: int, number: int) -> bool:
    """Signal a process group; False if it is gone."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _check_free(port: int) -> None:
    if not 0 < port < 2**16:
        raise WorkerError(f"{port} is no port; ports are 1 to 65535")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise WorkerError(f"port {port} is busy; choose another --port") from None


def _die_with(parent: int) -> Callable[[], None]:
    """What a new process calls so that Linux ends it with its parent: a crash leaves no server."""
    set_death_signal = 1
    prctl = ctypes.CDLL(None).prctl

    def call() -> None:
        prctl(set_death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the call
            os._exit(1)

    return call


@contextmanager
def interrupt_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, so that it cleans up."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {n: signal.signal(n, interrupt) for n in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def fleet(
    options: Sequence[WorkerOptions],
    ports: Sequence[int],
    *,
    folder: Path | None = None,
    python: str = sys.executable,
    timeout: float = 300.0,
    on_ready: Callable[[Worker], None] = lambda worker: None,
) -> Iterator[list[Worker]]:
    """Start workers, wait until all serve, and stop them at the end whatever happens.

    Parameters
    ----------
    options, ports : sequences of the same length
        One a worker.
    folder : Path, optional
        Where the logs go; a temporary folder, removed afterwards, by default.
    python : str
        The interpreter that has SGLang.
    timeout : float
        Seconds to wait for readiness.
    on_ready : callable
        Told of each worker that serves.

    Raises
    ------
    WorkerError
        If a worker does not start.
    """
    home = folder or Path(tempfile.mkdtemp(prefix="kvbounds-workers-"))
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkerError(
            f"{home} cannot be made ({error.strerror}); choose another --log-dir"
        ) from error
    workers = [Worker(o, p, home.resolve()) for o, p in zip(options, ports, strict=True)]
    try:
        for worker in workers:
            worker.start(python)
        for worker in workers:
            worker.wait_ready(timeout)
            on_ready(worker)
        yield workers
    finally:
        with ThreadPoolExecutor(len(workers)) as pool:  # each may take its time
            list(pool.map(Worker.stop, workers))
        if folder is None:
            shutil.rmtree(home, ignore_errors=True)
