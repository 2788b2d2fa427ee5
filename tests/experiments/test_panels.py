"""Panels, findings and answers on small runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from empirical.cluster.evictions import EVICTIONS, make_cache
from empirical.experiments import question_panels
from empirical.experiments.cluster_questions import scaling
from empirical.experiments.eviction_panel import EVERY_EVICTION, EVICTION_PANELS
from empirical.experiments.findings import findings, sentences
from empirical.experiments.model_questions import duplicates, overflow
from empirical.experiments.panel import Panel, pick
from empirical.experiments.paper import ABLATION, FOUR, PANELS
from empirical.experiments.questions import answer_all
from empirical.experiments.report import draw, panel_markdown
from empirical.experiments.setting import is_file
from empirical.experiments.sweep import Sweep
from empirical.experiments.trace_panels import LBGR_TRACES, TRACE_PANELS
from empirical.traces.workload import WORKLOADS
from theory.routing import make_router
from theory.routing.lbgr import LBGR

ALL = [
    *PANELS.values(),
    *EVICTION_PANELS.values(),
    *question_panels.QUESTION_PANELS.values(),
    *TRACE_PANELS.values(),
]


@pytest.mark.parametrize("panel", ALL, ids=lambda panel: panel.name)
def test_panels_name_what_exists(panel: Panel) -> None:
    for point, method, setting in panel.cells():
        make_router(method.router)
        make_cache(method.eviction, [], 1)
        assert is_file(setting.workload) or setting.workload.partition(":")[0] in WORKLOADS
        assert len(setting.profiles()) == setting.workers
        assert point.label
    labels = [(point.label, method.label) for point, method, _ in panel.cells()]
    assert len(set(labels)) == len(labels)


def test_every_policy_runs_under_its_own_router() -> None:
    panel = replace(EVERY_EVICTION, methods=EVERY_EVICTION.methods[:6:5])
    rows = panel.run(Sweep(), range(1), queries=40)
    assert [(row["router"], row["workers"]) for row in rows] == [("round-robin", 1)] * 2 + [
        ("lbgr", 4)
    ] * 2
    assert {method.eviction for method in EVERY_EVICTION.methods} > set(EVICTIONS)


def test_the_default_of_lbgr_is_a_row_of_its_sensitivity_table() -> None:
    panel = question_panels.SENSITIVITY
    label = question_panels.DEFAULT
    (row,) = [method.router for method in panel.methods if method.label == label]
    router, default = make_router(row), make_router("lbgr")
    assert isinstance(router, LBGR)
    assert isinstance(default, LBGR)
    assert router.settings == default.settings


def test_the_traces_are_at_hand(traces: Path) -> None:
    """Three queries of each, in the order of the file and with its times."""
    for name in LBGR_TRACES.files:
        assert (traces / name).is_file()
    rows = replace(LBGR_TRACES, methods=LBGR_TRACES.methods[:1]).run(Sweep(), range(1), queries=3)
    assert [row["requests"] for row in rows] == [3] * len(LBGR_TRACES.points)


def test_the_ablation_stands_beside_the_paper(tmp_path: Path) -> None:
    rows = ABLATION.run(Sweep(), range(2), queries=60)
    shown = [row for row in rows if "paper" in row]
    assert [row["method"] for row in shown] == [method.label for method in FOUR]
    assert shown[0]["paper"]["p50_latency_ms"] == 26680.0
    found = findings(ABLATION, rows)
    assert [(f["from"], f["to"]) for f in found[:3]] == [
        ("cache-aware + leaf-lru", "cache-aware + rlt"),
        ("cache-aware + rlt", "lbgr + leaf-lru"),
        ("lbgr + leaf-lru", "lbgr + rlt"),
    ]
    for item, sentence in zip(found, sentences(found), strict=True):
        assert item["reproduced"] == (item["model"] == item["paper"])
        assert ("as in the paper" in sentence) == item["reproduced"]
    text = panel_markdown(ABLATION, rows)
    assert "26,680" in text
    assert "60 queries" in text


def test_a_panel_is_drawn_the_same_twice(tmp_path: Path) -> None:
    panel = replace(PANELS["order"], points=PANELS["order"].points[:2], methods=FOUR[:2])
    rows = panel.run(Sweep(), range(2), queries=20)
    for name in ("a.png", "b.png"):
        draw(panel, rows, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    factors = findings(panel, rows)
    assert len(factors) == len(sentences(factors)) == 2


def test_more_workers_at_the_same_rate_leave_nothing_to_gain() -> None:
    """The answer is made of the rows: with little load both methods have the same throughput."""
    sweep = Sweep()
    answer = scaling(lambda panel: panel.run(sweep, range(1), queries=60))
    lines = answer.tables[0].rows
    assert len(lines) == len(question_panels.WORKERS.points) + len(question_panels.SCALED.points)
    few, many = lines[0], lines[len(question_panels.WORKERS.points) - 1]
    assert few[2] > many[2]  # utilisation falls
    assert f"{many[5]:.2f}" in answer.answer
    row = pick(answer.parts[0].rows, many[1], FOUR[0].label)
    assert row["utilisation"] == many[2]


def test_duplicates_are_exact() -> None:
    answer = duplicates(capacity=8, length=3, beta=3)
    assert [row[3] for row in answer.tables[0].rows] == ["6", "5", "4"]
    assert all(row[-1] for row in answer.tables[0].rows)


def test_split_batches_keep_the_bound() -> None:
    answer = overflow(capacity=40, batches=(1, 16))
    for row in answer.tables[0].rows:
        assert row[6] <= row[8]
        assert row[3] >= row[2]
    assert any(row[3] > row[2] for row in answer.tables[0].rows)


def test_answers_are_written(tmp_path: Path) -> None:
    answers = answer_all(Sweep(), range(2), queries=30, folder=tmp_path, only=(2, 8))
    assert [answer["number"] for answer in answers] == [2, 8]
    text = (tmp_path / "questions.md").read_text()
    assert "## 8. What do eviction and routing cost" in text
    assert (tmp_path / "questions.json").exists()
