"""``kvbounds serve`` as a user meets it."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import tests.gateway.fakes  # noqa: F401 - skips without the extra
from kvbounds.cli import main

NOBODY = "http://127.0.0.1:9"


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the URL that it prints."""
    command = [sys.executable, "-m", "kvbounds", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGTERM, 0, ""), (signal.SIGINT, 130, "kvbounds: error: interrupted")],
)
def test_it_serves_until_a_signal(number: signal.Signals, code: int, message: str) -> None:
    with serving("--worker", NOBODY) as (process, url):
        with urllib.request.urlopen(url + "/workers", timeout=10) as answer:
            assert NOBODY.encode() in answer.read()
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == code
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 1 + bool(message)
    assert f"worker {NOBODY} is taken out: it cannot be reached" in lines[0]
    assert lines[-1].startswith(message)


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments])
    out, err = capsys.readouterr()
    assert out == ""
    return ended.value.code, err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '--worker'"),
        (["--worker", "nonsense"], "--worker: 'nonsense' is no URL of a worker; write http://"),
        (["--worker", NOBODY, "--worker", NOBODY], "is named twice"),
        (["--worker", NOBODY, "--router", "lgbr"], "unknown router 'lgbr'; did you mean lbgr?"),
        (["--worker", NOBODY, "--router", "lbgr:decay=2"], "decay=2"),
        (["--worker", NOBODY, "--max-in-flight", "0"], "--max-in-flight: 0 is not positive"),
        (["--worker", NOBODY, "--silence", "nan"], "--silence: nan is not finite"),
        (["--worker", NOBODY, "--port", "70000"], "--port"),
        (["--worker", NOBODY, "--host", "192.0.2.1", "--quiet"], "cannot listen on 192.0.2.1"),
    ],
)
def test_bad_options_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = run(arguments, capsys)
    assert code == 2
    assert message in err
    assert err.startswith("kvbounds: error: ")
    assert err.count("\n") == 1


def test_another_address_than_the_loopback_is_worth_a_note(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, err = run(["--worker", NOBODY, "--host", "192.0.2.1"], capsys)
    assert code == 2  # an address of no machine
    assert "everybody who reaches this address" in err


def test_without_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kvbounds.cli.serve.find_spec", lambda name: None)
    code, err = run(["--worker", NOBODY], capsys)
    assert code == 2
    assert 'run pip install "kvbounds[gateway]"' in err
    assert err.count("\n") == 1
