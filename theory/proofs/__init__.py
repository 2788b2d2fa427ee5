"""The machine-checked theorems: their list, and what Coq's kernel says of each.

The proofs are the ``.v`` files of this folder. Nothing here is believed without the build: the
statement and the axioms of a theorem are read from the output of the build itself.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from theory.errors import ClaimError, InputError
from theory.jsonfile import read_json

__all__ = ["FOLDER", "Theorem", "build", "read_report", "require", "theorems"]

FOLDER = Path(__file__).resolve().parent
"""Where the proofs are."""

CLOSED = "Closed under the global context"


@dataclass(frozen=True)
class Theorem:
    """A theorem that Coq checks.

    Attributes
    ----------
    name, file : str
        Its name in Coq, and where it is.
    statement : str
        In one sentence, with its additive constant.
    claim : str
        The row of the ledger that it supports.
    partial : bool
        Whether it proves only a part of that claim.
    formal : str or None
        Its statement as Coq prints it; None if there is no build.
    axioms : tuple of str or None
        What it assumes beyond Coq's kernel; None if there is no build.
    """

    name: str
    file: str
    statement: str
    claim: str
    partial: bool = False
    formal: str | None = None
    axioms: tuple[str, ...] | None = None

    @property
    def status(self) -> str:
        """``checked``, ``rests on axioms`` or ``not built``."""
        if self.axioms is None:
            return "not built"
        return "rests on axioms" if self.axioms else "checked"


def read_report(text: str, names: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    r"""Read what the build prints of each theorem in `names`: its statement and its axioms.

    Examples
    --------
    >>> report = "lemma\n     : forall n : nat, n = n\nClosed under the global context\n"
    >>> read_report(report, ["lemma"])
    {'lemma': ('forall n : nat, n = n', ())}
    """
    wanted = set(names)
    formal: dict[str, str] = {}
    axioms: dict[str, tuple[str, ...]] = {}
    name = ""
    for line in text.splitlines():
        indented = line.startswith(" ")
        if line in wanted:
            name = line
            formal[name] = ""
        elif line in (CLOSED, "Axioms:"):
            axioms[name] = ()
        elif name in axioms and not indented:
            axioms[name] += (line.split(" : ")[0].strip(),)
        elif name in formal and name not in axioms:
            formal[name] = f"{formal[name]} {line.strip().removeprefix(': ')}".strip()
    return {name: (formal[name], found) for name, found in axioms.items() if name in formal}


def theorems(report: str | None = None) -> list[Theorem]:
    """All theorems; with the `report` of a build, their formal statements and axioms too.

    Raises
    ------
    ClaimError
        If the report lacks a theorem of the list.

    Examples
    --------
    >>> any(theorem.claim == "theorem-1" for theorem in theorems())
    True
    """
    rows = read_json(FOLDER / "theorems.json")
    checked = None if report is None else read_report(report, [row["name"] for row in rows])
    result = []
    for row in rows:
        formal: str | None = None
        axioms: tuple[str, ...] | None = None
        if checked is not None:
            if row["name"] not in checked:
                raise ClaimError(f"the build says nothing of theorem {row['name']}")
            formal, axioms = checked[row["name"]]
        result.append(
            Theorem(
                row["name"],
                row["file"],
                row["statement"],
                row["claim"],
                bool(row.get("partial", False)),
                formal,
                axioms,
            )
        )
    return result


def require(*programs: str) -> None:
    """Raise `InputError` unless these programs are installed."""
    packages = {"coqc": "coq"}
    for program in programs:
        if shutil.which(program) is None:
            raise InputError(
                f"{program} is not installed",
                where="proofs",
                fix=f"install the Debian package {packages.get(program, program)}",
            )


def build() -> str:
    """Build all proofs from nothing in a temporary folder; the build's own report.

    Raises
    ------
    InputError
        If Coq or make is missing.
    ClaimError
        If a proof does not check, is left open, or rests on an axiom.
    """
    require("coqc", "make")
    with tempfile.TemporaryDirectory(prefix="kvbounds-proofs-") as name:
        folder = Path(name)
        for source in FOLDER.iterdir():
            if source.suffix == ".v" or source.name in ("Makefile", "_CoqProject", "theorems.json"):
                shutil.copy(source, folder)
        done = subprocess.run(
            ["make", "--silent", "-C", name],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            last = " | ".join((done.stdout + done.stderr).strip().splitlines()[-3:])
            raise ClaimError(f"the proofs do not build: {last}")
        return (folder / "assumptions.txt").read_text(encoding="utf-8")
