"""Curves against single measurements, against the golden numbers and in their file forms."""

import csv
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from empirical.curve import Curve, TraceCurves, auto_capacities, measure
from empirical.curve_files import csv_text, draw
from empirical.ratio import RatioStudy
from empirical.traces.base import Trace
from empirical.traces.mooncake import load
from theory.errors import CapacityError, InadmissibleStepError, OptimumError
from theory.eviction import RandomisedPolicy, make_policy

GOLDEN = {
    "leaf-lru": {2048: 0.0564, 8192: 0.1882, 32768: 0.3558},
    "opt-bypass": {2048: 0.2684, 8192: 0.3981, 32768: 0.3981},
}
"""Token hit rates of the conversation trace over the last half of its requests, as three other
tools have them."""

EVERY_KIND = ["leaf-lru", "vllm-lru", "sglang-lru", "rlt", "lfu", "opt"]


def conversations(seed: int = 3, turns: int = 120) -> Trace:
    """Nine conversations that take turns, and begin anew when they are long."""
    rng = np.random.default_rng(seed)
    paths: list[list[int]] = [[] for _ in range(9)]
    prompts: list[list[int]] = []
    fresh = 0
    for talk in rng.integers(0, 9, turns):
        grown = int(rng.integers(1, 4))
        paths[talk] = (paths[talk] if len(paths[talk]) < 10 else []) + [
            *range(fresh, fresh + grown)
        ]
        fresh += grown
        prompts.append(list(paths[talk]))
    lengths = [8 * len(prompt) - int(rng.integers(0, 8)) for prompt in prompts]
    return Trace.from_hash_ids(
        prompts, range(turns), lengths, [1] * turns, block_size=8, name="conversations"
    )


@pytest.mark.parametrize("batch", [1, 3])
def test_every_point_is_a_row_of_the_ratio_study(batch: int) -> None:
    study = RatioStudy(conversations(), batch=batch, window="last-half", seeds=4)
    capacities = [50, 60, 75, 90, 400]
    policies = [name for name in EVERY_KIND if name != "opt"]
    curves = measure(study, policies, capacities)
    for policy in policies:
        curve = curves.policies[policy]
        assert curve.capacities == capacities
        for capacity, point in zip(capacities, curve.points, strict=True):
            row = study.row(policy, capacity)
            assert point is not None and point.ratio is not None
            assert point.hit_rate.mean == pytest.approx(row.hit_rate, abs=1e-15)
            assert point.misses.mean == row.run_misses
            if isinstance(make_policy(policy), RandomisedPolicy):
                assert point.ratio == row.ratio
            else:
                assert point.ratio.mean == float(row.ratio)


def test_a_cache_of_all_units_reaches_the_ceiling_and_the_optimum() -> None:
    study = RatioStudy(conversations(), window="last-half", seeds=2)
    capacities = auto_capacities(study)
    curves = measure(study, EVERY_KIND, capacities)
    assert capacities[0] == curves.largest and capacities[-1] == curves.units
    for curve in curves.policies.values():
        last = curve.points[-1]
        assert last is not None and last.ratio is not None
        assert last.hit_rate.mean == curves.ceiling
        assert last.ratio.mean == 1


def test_more_threads_change_nothing() -> None:
    study = RatioStudy(conversations(), seeds=5)
    one, four = (measure(study, EVERY_KIND, [30, 60], jobs=jobs) for jobs in (1, 4))
    assert one == four


def test_a_capacity_below_the_largest_step_has_no_value_but_with_bypass() -> None:
    study = RatioStudy(conversations())
    curves = measure(study, ["leaf-lru", "opt-bypass"], [2, 200])
    assert curves.policies["leaf-lru"].points[0] is None
    without_optimum, _ = curves.policies["opt-bypass"].points
    assert without_optimum is not None and without_optimum.ratio is None
    json = curves.policies["leaf-lru"].to_json()
    assert json["capacity"] == [2, 200] and json["hit_rate"][0] is None
    with pytest.raises(InadmissibleStepError):
        measure(study, ["leaf-lru"], [2])


def test_capacities_are_checked() -> None:
    study = RatioStudy(conversations())
    for wrong in (0, 10**30):
        with pytest.raises(CapacityError):
            measure(study, ["leaf-lru"], [wrong])


def test_a_policy_below_the_optimum_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    study = RatioStudy(conversations())
    real = study.steps.flat.footprint
    monkeypatch.setattr("empirical.curve.step_misses", lambda *_: np.zeros_like(real))
    with pytest.raises(OptimumError, match="has 0 misses at capacity 60"):
        measure(study, ["leaf-lru"], [60])


def test_the_golden_numbers(traces: Path) -> None:
    trace = load(traces / "mooncake_conversation_trace.jsonl")
    study = RatioStudy(trace, window="last-half")
    curves = measure(study, list(GOLDEN), [2048, 8192, 32768])
    assert (curves.units, curves.tokens) == (182_790, 67_915_607)
    assert round(curves.ceiling, 4) == 0.3981
    for policy, golden in GOLDEN.items():
        rates = [point.hit_rate.mean for point in curves.policies[policy].points if point]
        assert [round(rate, 4) for rate in rates] == list(golden.values())


def measured() -> TraceCurves:
    return measure(
        RatioStudy(conversations(), seeds=3), [*EVERY_KIND, "opt-bypass"], [5, 40, 80, 120]
    )


def test_the_table_has_one_row_a_point() -> None:
    curves = measured()
    rows = list(csv.DictReader(StringIO(csv_text([curves, curves]))))
    assert len(rows) == 2 * 7 * 4
    for row in rows:
        curve: Curve = curves.policies[row["policy"]]
        point = curve.points[curve.capacities.index(int(row["capacity"]))]
        assert row["trace"] == "conversations"
        assert (row["hit_rate"] == "") == (point is None)
        if point is not None:
            assert float(row["hit_rate"]) == point.hit_rate.mean
            assert (row["hit_rate_low"] != "") == (row["policy"] == "rlt")


def test_the_figure_is_drawn_alike_every_time(tmp_path: Path) -> None:
    curves = measured()
    for name in ("one.png", "two.png"):
        draw([curves, curves], tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.png", "two.png"))
    assert one[:8] == b"\x89PNG\r\n\x1a\n" and one == two
