"""Ratios: against the executable cache, against public numbers, and the hard errors."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adversary.families import make_instance
from empirical import ratio
from empirical.intervals import Interval, student
from empirical.ratio import RatioStudy, step_misses
from empirical.traces.base import Trace
from empirical.traces.mooncake import load
from empirical.traces.steps import TraceSteps
from empirical.traces.synthetic import generate
from mip.belady import farthest_next_use
from tests.empirical.traces.prompts import Prompt, examples, prompts, trace_of
from tests.theory.strategies import instances
from theory.cache import run
from theory.errors import (
    CapacityError,
    InadmissibleStepError,
    InputError,
    OptimumError,
    PolicyError,
)
from theory.eviction import POLICIES
from theory.model import Instance


@examples(40)
@given(instances(most_queries=1), st.sampled_from(sorted(POLICIES)), st.booleans())
def test_a_row_is_what_the_executable_cache_does(
    instance: Instance, policy: str, bypass: bool
) -> None:
    row = RatioStudy(instance, bypass=bypass, seeds=2).row(policy)
    runs = [run(instance, policy, seed=seed) for seed in (0, 1)]
    if isinstance(row.ratio, Fraction):
        runs = runs[:1]
    best = farthest_next_use(instance, bypass=bypass).require()
    tokens = sum(len(instance.footprint(step)) for step in range(len(instance.steps)))
    assert (row.tokens, row.capacity, row.run_opt_misses) == (tokens, instance.capacity, best)
    assert row.run_misses == sum(r.misses for r in runs) / len(runs)
    assert row.misses == row.run_misses  # one token a unit, the whole run
    assert row.hits == sum(r.hits for r in runs) / len(runs)
    assert row.opt_misses == best
    if isinstance(row.ratio, Fraction):
        assert row.ratio == Fraction(runs[0].misses, best)
    else:
        assert row.ratio == student([r.misses / best for r in runs])


@examples(40)
@given(instances(most_queries=3))
def test_batches_count_prompt_tokens_and_compute_units_once(instance: Instance) -> None:
    row = RatioStudy(instance).row("leaf-lru")
    result = run(instance, "leaf-lru")
    assert row.tokens == sum(instance.trie.depth(q) for step in instance.steps for q in step)
    assert row.misses == result.misses
    assert row.hits == row.tokens - result.misses


@examples(40)
@given(instances(most_queries=1))
def test_the_match_rule_is_that_of_the_cache(instance: Instance) -> None:
    row = RatioStudy(instance, match="all-but-last").row("leaf-lru")
    result = run(instance, "leaf-lru", match="all-but-last")
    assert (row.hits, row.misses) == (result.hits, result.misses)
    assert row.run_misses == run(instance, "leaf-lru").misses  # the model's cost is the other


@examples(40)
@given(prompts(), st.integers(1, 4), st.integers(0, 3), st.sampled_from(["all", "last-half"]))
def test_a_window_counts_its_rows_and_no_others(
    found: list[Prompt], block_size: int, spare: int, window: str
) -> None:
    trace = trace_of(found, block_size)
    capacity = int(trace.blocks.max()) + spare
    row = RatioStudy(trace, window=window).row("leaf-lru", capacity)  # type: ignore[arg-type]
    first = len(found) // 2 if window == "last-half" else 0
    hits = [
        min(block_size * len(step.hits), len(prompt))
        for prompt, step in zip(found, run(trace.instance(capacity), "leaf-lru").steps, strict=True)
    ]
    assert row.tokens == sum(map(len, found[first:]))
    assert row.hits == sum(hits[first:])
    assert row.hit_rate == row.hits / row.tokens
    assert row.opt_hit_rate == (row.tokens - row.opt_misses) / row.tokens


@examples(40)
@given(instances(most_queries=2), st.integers(1, 3))
def test_pages_of_an_instance(instance: Instance, page_size: int) -> None:
    try:
        paged = instance.paged(page_size)
    except (CapacityError, InadmissibleStepError) as error:
        with pytest.raises(type(error)):
            RatioStudy(instance, page_size=page_size).row("leaf-lru")
        return
    row = RatioStudy(instance, page_size=page_size).row("leaf-lru")
    assert row.run_misses == run(paged, "leaf-lru").misses
    assert row.run_opt_misses == farthest_next_use(paged).require()


def test_uncompiled_policies_run_in_the_executable_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = generate(60, seed=1)
    wanted = {p: RatioStudy(trace, seeds=2).row(p, 70) for p in ("leaf-lru", "rlt", "fifo")}
    monkeypatch.setattr(ratio, "supports", lambda policy: False)
    for policy, row in wanted.items():
        assert RatioStudy(trace, seeds=2).row(policy, 70) == row
    monkeypatch.setattr(ratio, "MAX_OPERATIONS", 1000)
    with pytest.raises(
        InputError, match="policy leaf-lru: the policy has no compiled form, and 60"
    ):
        RatioStudy(trace).row("leaf-lru", 70)


@pytest.mark.parametrize("policy", ["leaf-lru", "rlt"])
def test_an_optimum_above_a_policy_is_a_hard_error(
    monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    true_optimum = ratio.optimum

    def worse(*given: Any) -> Any:
        counts = true_optimum(*given)
        return counts._replace(misses=counts.misses + 1)

    instance = make_instance("cyclic", {"capacity": 4, "steps": 5})
    RatioStudy(instance).row(policy)
    monkeypatch.setattr(ratio, "optimum", worse)
    with pytest.raises(OptimumError, match=f"{policy} has .* misses at capacity 4, the optimum"):
        RatioStudy(instance).row(policy)


def test_an_optimum_that_falls_is_a_hard_error() -> None:
    long, short = (make_instance("cyclic", {"capacity": 4, "steps": n}) for n in (30, 5))
    with pytest.raises(OptimumError, match="the optimum falls"):
        RatioStudy(long).growth("leaf-lru", RatioStudy(short))


def test_seeds_are_those_that_were_asked_for() -> None:
    instance = make_instance("yao", {"capacity": 6, "steps": 200})
    steps = TraceSteps.of_instance(instance)
    runs = [int(step_misses(steps, "rlt", 6, seed).sum()) for seed in (3, 4, 5, 6)]
    assert len(set(runs)) > 1
    row = RatioStudy(instance, seed=3, seeds=4).row("rlt")
    assert isinstance(row.ratio, Interval)
    assert row.ratio == student([r / row.run_opt_misses for r in runs])
    assert row.run_misses == sum(runs) / 4
    one = RatioStudy(instance, seed=3, seeds=1).row("rlt")
    assert one.run_misses == runs[0]
    assert one.to_json()["ratio_low"] is None
    assert one.to_json()["seeds"] == 1


def test_the_growth_of_a_cycle() -> None:
    """Leaf-LRU's ratio on the worst case of Theorem 2 is k, without any additive constant."""
    instance = make_instance("cyclic", {"capacity": 5, "length": 2})
    row = RatioStudy(instance, cycles=4).row("leaf-lru")
    assert row.cycle is not None
    assert (row.cycles, row.cycle.ratio) == (4, 4)
    told = row.to_json()
    assert told["cycle"] == {"cycles": 4, "misses": 20, "opt_misses": 5, "ratio": "4"}
    assert told["run_misses"] == 2 + 19
    assert RatioStudy(instance).row("leaf-lru").run_misses == 2 + 4  # the cycle once


def test_a_cycle_that_costs_the_optimum_nothing() -> None:
    instance = make_instance("newest-first", {})
    mru, lru = (
        RatioStudy(instance).row(policy).to_json()["cycle"] for policy in ("mru", "leaf-lru")
    )
    assert (mru["ratio"], lru["ratio"]) == ("unbounded", None)
    assert (mru["opt_misses"], lru["misses"]) == (0, 0)


def test_overflow() -> None:
    trace = Trace.from_hash_ids([[n] for n in range(4)], range(4), [1] * 4, [1] * 4)
    with pytest.raises(InadmissibleStepError, match="--overflow split"):
        RatioStudy(trace, batch=4).row("leaf-lru", 3)
    assert RatioStudy(trace, batch=4, overflow="split").row("leaf-lru", 3).run_misses == 4


@pytest.mark.parametrize(
    ("given_", "error", "message"),
    [
        ({"seeds": 0}, InputError, "seeds: 0 is too few"),
        ({"cycles": 0}, InputError, "cycles: 0 is too few"),
        ({"cycles": 2}, InputError, "a trace has no cycle"),
        ({"page_size": 9}, CapacityError, "8 holds no page of 9"),
        ({"window": "none"}, InputError, "window can be"),
    ],
)
def test_wrong_options(given_: dict[str, Any], error: type[InputError], message: str) -> None:
    trace = Trace.from_hash_ids([[1]], [0], [1], [1])
    with pytest.raises(error, match=message):
        RatioStudy(trace, **given_).row("leaf-lru", 8)


def test_wrong_policies_and_capacities() -> None:
    trace = Trace.from_hash_ids([[1]], [0], [1], [1])
    with pytest.raises(PolicyError, match="unknown eviction policy 'lru'"):
        RatioStudy(trace).row("lru", 8)
    with pytest.raises(CapacityError):
        RatioStudy(trace).row("leaf-lru", 0)
    with pytest.raises(InputError, match="a trace has no capacity"):
        RatioStudy(trace).row("leaf-lru")


@pytest.mark.parametrize(
    ("capacity", "lru", "best"),
    [(2048, 0.0564, 0.2684), (8192, 0.1882, 0.3981), (32768, 0.3558, 0.3981)],
)
def test_golden_numbers(traces: Path, capacity: int, lru: float, best: float) -> None:
    """Public numbers of the conversation trace: token hit rate over the last half."""
    trace = load(traces / "mooncake_conversation_trace.jsonl")
    row = RatioStudy(trace, window="last-half", bypass=True).row("leaf-lru", capacity)
    assert (round(row.hit_rate, 4), round(row.opt_hit_rate, 4)) == (lru, best)
    without = RatioStudy(trace, window="last-half").row("leaf-lru", capacity)
    assert without.run_opt_misses >= row.run_opt_misses
    # In pages of 512 tokens the same; in single tokens nearly (partial blocks take less room).
    paged = RatioStudy(trace, window="last-half", unit="token", page_size=512)
    assert paged.row("leaf-lru", 512 * capacity).hits == without.hits
    tokens = RatioStudy(trace, window="last-half", unit="token").row("leaf-lru", 512 * capacity)
    assert tokens.hit_rate == pytest.approx(lru, abs=0.01)


def test_the_infinite_cache_has_the_golden_rate(traces: Path) -> None:
    trace = load(traces / "mooncake_conversation_trace.jsonl")
    row = RatioStudy(trace, window="last-half").row("leaf-lru", len(trace.parent))
    assert round(row.hit_rate, 4) == 0.3981
    assert row.run_misses == row.run_opt_misses == len(trace.parent)


def test_describe_names_the_denominator() -> None:
    trace = generate(10, seed=0)
    for given_, wanted in (
        ({}, "prompt tokens of all of the 10 requests"),
        ({"window": "last-half"}, "prompt tokens of the last half of the 10 requests"),
        ({"batch": 2}, "a batch computes each unit once; partial units counted as whole"),
    ):
        study = RatioStudy(trace, **given_)  # type: ignore[arg-type]
        assert wanted in study.describe()["denominator"]
    paged = RatioStudy(trace, page_size=2).describe()
    assert paged["capacity_unit"] == "blocks of 512 tokens, kept in whole pages of 2"
    assert "one per page" in paged["ratio_of"]


def test_rows_do_not_depend_on_their_order() -> None:
    trace = generate(80, seed=4)
    study = RatioStudy(trace, seeds=3)
    rows = [study.row(p, c) for p in ("rlt", "leaf-lru") for c in (90, 70)]
    again = [RatioStudy(trace, seeds=3).row(row.policy, row.capacity) for row in rows[::-1]]
    assert [dataclasses.asdict(row) for row in again[::-1]] == [dataclasses.asdict(r) for r in rows]
    assert np.all([row.run_misses >= row.run_opt_misses for row in rows])


def test_single_tokens_that_do_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaf-LRU and rlt treat chains as a whole; LFU looks at every token."""
    trace = Trace.from_hash_ids([[1], [2], [1]], range(3), [50_000] * 3, [1] * 3, block_size=50_000)
    monkeypatch.setattr("theory.memory.available_memory", lambda: 2**20)
    study = RatioStudy(trace, unit="token", seeds=2)
    assert study.row("leaf-lru", 100_000).hits == 50_000
    assert study.row("rlt", 100_000).hits == 50_000
    with pytest.raises(InputError, match=r"100,000 units apart needs about 0\.0 GiB of memory"):
        study.row("lfu", 100_000)
    paged = RatioStudy(trace, unit="token", page_size=50)
    assert paged.row("lfu", 100_000).hits == 50_000
