"""A fault in a user's policy is told as that: one line with the place, and never a number.

A policy with hidden coins had an "exact" ratio, one with probabilities that add up to 2 ran on
traces, and what a policy raised was called a fault of kvbounds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from adversary.families import make_instance
from tests.cli.command import call, command, fails

Capture = pytest.CaptureFixture[str]
OWN = "tests.cases.own_policies"
EXACT = ("exact", "--family", "broom", "--set", "L=1,leaves=4", "--capacity", 2, "--quiet")
ATTACK = ("attack", "--capacity", 4, "--evaluations", 20, "--quiet")


@pytest.fixture
def run_instance(tmp_path: Path) -> tuple[object, ...]:
    path = tmp_path / "star.json"
    make_instance("cyclic", {"capacity": 3}).save(path)
    return "ratio", "--instance", path, "--cycles", 5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Raises", "RuntimeError: two lines; mend the class"),
        ("Exits", "SystemExit: 7; mend the class"),
        ("NamesAList", "which is not an evictable leaf"),
        ("TooLittle", "the probabilities ['1/2'] are no distribution"),
        ("TooMuch", "the probabilities ['1', '1'] are no distribution"),
        ("Negative", "the probabilities ['2', '-1'] are no distribution"),
        ("Floats", "are not all Fractions; return a dict from leaves to exact Fractions"),
        ("NoDict", "is no dict"),
    ],
)
def test_faults_in_a_run(
    capsys: Capture, run_instance: tuple[object, ...], name: str, message: str
) -> None:
    done = call(capsys, *run_instance, "--policy", f"{OWN}:{name}")
    fails(done, 2, message)
    assert ("own_policies.py, line " in done.err) == (name in ("Raises", "Exits"))


def test_a_fault_in_another_process(capsys: Capture) -> None:
    done = call(capsys, *ATTACK, "--jobs", 2, "--policy", f"{OWN}:Raises")
    fails(done, 2, "RuntimeError: two lines")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Unhashable", "state() cannot be hashed (unhashable type: 'list'); return numbers"),
        ("StateRaises", "ZeroDivisionError"),
    ],
)
@pytest.mark.parametrize("command", [EXACT, ATTACK], ids=["exact", "attack"])
def test_a_state_that_is_none(
    capsys: Capture, command: tuple[object, ...], name: str, message: str
) -> None:
    fails(call(capsys, *command, "--policy", f"{OWN}:{name}"), 2, message)


@pytest.mark.parametrize("name", ["CoinsWithState", "Forgetful"])
def test_no_exact_ratio_of_a_state_that_does_not_tell_all(capsys: Capture, name: str) -> None:
    message = "of a cycle in which its states say"
    fails(call(capsys, *EXACT, "--policy", f"{OWN}:{name}"), 2, message)


def test_no_worst_case_of_hidden_coins(capsys: Capture) -> None:
    message = "when the same steps are served again; derive a policy that tosses coins"
    fails(call(capsys, *ATTACK, "--policy", f"{OWN}:Coins"), 2, message)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("import sys; sys.exit(3)", "own:X", "importing 'own' fails (SystemExit: 3)"),
        ("import no_such_module_at_all", "own:X", "install what the module imports"),
        ("", "own.py:X", "name the module, not the file: own:X"),
        ("", "other:X", "run from the folder that holds the module"),
    ],
)
def test_a_module_that_cannot_be_imported(
    capsys: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    name: str,
    message: str,
) -> None:
    (tmp_path / "own.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    fails(call(capsys, *ATTACK, "--policy", name), 2, message)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_policy_prints_is_not_in_the_json(jobs: int) -> None:
    options = ("--policy", f"{OWN}:Talks", "--jobs", jobs, "--format", "json")
    done = command(*ATTACK, *options)
    assert done.json["policy"] == f"{OWN}:Talks"
    assert "a step" in done.err


def test_what_a_policy_prints_is_not_in_the_json_of_other_commands(
    capsys: Capture, run_instance: tuple[object, ...]
) -> None:
    for given in (EXACT, run_instance):
        done = call(capsys, *given, "--policy", f"{OWN}:Talks", "--format", "json")
        assert done.code == 0
        assert done.json
        assert "a step" in done.err
