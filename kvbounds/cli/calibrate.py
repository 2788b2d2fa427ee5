"""``kvbounds calibrate``: the profile of a worker from a replay."""

from __future__ import annotations

from typing import Annotated

import typer

from kvbounds.cli.output import Format, FormatOption, print_json, print_table

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("calibrate", help="Fit a profile of a worker to a replay.")(calibrate)


def calibrate(
    report: Annotated[str, typer.Argument(help="A report of kvbounds replay.")],
    out: Annotated[str | None, typer.Option(help="Write the profile (JSON) to this file.")] = None,
    output: FormatOption = Format.table,
) -> None:
    """Make the profile that the simulated cluster runs on, with 95 % intervals."""
    from empirical.calibration import REPLAY, profile_of
    from theory.jsonfile import read_json, write_json

    profile = profile_of(read_json(report, REPLAY), report)
    if out is not None:
        write_json(out, profile)
    if output is Format.json:
        print_json(profile)
        return
    rows = [
        (name, found["value"], f"{found['low']:.4f} to {found['high']:.4f}")
        if found
        else (name, None, "not told by this replay")
        for name, found in profile.items()
        if "_ms" in name
    ]
    print_table(rows, ("time", "ms", "95 % interval"), title=str(profile["name"]))
