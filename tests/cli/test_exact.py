"""``kvbounds exact`` and ``kvbounds verify``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.command import call, fails
from theory.model import Instance
from theory.trie import TokenTrie

STAR = ("--parents", "-1,-1,-1", "--capacity", 2)


def test_broom_of_a_family(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    family = ("--family", "broom", "--set", "L=2,leaves=4", "--capacity", 4, "--policy", "rlt")
    done = call(capsys, "exact", *family, "--certificate", proof, "--format", "json", "--quiet")
    assert done.code == 0 and done.err == ""
    assert done.json["ratio"] == "11/6" and done.json["complete"] and done.json["states"] == 25
    assert (done.json["u"], done.json["k"], done.json["additive"]) == (2, 3, "0")
    checked = call(capsys, "verify", proof, "--format", "json")
    assert checked.code == 0 and checked.json["valid"]
    assert checked.json["ratio"] == "11/6" and "exactly 11/6" in checked.json["establishes"]


def test_output_is_byte_stable(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    outputs, proofs = [], []
    for name in ("a", "b"):
        done = call(capsys, "exact", *STAR, "--certificate", tmp_path / name, "--format", "json")
        outputs.append(done.out)
        proofs.append((tmp_path / name).read_bytes())
    assert outputs[0] == outputs[1] and proofs[0] == proofs[1]


def test_side_by_side(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    proof = tmp_path / "value.json"
    value = ("--value", "--value-certificate", proof)
    done = call(capsys, "exact", *STAR, "--policy", "leaf-lru", *value, "--format", "json")
    shown = done.json
    assert (shown["ratio"], shown["deterministic"], shown["randomised_lower"]) == ("2", "2", "3/2")
    checked = call(capsys, "verify", proof)
    assert checked.code == 0 and "no deterministic policy has a ratio below 2" in checked.out


def test_a_tampered_certificate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    call(capsys, "exact", *STAR, "--certificate", proof)
    value = json.loads(proof.read_text())
    value["upper"]["potential"][2] = "-1"
    proof.write_text(json.dumps(value))
    fails(call(capsys, "verify", proof), 1, f"{proof}#/upper/potential/2: is negative")
    done = call(capsys, "verify", proof, "--format", "json")
    assert done.code == 1 and done.json["valid"] is False
    assert "#/upper/potential/2" in done.json["error"]


def test_files_that_are_no_certificates(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fails(call(capsys, "verify", tmp_path / "none.json"), 2, "cannot be read")
    (tmp_path / "other.json").write_text('{"schema": "kvbounds/instance/1"}')
    fails(call(capsys, "verify", tmp_path / "other.json"), 2, "has schema")
    (tmp_path / "broken.json").write_text("{")
    fails(call(capsys, "verify", tmp_path / "broken.json"), 2, "not valid JSON")


def test_a_cycle_from_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "cycle.json"
    star = TokenTrie.from_parents([-1, -1, -1])
    Instance(star, 2, [[0], [1], [0], [2]], cycle_start=0).save(path)
    proof = tmp_path / "proof.json"
    done = call(
        capsys, "exact", "--cycle", path, "--policy", "rlt", "--certificate", proof,
        "--format", "json",
    )  # fmt: skip
    assert done.json["ratio"] == "3/2" and done.json["complete"] is False
    assert "at least 3/2" in call(capsys, "verify", proof).out
    Instance(star, 2, [[0], [1]]).save(path)
    fails(call(capsys, "exact", "--cycle", path), 2, "has no cycle")


def test_an_instance_restricts_the_queries(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "instance.json"
    Instance(TokenTrie.from_parents([-1, 0, 1, -1, -1]), 4, [[2], [3], [4]]).save(path)
    done = call(capsys, "exact", "--instance", path, "--policy", "rlt-node", "--format", "json")
    assert done.json["ratio"] == "5/2" and done.json["B"] == 4
    given = ("--parents", "-1,0,1,-1,-1", "--capacity", 4, "--queries", "2-4")
    more = call(capsys, "exact", *given, "--policy", "rlt-node", "--format", "json")
    assert more.json == done.json


def test_a_capped_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--parents", "-1,-1,-1,-1,-1", "--capacity", 3, "--max-states", 400)
    done = call(capsys, "exact", *given, "--format", "json")
    assert done.code == 0 and done.json["complete"] is False
    assert "cap of 400 states was reached: a lower bound only" in done.err
    assert call(capsys, "exact", *given, "--quiet").err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "exactly one of --family"),
        (("--parents", "-1,-1", "--family", "broom"), "exactly one of --family"),
        (("--parents", "-1,-1,-1"), "--capacity: is missing"),
        (("--parents", "-1,5", "--capacity", 2), "/parents/1"),
        (("--parents", "x", "--capacity", 2), "--parents: 'x'"),
        (("--parents", "-1,-1,-1", "--capacity", 3), "hold all 3 tokens"),
        (("--parents", "-1,-1,-1", "--capacity", 0), "not a positive whole number"),
        (("--parents", "-1,-1,-1", "--capacity", "2-3"), "ranges are for --all-forests"),
        ((*STAR, "--policy", "none"), "unknown eviction policy"),
        ((*STAR, "--queries", "7"), "not a token"),
        ((*STAR, "--beta", "9"), "too few for batches of 9"),
        ((*STAR, "--certificate", "/no/such/folder/file"), "cannot be written"),
        (("--instance", "/no/such/file"), "cannot be read"),
        (("--family", "none"), "unknown family"),
        (("--all-forests", "40"), "not between 1 and 12"),
    ],
)
def test_bad_usage(
    capsys: pytest.CaptureFixture[str], arguments: tuple[object, ...], message: str
) -> None:
    fails(call(capsys, "exact", *arguments), 2, message)


def test_a_sweep_is_resumed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "sweep.json"
    given = ("--capacity", "2-3", "--beta", "1-2", "--jobs", 1, "--out", out, "--format", "json")
    first = call(capsys, "exact", "--all-forests", 3, "--policy", "rlt", *given)
    assert f"{first.json['instances']} ratios, 0 of them known" in first.err
    wide = call(capsys, "exact", "--all-forests", 4, "--policy", "rlt,fifo", *given)
    assert f"{first.json['instances']} of them known" in wide.err
    again = call(capsys, "exact", "--all-forests", 4, "--policy", "rlt,fifo", *given)
    assert again.json == wide.json
    assert [row for row in wide.json["rows"] if row in first.json["rows"]] == first.json["rows"]
    worst = {(c["policy"], c["B"], c["beta"], c["u"]): c["worst"] for c in wide.json["cells"]}
    assert worst["rlt", 3, 1, 1] == "11/6" and worst["fifo", 3, 2, 2] == "3"
    table = call(capsys, "exact", "--all-forests", 4, "--policy", "rlt", *given[:-2])
    assert "-1,-1,-1,-1" in table.out and table.out.startswith("policy")
    out.write_text('{"schema": "kvbounds/sweep/1", "rows": [{}]}')
    fails(call(capsys, "exact", "--all-forests", 3, *given), 2, "#/rows/0: is no row")


@pytest.mark.slow
def test_ctrl_c_keeps_what_a_sweep_has_finished(tmp_path: Path) -> None:
    out = tmp_path / "sweep.json"
    command = [sys.executable, "-m", "kvbounds", "exact", "--all-forests", "7", "--out", str(out)]
    running = subprocess.Popen(
        [*command, "--policy", "rlt", "--jobs", "2"], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not out.exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "kvbounds: error: interrupted; what was finished is kept" in err
    assert len(json.loads(out.read_text())["rows"]) >= 50
