"""What the ledger says is measured on the simulated cluster comes out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from empirical.experiments.compare import compare
from empirical.experiments.findings import findings
from empirical.experiments.panel import Panel, pick
from empirical.experiments.paper import ABLATION, FOUR, PANELS
from empirical.experiments.question_panels import THRESHOLDS
from empirical.experiments.sweep import Row, Sweep
from empirical.experiments.trace_panels import LBGR_TRACES

pytestmark = pytest.mark.slow

FIRST, LAST = FOUR[0].label, FOUR[3].label
Measure = Callable[[Panel], list[Row]]


@pytest.fixture(scope="module", name="measure")
def _measure() -> Measure:
    sweep = Sweep(jobs=-1)
    return lambda panel: panel.run(sweep, range(3))


def test_the_order_of_the_ablation(measure: Measure) -> None:
    rows = measure(ABLATION)
    labels = {method.label for method in FOUR}
    steps = [step for step in findings(ABLATION, rows) if {step["from"], step["to"]} <= labels]
    assert len(steps) == 9
    for step in steps:
        assert (step["difference"] > 0) == (step["paper"] == "higher")
    (point,) = ABLATION.points
    first, last = (pick(rows, point.label, name) for name in (FIRST, LAST))
    assert compare(first, last, "p50_latency_ms").verdict == "lower"
    assert first["p50_latency_ms"] > 10 * last["p50_latency_ms"]


def test_the_lead_fades_with_workers(measure: Measure) -> None:
    rows = measure(PANELS["workers"])
    lead, throughput = [], []
    for workers in ("4", "6", "10"):
        first, last = (pick(rows, workers, name) for name in (FIRST, LAST))
        lead.append(first["p50_latency_ms"] / last["p50_latency_ms"])
        throughput.append(last["throughput_tok_s"] / first["throughput_tok_s"])
    assert lead[0] > 5 > lead[1] > 2
    assert 1 < lead[2] < 1.2
    assert throughput[0] > 1.1
    assert max(throughput[1:]) < 1.01


def test_a_threshold_has_to_know_the_shared_fraction(measure: Measure) -> None:
    rows, lbgr = measure(THRESHOLDS), measure(PANELS["sharing"])
    for shared in ("0.25", "0.5"):
        met, missed = (pick(rows, shared, f"threshold {t}")["hit_rate"] for t in (0.2, 0.5))
        assert missed < met / 2
    for shared, met in (("0.5", "smg"), ("0.8", "smg"), ("0.8", "threshold 0.5")):
        router = pick(rows, shared, met)
        paper = pick(lbgr, shared, "lbgr + leaf-lru")
        assert compare(paper, router, "hit_rate").verdict == "higher"
        assert compare(router, paper, "p50_latency_ms").verdict != "lower"


def test_rlt_needs_a_cache_below_one_round(measure: Measure) -> None:
    rows = measure(PANELS["one-worker-worst"])
    for fraction, verdict in (("0.56", "higher"), ("0.6", "lower")):
        lru, rlt = (pick(rows, fraction, name) for name in ("leaf-lru", "rlt"))
        assert compare(lru, rlt, "hit_rate").verdict == verdict


def test_learning_does_harm_on_a_trace(measure: Measure, traces: Path) -> None:
    names = ("decay 0.8", "decay 0.9", "decay 31/32", "decay 0.99", "learning the bias")
    panel = replace(
        LBGR_TRACES,
        points=LBGR_TRACES.points[3:4],
        methods=[method for method in LBGR_TRACES.methods if method.label in names],
    )
    rows = measure(panel)
    found = {row["method"]: row["p50_latency_ms"] for row in rows}
    learning = found.pop("learning the bias")
    assert found["decay 0.9"] < 1.03 * min(found.values())
    assert learning > 50 * found["decay 0.9"]
