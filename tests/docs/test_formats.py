"""Every file and every JSON output is what docs/schemas says, on real outputs of the commands."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from adversary.routing import witnesses
from empirical.experiments.questions import answer_all
from tests.cli.command import Done, call, command

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs" / "schemas"

STAR = ("exact", "--family", "broom", "--set", "L=1,leaves=3", "--capacity", "2")
WORKLOAD = ("--workload", "gsp:groups=2,prompts=2", "--queries", "4")


def conforms(value: Any, name: str) -> None:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(value)


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "small.jsonl"
    assert command("trace", "generate", "--requests", "60", "--out", path, "--quiet").code == 0
    return path


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_command(*arguments: object) -> Done:
        done = call(capsys, *arguments, "--quiet")
        assert done.code == 0, done.err
        return done

    return run_command


def printed(run: Run, *arguments: object) -> Any:
    return run(*arguments, "--format", "json").json


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_schemas_are_schemas(path: Path) -> None:
    schema = read(path)
    jsonschema.Draft202012Validator.check_schema(schema)
    if "schema" in schema["properties"]:
        assert schema["properties"]["schema"]["const"] == f"kvbounds/{path.stem}/1"


def test_traces(run: Run, trace: Path) -> None:
    for line in trace.read_text(encoding="utf-8").splitlines():
        conforms(json.loads(line), "trace-row")
    conforms(command("trace", "inspect", trace, "--format", "json").json, "trace-summary")
    measured = ("--trace", trace, "--policy", "leaf-lru,rlt", "--seeds", "2")
    conforms(printed(run, "ratio", *measured, "--capacity", "100"), "ratio")
    conforms(printed(run, "curve", *measured, "--capacities", "80,100"), "curve")


def test_exact_ratios(run: Run, tmp_path: Path) -> None:
    ratio, value = tmp_path / "ratio.json", tmp_path / "value.json"
    found = printed(run, *STAR, "--certificate", ratio, "--value", "--value-certificate", value)
    conforms(found, "exact")
    for certificate in (ratio, value):
        conforms(read(certificate), "certificate")
        conforms(command("verify", certificate, "--format", "json").json, "verify")
    conforms(read(ratio)["instance"], "instance")
    conforms(printed(run, *STAR, "--policy", "mru"), "exact")
    sweep = tmp_path / "sweep.json"
    forests = ("exact", "--all-forests", "3", "--capacity", "2", "--jobs", "1", "--out", sweep)
    conforms(printed(run, *forests), "forests")
    conforms(read(sweep), "sweep")


def test_worst_cases(run: Run, tmp_path: Path) -> None:
    instance = tmp_path / "instance.json"
    cyclic = ("adversary", "cyclic", "--capacity", "5", "-L", "2", "--out", instance)
    conforms(printed(run, *cyclic), "family")
    conforms(read(instance), "instance")
    conforms(command("adversary", "--list", "--format", "json").json, "families")
    conforms(printed(run, "ratio", "--instance", instance), "ratio")


@pytest.mark.parametrize("policy", ["mru", "tests.adversary.faulty:Outsider"])
def test_checks(capsys: pytest.CaptureFixture[str], policy: str) -> None:
    found = call(capsys, "check", policy, "--capacity", "3", "--format", "json").json
    conforms(found, "check")
    cases = [one["case"] for one in found["checks"] if one["case"] is not None]
    assert cases
    for case in cases:
        conforms(case, "instance")


@pytest.mark.slow
def test_attacks(run: Run, tmp_path: Path) -> None:
    attack = ("attack", "--policy", "mru", "--capacity", "2", "--evaluations", "20", "--jobs", "1")
    state = tmp_path / "state.json"
    found = printed(run, *attack, "--resume", state)
    conforms(found, "attack")
    conforms(found["witness"], "instance")
    conforms(read(state), "search")
    for candidate in read(state)["pool"]:
        conforms(candidate["instance"], "instance")


@pytest.mark.slow
def test_the_zoo(run: Run, tmp_path: Path, trace: Path) -> None:
    policies = ("--policy", "leaf-lru,rlt,mru", "--trace", trace, "--blocks", "100")
    zoo = ("zoo", *policies, "--capacity", "3", "--evaluations", "20", "--out", tmp_path)
    conforms(printed(run, *zoo), "zoo")
    conforms(read(tmp_path / "zoo.json"), "zoo")
    for row in read(tmp_path / "zoo.json")["rows"]:
        conforms(row["witness"], "instance")


def test_simulations(run: Run, tmp_path: Path) -> None:
    runs = tmp_path / "runs.json"
    tiny = ("simulate", *WORKLOAD, "--workers", "2", "--router", "lbgr,cache-aware")
    conforms(printed(run, *tiny, "--seeds", "2", "--out", runs), "simulate")
    conforms(read(runs), "runs")
    conforms(printed(run, *tiny, "--window", "last-half", "--timings"), "simulate")


@pytest.mark.parametrize("panel", ["ablation", "order"])  # with the paper's numbers, and without
def test_experiments(run: Run, tmp_path: Path, panel: str) -> None:
    tiny = ("experiment", panel, "--queries", "12", "--jobs", "1", "--out", tmp_path)
    found = printed(run, *tiny, "--seeds", "2")
    conforms(found, "experiment")
    assert read(tmp_path / f"{panel}.json") == found
    conforms(read(tmp_path / "runs.json"), "runs")
    conforms(printed(run, *tiny, "--seeds", "1"), "experiment")


def test_the_list_of_experiments(run: Run) -> None:
    listed = printed(run, "experiment", "list")
    conforms(listed, "experiments")
    needs = {one["name"]: one["needs"] for one in listed["experiments"]}
    assert needs["ablation"] == []
    assert "mooncake_conversation_trace.jsonl" in needs["lbgr-traces"]


def test_answers(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two questions: one that needs no cluster, one that does."""
    two = functools.partial(answer_all, only=(2, 3))
    monkeypatch.setattr("empirical.experiments.questions.answer_all", two)
    tiny = ("--queries", "12", "--seeds", "2", "--jobs", "1", "--out", tmp_path)
    found = printed(run, "experiment", "questions", *tiny)
    conforms(found, "questions")
    assert read(tmp_path / "questions.json") == found


def test_makespans(run: Run, tmp_path: Path) -> None:
    instance = tmp_path / "routing.json"
    conforms(printed(run, "makespan", *WORKLOAD, "--save", instance), "makespan")
    conforms(read(instance), "routing")
    for path in sorted((ROOT / "adversary" / "witnesses" / "routing").glob("*.json")):
        witness = read(path)
        conforms(witness, "routing-witness")
        conforms(witness["instance"], "routing")
    assert witnesses()


def test_ledger(run: Run) -> None:
    conforms(command("claims", "--format", "json").json, "claims")
    conforms(printed(run, "proofs"), "proofs")


@pytest.mark.slow
def test_validate(run: Run, tmp_path: Path) -> None:
    conforms(printed(run, "validate", "--quick", "--out", tmp_path), "validate")
    conforms(read(tmp_path / "validate.json"), "validate")


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "reports").glob("replay*.json")), ids=str)
def test_committed_replays(path: Path) -> None:
    """A report of the whole replay holds one document a run, and the profile fitted to the last."""
    report = read(path)
    conforms(report, "replays")
    conforms(report["profile"], "profile")
    for run in report["runs"].values():
        conforms(run, "replay")


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "reports").glob("compare*.json")), ids=str)
def test_committed_comparisons(path: Path) -> None:
    conforms(read(path), "compare")
