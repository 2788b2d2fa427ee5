"""The command ``kvbounds validate``."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from empirical import validate
from tests.cli.command import Done, call, command, fails

Capture = pytest.CaptureFixture[str]


QUICK = ["validate", "--quick", "--format", "json", "--seed", 3]


@pytest.fixture(name="quick", scope="module")
def _quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A quick run in a process of its own."""
    folder = tmp_path_factory.mktemp("validate")
    return folder, command(*QUICK, folder=folder)


def test_quick(quick: tuple[Path, Done]) -> None:
    tmp_path, done = quick
    assert done.code == 0
    assert done.err == ("wrote kvbounds-out/validate.json and kvbounds-out/ratio_vs_capacity.png\n")
    told = done.json
    assert (tmp_path / "kvbounds-out/validate.json").read_text() == done.out
    assert (told["schema"], told["ok"], told["complete"]) == ("kvbounds/validate/1", True, True)
    for row in told["rows"]:
        assert {"policy", "B", "L", "beta", "misses", "opt", "ratio", "lower", "upper"} <= set(row)
        assert row["status"] in {"verified", "measured"}
        ratio, low = row["ratio"], Fraction(row["lower"])
        if ratio == "unbounded":
            assert row["opt"] == 0
            continue
        if row["status"] == "verified":
            assert Fraction(ratio) == Fraction(row["misses"], row["opt"])
            assert Fraction(ratio) >= low
        else:
            assert row["ratio_low"] <= ratio <= row["ratio_high"]
            assert row["ratio_high"] >= low
        if row["upper"] is not None:
            assert row["misses"] <= Fraction(row["upper"]) * Fraction(row["opt"]) + row["additive"]
    worst = [row for row in told["rows"] if row["case"] == "cyclic"]
    assert all(row["ratio"] == str(row["B"] - row["L"] - row["beta"] + 2) for row in worst)
    assert (tmp_path / "kvbounds-out/ratio_vs_capacity.png").read_bytes()[:4] == b"\x89PNG"


def test_equal_runs_write_equal_bytes(
    capsys: Capture, tmp_path: Path, quick: tuple[Path, Done]
) -> None:
    folder, first = quick
    done = call(capsys, *QUICK, "--out", tmp_path / "deep" / "out", "--quiet")
    assert done == (0, first.out, "")
    for name in ("validate.json", "ratio_vs_capacity.png"):
        before = (folder / "kvbounds-out" / name).read_bytes()
        assert (tmp_path / "deep" / "out" / name).read_bytes() == before


@pytest.fixture(name="few")
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of three cases."""
    true = validate.cases

    def some(**given: Any) -> Any:
        return iter(list(true(**given))[:3])

    monkeypatch.setattr(validate, "cases", some)


@pytest.mark.usefixtures("few")
def test_a_claim_that_fails_ends_with_1(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call(capsys, "validate", "--quick", "--out", tmp_path).code == 0
    true = validate.evaluate
    monkeypatch.setattr(
        validate, "evaluate", lambda name, **given: true(name, **given) - (given["B"] == 4)
    )
    done = call(capsys, "validate", "--quick", "--out", tmp_path, "--quiet")
    assert done.code == 1
    assert done.err == (
        "kvbounds: error: 3 of 3 rows fail, first leaf-lru on cyclic at B = 4, L = 1, beta = 1 "
        "(Theorem 2 and Theorem 1)\n"
    )
    assert "3 failed" in done.out
    told = json.loads((tmp_path / "validate.json").read_text())
    assert (told["ok"], told["complete"]) == (False, True)
    assert {row["status"] for row in told["rows"]} == {"failed"}


@pytest.mark.usefixtures("few")
def test_an_interrupt_keeps_what_was_finished(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = validate.evaluate

    def interrupted(name: str, **given: int) -> Any:
        if given.get("beta") == 2:
            raise KeyboardInterrupt
        return true(name, **given)

    monkeypatch.setattr(validate, "evaluate", interrupted)
    fails(call(capsys, "validate", "--quick", "--out", tmp_path), 130, "interrupted")
    told = json.loads((tmp_path / "validate.json").read_text())
    assert (told["ok"], told["complete"], len(told["rows"])) == (False, False, 1)


def test_bad_input(capsys: Capture, tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    fails(call(capsys, "validate", "--out", taken), 2, f"{taken}: the folder cannot be made")
    fails(call(capsys, "validate", "--out", taken / "below"), 2, "the folder cannot be made")
    out = tmp_path / "out"
    missing = ["validate", "--quick", "--out", out, "--trace", tmp_path / "missing.jsonl"]
    fails(call(capsys, *missing), 2, "missing.jsonl: cannot be read")
    fails(call(capsys, "validate", "--seed", "-1"), 2, "--seed")
    fails(call(capsys, "validate", "--format", "xml"), 2, "'xml' is not one of 'table', 'json'")
