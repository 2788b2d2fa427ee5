"""The command ``kvbounds claims``."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvbounds.cli import claims as module
from tests.cli.command import call, command, fails
from theory.claims import CLAIMS, STATUSES

Capture = pytest.CaptureFixture[str]

REPORT = """<?xml version="1.0"?>
<testsuites><testsuite>
<testcase classname="theory.test_a" name="test_one[x-1]"/>
<testcase classname="theory.test_a" name="test_one[x-2]"/>
<testcase classname="theory.test_a" name="test_two"><failure message="no"/></testcase>
<testcase classname="theory.test_b" name="test_three"><skipped/></testcase>
<testcase classname="theory.test_b" name="test_four"/>
<testcase classname="theory.test_b" name="test_five"><error message="no"/></testcase>
</testsuite></testsuites>
"""


def test_every_claim_is_listed_with_its_status(capsys: Capture) -> None:
    done = call(capsys, "claims")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].split() == ["claim", "status", "statement"]
    assert [line.split()[:2] for line in lines[2:]] == [[c.id, c.status] for c in CLAIMS]


def test_json_has_every_field(capsys: Capture) -> None:
    told = call(capsys, "claims", "--format", "json").json
    assert told["schema"] == "kvbounds/claims/1"
    assert [row["id"] for row in told["claims"]] == [claim.id for claim in CLAIMS]
    assert set(told["claims"][0]) >= {
        *("id", "statement", "assumptions", "status", "evidence", "command", "source"),
    }


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_selects(capsys: Capture, status: str) -> None:
    told = call(capsys, "claims", "--status", status, "--format", "json").json
    assert [row["id"] for row in told["claims"]] == [c.id for c in CLAIMS if c.status == status]


def test_named_claims_are_printed_in_full(capsys: Capture) -> None:
    done = call(capsys, "claims", "theorem-1", "r1-harmonic")
    assert done.code == 0
    for text in ("theorem-1", "marking-upper", "conjectured", "pytest theory/test_theorem_1.py"):
        assert text in done.out


def test_bad_usage(capsys: Capture) -> None:
    fails(call(capsys, "claims", "--status", "true"), 2, "unknown status 'true'")
    fails(call(capsys, "claims", "theorem-0"), 2, "unknown claim 'theorem-0'")


def test_check_runs_what_shows_a_claim() -> None:
    done = command(
        "claims", "lemma-2-random-ties", "closure-free", "--check", "--format", "json", "--quiet"
    )
    assert (done.code, done.err) == (0, "")
    told = done.json
    assert told["ok"] is True
    assert [row["check"] for row in told["claims"]] == ["held", "not run"]


def test_a_claim_that_fails_ends_with_exit_code_1(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = {"lemma-1": "held", "lemma-2": "failed"}
    monkeypatch.setattr(module, "_check", lambda chosen, quiet: outcomes)
    done = call(capsys, "claims", "lemma-1", "lemma-2", "--check", "--format", "json")
    assert done.code == 1
    assert done.json["ok"] is False
    assert done.err == "kvbounds: error: 1 of 2 claims fail: lemma-2\n"


def test_without_the_tests_the_error_says_what_to_do(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import theory

    monkeypatch.setattr(theory, "__file__", str(tmp_path / "theory" / "__init__.py"))
    done = call(capsys, "claims", "lemma-1", "--check")
    fails(done, 2, "theory/test_lemma_1.py is not there; run it in a checkout")


@pytest.mark.parametrize(
    ("nodes", "outcome"),
    [
        (("theory/test_a.py::test_one",), "held"),
        (("theory/test_a.py::test_two",), "failed"),
        (("theory/test_a.py",), "failed"),
        (("theory/test_b.py::test_three",), "not run"),
        (("theory/test_b.py::test_four",), "held"),
        (("theory/test_b.py::test_five",), "failed"),
        (("theory/test_b.py::test_four", "theory/test_b.py::test_three"), "not run"),
        (("theory/test_a.py::test_on",), "not run"),
        ((), "not run"),
    ],
)
def test_outcomes(tmp_path: Path, nodes: tuple[str, ...], outcome: str) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert module._outcome(nodes, module._results(report)) == outcome
