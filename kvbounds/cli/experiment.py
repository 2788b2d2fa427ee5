"""``kvbounds experiment``: the paper's tables and figures, and ten questions, without a GPU."""

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
)
from theory.errors import InputError
from theory.jsonfile import write_json, write_text

if TYPE_CHECKING:
    from empirical.experiments.panel import Panel
    from empirical.experiments.sweep import Row, Sweep

__all__ = ["register"]

SCHEMA, LIST = "kvbounds/experiment/1", "kvbounds/experiments/1"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("experiment", help="The paper's experiments and ten questions.")(experiment)


def experiment(
    name: Annotated[
        str,
        typer.Argument(
            help="ablation or another panel (list names them), paper for all, or questions."
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(help="A folder for JSON, Markdown and figures; finished runs are kept there."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=10**6, help="Seeds, from --seed on.")] = 3,
    queries: Annotated[
        int | None, typer.Option(min=1, help="Only the first N queries of each run.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1: one a core.")] = -1,
    backend: Annotated[
        str, typer.Option(help="loky (this machine) or ray (the cluster it is connected to).")
    ] = "loky",
    seed: SeedOption = 0,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Run an experiment; every table has absolute numbers, seeds, intervals and denominators."""
    from empirical.experiments.eviction_panel import EVICTION_PANELS
    from empirical.experiments.paper import PANELS
    from empirical.experiments.question_panels import QUESTION_PANELS
    from empirical.experiments.sweep import Sweep
    from empirical.experiments.trace_panels import TRACE_PANELS

    known = PANELS | EVICTION_PANELS | QUESTION_PANELS | TRACE_PANELS

    if backend not in ("loky", "ray"):
        raise InputError(f"unknown backend {backend!r}", where="--backend", fix="loky or ray")
    if backend == "ray":
        from empirical.experiments.on_ray import check_ray

        check_ray()
    if name == "list":
        _list(list(known.values()), output)
        return
    if name not in known and name not in ("paper", "questions"):
        raise InputError(
            f"unknown experiment {name!r}",
            where="experiment",
            fix=f"choose from {', '.join(known)}, paper, questions, list",
        )
    for file in known[name].files if name in known else ():
        _check_trace(file)
    folder = None if out is None else Path(out)
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made ({error.strerror})", where=out or "") from None
    sweep = Sweep(
        None if folder is None else folder / "runs.json",
        jobs=jobs,
        backend=backend,
        on_done=lambda done, count: note(f"run {done} of {count}", quiet),
    )
    chosen = range(seed, seed + seeds)
    if name == "questions":
        from empirical.experiments.questions import SCHEMA as QUESTIONS
        from empirical.experiments.questions import answer_all

        answers = answer_all(sweep, chosen, queries=queries, folder=folder)
        if output is Format.json:
            print_json({"schema": QUESTIONS, "answers": answers})
        else:
            for answer in answers:
                print(f"{answer['number']}. {answer['question']}\n   {answer['answer']}\n")
        return
    panels = list(PANELS.values()) if name == "paper" else [known[name]]
    results = [_panel(panel, sweep, chosen, queries, folder) for panel in panels]
    if output is Format.json:
        rows = [row for result in results for row in result["rows"]]
        findings = [finding for result in results for finding in result["findings"]]
        print_json({"schema": SCHEMA, "experiment": name, "rows": rows, "findings": findings})
        return
    for panel, result in zip(panels, results, strict=True):
        _print(panel, result)


def _list(panels: list[Panel], output: Format) -> None:
    if output is Format.json:
        listed = [{"name": p.name, "title": p.title, "needs": p.files} for p in panels]
        print_json({"schema": LIST, "experiments": listed})
        return
    rows = [(p.name, p.title, ", ".join(p.files)) for p in panels]
    print_table(rows, ("name", "what", "traces"), left=3)


def _check_trace(file: str) -> None:
    from empirical.experiments.setting import trace_file

    if not trace_file(file).is_file():
        raise InputError(
            "is not at hand",
            where=file,
            fix="name its folder in the environment variable KVBOUNDS_TRACES",
        )


def _panel(
    panel: Panel, sweep: Sweep, seeds: range, queries: int | None, folder: Path | None
) -> dict[str, Any]:
    from empirical.experiments.findings import findings, sentences
    from empirical.experiments.report import draw, panel_markdown

    rows = panel.run(sweep, seeds, queries=queries)
    found = findings(panel, rows)
    result = {"schema": SCHEMA, "experiment": panel.name, "rows": rows, "findings": found}
    if folder is not None:
        write_json(folder / f"{panel.name}.json", result)
        lines = "\n".join(f"- {line}" for line in sentences(found))
        text = f"# {panel.title}\n\n{panel_markdown(panel, rows)}\n\n{lines}\n"
        if len(panel.points) > 1:
            draw(panel, rows, folder / f"{panel.name}.png")
            text += f"\n![{panel.title}]({panel.name}.png)\n"
        write_text(folder / f"{panel.name}.md", text)
    return result


def _print(panel: Panel, result: dict[str, Any]) -> None:
    from empirical.experiments.findings import sentences
    from empirical.experiments.report import COLUMNS, cell, window

    rows: list[Row] = result["rows"]
    columns = COLUMNS[:2] + COLUMNS[3:4] + COLUMNS[2:3] + COLUMNS[5:7]
    header = [panel.axis, "method", *(name for name, _, _ in columns)]
    lines = [[r["point"], r["method"], *(cell(r, f, s) for _, f, s in columns)] for r in rows]
    if any("paper" in row for row in rows):
        header += ["paper: hit rate", "P50 latency", "P50 TTFT"]
        for line, row in zip(lines, rows, strict=True):
            paper = row.get("paper")
            line += (
                [
                    f"{paper['hit_rate']:.2%}",
                    f"{paper['p50_latency_ms']:,.0f}",
                    f"{paper['p50_ttft_ms']:,.0f}",
                ]
                if paper
                else ["-"] * 3
            )
    print_table(lines, header, title=f"{panel.title}\n{window(rows[0])}", left=2)
    for sentence in sentences(result["findings"]):
        print(sentence)
    print()
