"""A zoo that is interrupted goes on where it was, and nothing else changes what it finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

from empirical import zoo_rows
from empirical.zoo_rows import Kept
from tests.cli.command import Done, call, fails

Capture = pytest.CaptureFixture[str]

LINES = [
    {"timestamp": i, "input_length": 1024, "output_length": 1, "hash_ids": [0, 1 + i % 5]}
    for i in range(20)
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The policies that are attacked from here on."""
    names: list[str] = []
    real = zoo_rows.zoo_row

    def told(policy: str, *given: Any) -> Any:
        names.append(policy)
        return real(policy, *given)

    monkeypatch.setattr(zoo_rows, "zoo_row", told)
    return names


def zoo(capsys: Capture, folder: Path, *given: object, policies: str = "mru,lfu") -> Done:
    options = ("--capacity", 2, "--evaluations", 1, "--jobs", 1, "--blocks", 3)
    return call(capsys, "zoo", "--out", folder, "--policy", policies, *options, *given)


def test_finished_rows_are_taken_up_again(
    capsys: Capture, tmp_path: Path, trace: Path, asked: list[str]
) -> None:
    folder = tmp_path / "zoo"
    zoo(capsys, folder, "--trace", trace)
    first = (folder / "zoo.json").read_bytes()
    assert asked == ["mru", "lfu"]
    again = zoo(capsys, folder, "--trace", trace)
    assert "2 of 2 policies are known" in again.err
    more = zoo(capsys, folder, "--trace", trace, policies="lfu,slru,mru")
    assert more.code == 0
    assert asked == ["mru", "lfu", "slru"]
    zoo(capsys, folder, "--trace", trace)
    assert (folder / "zoo.json").read_bytes() == first


@pytest.mark.parametrize(
    "changed",
    [
        ("--capacity", 3),
        ("--evaluations", 2),
        ("--seed", 1),
        ("--blocks", 4),
        ("--fresh",),
        ("--trace", "another"),
    ],
    ids=lambda given: given[0],
)
def test_other_settings_start_anew(
    capsys: Capture, tmp_path: Path, trace: Path, asked: list[str], changed: tuple[object, ...]
) -> None:
    folder = tmp_path / "zoo"
    zoo(capsys, folder, "--trace", trace, policies="mru")
    if changed[0] == "--trace":  # the same name, another content
        trace.write_text("".join(json.dumps(line) + "\n" for line in LINES[:-1]))
        changed = ()
    zoo(capsys, folder, "--trace", trace, *changed, policies="mru")
    assert asked == ["mru", "mru"]


def test_another_version_starts_anew(
    capsys: Capture, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    zoo(capsys, tmp_path / "zoo", policies="mru")
    monkeypatch.setattr("kvbounds.__version__", "9.9")
    zoo(capsys, tmp_path / "zoo", policies="mru")
    assert asked == ["mru", "mru"]


def test_a_changed_class_of_the_user_is_attacked_again(tmp_path: Path) -> None:
    own = "tests.cases.own_policies:Talks"
    settings = {"seed": 0}
    Kept(tmp_path / "rows.json", settings).add({"policy": own})
    assert list(Kept(tmp_path / "rows.json", settings).rows) == [own]
    value = json.loads((tmp_path / "rows.json").read_text())
    value["rows"][0]["source"] = "of another file"
    (tmp_path / "rows.json").write_text(json.dumps(value))
    assert Kept(tmp_path / "rows.json", settings).rows == {}


def test_an_interruption_loses_nothing_that_is_finished(
    capsys: Capture, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, real = tmp_path / "zoo", zoo_rows.zoo_row

    def interrupted(policy: str, *given: Any) -> Any:
        if policy == "lfu":
            raise KeyboardInterrupt
        return real(policy, *given)

    with monkeypatch.context() as patched:
        patched.setattr(zoo_rows, "zoo_row", interrupted)
        done = zoo(capsys, folder)
    assert done.code == 130
    assert "1 of 2 policies are kept; the same command goes on" in done.err
    assert not (folder / "zoo.json").exists()
    assert zoo(capsys, folder).code == 0
    assert asked == ["mru", "lfu"]
    zoo(capsys, tmp_path / "straight")
    assert (folder / "zoo.json").read_bytes() == (tmp_path / "straight/zoo.json").read_bytes()


def test_any_number_of_processes_makes_the_same_table(
    capsys: Capture, tmp_path: Path, trace: Path
) -> None:
    own = "mru,tests.cases.own_policies:Talks,lfu"
    one = zoo(capsys, tmp_path / "1", "--trace", trace, "--format", "json", policies=own)
    assert "a step" in one.err
    two = zoo(
        capsys, tmp_path / "2", "--trace", trace, "--format", "json", "--jobs", 2, policies=own
    )
    assert one.json == two.json
    assert [row["policy"] for row in one.json["rows"]] == own.split(",")
    for file in ("zoo.json", "zoo.md"):
        assert (tmp_path / "1" / file).read_bytes() == (tmp_path / "2" / file).read_bytes()


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"schema": "kvbounds/zoo-rows/1"}', '{"schema": "kvbounds/zoo/1"}'],
)
def test_a_damaged_file_is_one_clear_error(capsys: Capture, tmp_path: Path, text: str) -> None:
    (tmp_path / "rows.json").write_text(text)
    fails(zoo(capsys, tmp_path, policies="mru"), 2, "start anew with --fresh")
    assert zoo(capsys, tmp_path, "--fresh", policies="mru").code == 0


def test_a_fault_of_a_policy_keeps_the_others(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(policy: str, *_: object) -> NoReturn:
        raise AssertionError(policy)

    done = zoo(capsys, tmp_path, "--quiet", policies="mru,tests.cases.own_policies:Raises")
    fails(done, 2, "RuntimeError: two lines")
    monkeypatch.setattr(zoo_rows, "zoo_row", broken)
    assert zoo(capsys, tmp_path, "--quiet", policies="mru").code == 0
