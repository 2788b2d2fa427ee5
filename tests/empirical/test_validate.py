"""The grid of `kvbounds validate`: what it holds, and that it can fail."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from empirical import validate
from empirical.intervals import Interval
from empirical.traces.synthetic import generate
from empirical.validate import Case, ValidationRow, cases, random_instance
from theory.bounds import harmonic
from theory.errors import OptimumError
from theory.eviction import POLICIES, RandomisedPolicy, policy_class

GRID = list(cases(quick=True))


def rows(grid: list[Case], start: str) -> list[ValidationRow]:
    """The rows of the cases whose label begins like that."""
    return [row for case in grid if case.label.startswith(start) for row in case.rows()]


def test_leaf_lru_has_its_ratio_exactly_on_the_cyclic_worst_case() -> None:
    found = rows(GRID, "cyclic")
    assert len(found) == 11
    for row in found:
        k = row.B - row.L - row.beta + 2
        assert row.ratio == Fraction(int(row.misses), int(row.opt)) == k == row.lower == row.upper
        assert (row.policy, row.u, row.status) == ("leaf-lru", row.L + row.beta - 1, "verified")


def test_every_deterministic_policy_plays_the_adversary() -> None:
    found = rows(GRID, "adaptive")
    deterministic = [p for p in POLICIES if not issubclass(policy_class(p), RandomisedPolicy)]
    assert [row.policy for row in found] == [p for p in deterministic if p != "leaf-lru"]
    for row in found:
        assert row.holds, row
        assert row.lower == 7
        assert row.ratio is None or row.ratio >= 7
    told = {row.policy: row.to_json()["ratio"] for row in found}
    assert (told["mru"], told["node-lru"]) == ("unbounded", "7")


def test_the_full_grid_is_wider() -> None:
    full = [case.label for case in cases()]
    assert len(full) > 2 * len(GRID)
    assert any("B=64" in label for label in full)


def test_random_requests_meet_yao() -> None:
    for row in rows(GRID, "yao"):
        assert row.lower == harmonic(7)
        assert row.status == "measured"
        assert isinstance(row.ratio, Interval)
        assert row.ratio.low is not None
        assert row.ratio.high is not None
        assert row.ratio.low <= 2 * harmonic(7) - 1  # Marker's exact ratio on brooms
        assert row.ratio.high >= row.lower


def test_slack_separates_the_two_readings() -> None:
    found = {row.policy: row for row in rows(GRID, "slack k=16")}
    rlt, step = found["rlt"].ratio, found["rlt-step"].ratio
    assert isinstance(rlt, Interval)
    assert isinstance(step, Interval)
    assert rlt.high is not None
    assert step.low is not None
    assert 2 * rlt.high < step.low
    assert all(row.holds for row in found.values())
    assert found["rlt-step"].lower == pytest.approx(1.98, abs=0.01)


def test_random_instances_are_seeded_and_not_trivial() -> None:
    made = [random_instance(number, 0) for number in range(12)]
    assert made == [random_instance(number, 0) for number in range(12)]
    assert made != [random_instance(number, 1) for number in range(12)]
    assert all(instance.capacity < len(instance.trie) for instance in made)
    assert max(instance.beta for instance in made) == 3
    found = rows(GRID, "random")
    assert all(row.holds for row in found)
    assert any(row.ratio != 1 for row in found)


def test_a_trace_of_ones_own() -> None:
    trace = generate(120, seed=8, name="mine")
    found = rows(list(cases(quick=True, trace=trace)), "trace")
    assert {row.case for row in found} == {"mine", "mine, start"}
    assert all(row.holds for row in found)


def test_bounds_that_nobody_could_read_are_numbers() -> None:
    row = rows(GRID, "yao")[0]
    told = dataclasses.replace(row, lower=harmonic(30), upper=harmonic(20_000)).to_json()
    assert Fraction(told["lower"]) == harmonic(30)
    assert told["upper"] == pytest.approx(math.log(20_000) + 0.5772156649 + 1 / 40_000)


def wrong_bound(name: str, wrong: Callable[[Any], Any]) -> Callable[..., Any]:
    true = validate.evaluate

    def evaluate(asked: str, **given: int) -> Any:
        value = true(asked, **given)
        return wrong(value) if asked == name else value

    return evaluate


@pytest.mark.parametrize(
    ("name", "wrong", "start", "policies"),
    [
        ("marking-upper", lambda k: k - 1, "cyclic B=8 L=1 beta=1", {"leaf-lru"}),
        ("marking-upper", lambda k: k + 1, "cyclic B=8 L=1 beta=1", {"leaf-lru"}),
        ("deterministic-lower", lambda k: k + 1, "cyclic B=8 L=1 beta=1", {"leaf-lru"}),
        ("deterministic-lower", lambda k: k - 1, "cyclic B=8 L=1 beta=1", {"leaf-lru"}),
        ("yao-lower", lambda h: 2 * h, "yao", {"rlt", "rlt-step"}),
        ("rlt-upper", lambda _: Fraction(1, 2), "slack k=16", {"rlt"}),
        ("rlt-step-batch-upper", lambda _: 1, "slack k=16", {"rlt-step"}),
        ("marking-upper", lambda _: Fraction(1, 2), "random", {"leaf-lru", "node-lru"}),
        ("marking-upper", lambda _: 1, "trace 1/8", {"leaf-lru"}),
    ],
)
def test_a_bound_that_is_wrong_fails(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    wrong: Callable[[Any], Any],
    start: str,
    policies: set[str],
) -> None:
    assert all(row.holds for row in rows(GRID, start))
    monkeypatch.setattr(validate, "evaluate", wrong_bound(name, wrong))
    failed = {row.policy for row in rows(GRID, start) if row.status == "failed"}
    assert failed == policies


def test_the_slack_bound_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validate, "approximate", lambda *_, **__: 4.0)
    assert [row.policy for row in rows(GRID, "slack k=16") if not row.holds] == ["rlt-step"]


def test_a_policy_that_is_worse_than_its_bound_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """MRU under the name of Leaf-LRU."""
    true = validate.step_misses
    monkeypatch.setattr(
        validate, "step_misses", lambda steps, policy, *given: true(steps, "mru", *given)
    )
    assert not any(row.holds for row in rows(GRID, "cyclic B=16"))


@pytest.mark.parametrize("shift", [-1, 1])
def test_solvers_that_disagree_are_a_hard_error(
    monkeypatch: pytest.MonkeyPatch, shift: int
) -> None:
    true = validate.optimum

    def shifted(*given: Any) -> Any:
        counts = true(*given)
        misses = counts.misses.copy()
        misses[0] += shift
        return counts._replace(misses=misses)

    monkeypatch.setattr(validate, "optimum", shifted)
    with pytest.raises(OptimumError, match="the engine finds the optimum"):
        rows(GRID, "cyclic B=4 L=1 beta=1")


def test_fewer_misses_than_the_optimum_are_a_hard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    true = validate.step_misses
    monkeypatch.setattr(validate, "step_misses", lambda *given: true(*given) // 2)
    with pytest.raises(OptimumError, match=r"leaf-lru has .* misses, the optimum"):
        rows(GRID, "random 0")
