"""The files that curves are kept in: a table and a figure."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from empirical.curve import OPTIMA, Curve, Point, TraceCurves

__all__ = ["csv_text", "draw"]


_COLUMNS = [
    "trace",
    "policy",
    "capacity",
    "hit_rate",
    "hit_rate_low",
    "hit_rate_high",
    "misses",
    "ratio",
    "ratio_low",
    "ratio_high",
    "seeds",
]


def csv_text(traces: Sequence[TraceCurves]) -> str:
    """One row for each policy and capacity of each trace; an empty field where there is no value.

    Examples
    --------
    >>> print(csv_text([]), end="")
    trace,policy,capacity,hit_rate,hit_rate_low,hit_rate_high,misses,ratio,ratio_low,ratio_high,seeds
    """
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for curves in traces:
        for policy, curve in curves.policies.items():
            for capacity, point in zip(curve.capacities, curve.points, strict=True):
                values: list[Any] = [None] * 7
                if point is not None:
                    rate, ratio = point.hit_rate, point.ratio
                    values = [rate.mean, rate.low, rate.high, point.misses.mean]
                    values += [None] * 3 if ratio is None else [ratio.mean, ratio.low, ratio.high]
                rows.writerow([curves.facts["name"], policy, capacity, *values, curve.seeds])
    return text.getvalue()


def draw(traces: Sequence[TraceCurves], path: str | Path) -> None:
    """Draw hit rate (left) and ratio to the optimum (right) against the capacity, a row a trace.

    Policies are coloured, the optima are black. Bands are 95 % intervals of the mean over seeds.
    """
    from empirical.plots import COLOURS, MARKERS, figure, save

    names = [name for name in traces[0].policies if name not in OPTIMA]
    style: dict[str, dict[str, Any]] = {
        name: {"color": COLOURS[i % 6], "marker": MARKERS[i % 7], "linestyle": _LINES[i // 6 % 4]}
        for i, name in enumerate(names)
    }
    style["opt"] = {"color": "#000000", "linestyle": "-"}
    style["opt-bypass"] = {"color": "#000000", "linestyle": "--"}
    with figure(columns=2, rows=len(traces), height=2.9) as (drawn, axes):
        for row, curves in enumerate(traces):
            left, right = axes[2 * row], axes[2 * row + 1]
            for name, curve in curves.policies.items():
                _series(left, curve, "hit_rate", label=_LABELS.get(name, name), **style[name])
                if name not in OPTIMA:
                    _series(right, curve, "ratio", label=name, **style[name])
            left.axhline(curves.ceiling, color="#777777", linewidth=0.8, linestyle=":")
            left.annotate(
                "cache without limit",
                (0.01, curves.ceiling),
                xycoords=("axes fraction", "data"),
                xytext=(0, 2),
                textcoords="offset points",
                color="#777777",
                fontsize=7,
            )
            right.axhline(1, **style["opt"], linewidth=1)
            left.set_title(curves.facts["name"])
            left.set_ylim(0, 1.13 * max(curves.ceiling, left.get_ylim()[1] / 1.05))
            left.set_ylabel(_rate_label(curves))
            right.set_ylabel("misses / optimal misses")
            for side in (left, right):
                side.set_xscale("log", base=2)
                side.set_xlabel(f"capacity ({curves.facts['capacity_unit']})")
        handles, labels = axes[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)))
        save(drawn, path)


_LINES = ("-", "--", "-.", ":")

_LIGHT = {"markersize": 4, "fillstyle": "none", "linewidth": 1.2}
"""Open markers and thin lines, so that curves that lie on each other can be told apart."""

_LABELS = {"opt": "optimum", "opt-bypass": "optimum with bypass"}


def _series(axes: Any, curve: Curve, field: str, label: str, **style: Any) -> None:
    """One line, with a band where there are several seeds."""
    known: list[tuple[int, Point]] = [
        (capacity, point)
        for capacity, point in zip(curve.capacities, curve.points, strict=True)
        if point is not None and getattr(point, field) is not None
    ]
    capacities = [capacity for capacity, _ in known]
    values = [getattr(point, field) for _, point in known]
    axes.plot(capacities, [value.mean for value in values], label=label, **_LIGHT, **style)
    if values and values[0].low is not None:
        low, high = [value.low for value in values], [value.high for value in values]
        axes.fill_between(capacities, low, high, color=style["color"], alpha=0.25, linewidth=0)


def _rate_label(curves: TraceCurves) -> str:
    window = "all requests" if curves.facts["window"] == "all" else "last half of the requests"
    return f"hit rate, in tokens\n({window})"
