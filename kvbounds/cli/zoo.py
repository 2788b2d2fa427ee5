"""``kvbounds zoo``: one table of all policies."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    words,
)
from theory.errors import InputError

if TYPE_CHECKING:
    from empirical.ratio import RatioRow

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("zoo", help="One table of all policies: worst cases, growth, real traces.")(zoo)


def zoo(
    out: Annotated[str, typer.Option(help="The folder for zoo.json, zoo.md and zoo.png.")],
    policy: Annotated[
        str | None, typer.Option(help="Policies P[,P...]; all built-in ones by default.")
    ] = None,
    capacity: Annotated[int, typer.Option(max=1000, help="B of the attack, in tokens.")] = 6,
    evaluations: Annotated[int, typer.Option(min=1, help="Evaluations of each attack.")] = 320,
    trace: Annotated[
        list[str] | None, typer.Option(help="A trace in the Mooncake format; may be repeated.")
    ] = None,
    blocks: Annotated[
        int, typer.Option(min=1, max=10**9, help="The capacity on traces, in blocks.")
    ] = 8192,
    seed: SeedOption = 0,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Attack every policy, measure it on the traces, and write the table and its figure."""
    from empirical.traces.mooncake import load
    from empirical.zoo import NODES, SMALL, on_trace, zoo_row
    from empirical.zoo_report import draw, markdown
    from theory.eviction import POLICIES, make_policy
    from theory.jsonfile import write_json, write_text

    names = list(POLICIES) if policy is None else words(policy, "--policy")
    for name in names:
        make_policy(name)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be made ({error.strerror})", where=out, fix="name a folder that is writable"
        ) from error
    traces = [load(path) for path in trace or ()]
    for number, one in enumerate(traces):
        one.steps().fit(blocks)  # a capacity that is too small is told before the attacks
        if one.name in [other.name for other in traces[:number]]:
            raise InputError("two traces have this name", where=one.name, fix="rename one")
    rows = []
    with progress(names, "policies", quiet) as policies:
        for name in policies:
            row = zoo_row(name, capacity, evaluations, seed)
            measured = {one.name: on_trace(name, one, blocks) for one in traces}
            rows.append(replace(row, traces=measured))
    table = {
        "schema": "kvbounds/zoo/1",
        "capacity": capacity,
        "exact_tokens": NODES,
        "exact_capacity": SMALL,
        "evaluations": evaluations,
        "seed": seed,
        "blocks": blocks,
        "rows": [row.to_json() for row in rows],
    }
    write_json(folder / "zoo.json", table)
    write_text(folder / "zoo.md", markdown(table))
    draw(table, folder / "zoo.png")
    if output is Format.json:
        print_json(table)
    else:
        print_table(
            [
                [
                    row.policy,
                    row.marking.violation is None,
                    row.exact,
                    row.score.text,
                    row.growth.verdict,
                    row.growth.evidence,
                ]
                for row in rows
            ],
            ["policy", "marking", "exact, small", f"worst, B = {capacity}", "growth", "evidence"],
            left=1,
        )
        for one in traces:
            print()
            print_table(
                [[row.policy, *_measured(row.traces[one.name])] for row in rows],
                ["policy", "hit rate", "ratio"],
                title=f"{one.name}, {blocks:,} blocks",
            )
    note(f"written to {folder / 'zoo.json'}, zoo.md and zoo.png", quiet)


def _measured(row: RatioRow | None) -> tuple[float | None, float | None]:
    """Hit rate and ratio."""
    if row is None or row.ratio is None:
        return None if row is None else row.hit_rate, None
    return row.hit_rate, float(row.ratio if isinstance(row.ratio, Fraction) else row.ratio.mean)
