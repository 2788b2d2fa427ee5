"""HiGHS prints a banner on stdout, even with msg=False: what we print must parse."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import textwrap
from typing import NoReturn

import pytest

from mip.solver import SOLVERS, SolverError, solve
from tests.mip.programs import small_program

# Unbuffered streams would hide what waits in a buffer.
BUFFERED = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}


def stdout_and_stderr(script: str) -> tuple[str, str]:
    """What a script leaves in two pipes."""
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=BUFFERED)
    return done.stdout, done.stderr


def test_pulp_prints_a_banner() -> None:
    """The fault that this file is about; when PuLP or HiGHS mend it, this test may go."""
    script = """
    import pulp
    from tests.mip.programs import small_program
    small_program()[0].solve(pulp.HiGHS(msg=False))
    """
    assert "HiGHS" in stdout_and_stderr(script)[0]


def test_stdout_is_ours_alone() -> None:
    """In a pipe, with text of ours still in Python's buffer when the solve begins."""
    script = """
    import json
    from mip.solver import SOLVERS, solve
    from tests.mip.programs import small_program
    print('{"before": 1,')
    answers = [solve(small_program()[0], solver=solver).objective for solver in SOLVERS]
    print('"answers":', json.dumps(answers), "}")
    """
    out, err = stdout_and_stderr(script)
    assert json.loads(out) == {"before": 1, "answers": [6, 6]}
    assert err == ""


@pytest.mark.skipif(os.name == "nt", reason="the C library of POSIX")
def test_a_banner_in_the_buffer_of_c() -> None:
    """What C code wrote before the solve comes out, what the solver wrote does not come later."""
    script = """
    import ctypes
    from mip.solver import SOLVERS, Outcome, solve
    from tests.mip.programs import small_program
    c = ctypes.CDLL(None)
    def loud(problem, *_):
        c.puts(b"a banner")
        return Outcome.infeasible, None
    SOLVERS["highs"] = loud
    c.puts(b"before")
    solve(small_program()[0])
    c.puts(b"after")
    """
    assert stdout_and_stderr(script) == ("before\nafter\n", "")


def test_without_a_stdout() -> None:
    """File descriptor 1 is closed: nothing to protect, and still an answer."""
    script = """
    import os, sys
    os.close(1)
    from mip.solver import solve
    from tests.mip.programs import small_program
    print(solve(small_program()[0]).objective, file=sys.stderr)
    os._exit(0)  # Python's own flush of the closed stdout at exit is not our matter
    """
    assert stdout_and_stderr(script) == ("", "6.0\n")


@pytest.mark.parametrize("solver", SOLVERS)
def test_file_descriptor_1_stays_clean_and_open(
    capfd: pytest.CaptureFixture[str], solver: str
) -> None:
    print("before")
    solve(small_program()[0], solver=solver)
    print("after")
    assert capfd.readouterr().out == "before\nafter\n"


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_where_sys_stdout_is_no_file(
    capfd: pytest.CaptureFixture[str], stream: io.StringIO | None
) -> None:
    with contextlib.redirect_stdout(stream):  # type: ignore[type-var]
        assert solve(small_program()[0]).objective == 6
    assert capfd.readouterr().out == ""
    assert stream is None or stream.getvalue() == ""


def test_stdout_comes_back_after_an_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> NoReturn:
        os.write(1, b"a banner")
        raise SolverError("broken")

    monkeypatch.setitem(SOLVERS, "highs", broken)
    with pytest.raises(SolverError, match="broken"):
        solve(small_program()[0])
    print("back")
    assert capfd.readouterr().out == "back\n"
