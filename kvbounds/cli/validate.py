"""``kvbounds validate``: hold the policies to the proven bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbounds.cli.output import (
    Format,
    FormatOption,
    QuietOption,
    SeedOption,
    note,
    print_json,
    print_table,
    progress,
)
from theory.errors import ClaimError, InputError
from theory.jsonfile import write_json

if TYPE_CHECKING:
    from empirical.validate import ValidationRow

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("validate", help="Hold the policies to the proven bounds.")(validate)


def validate(
    quick: Annotated[bool, typer.Option("--quick", help="A small part of the grid.")] = False,
    trace: Annotated[
        str | None, typer.Option(help="A trace to end with; by default a generated one.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The folder for validate.json and ratio_vs_capacity.png.")
    ] = Path("kvbounds-out"),
    seed: SeedOption = 0,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Measure worst cases, random instances and a trace against the optimum and the bounds.

    Ends with exit code 1 if any bound fails.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder cannot be made ({error.strerror})", where=str(out), fix="name another"
        ) from error

    from empirical.traces.mooncake import load
    from empirical.validate import cases

    grid = list(cases(quick=quick, seed=seed, trace=None if trace is None else load(trace)))
    rows: list[ValidationRow] = []
    complete = False
    try:
        with progress(grid, "validate", quiet) as tracked:
            for case in tracked:
                rows.extend(case.rows())
        complete = True
    finally:  # an interrupt or a fault keeps what was finished
        failed = [row for row in rows if not row.holds]
        result: dict[str, Any] = {
            "schema": "kvbounds/validate/1",
            "ok": complete and not failed,
            "complete": complete,
            "quick": quick,
            "seed": seed,
            "rows": [row.to_json() for row in rows],
        }
        write_json(out / "validate.json", result)

    from empirical.plots import ratio_vs_capacity

    ratio_vs_capacity(rows, out / "ratio_vs_capacity.png")
    if output is Format.json:
        print_json(result)
    else:
        _print(rows)
    note(f"wrote {out / 'validate.json'} and {out / 'ratio_vs_capacity.png'}", quiet)
    if failed:
        first = failed[0]
        raise ClaimError(
            f"{len(failed)} of {len(rows)} rows fail, first {first.policy} on {first.case} at "
            f"B = {first.B}, L = {first.L}, beta = {first.beta} ({first.source})"
        )


def _print(rows: list[ValidationRow]) -> None:
    header = ("case", "policy", "B", "L", "beta", "misses", "OPT", "ratio", "95 % interval",
              "lower", "upper", "status")  # fmt: skip
    print_table([_cells(row) for row in rows], header, left=2)
    counts = {
        status: sum(row.status == status for row in rows)
        for status in ("verified", "measured", "failed")
    }
    print(
        f"{len(rows)} rows: {counts['verified']} verified exactly, {counts['measured']} measured "
        f"over seeds with an interval, {counts['failed']} failed"
    )
    print(
        "The optimum by farthest next use, by min-cost flow and by the MIP agree on every sequence;"
    )
    print("of the random requests (yao) on the first draw, of the trace on its first requests.")


def _cells(row: ValidationRow) -> list[Any]:
    told = row.to_json()
    interval = None
    if told.get("ratio_low") is not None:
        interval = f"{told['ratio_low']:.3f} to {told['ratio_high']:.3f}"
    return [
        row.case,
        row.policy,
        row.B,
        row.L,
        row.beta,
        _number(row.misses),
        _number(row.opt),
        told["ratio"] if row.ratio is None else _number(_float(row.ratio)),
        interval,
        _number(row.lower),
        _number(row.upper),
        row.status,
    ]


def _float(ratio: Any) -> float:
    return float(getattr(ratio, "mean", ratio))


def _number(value: Any) -> str | None:
    if value is None:
        return None
    number = float(value)
    return f"{number:.0f}" if number.is_integer() else f"{number:.3f}"
