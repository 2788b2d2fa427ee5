"""What a panel shows, as sentences that follow from its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from empirical.experiments.panel import Panel
from empirical.experiments.report import gains, steps
from empirical.experiments.sweep import Row

__all__ = ["findings", "sentences"]


def findings(panel: Panel, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The steps of an ablation against the paper's, or what the last method gains over the first.

    For a panel with the paper's numbers: whether each step from one row of the paper to the next
    moves hit rate, latency and TTFT as it does there, by a paired interval. For the others: the
    factors between the first method of the panel and the other ones, point by point.
    """
    reported = [method for _, method in panel.reference]
    if reported:
        point = panel.points[0].label
        # The paper's Leaf-LRU is what SGLang ships; that evicts whole nodes.
        shipped = [method.replace("leaf-lru", "sglang-lru") for method in reported]
        return [
            {"panel": panel.name, **step}
            for chain in (reported, shipped)
            for metric, wanted in (
                ("hit_rate", "higher"),
                ("p50_latency_ms", "lower"),
                ("p50_ttft_ms", "lower"),
            )
            for step in steps(rows, point, chain, metric, wanted)
        ]
    first = panel.methods[0].label
    return [
        {"panel": panel.name, **gain}
        for method in panel.methods[1:]
        for gain in gains(panel, rows, first, method.label)
    ]


def sentences(found: Sequence[dict[str, Any]]) -> list[str]:
    """The findings in words."""
    return [_step(item) if "model" in item else _gain(item) for item in found]


def _step(item: dict[str, Any]) -> str:
    shape = "{:+.2%}" if item["metric"] == "hit_rate" else "{:+,.0f} ms"
    interval = (
        f" ({shape.format(item['low'])} to {shape.format(item['high'])})"
        if item["low"] is not None
        else " (one seed, no interval)"
    )
    verdict = "as in the paper" if item["reproduced"] else f"the paper: {item['paper']}"
    return (
        f"{item['metric']}, {item['from']} -> {item['to']}: "
        f"{shape.format(item['difference'])}{interval}, {item['model']}; {verdict}."
    )


def _gain(item: dict[str, Any]) -> str:
    def times(name: str) -> str:
        value = item[name]
        return "-" if value is None else f"{value:.2f}x"

    return (
        f"{item['point']}: {item['better']} against {item['worse']}: hit rate "
        f"{times('hit_rate_factor')} ({item['hit_rate']}), P50 latency "
        f"{times('p50_latency_factor')} less ({item['p50_latency']}), P95 latency "
        f"{times('p95_latency_factor')}, P50 TTFT {times('p50_ttft_factor')}, throughput "
        f"{times('throughput_factor')}."
    )
