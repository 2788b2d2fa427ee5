"""Panels as Markdown tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from empirical.experiments.compare import compare
from empirical.experiments.panel import Panel, pick
from empirical.experiments.sweep import Row
from empirical.plots import COLOURS, MARKERS, figure, save

__all__ = ["COLUMNS", "draw", "factor", "gains", "markdown", "panel_markdown", "steps"]

COLUMNS = (
    ("hit rate", "hit_rate", "{:.2%}"),
    ("P50 latency ms", "p50_latency_ms", "{:,.0f}"),
    ("P95 latency ms", "p95_latency_ms", "{:,.0f}"),
    ("P50 TTFT ms", "p50_ttft_ms", "{:,.0f}"),
    ("P95 TTFT ms", "p95_ttft_ms", "{:,.0f}"),
    ("tokens/s", "throughput_tok_s", "{:,.0f}"),
    ("imbalance", "imbalance", "{:.3f}"),
)

NAMES = {field: name for name, field, _ in COLUMNS}


def markdown(rows: Iterable[Sequence[Any]], header: Sequence[str]) -> str:
    """A Markdown table.

    Examples
    --------
    >>> print(markdown([("rlt", 2)], ("policy", "misses")))
    | policy | misses |
    |---|---|
    | rlt | 2 |
    """
    lines = [header, ["---"] * len(header), *([str(cell) for cell in row] for row in rows)]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return text.replace("| --- " * len(header) + "|", "|---" * len(header) + "|", 1)


def cell(row: Row, field: str, shape: str) -> str:
    """A mean, and half the width of its 95 % interval if there are several seeds."""
    text = shape.format(row[field])
    interval = row["intervals"].get(field)
    return f"{text} ± {shape.format((interval[1] - interval[0]) / 2)}" if interval else text


def window(row: Row) -> str:
    """The denominators and the seeds of a row."""
    seeds = row["seeds"]
    shown = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    return (
        f"{row['requests']:,.0f} queries with {row['prompt_tokens']:,.0f} prompt tokens "
        f"({row['window']}, warm-up included), {shown}"
    )


def panel_markdown(panel: Panel, rows: Sequence[Row]) -> str:
    """The table of a panel, with its denominators and the bound on any hit rate."""
    with_paper = any("paper" in row for row in rows)
    header = [panel.axis, "method", *(name for name, _, _ in COLUMNS), "hit rate at most"]
    if with_paper:
        header += ["paper: hit rate", "paper: P50 latency ms", "paper: P50 TTFT ms"]
    lines = []
    for row in rows:
        bound = row.get("hit_rate_bound")
        line = [row["point"], row["method"], *(cell(row, f, s) for _, f, s in COLUMNS)]
        line.append("-" if bound is None else f"{bound:.2%}")
        if with_paper:
            paper = row.get("paper", {})
            shapes = {name: shape for _, name, shape in COLUMNS}
            line += [
                shapes[name].format(paper[name]) if name in paper else "-"
                for name in ("hit_rate", "p50_latency_ms", "p50_ttft_ms")
            ]
        lines.append(line)
    note = f"{panel.note}\n\n" if panel.note else ""
    return (
        f"{note}Hit rate = prompt tokens found cached / prompt tokens. {window(rows[0])}; "
        f"± is half of a 95 % Student t interval over the seeds. *At most*: every distinct token "
        f"is computed once, whatever the cluster.\n\n{markdown(lines, header)}"
    )


def gains(panel: Panel, rows: Sequence[Row], worse: str, better: str) -> list[dict[str, Any]]:
    """What `better` gains over `worse` at each point: factors, and paired verdicts."""
    found = []
    for point in panel.points:
        first, second = pick(rows, point.label, worse), pick(rows, point.label, better)
        found.append(
            {
                "point": point.label,
                "worse": worse,
                "better": better,
                "hit_rate_factor": factor(second["hit_rate"], first["hit_rate"]),
                "p50_latency_factor": factor(first["p50_latency_ms"], second["p50_latency_ms"]),
                "p95_latency_factor": factor(first["p95_latency_ms"], second["p95_latency_ms"]),
                "p50_ttft_factor": factor(first["p50_ttft_ms"], second["p50_ttft_ms"]),
                "throughput_factor": factor(second["throughput_tok_s"], first["throughput_tok_s"]),
                "hit_rate": compare(first, second, "hit_rate").verdict,
                "p50_latency": compare(first, second, "p50_latency_ms").verdict,
            }
        )
    return found


def factor(numerator: float, denominator: float) -> float | None:
    """How many times as large; None if the denominator is 0."""
    return numerator / denominator if denominator else None


def steps(
    rows: Sequence[Row], point: str, methods: Sequence[str], metric: str, wanted: str
) -> list[dict[str, Any]]:
    """For consecutive methods, whether `metric` moves as `wanted` (``higher`` or ``lower``)."""
    found = []
    for one, two in pairwise(methods):
        result = compare(pick(rows, point, one), pick(rows, point, two), metric)
        found.append(
            {
                "from": one,
                "to": two,
                "metric": metric,
                "paper": wanted,
                "model": result.verdict,
                "reproduced": result.verdict == wanted,
                **result._asdict(),
            }
        )
    return found


def draw(panel: Panel, rows: Sequence[Row], path: str | Path) -> None:
    """A figure of the panel: a line a method, with intervals; a chart a metric."""
    with figure(columns=len(panel.metrics)) as (drawn, all_axes):
        for axes, metric in zip(all_axes, panel.metrics, strict=True):
            numeric = all(point.value is not None for point in panel.points)
            for number, method in enumerate(panel.methods):
                chosen = [pick(rows, point.label, method.label) for point in panel.points]
                places = [
                    float(number_of.value) if numeric and number_of.value is not None else place
                    for place, number_of in enumerate(panel.points)
                ]
                if not numeric:  # side by side
                    shift = 0.7 * ((number + 0.5) / len(panel.methods) - 0.5)
                    places = [place + shift for place in places]
                axes.errorbar(
                    places,
                    [row[metric] for row in chosen],
                    yerr=[_half(row, metric) for row in chosen],
                    fmt=MARKERS[number % len(MARKERS)] + ("-" if numeric else ""),
                    color=COLOURS[number % len(COLOURS)],
                    fillstyle="none" if number < len(COLOURS) else "full",
                    capsize=2,
                    label=method.label,
                )
            if not numeric:
                labels = [point.label for point in panel.points]
                axes.set_xticks(range(len(labels)), labels, rotation=15)
            if metric.endswith("_ms"):
                axes.set_yscale("log")
            axes.set_xlabel(panel.axis)
            axes.set_ylabel(NAMES.get(metric, metric))
        all_axes[0].set_title(panel.title)
        handles, labels = all_axes[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside right upper")
        save(drawn, path)


def _half(row: Row, metric: str) -> float:
    interval = row["intervals"].get(metric)
    return (interval[1] - interval[0]) / 2 if interval else 0.0
