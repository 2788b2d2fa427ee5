"""``kvbounds claims``: the ledger, and whether its tests still hold."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from xml.etree import ElementTree

import typer

from kvbounds.cli.output import Format, FormatOption, QuietOption, note, print_json, print_table
from theory.errors import ClaimError, InputError

if TYPE_CHECKING:
    from theory.claims import Claim

__all__ = ["register"]

HELD, FAILED, NOT_RUN = "held", "failed", "not run"
SCHEMA = "kvbounds/claims/1"
STDERR = 2  # the file descriptor: what pytest prints is progress, not a result


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("claims", help="The ledger of claims, and whether they hold.")(claims)


def claims(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Only these, in full.")
    ] = None,
    status: Annotated[str | None, typer.Option(help="Only claims of this status.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Run the tests that the claims name (minutes for all).")
    ] = False,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Print the claims with status and evidence; with --check, run what shows them."""
    chosen = _select(names or [], status)
    outcomes = _check(chosen, quiet) if check else {}
    if output is Format.json:
        rows = [
            {**claim.to_json(), **({"check": outcomes[claim.id]} if check else {})}
            for claim in chosen
        ]
        result: dict[str, Any] = {"schema": SCHEMA, "claims": rows}
        if check:
            result["ok"] = FAILED not in outcomes.values()
        print_json(result)
    elif names:
        for claim in chosen:
            _print(claim, outcomes.get(claim.id))
    else:
        header = ["claim", "status", *(["check"] if check else []), "statement"]
        print_table(
            [[c.id, c.status, *([outcomes[c.id]] if check else []), c.statement] for c in chosen],
            header,
            left=len(header),
        )
    failed = [name for name, outcome in outcomes.items() if outcome == FAILED]
    if failed:
        raise ClaimError(f"{len(failed)} of {len(chosen)} claims fail: {', '.join(failed)}")


def _select(names: list[str], status: str | None) -> list[Claim]:
    from theory.claims import CLAIMS, STATUSES

    if status is not None and status not in STATUSES:
        raise InputError(
            f"unknown status {status!r}", where="--status", fix=f"choose from {', '.join(STATUSES)}"
        )
    known = {claim.id: claim for claim in CLAIMS}
    for name in names:
        if name not in known:
            raise InputError(
                f"unknown claim {name!r}", where="claims", fix="see 'kvbounds claims' for all"
            )
    wanted = [known[name] for name in dict.fromkeys(names)] if names else list(CLAIMS)
    return [claim for claim in wanted if status in (None, claim.status)]


def _print(claim: Claim, outcome: str | None) -> None:
    """One claim, field by field."""
    fields = {
        "claim": claim.id,
        "status": claim.status,
        "statement": claim.statement,
        "assumptions": claim.assumptions,
        "bound": claim.bound,
        "evidence": claim.evidence,
        "theorems": ", ".join(claim.theorems),
        "shown by": claim.command,
        "source": claim.source,
        "check": outcome or "",
    }
    for name, text in fields.items():
        if text:
            print(f"{name + ':':<13}{text}")
    print()


def _check(chosen: list[Claim], quiet: bool) -> dict[str, str]:
    """Run the tests of the claims in one go; the outcome of each claim."""
    import theory

    root = Path(theory.__file__).resolve().parent.parent
    nodes = list(dict.fromkeys(node for claim in chosen for node in claim.tests))
    missing = [node for node in nodes if not (root / node.partition("::")[0]).is_file()]
    if missing:
        raise InputError(
            f"{missing[0]} is not there",
            where="--check",
            fix="run it in a checkout of the source; an installed package has no tests",
        )
    if not nodes:
        return dict.fromkeys((claim.id for claim in chosen), NOT_RUN)
    note(f"running {len(nodes)} tests in {root}", quiet)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *nodes],
            cwd=root,
            stdout=subprocess.DEVNULL if quiet else STDERR,
            stderr=subprocess.DEVNULL if quiet else STDERR,
            check=False,
        )
        if done.returncode not in (0, 1, 5) or not report.is_file():
            raise InputError(
                f"pytest ends with exit code {done.returncode}",
                where="--check",
                fix="install the extra 'test' and run without --quiet to see why",
            )
        results = _results(report)
    return {claim.id: _outcome(claim.tests, results) for claim in chosen}


def _results(report: Path) -> dict[str, list[bool]]:
    """Whether each test passed, by node id without parameters; one entry a case."""
    results: dict[str, list[bool]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is None:
            passed = case.find("failure") is None and case.find("error") is None
            file = case.get("classname", "").replace(".", "/") + ".py"
            name = case.get("name", "").partition("[")[0]
            results.setdefault(f"{file}::{name}", []).append(passed)
    return results


def _outcome(nodes: tuple[str, ...], results: dict[str, list[bool]]) -> str:
    """What the tests of a claim say: a claim holds if a test ran for each node, and all passed."""
    ran = [
        [ok for name, oks in results.items() if name == node or name.startswith(f"{node}::")
         for ok in oks]
        for node in nodes
    ]  # fmt: skip
    if any(not ok for oks in ran for ok in oks):
        return FAILED
    return HELD if ran and all(ran) else NOT_RUN
