"""The policy zoo as two Markdown tables and one picture, made from ``zoo.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from empirical.plots import COLOURS, MARKERS, figure, save
from theory.bounds import approximate

__all__ = ["draw", "markdown"]

ORDERS = ("constant", "logarithmic", "linear", "superlinear", "undetermined", "unbounded")
"""Orders of growth, the best first."""

COLOUR = dict(zip(ORDERS, (COLOURS[i] for i in (4, 2, 0, 3, 6, 1)), strict=True))
LONGEST = 24


def _sorted(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows, the best worst case first."""

    def key(row: Mapping[str, Any]) -> tuple[int, float, str]:
        ratio = row["ratio"]
        worst = float("inf") if ratio == "unbounded" else float(Fraction(ratio))
        return ORDERS.index(row["growth"]), worst, row["policy"]

    return sorted(table["rows"], key=key)


def markdown(table: Mapping[str, Any]) -> str:
    """The tables: worst cases, and real traces if there are any.

    Parameters
    ----------
    table : mapping
        ``zoo.json``, schema ``kvbounds/zoo/1``.
    """
    rows = _sorted(table)
    capacity = table["capacity"]
    text = _table(
        [
            "policy",
            "marking",
            f"exact, {table['exact_tokens']} tokens, B = {table['exact_capacity']}",
            f"worst found, B = {capacity}",
            "growth",
            f"proved, k = {capacity}",
            "witness",
        ],
        [
            [
                f"`{row['policy']}`",
                "not refuted" if row["marking"] else "no",
                row["exact"] or "-",
                _worst(row),
                f"{row['growth']}, {row['growth_evidence']}",
                _proved(row["proved"]),
                _short(row),
            ]
            for row in rows
        ],
    )
    names = list(rows[0]["traces"]) if rows else []
    if not names:
        return text
    measured = [
        [f"`{row['policy']}`", *(part for name in names for part in _measured(row["traces"][name]))]
        for row in rows
    ]
    best = [next((t for r in rows if (t := r["traces"][name]) is not None), None) for name in names]
    optimum = (("-", "") if one is None else (f"{one['opt_hit_rate']:.2%}", "1") for one in best)
    header = ["policy", *(part for name in names for part in (f"{name}: hit rate", "ratio"))]
    return f"{text}\n{_table(header, [*measured, ['optimum', *(p for o in optimum for p in o)]])}"


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    every = [header, ["---"] * len(header), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in every)


def _worst(row: Mapping[str, Any]) -> str:
    if row["ratio_exact"] or row["ratio"] == "unbounded":
        return str(row["ratio"])
    return f"{float(row['ratio']):.3f} ± {row['half_width']:.3f}"


def _proved(bounds: Mapping[str, str] | None) -> str:
    if bounds is None:
        return "-"
    low, high = bounds["lower_value"], bounds["upper_value"]
    return low if low == high else f"{low} to {high}"


def _measured(row: Mapping[str, Any] | None) -> tuple[str, str]:
    if row is None:
        return "-", "-"
    return f"{row['hit_rate']:.2%}", f"{_number(row['ratio']):.3f}"


def _number(ratio: Any) -> float:
    return float(Fraction(ratio)) if isinstance(ratio, str) else float(ratio)


def _short(row: Mapping[str, Any]) -> str:
    sequence, capacity = row["sequence"], row["witness"]["capacity"]
    if len(sequence) > LONGEST:
        return f"{len(row['witness']['steps'])} steps, B = {capacity}"
    return f"`{sequence}`, B = {capacity}"


def draw(table: Mapping[str, Any], path: str | Path) -> None:
    """Worst case beside real traces for every policy, and how the worst case grows."""
    rows = _sorted(table)[::-1]
    with figure(columns=2, width=5.2, height=max(3.6, 0.21 * len(rows) + 1.2)) as (drawn, axes):
        _dots(axes[0], rows, table)
        _growth(axes[1], rows)
        save(drawn, path)


def _dots(axes: Any, rows: Sequence[Mapping[str, Any]], table: Mapping[str, Any]) -> None:
    finite = [_number(row["ratio"]) for row in rows if row["ratio"] != "unbounded"]
    measured = [
        _number(one["ratio"]) for row in rows for one in row["traces"].values() if one is not None
    ]
    edge = 1.6 * max([*finite, *measured, 2.0])
    names = list(rows[0]["traces"]) if rows else []
    for place, row in enumerate(rows):
        free = row["ratio"] == "unbounded"
        at = edge if free else _number(row["ratio"])
        colour = COLOUR[row["growth"]]
        axes.plot([1, at], [place, place], color=colour, linewidth=0.8, alpha=0.4, zorder=1)
        axes.plot([at], [place], marker=">" if free else "o", color=colour, linestyle="", zorder=3)
        for name, marker in zip(names, MARKERS[1:], strict=False):
            if (one := row["traces"][name]) is not None:
                axes.plot(
                    [_number(one["ratio"])],
                    [place],
                    marker=marker,
                    markersize=4,
                    markerfacecolor="white",
                    color="black",
                    linestyle="",
                    zorder=2,
                )
    axes.set_yticks(range(len(rows)), [row["policy"] for row in rows])
    axes.set_xscale("log", base=2)
    ticks = [tick for tick in (1, 2, 4, 8, 16, 32, 64) if tick < edge / 1.3]
    axes.set_xticks([*ticks, edge], [*map(str, ticks), "no bound"])
    axes.minorticks_off()
    axes.set_xlabel("misses / optimal misses")
    axes.set_title(f"Worst case found (B = {table['capacity']}), and real traces")
    for name, marker in zip(names, MARKERS[1:], strict=False):
        axes.plot([], [], marker, color="black", fillstyle="none", markersize=4, label=name)
    if names:
        axes.legend(loc="upper right", title=f"{table['blocks']:,} blocks")


def _growth(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    last = 1
    drawn: set[str] = set()
    for row in rows:
        points = [
            (p["slots"], _number(p["ratio"])) for p in row["points"] if p["ratio"] != "unbounded"
        ]
        if row["growth"] == "unbounded" or not points:
            continue
        label = None if row["growth"] in drawn else row["growth"]
        drawn.add(row["growth"])
        colour = COLOUR[row["growth"]]
        axes.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=3, label=label)
        last = max(last, points[-1][0])
    slots = range(1, last + 1)
    axes.plot(
        slots, slots, color="black", linestyle="--", linewidth=1, label="k: deterministic optimum"
    )
    least = [approximate("yao-lower", k=k) for k in slots]
    axes.plot(
        slots, least, color="black", linestyle=":", linewidth=1, label="H_k: randomised optimum"
    )
    unbounded = [row["policy"] for row in rows[::-1] if row["growth"] == "unbounded"]
    if unbounded:
        text = "unbounded:\n" + "\n".join(unbounded)
        axes.text(
            0.98,
            0.02,
            text,
            transform=axes.transAxes,
            ha="right",
            va="bottom",
            fontsize=8,
            color=COLOUR["unbounded"],
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.set_xlabel("free slots k = B - u + 1")
    axes.set_ylabel("largest ratio found")
    axes.set_title("How the worst case grows")
    axes.legend(loc="upper left")
