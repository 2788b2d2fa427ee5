"""``kvbounds workers start`` over fake servers: readiness, faults, and nothing left behind."""

from __future__ import annotations

import re
import signal
import socket
from pathlib import Path

import pytest

from tests.cli.command import call, fails
from tests.sglang.processes import (
    alive,
    fake_python,
    free_ports,
    kvbounds,
    listening,
    log_pid,
    until,
)


def start(folder: Path, *more: object, count: int = 1, fault: str = ""):  # type: ignore[no-untyped-def]
    """Start workers; the process and the first port."""
    port = free_ports(count)
    options = ("--count", count, "--port", port, "--python", fake_python(folder))
    return kvbounds("workers", "start", *options, "--log-dir", folder, *more, fault=fault), port


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_starts_and_stops(tmp_path: Path, number: signal.Signals) -> None:
    process, port = start(tmp_path, count=2)
    assert process.stdout is not None
    urls = [process.stdout.readline().strip() for _ in range(2)]
    assert urls == [f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"]
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert not listening(port)
    assert not listening(port + 1)


def test_stubborn_children_are_ended(tmp_path: Path) -> None:
    """A server that ignores SIGTERM, and a process that it has started, are killed."""
    process, port = start(tmp_path, fault="child")
    assert process.stdout is not None
    process.stdout.readline()
    child = log_pid(tmp_path / f"worker-{port}.log", "child")
    assert alive(child)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=40)
    assert until(lambda: not alive(child))
    assert not listening(port)


def test_kill_9_leaves_no_server(tmp_path: Path) -> None:
    process, port = start(tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.communicate(timeout=30)
    assert until(lambda: not listening(port))


def test_a_worker_that_dies_at_the_start(tmp_path: Path) -> None:
    process, port = start(tmp_path, fault="die-at-start")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert out == ""
    message = err.splitlines()[-1]
    assert message == (
        f"kvbounds: error: worker http://127.0.0.1:{port} died (exit code 3): "
        "Traceback: the model does not fit"
    )


def test_a_worker_that_dies_later_ends_the_others(tmp_path: Path) -> None:
    from empirical.sglang.client import ServerError, generate

    process, port = start(tmp_path, count=2, fault="die-after:1")
    assert process.stdout is not None
    url = [process.stdout.readline().strip() for _ in range(2)][1]
    with pytest.raises(ServerError):
        generate(url, [1, 2, 3])
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"worker {url} died (exit code 7)" in err
    assert not listening(port)


def test_a_worker_that_is_never_ready(tmp_path: Path) -> None:
    process, port = start(tmp_path, "--wait", 1, fault="never-ready")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "was not ready after 1 s" in err
    assert not listening(port)


def test_busy_port(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        python = fake_python(tmp_path)
        arguments = ("workers", "start", "--port", port, "--python", python, "--quiet")
        fails(call(capsys, *arguments), 2, f"port {port} is busy")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--eviction", "belady"), "unknown eviction 'belady'"),
        (("--capacity", 8, "--page-size", 16), "8 tokens hold no page of 16"),
        (("--model", "nowhere"), "has no config.json"),
        (("--tiny", "--model", "nowhere"), "exclude each other"),
        (("--port", 70000), "70000 is no port"),
        (("--device", "tpu"), "tpu"),
        (("--log-dir", "/proc/nowhere"), "cannot be made"),
        (("--python", "/nowhere/python"), "cannot be run"),
    ],
)
def test_bad_usage(
    capsys: pytest.CaptureFixture[str], arguments: tuple[object, ...], message: str
) -> None:
    python = () if "--python" in arguments else ("--python", "/bin/true")
    port = () if "--port" in arguments else ("--port", free_ports(2))
    fails(call(capsys, "workers", "start", "--quiet", *python, *port, *arguments), 2, message)


def test_no_sglang(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.util import find_spec

    if find_spec("sglang"):
        pytest.skip("SGLang is installed")
    done = call(capsys, "workers", "start", "--quiet")
    fails(done, 2, 'SGLang is not installed; run pip install "kvbounds[sglang]"')


def test_the_command_line_of_a_worker(tmp_path: Path) -> None:
    """What is asked for reaches the server: its flags and its environment."""
    from empirical.sglang.workers import WorkerOptions

    options = WorkerOptions(eviction="kvbounds-rlt", capacity=96, page_size=16, seed=5)
    words = options.command("python", tmp_path, 31000)
    assert re.search(
        "--page-size 16 .*--max-total-tokens 96 .*--radix-cache-backend kvbounds-rlt",
        " ".join(words),
    )
    assert options.environment()["KVBOUNDS_SEED"] == "5"
    assert "--radix-eviction-policy" not in words
    gpu = WorkerOptions(device="cuda", eviction="slru").command("python", tmp_path, 31000)
    assert "--attention-backend" not in gpu
    assert gpu[gpu.index("--radix-eviction-policy") + 1] == "slru"
