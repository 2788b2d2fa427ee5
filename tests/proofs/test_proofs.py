"""The list of machine-checked theorems, and how the report of their build is read."""

from __future__ import annotations

import re

import pytest

from theory.claims import CLAIMS
from theory.errors import ClaimError
from theory.proofs import FOLDER, read_report, theorems

REPORT = """\
good
     : forall a b : nat,
       a + b = b + a
Closed under the global context
bad
     : 0 = 1
Axioms:
false_axiom : False
other_axiom
     : forall n : nat, n = 0
also.Qualified : nat
last
     : True
Closed under the global context
"""


def test_report_tells_statement_and_axioms() -> None:
    assert read_report(REPORT, ["good", "bad", "last"]) == {
        "good": ("forall a b : nat, a + b = b + a", ()),
        "bad": ("0 = 1", ("false_axiom", "other_axiom", "also.Qualified")),
        "last": ("True", ()),
    }


def test_every_theorem_stands_in_its_file_and_in_the_ledger() -> None:
    ids = {claim.id for claim in CLAIMS}
    for theorem in theorems():
        source = (FOLDER / theorem.file).read_text(encoding="utf-8")
        assert re.search(rf"^(Theorem|Corollary|Lemma|Example) {theorem.name}\b", source, re.M)
        assert theorem.claim in ids, theorem.name
        assert theorem.status == "not built"


def test_no_proof_is_left_open() -> None:
    for source in FOLDER.glob("*.v"):
        text = source.read_text(encoding="utf-8")
        found = re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture|give_up)\b", text)
        assert found is None, (source.name, found)


def test_a_report_that_lacks_a_theorem_is_no_proof() -> None:
    with pytest.raises(ClaimError, match="says nothing of theorem"):
        theorems(REPORT)
