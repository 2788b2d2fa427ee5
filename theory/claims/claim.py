"""A row of the ledger, and the one way to become machine-checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import orjson

__all__ = ["STATUSES", "Claim", "Status", "machine_checked", "theorems"]

Status = Literal["proved", "machine-checked", "verified", "measured", "conjectured", "refuted"]
"""What is known: *proved* on paper; *machine-checked* by Coq; *verified* on the finite set that the
evidence names; *measured* with seeds and an interval; *conjectured*; *refuted* by a witness."""

STATUSES: tuple[Status, ...] = get_args(Status)

PROOFS = Path(__file__).resolve().parent.parent / "proofs" / "theorems.json"


@dataclass(frozen=True)
class Claim:
    """One statement with its evidence.

    Attributes
    ----------
    id : str
        A short name that never changes.
    statement, assumptions : str
        What is claimed, and when.
    status : Status
        A *refuted* statement is false: its evidence is the witness.
    evidence : str
        What the status rests on.
    command : str
        What shows it: ``pytest FILE[::TEST]``, a ``kvbounds`` command, or the build of the proofs.
    source : str
        Theorem, paper or program.
    bound : str
        The closed form in `theory.bounds.BOUNDS`, if there is one.
    theorems : tuple of str
        The Coq theorems that state it.
    """

    id: str
    statement: str
    assumptions: str
    status: Status
    evidence: str
    command: str
    source: str
    bound: str = ""
    theorems: tuple[str, ...] = ()

    @property
    def tests(self) -> tuple[str, ...]:
        """The pytest node ids of the command; none if it is another kind of command.

        Examples
        --------
        >>> row = Claim("x", "", "", "proved", "", "pytest theory/test_lemma_1.py", "")
        >>> row.tests
        ('theory/test_lemma_1.py',)
        """
        program, *words = self.command.split()
        return tuple(words) if program == "pytest" else ()

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        return {**vars(self), "theorems": list(self.theorems)}


def theorems(path: Path = PROOFS) -> list[dict[str, Any]]:
    """The theorems that the build of the proofs reports; none where the file is not there.

    Each has ``name``, ``file``, ``statement`` and ``claim``, the id of the row that it proves; with
    ``"partial": true`` it proves only a part of it and promotes nothing.
    """
    if not path.exists():
        return []
    found: list[dict[str, Any]] = orjson.loads(path.read_bytes())
    return found


def machine_checked(claims: Iterable[Claim], proofs: Iterable[dict[str, Any]]) -> tuple[Claim, ...]:
    """The claims, those proved by a theorem of the build promoted to *machine-checked*.

    Nothing else gives a claim that status.

    Examples
    --------
    >>> row = Claim("x", "", "", "proved", "by hand", "make -C theory/proofs", "")
    >>> theorem = {"name": "t", "file": "X.v", "claim": "x", "statement": ""}
    >>> machine_checked([row], [theorem])[0].status
    'machine-checked'
    """
    by_claim: dict[str, list[dict[str, Any]]] = {}
    for theorem in proofs:
        by_claim.setdefault(theorem["claim"], []).append(theorem)
    result = []
    for claim in claims:
        found = by_claim.get(claim.id, [])
        named = tuple(f"{theorem['file']}: {theorem['name']}" for theorem in found)
        whole = any(not theorem.get("partial", False) for theorem in found)
        if named:
            claim = replace(
                claim,
                theorems=named,
                status="machine-checked" if whole and claim.status == "proved" else claim.status,
            )
        result.append(claim)
    return tuple(result)
