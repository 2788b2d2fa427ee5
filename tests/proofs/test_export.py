"""Certificates in Coq's syntax: the committed ones are what ``kvbounds exact`` writes now."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest

from tests.cli.command import call, fails
from theory.errors import ClaimError, InputError
from theory.exact import Arena, certificate, exact_ratio
from theory.jsonfile import read_json, write_json
from theory.proofs import FOLDER, export
from theory.proofs.certify import certify
from theory.proofs.export import MOST_TOKENS, certificate_to_coq, data_file
from theory.proofs.export import exact_ratio as proposition
from theory.trie import TokenTrie

SCHEMA = FOLDER.parent.parent / "docs" / "schemas" / "kernel.json"
CASES = {
    "star": ("-1,-1,-1", 2, 1, "0,1,2"),
    "broom_3": ("-1,0,0,0", 3, 1, "1,2,3"),
    "broom_4": ("-1,0,0,0,0", 4, 2, "1,2,3,4"),
    "chains": ("-1,0,-1,2,-1", 3, 1, "1,3,4"),
}
THEOREMS = {
    "star": "certified_star",
    "broom_3": "certified_broom",
    "broom_4": "certified_batches",
    "chains": "certified_ratio",
}


def needs_coq(test: Callable[..., None]) -> Callable[..., None]:
    """Slow, and skipped where Coq is not installed."""
    skip = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed")
    return cast(Callable[..., None], pytest.mark.slow(skip(test)))


def certified(parents: str, capacity: int, beta: int, queries: str, policy: str) -> Any:
    trie = TokenTrie.from_parents([int(parent) for parent in parents.split(",")])
    asked = [int(query) for query in queries.split(",")]
    return certificate(exact_ratio(Arena(trie, capacity, beta, asked), policy))


def test_the_committed_certificates_are_those_of_the_solver(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {}
    for name, (parents, capacity, beta, queries) in CASES.items():
        file = tmp_path / f"{name}.json"
        instance = (f"--parents={parents}", "--capacity", capacity, "--beta", beta)
        wanted = ("--queries", queries, "--policy", "leaf-lru", "--certificate", file)
        assert call(capsys, "exact", *instance, *wanted, "--quiet").code == 0
        found[name] = read_json(file)
    committed = (FOLDER / "CertificateData.v").read_text(encoding="utf-8")
    assert data_file(found) == committed


@pytest.mark.parametrize("name", CASES)
def test_the_theorem_states_what_the_certificate_establishes(name: str) -> None:
    source = (FOLDER / "CertificateExample.v").read_text(encoding="utf-8")
    stated = re.search(rf"Theorem {THEOREMS[name]} :(.*?)\.\s+Proof", source, re.DOTALL)
    assert stated is not None
    value = certified(*CASES[name], "leaf-lru")
    assert " ".join(stated[1].split()) == proposition(value)


def test_the_certified_example_is_exact() -> None:
    value = certified(*CASES["chains"], "leaf-lru")
    assert (value["ratio"], value["upper"]["additive"]) == ("5/3", "0")
    assert value["lower"] == {"policy_cost": "5", "optimum_cost": "3"}


def test_other_policies_are_not_covered() -> None:
    with pytest.raises(InputError, match="no exact ratio of leaf-lru"):
        certificate_to_coq("star", certified(*CASES["star"], "rlt"))


def test_large_tries_are_not_covered() -> None:
    parents = ",".join(["-1"] * (MOST_TOKENS + 1))
    value = certified(parents, 2, 1, "0,1,2", "leaf-lru")
    with pytest.raises(InputError, match=f"{MOST_TOKENS + 1} tokens"):
        certificate_to_coq("wide", value)


def test_an_invalid_certificate_is_not_exported() -> None:
    value = certified(*CASES["star"], "leaf-lru")
    value["upper"]["potential"][3] = "2"
    with pytest.raises(ClaimError, match="star#/upper/potential"):
        certificate_to_coq("star", value)


def test_the_command_takes_one_thing_at_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = tmp_path / "absent.json"
    fails(call(capsys, "proofs", "--certificate", absent), 2, "absent.json")
    fails(call(capsys, "proofs", "--check", "--certificate", absent), 2, "not with --check")


def test_without_coq_one_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "star.json"
    write_json(file, certified(*CASES["star"], "leaf-lru"))
    monkeypatch.setattr(shutil, "which", lambda program: None)
    fails(call(capsys, "proofs", "--certificate", file, "--quiet"), 2, "coqc is not installed")


@needs_coq
def test_the_kernel_trusts_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    value = certified(*CASES["chains"], "leaf-lru")
    value["upper"]["policy"]["costs"][4][0] = "0"
    monkeypatch.setattr(export, "verify", lambda value, where: None)
    with pytest.raises(ClaimError, match="Coq does not accept the certificate"):
        certify(value)


@needs_coq
def test_the_kernel_accepts_a_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = certified(*CASES["chains"], "leaf-lru")
    file = tmp_path / "chains.json"
    write_json(file, value)
    done = call(capsys, "proofs", "--certificate", file, "--format", "json", "--quiet")
    assert done.code == 0
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(done.json)
    assert done.json["formal"] == proposition(value)
