"""The sweeps of ``kvbounds exact --all-forests``: parallel, resumable."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvbounds.cli.output import Format, integers, note, print_json, print_table, progress
from theory.errors import InputError
from theory.jsonfile import read_json, write_json

if TYPE_CHECKING:
    from theory.exact.sweep import Row, Task

__all__ = ["sweep"]

SCHEMA, PRINTED = "kvbounds/sweep/1", "kvbounds/forests/1"
SAVE_EVERY = 50


def sweep(
    nodes: str,
    *,
    capacities: Sequence[int],
    betas: Sequence[int],
    lengths: Sequence[int],
    policies: Sequence[str],
    most_states: int,
    out: str | None,
    jobs: int,
    output: Format,
    quiet: bool,
) -> None:
    """Compute the exact ratio on every small forest and print the worst of each cell.

    Rows that `out` holds already are kept; rows that finish are written to it every now and then,
    at the end, and when the sweep is interrupted.
    """
    from adversary.tries import forests
    from theory.eviction import make_policy
    from theory.exact.sweep import tasks

    for name in policies:
        make_policy(name)
    sizes = integers(nodes, "--all-forests")
    if min(sizes) < 1 or max(sizes) > 12:
        raise InputError(
            f"{nodes} is not between 1 and 12 nodes",
            where="--all-forests",
            fix="there are 32,973 forests with 12 nodes, and each has many ratios",
        )
    if len(sizes) == 1:
        sizes = list(range(1, sizes[0] + 1))
    wanted = tasks(
        (parents for size in sizes for parents in forests(size)),
        capacities,
        betas,
        lengths,
        policies,
    )
    known = _read(out, most_states)
    todo = [task for task in wanted if task not in known]
    note(f"{len(wanted):,} ratios, {len(wanted) - len(todo):,} of them known", quiet)
    try:
        _run(todo, known, most_states, out, jobs, quiet)
    finally:
        if out is not None and todo:
            _write(out, known, most_states)
    _print([known[task] for task in wanted], output)


def _run(
    todo: list[Task],
    known: dict[Task, Row],
    most_states: int,
    out: str | None,
    jobs: int,
    quiet: bool,
) -> None:
    from joblib import Parallel, delayed, effective_n_jobs

    from theory.exact.sweep import solve

    if not todo:
        return
    # The workers leave Ctrl-C to this process, which keeps what they have finished.
    with progress(todo, "exact ratios", quiet) as shown:
        ticks = iter(shown)
        one = solve if effective_n_jobs(jobs) == 1 else partial(_quietly, solve)
        work = (delayed(one)(task, most_states) for task in todo)
        for count, row in enumerate(
            Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(work), 1
        ):
            next(ticks, None)
            known[row.task] = row
            if out is not None and count % SAVE_EVERY == 0:
                _write(out, known, most_states)


def _quietly(solve: Any, task: Task, most_states: int) -> Row:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    row: Row = solve(task, most_states)
    return row


def _read(out: str | None, most_states: int) -> dict[Task, Row]:
    """The rows that a file holds; those that were cut under another cap are computed again."""
    from theory.exact.sweep import Row

    if out is None or not Path(out).exists():
        return {}
    value = read_json(out, SCHEMA)
    rows = [
        Row.from_json(row, f"{out}#/rows/{index}")
        for index, row in enumerate(value.get("rows", []))
    ]
    same_cap = value.get("max_states") == most_states
    return {row.task: row for row in rows if row.complete or same_cap}


def _write(out: str, known: dict[Task, Row], most_states: int) -> None:
    rows = [known[task].to_json() for task in sorted(known)]
    write_json(out, {"schema": SCHEMA, "max_states": most_states, "rows": rows})


def _print(rows: list[Row], output: Format) -> None:
    from theory.exact.sweep import worst_rows

    cells: list[dict[str, Any]] = [
        {
            "policy": row.task.policy,
            "B": row.task.capacity,
            "beta": row.task.beta,
            "u": row.u,
            "k": row.k,
            "tries": count,
            "cut": cut,
            "worst": "unbounded" if row.ratio is None else str(row.ratio),
            "value": None if row.ratio is None else float(row.ratio),
            "complete": not cut or row.ratio is None,
            "min_length": row.task.min_length,
            "parents": list(row.task.parents),
        }
        for row, count, cut in worst_rows(rows)
    ]
    if output is Format.json:
        told = [row.to_json() for row in rows]
        print_json({"schema": PRINTED, "instances": len(rows), "cells": cells, "rows": told})
    elif cells:
        header = list(cells[0])
        for shown in cells:
            shown["parents"] = ",".join(map(str, shown["parents"]))
        print_table([list(shown.values()) for shown in cells], header)
    else:
        print("no instance in which there is something to decide")
