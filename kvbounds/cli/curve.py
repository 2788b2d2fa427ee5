"""``kvbounds curve``: hit rate and ratio to the optimum against the capacity, on traces."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbounds.cli.output import (
    Format,
    FormatOption,
    QuietOption,
    SeedOption,
    integers,
    note,
    print_json,
    print_table,
    progress,
    words,
)
from theory.errors import InputError
from theory.jsonfile import write_json, write_text

if TYPE_CHECKING:
    from empirical.curve import TraceCurves

__all__ = ["register"]

_Unit = StrEnum("_Unit", {"block": "block", "token": "token"})
_Window = StrEnum("_Window", {"all": "all", "last_half": "last-half"})
_Match = StrEnum("_Match", {"full": "full", "all_but_last": "all-but-last"})


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("curve", help="Hit rate and ratio to the optimum at many capacities.")(curve)


def curve(  # noqa: PLR0917 - typer calls it by keyword
    trace: Annotated[
        list[str], typer.Option(help="A trace in the Mooncake format; may be given repeatedly.")
    ],
    policy: Annotated[
        str,
        typer.Option(help="Eviction policies P[,P...]; opt and opt-bypass are the optima."),
    ] = "leaf-lru,rlt,opt,opt-bypass",
    capacities: Annotated[
        str,
        typer.Option(help="Capacities N[,N...] in units; auto: from the largest step to all."),
    ] = "auto",
    unit: Annotated[_Unit, typer.Option(help="What capacities and pages count.")] = _Unit.block,
    page_size: Annotated[int, typer.Option(min=1, help="Units a page.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Requests that are served together.")] = 1,
    window: Annotated[_Window, typer.Option(help="The requests that rates count.")] = _Window.all,
    match: Annotated[
        _Match, typer.Option(help="Whether an identical prompt hits in full.")
    ] = _Match.full,
    seeds: Annotated[int, typer.Option(min=1, max=10**6, help="Runs of a randomised policy.")] = 20,
    seed: SeedOption = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Threads; by default one a processor.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Write curve.json, curve.csv and curve.png to this folder.")
    ] = None,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Serve every trace with every policy at every capacity."""
    policies = list(dict.fromkeys(words(policy, "--policy")))
    wanted = None if capacities == "auto" else integers(capacities, "--capacities")

    from empirical.curve import OPTIMA, auto_capacities, measure
    from empirical.ratio import RatioStudy
    from empirical.traces.mooncake import load
    from theory.eviction import make_policy

    for spec in policies:
        if spec not in OPTIMA:
            make_policy(spec)  # an unknown name is told before a long trace is read
    folder = None if out is None else _folder(out)
    studies = [
        RatioStudy(
            load(path),
            unit=unit.value,
            page_size=page_size,
            batch=batch,
            window=window.value,
            match=match.value,
            seed=seed,
            seeds=seeds,
        )
        for path in trace
    ]
    plans = [auto_capacities(study) if wanted is None else wanted for study in studies]
    total = len(policies) * sum(len(set(plan)) for plan in plans)
    with progress(range(total), "curve", quiet) as tracked:
        done = iter(tracked)
        measured = [
            measure(study, policies, plan, jobs=jobs, each=lambda: next(done, None))
            for study, plan in zip(studies, plans, strict=True)
        ]
    for curves in measured:
        _tell_missing(curves, quiet)
    result = {
        "schema": "kvbounds/curve/1",
        "traces": [curves.to_json() for curves in measured],
    }
    if folder is not None:
        from empirical.curve_files import csv_text, draw

        write_json(folder / "curve.json", result)
        write_text(folder / "curve.csv", csv_text(measured))
        draw(measured, folder / "curve.png")
        note(f"wrote curve.json, curve.csv and curve.png to {folder}", quiet)
    if output is Format.json:
        print_json(result)
    else:
        for curves in measured:
            _print(curves)


def _folder(out: str) -> Path:
    """The folder, made if it is not there."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be made ({error.strerror})", where=f"--out {out}", fix="name another folder"
        ) from error
    return folder


def _tell_missing(curves: TraceCurves, quiet: bool) -> None:
    """Say which capacities have no values, and why."""
    missing = sorted(
        {
            capacity
            for curve in curves.policies.values()
            for capacity, point in zip(curve.capacities, curve.points, strict=True)
            if point is None
        }
    )
    if missing:
        note(
            f"{curves.facts['name']}: no values at {', '.join(map(str, missing))} without bypass: "
            f"the largest step needs a capacity of {curves.largest}",
            quiet,
        )


def _print(curves: TraceCurves) -> None:
    facts = curves.facts
    names = list(curves.policies)
    capacities = curves.policies[names[0]].capacities
    for title, field in (("hit rate", "hit_rate"), ("misses / optimal misses", "ratio")):
        rows: list[list[Any]] = []
        for place, capacity in enumerate(capacities):
            points = [curves.policies[name].points[place] for name in names]
            values = [None if point is None else getattr(point, field) for point in points]
            rows.append(
                [capacity, *(None if value is None else float(value.mean) for value in values)]
            )
        print_table(rows, ["capacity", *names], title=f"{facts['name']}: {title}", left=0)
        print()
    print(f"capacity: {facts['capacity_unit']}; {curves.units:,} distinct {facts['unit']}s")
    print(f"hit rate: hit tokens / the {curves.tokens:,} {facts['denominator']}")
    print(f"          {curves.ceiling:.4f} in a cache without limit")
    print(f"ratio:    {facts['ratio_of']}, without bypass")
    sampled = [name for name in names if curves.policies[name].seeds > 1]
    if sampled:
        seeds = curves.policies[sampled[0]].seeds
        print(
            f"seeds:    {', '.join(sampled)}: means over {seeds}; "
            "their spread and 95 % intervals are in the JSON"
        )
    print()
