"""``kvbounds makespan``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import call, command, fails

GSP = ("makespan", "--workload", "gsp:groups=3,prompts=2,lengths=64+128,block=16")


def test_json_has_the_fields_that_scripts_rely_on(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (
        *GSP, "--router", "lbgr,cache-aware", "--eviction", "leaf-lru,rlt", "--seeds", 2,
        "--format", "json",
    )  # fmt: skip
    done = call(capsys, *arguments)
    assert done.code == 0
    rows = done.json["rows"]
    assert len(rows) == 2 * 2 * 2
    assert {row["seed"] for row in rows} == {0, 1}
    for row in rows:
        assert row["proven"] is True
        assert row["makespan"] >= row["optimum"] == row["bound"]
        assert row["gap"] == pytest.approx(row["makespan"] / row["optimum"] - 1)
    for line in done.json["summary"]:
        mine = [
            row["makespan"] / row["optimum"]
            for row in rows
            if (row["router"], row["eviction"]) == (line["router"], line["eviction"])
        ]
        assert line["mean_ratio"] == pytest.approx(sum(mine) / len(mine))
        assert line["worst_ratio"] == pytest.approx(max(mine))
    assert call(capsys, *arguments).out == done.out


def test_json_is_the_same_in_a_process_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (*GSP, "--router", "all", "--format", "json", "--workers", 3)
    assert command(*arguments).out == call(capsys, *arguments).out


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    one = call(capsys, *GSP, "--router", "lbgr")
    assert "makespan ms  optimum ms" in one.out
    assert "yes" in one.out
    many = call(capsys, *GSP, "--router", "lbgr", "--seeds", 3, "--horizon", 2)
    assert "mean ratio  worst ratio" in many.out
    assert "rolling-horizon  offline" in many.out
    assert "3/3" in many.out


def test_unequal_workers_and_fractions(capsys: pytest.CaptureFixture[str]) -> None:
    done = call(
        capsys, *GSP, "--capacity", "8,12", "--alpha-miss", "1/3,0.5", "--alpha-cached", "0.01",
        "--alpha-output", "2", "--format", "json",
    )  # fmt: skip
    assert [worker["capacity"] for worker in done.json["workers"]] == [8, 12]
    assert [worker["alpha_miss"] for worker in done.json["workers"]] == ["16/3", "8"]
    assert done.json["rows"][0]["proven"]


def test_same_eviction_reference(capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, *GSP, "--reference", "same-eviction", "--format", "json")
    assert done.json["reference"] == "same-eviction"
    assert done.json["rows"][0]["proven"]


def test_instances_and_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, picture = tmp_path / "i.json", tmp_path / "g.png"
    first = call(capsys, *GSP, "--save", saved, "--gantt", picture, "--format", "json")
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = call(capsys, "makespan", "--instance", saved, "--format", "json")
    assert again.json["rows"] == first.json["rows"]
    witness = Path("adversary/witnesses/routing/late-giant-lbgr.json")
    shown = call(
        capsys, "makespan", "--instance", Path(__file__).parents[2] / witness, "--format", "json"
    )
    assert shown.json["rows"][0]["ratio"] == "3/2"


def test_a_missing_proof_is_said_and_required(capsys: pytest.CaptureFixture[str]) -> None:
    hard = (
        "makespan", "--workload", "gsp:groups=6,prompts=6,ratio=0.7,lengths=64+96+160,block=4",
        "--workers", 5, "--capacity", 40, "--time-limit", 0.001, "--seed", 1,
    )  # fmt: skip
    done = call(capsys, *hard, "--format", "json")
    assert done.code == 0
    (row,) = done.json["rows"]
    assert row["proven"] is False
    assert row["optimum"] is None
    assert row["bound"] < row["best_known"] <= row["makespan"]
    assert row["gap"] == pytest.approx(row["makespan"] / row["bound"] - 1)
    assert done.json["time_limit_s"] == 0.001
    assert "1 of 1 rows have no proven optimum" in done.err
    required = call(capsys, *hard, "--require-proof", "--quiet")
    assert required.code == 1
    assert "no" in required.out
    assert required.err.count("\n") == 1
    assert call(capsys, *GSP, "--require-proof").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give exactly one source of queries"),
        (("--workload", "gsp", "--trace", "x.jsonl"), "give exactly one source of queries"),
        ((*GSP[1:], "--workers", 0), "--workers: 0 workers can serve nothing"),
        ((*GSP[1:], "--capacity", 3), "its footprint of 8 tokens exceeds the capacity 3"),
        ((*GSP[1:], "--capacity", "8,8,8"), "--capacity: 3 values for 2 workers; give 1 or 2"),
        ((*GSP[1:], "--capacity", 0), "0 is not a positive whole number"),
        ((*GSP[1:], "--alpha-miss", "fast"), "alpha_miss: 'fast' is not a number"),
        ((*GSP[1:], "--alpha-cached", 2), "alpha_cached: a hit takes longer than a miss"),
        ((*GSP[1:], "--time-limit", -1), "--time-limit: -1.0 is no number of seconds"),
        ((*GSP[1:], "--time-limit", "nan"), "--time-limit: nan is no number of seconds"),
        ((*GSP[1:], "--router", "best"), "unknown router 'best'; choose from"),
        ((*GSP[1:], "--router", ","), "--router: the list is empty"),
        ((*GSP[1:], "--eviction", "best"), "unknown eviction policy 'best'"),
        (("--workload", "gsp:group=3"), "workload gsp: has no key 'group'; choose from groups"),
        (("--workload", "web"), "unknown workload 'web'; choose from gsp"),
        (("--trace", "missing.jsonl"), "missing.jsonl"),
        (("--instance", "missing.json"), "missing.json: cannot be read"),
        (("--instance", "i.json", "--workers", 2), "--workers: the instance has its workers"),
        ((*GSP[1:], "--gantt", "g.txt"), "gantt: 'g.txt' is of no known kind"),
        ((*GSP[1:], "--queries", 0), "--queries"),
    ],
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[object, ...], message: str
) -> None:
    fails(call(capsys, "makespan", *arguments), 2, message)
