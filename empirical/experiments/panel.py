"""A panel: one thing varies, several methods are compared, everything else stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from empirical.experiments.setting import Setting, is_file
from empirical.experiments.sweep import Row, Sweep

__all__ = ["Method", "Panel", "Point", "pick", "variants"]


class Method(NamedTuple):
    """A router with an eviction policy, under a short name."""

    label: str
    router: str
    eviction: str


class Point(NamedTuple):
    """A place on the axis of a panel, and what it changes in the base setting."""

    label: str
    changes: Mapping[str, Any]

    @property
    def value(self) -> float | None:
        """The label as a number, if it is one."""
        try:
            return float(self.label.rstrip("%"))
        except ValueError:
            return None


def variants(eviction: str, *routers: tuple[str, str]) -> tuple[Method, ...]:
    """Methods that differ in the router alone, given by label and name."""
    return tuple(Method(label, router, eviction) for label, router in routers)


@dataclass(frozen=True)
class Panel:
    """A comparison of methods along an axis.

    Attributes
    ----------
    name, title : str
        Of files and of tables.
    axis : str
        What varies, with its unit.
    base : Setting
        What all points start from.
    points : sequence of Point
        Where it varies.
    methods : sequence of Method
        What is compared.
    metrics : sequence of str
        What figures show, of `empirical.cluster.metrics.summary`.
    note : str
        What a reader has to know.
    """

    name: str
    title: str
    axis: str
    base: Setting
    points: Sequence[Point]
    methods: Sequence[Method]
    metrics: Sequence[str] = ("hit_rate", "p50_latency_ms")
    note: str = ""
    reference: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)

    @property
    def files(self) -> list[str]:
        """The trace files that it needs, by name."""
        named = dict.fromkeys(setting.workload for _, _, setting in self.cells())
        return [name for name in named if is_file(name)]

    def cells(self) -> Iterator[tuple[Point, Method, Setting]]:
        """Every point with every method."""
        for point in self.points:
            for method in self.methods:
                changes = {"router": method.router, "eviction": method.eviction} | dict(
                    point.changes
                )
                yield point, method, self.base.but(**changes)

    def run(self, sweep: Sweep, seeds: Sequence[int], *, queries: int | None = None) -> list[Row]:
        """One row for each point and method, with ``panel``, ``point`` and ``method`` added.

        What the paper reports for a row, if anything, is under ``paper``.
        """
        cells = list(self.cells())
        cut = {} if queries is None else {"queries": queries}
        rows = sweep.rows([setting.but(**cut) for _, _, setting in cells], seeds)
        for (point, method, _), row in zip(cells, rows, strict=True):
            row["method"] = method.label
            row["panel"], row["axis"], row["point"] = self.name, self.axis, point.label
            if (point.label, method.label) in self.reference:
                row["paper"] = dict(self.reference[point.label, method.label])
        return rows


def pick(rows: Sequence[Row], point: str, method: str) -> Row:
    """The row of a point and a method."""
    return next(row for row in rows if row["point"] == point and row["method"] == method)
