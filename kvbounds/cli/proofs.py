"""``kvbounds proofs``: the machine-checked theorems, and whether Coq's kernel accepts them.

With ``--certificate FILE`` the kernel checks the exact ratio that ``kvbounds exact`` has found.
"""

from __future__ import annotations

from typing import Annotated

import typer

from kvbounds.cli.output import Format, FormatOption, QuietOption, note, print_json, print_table
from theory.errors import ClaimError, InputError

__all__ = ["register"]

SCHEMA = "kvbounds/proofs/1"
KERNEL = "kvbounds/kernel/1"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("proofs", help="The theorems that Coq has checked.")(proofs)


def proofs(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[THEOREM]...", help="Only these, in full.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Build every proof now (minutes; needs Coq).")
    ] = False,
    certificate: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Check a certificate of kvbounds exact --policy leaf-lru (a minute; needs Coq).",
        ),
    ] = None,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Print each theorem with its file, status and axioms; with --check, from a build made now."""
    from theory.proofs import FOLDER, build, theorems

    if certificate is not None:
        if names or check:
            raise InputError(
                "goes with no theorem and not with --check",
                where="--certificate",
                fix="run the two one after the other",
            )
        _certificate(certificate, output, quiet)
        return

    kept = FOLDER / "assumptions.txt"
    if check:
        note("building the proofs ...", quiet)
        found = theorems(build())
    else:
        found = theorems()
        if kept.is_file():
            try:
                found = theorems(kept.read_text(encoding="utf-8"))
            except ClaimError:
                note("the build here is older than the list of theorems", quiet)
    known = {theorem.name for theorem in found}
    for name in names or []:
        if name not in known:
            raise InputError(
                f"unknown theorem {name!r}", where="proofs", fix="run kvbounds proofs for the list"
            )
    chosen = [theorem for theorem in found if not names or theorem.name in names]
    if output is Format.json:
        rows = [
            {
                "name": theorem.name,
                "file": theorem.file,
                "claim": theorem.claim,
                "partial": theorem.partial,
                "status": theorem.status,
                "axioms": None if theorem.axioms is None else list(theorem.axioms),
                "statement": theorem.statement,
                "formal": theorem.formal,
            }
            for theorem in chosen
        ]
        print_json({"schema": SCHEMA, "theorems": rows})
    elif names:
        for theorem in chosen:
            print(f"{theorem.name} ({theorem.file}): {theorem.status}; claim {theorem.claim}")
            print(f"  {theorem.statement}")
            if theorem.formal:
                print(f"  {theorem.formal}")
            if theorem.axioms is not None:
                print(f"  axioms: {', '.join(theorem.axioms) or 'none'}")
    else:
        rows_of_text = [
            [t.name, t.file, t.status, "part of " * t.partial + t.claim, t.statement]
            for t in chosen
        ]
        print_table(rows_of_text, ["theorem", "file", "status", "claim", "statement"], left=5)
        if any(theorem.axioms is None for theorem in chosen):
            note("there is no build here; kvbounds proofs --check makes one", quiet)
    bad = [theorem.name for theorem in chosen if theorem.axioms]
    if bad:
        raise ClaimError(f"these theorems rest on axioms: {', '.join(bad)}")


def _certificate(path: str, output: Format, quiet: bool) -> None:
    """Let the kernel check the certificate in this file."""
    from theory.exact.verify import verify
    from theory.jsonfile import read_json
    from theory.proofs.certify import certify

    value = read_json(path, "kvbounds/certificate/1")
    establishes = verify(value, path).establishes
    note("building the checker and its proof ...", quiet)
    formal = certify(value, path)
    if output is Format.json:
        row = {"valid": True, "establishes": establishes, "formal": formal, "axioms": []}
        print_json({"schema": KERNEL, **row})
    else:
        print(f"accepted by Coq's kernel, without axioms: {establishes}")
        print(f"  {formal}")
