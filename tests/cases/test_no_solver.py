"""A solver that is not installed: one clear line that names what to install, exit code 2."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mip.solver import MissingSolverError, pulp, solve
from tests.mip.programs import small_program


def message_without(module: str, solver: str) -> str:
    """The error of a solve in a Python where `module` cannot be imported."""
    script = textwrap.dedent(
        f"""
        import sys
        sys.modules[{module!r}] = None
        from theory.errors import KvboundsError
        try:
            from mip.eviction import solve_eviction
            from theory.model import Instance
            from theory.trie import TokenTrie
            star = TokenTrie.from_parents([-1, -1, -1])
            solve_eviction(Instance(star, 2, [[0], [1], [2], [0]]), solver={solver!r})
        except KvboundsError as error:
            print(error)
            sys.exit(error.exit_code)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "")
    return done.stdout


def test_no_highs() -> None:
    assert message_without("highspy", "highs") == (
        "the solver HiGHS is not installed; install it with: pip install highspy\n"
    )


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_no_pulp(solver: str) -> None:
    assert message_without("pulp", solver) == (
        "PuLP is not installed; install it with: pip install 'pulp>=3.3,<4' highspy\n"
    )


@pytest.mark.parametrize("module", ["highspy", "pulp"])
def test_the_command_line_says_it_in_one_line(module: str, tmp_path: Path) -> None:
    script = textwrap.dedent(
        f"""
        import sys
        sys.modules[{module!r}] = None
        from kvbounds.cli import main
        main(["validate", "--quick", "--quiet", "--out", {str(tmp_path)!r}])
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("kvbounds: error: ") and done.stderr.count("\n") == 1
    assert "not installed; install it with: pip install" in done.stderr


def test_no_cbc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", "/nowhere/cbc")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        MissingSolverError, match="the solver CBC is not installed; install"
    ) as caught:
        solve(small_program()[0], solver="cbc")
    assert "\n" not in str(caught.value) and caught.value.exit_code == 2
    assert solve(small_program()[0], solver="highs").objective == 6
