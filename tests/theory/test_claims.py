"""The ledger: every row is complete, names things that are there, and nothing promotes itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import theory
from theory.bounds import BOUNDS
from theory.claims import CLAIMS, STATUSES, Claim
from theory.claims.claim import machine_checked, theorems
from theory.eviction import POLICIES

ROOT = Path(theory.__file__).resolve().parent.parent
PROVED = Claim("x", "statement", "always", "proved", "by hand", "make -C theory/proofs", "here")


def test_ids_are_unique() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_row_is_complete(claim: Claim) -> None:
    for text in (claim.id, claim.statement, claim.assumptions, claim.evidence, claim.source):
        assert text and text == text.strip()
    assert claim.status in STATUSES
    assert not claim.bound or claim.bound in BOUNDS
    program, *words = claim.command.split()
    assert program in ("pytest", "kvbounds", "make")
    assert words
    if claim.status == "refuted":
        assert "itness" in claim.evidence
    if claim.status == "measured":
        assert "seeds" in claim.evidence and "interval" in claim.evidence


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_the_tests_it_names_are_there(claim: Claim) -> None:
    for node in claim.tests:
        file, _, name = node.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {item.name for item in tree.body if isinstance(item, ast.FunctionDef)}
        assert not name or name in functions


def test_every_closed_form_belongs_to_a_claim() -> None:
    # The two halves of a claim may share a row; these are the helpers of others.
    helpers = {"yao-phase", "phase-one-eviction-upper"}
    assert set(BOUNDS) - {claim.bound for claim in CLAIMS} <= helpers


def test_what_the_paper_states_is_all_there() -> None:
    assert {name for name in BOUNDS if name.startswith("paper-")} <= {c.bound for c in CLAIMS}


def test_policies_without_a_ratio_are_policies() -> None:
    for claim in CLAIMS:
        if claim.id.endswith("-unbounded"):
            assert claim.id.removesuffix("-unbounded") in POLICIES


def test_machine_checked_comes_from_the_proofs_alone() -> None:
    proved_by_coq = {theorem["claim"] for theorem in theorems()}
    for claim in CLAIMS:
        assert (claim.status == "machine-checked") <= (claim.id in proved_by_coq)
    assert proved_by_coq <= {claim.id for claim in CLAIMS}


@pytest.mark.parametrize(
    ("theorem", "status"),
    [
        ({"claim": "x"}, "machine-checked"),
        ({"claim": "x", "partial": True}, "proved"),
        ({"claim": "y"}, "proved"),
    ],
)
def test_a_theorem_promotes_its_own_claim(theorem: dict[str, object], status: str) -> None:
    named = {"name": "t", "file": "X.v", "statement": "", **theorem}
    (row,) = machine_checked([PROVED], [named])
    assert row.status == status
    assert bool(row.theorems) == (theorem["claim"] == "x")


def test_a_theorem_promotes_no_conjecture() -> None:
    guess = Claim("x", "statement", "always", "conjectured", "none", "pytest a.py", "here")
    named = {"name": "t", "file": "X.v", "statement": "", "claim": "x"}
    assert machine_checked([guess], [named])[0].status == "conjectured"


def test_without_the_proofs_nothing_is_machine_checked(tmp_path: Path) -> None:
    assert theorems(tmp_path / "absent.json") == []
