"""Figures: one style, safe for the colour-blind, drawn without a display.

Colours are those of Okabe and Ito; series also differ in marker and line, so that a figure can be
read in grey.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theory.bounds import evaluate
from theory.errors import InputError
from theory.jsonfile import write_bytes

if TYPE_CHECKING:
    from empirical.validate import ValidationRow

__all__ = ["COLOURS", "MARKERS", "figure", "ratio_vs_capacity", "save"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, the most distinct first."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_STYLE: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.dpi": 100,
    "font.size": 9,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "savefig.bbox": "tight",
    "savefig.dpi": 200,
}


@contextmanager
def figure(
    columns: int = 1, rows: int = 1, width: float = 4.2, height: float = 3.4
) -> Iterator[tuple[Any, Any]]:
    """A figure in the common style, with rows of axes, each `width` by `height` inches.

    Yields
    ------
    figure, axes
        Matplotlib's figure, and the list of its axes, row by row.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        drawn = Figure(figsize=(width * columns, height * rows), layout="constrained")
        FigureCanvasAgg(drawn)  # no window system is asked for
        places = range(1, rows * columns + 1)
        yield drawn, [drawn.add_subplot(rows, columns, place) for place in places]


def save(drawn: Any, path: str | Path) -> None:
    """Write a figure as PNG, atomically; equal figures give equal bytes."""
    buffer = BytesIO()
    drawn.savefig(buffer, format="png", metadata={"Software": None})
    write_bytes(path, buffer.getvalue())


def ratio_vs_capacity(rows: Sequence[ValidationRow], path: str | Path) -> None:
    """Draw measured ratios against the capacity, with the proven bounds as lines.

    Left, Leaf-LRU on its worst case, for every L and beta; in the middle, the randomised policies
    on random requests (*yao*) and on the slack family; right, the trace.
    """
    panels = (
        (_worst_case, [row for row in rows if row.case == "cyclic"]),
        (_randomised, [row for row in rows if row.case in ("yao", "slack-fixed")]),
        (_on_trace, [row for row in rows if row.on_trace]),
    )
    drawn_panels = [(draw, found) for draw, found in panels if found]
    if not drawn_panels:
        raise InputError("there is nothing to draw", where=str(path))
    with figure(columns=len(drawn_panels)) as (drawn, all_axes):
        for letter, axes, (draw, found) in zip("abc", all_axes, drawn_panels, strict=False):
            axes.set_title(f"({letter}) {draw(axes, found)}")
        save(drawn, path)


def _worst_case(axes: Any, rows: Sequence[ValidationRow]) -> str:
    footprints = sorted({row.u for row in rows})
    for u, colour, marker in zip(footprints, COLOURS, MARKERS, strict=False):
        chosen = sorted((row for row in rows if row.u == u), key=lambda row: row.B)
        capacities = [row.B for row in chosen]
        bound = [evaluate("marking-upper", B=B, u=u) for B in capacities]
        axes.plot(capacities, bound, color=colour, alpha=0.6, linewidth=1)
        axes.plot(
            capacities,
            [_value(row) for row in chosen],
            marker,
            color=colour,
            fillstyle="none",
            label=rf"$L + \beta - 1 = {u}$",
        )
    axes.plot([], [], color="#777777", linewidth=1, label=r"proven: $B - L - \beta + 2$")
    _log(axes, "capacity $B$ (tokens)", both=True)
    axes.legend()
    return "Leaf-LRU on its worst case"


def _randomised(axes: Any, rows: Sequence[ValidationRow]) -> str:
    series = (
        ("rlt", "yao", "rlt, random requests"),
        ("rlt", "slack-fixed", "rlt, slack family"),
        ("rlt-step", "slack-fixed", "rlt-step, slack family"),
    )
    for (policy, case, label), colour, marker in zip(series, COLOURS, MARKERS, strict=False):
        chosen = sorted(
            (row for row in rows if (row.policy, row.case) == (policy, case)), key=_free
        )
        axes.errorbar(
            [_free(row) for row in chosen],
            [_value(row) for row in chosen],
            yerr=[_half(row) for row in chosen],
            fmt=marker,
            color=colour,
            fillstyle="none",
            capsize=2,
            label=label,
        )
    slots = range(min(map(_free, rows)), max(map(_free, rows)) + 1)
    for name, text, line in (
        ("yao-lower", "proven lower, all policies: $H_k$", "--"),
        ("rlt-upper", "proven upper, rlt: $2(1 + H_{k-1})$", "-"),
    ):
        values = [float(evaluate(name, k=k)) for k in slots]
        axes.plot(list(slots), values, line, color="#000000", linewidth=1, label=text)
    slack = sorted(
        (_free(row), float(row.lower))
        for row in rows
        if (row.policy, row.case) == ("rlt-step", "slack-fixed") and row.lower is not None
    )
    axes.plot(
        [k for k, _ in slack],
        [lower for _, lower in slack],
        ":",
        color=COLOURS[2],
        linewidth=1.2,
        label="proven lower, rlt-step, slack",
    )
    _log(axes, "free slots $k = B - u + 1$ (tokens)", both=True)
    axes.set_ylim(0.9, 70)
    axes.legend(loc="upper left")
    return "Randomised policies"


def _on_trace(axes: Any, rows: Sequence[ValidationRow]) -> str:
    for policy, colour, marker in zip(("leaf-lru", "rlt"), COLOURS, MARKERS, strict=False):
        chosen = sorted((row for row in rows if row.policy == policy), key=lambda row: row.B)
        axes.errorbar(
            [row.B for row in chosen],
            [_value(row) for row in chosen],
            yerr=[_half(row) for row in chosen],
            fmt=f"{marker}-",
            color=colour,
            fillstyle="none",
            capsize=2,
            label=policy,
        )
    axes.axhline(1, color="#000000", linewidth=1, linestyle="--", label="offline optimum")
    _log(axes, "capacity $B$ (blocks)", both=False)
    axes.legend()
    return f"Trace: {rows[0].case}"


def _free(row: ValidationRow) -> int:
    return row.B - row.u + 1


def _value(row: ValidationRow) -> float:
    if row.ratio is None:
        raise ValueError(f"a ratio with optimum 0 cannot be drawn: {row}")
    return float(row.ratio) if isinstance(row.ratio, Fraction) else row.ratio.mean


def _half(row: ValidationRow) -> float:
    """Half the width of the interval."""
    if row.ratio is None or isinstance(row.ratio, Fraction) or row.ratio.high is None:
        return 0.0
    return row.ratio.high - row.ratio.mean


def _log(axes: Any, label: str, *, both: bool) -> None:
    """A logarithmic capacity, and ratio if `both`, with plain numbers on the axes."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    scaled = [(axes.set_xscale, axes.xaxis)] + ([(axes.set_yscale, axes.yaxis)] if both else [])
    for set_scale, axis in scaled:
        set_scale("log", base=2)
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(label)
    axes.set_ylabel("misses / optimal misses")
