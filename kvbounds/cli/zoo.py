"""``kvbounds zoo``: one table of all policies."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

import kvbounds
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
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Take up no finished rows from the folder.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Processes, a policy each.")] = 2,
    seed: SeedOption = 0,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Attack every policy, measure it on the traces, and write the table and its figure."""
    from empirical.traces.mooncake import load
    from empirical.zoo import NODES, SMALL
    from empirical.zoo_report import draw, markdown
    from empirical.zoo_rows import Kept, digest
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
    settings = {
        "version": kvbounds.__version__,
        "capacity": capacity,
        "evaluations": evaluations,
        "seed": seed,
        "blocks": blocks,
        "traces": {one.name: digest(path) for one, path in zip(traces, trace or (), strict=True)},
    }
    kept = Kept(folder / "rows.json", settings, fresh)
    todo = [name for name in dict.fromkeys(names) if name not in kept.rows]
    if len(todo) < len(names):
        note(f"{len(names) - len(todo)} of {len(names)} policies are known", quiet)
    try:
        with progress(todo, "policies", quiet) as shown:
            ticks = iter(shown)
            for row in _rows(todo, (capacity, evaluations, seed, traces, blocks), jobs):
                kept.add(row)
                next(ticks, None)
    except KeyboardInterrupt:
        done = sum(name in kept.rows for name in names)
        note(f"{done} of {len(names)} policies are kept; the same command goes on", quiet)
        raise
    rows = [kept.rows[name] for name in names]
    table = {
        "schema": "kvbounds/zoo/1",
        "capacity": capacity,
        "exact_tokens": NODES,
        "exact_capacity": SMALL,
        "evaluations": evaluations,
        "seed": seed,
        "blocks": blocks,
        "rows": rows,
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
                    row["policy"],
                    row["marking"],
                    row["exact"],
                    _worst(row),
                    row["growth"],
                    row["growth_evidence"],
                ]
                for row in rows
            ],
            ["policy", "marking", "exact, small", f"worst, B = {capacity}", "growth", "evidence"],
            left=1,
        )
        for one in traces:
            print()
            print_table(
                [[row["policy"], *_measured(row["traces"][one.name])] for row in rows],
                ["policy", "hit rate", "ratio"],
                title=f"{one.name}, {blocks:,} blocks",
            )
    note(f"written to {folder / 'zoo.json'}, zoo.md and zoo.png", quiet)


def _rows(names: list[str], given: tuple[Any, ...], jobs: int) -> Iterator[dict[str, Any]]:
    """The rows as they are finished."""
    from empirical.zoo_rows import row_of

    if jobs == 1 or len(names) < 2:
        yield from (row_of(name, *given) for name in names)
        return
    from joblib import Parallel, delayed

    work = (delayed(_quietly)(row_of, name, *given) for name in names)
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)(work)


def _quietly(row_of: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
    """Work in a process of its own, which leaves Ctrl-C to the one that waits for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return row_of(*given)


def _worst(row: dict[str, Any]) -> str:
    """The worst ratio; a measured one with its interval."""
    if row["ratio"] == "unbounded" or row["ratio_exact"] or not row["half_width"]:
        return str(row["ratio"])
    return f"{float(row['ratio']):.4f} +- {row['half_width']:.4f}"


def _measured(row: dict[str, Any] | None) -> tuple[float | None, float | None]:
    """Hit rate and ratio."""
    if row is None:
        return None, None
    ratio = row.get("ratio")
    if ratio is None or ratio == "unbounded":
        return row["hit_rate"], None
    return row["hit_rate"], float(Fraction(ratio))
