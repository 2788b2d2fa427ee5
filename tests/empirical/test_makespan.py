"""Routers against the optimum: rows, summaries and instances made of traces."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import pytest

import empirical.makespan as module
from empirical.gantt import draw_gantt, planned
from empirical.makespan import MakespanStudy, default_capacity, routing_instance, summarise
from empirical.traces.base import Trace
from empirical.traces.mooncake import load
from empirical.traces.workload import parse
from mip.makespan import MakespanOptimum, schedule_loads, solve_makespan
from theory.errors import InadmissibleStepError, InputError, OptimumError
from theory.load import route
from theory.routing.instance import RoutingInstance, Worker


def small(seed: int = 0, workers: int = 2) -> RoutingInstance:
    """Eight queries in four groups."""
    trace = parse("gsp:groups=4,prompts=2,lengths=64+128,block=16", seed)
    return routing_instance(trace, [Worker(10)] * workers)


def test_an_instance_of_a_trace() -> None:
    trace = Trace.from_hash_ids(
        [[7, 8], [7, 9], [5]], [10, 20, 50], [30, 32, 9], [3, 4, 5], block_size=16, name="t"
    )
    blocks = routing_instance(trace, [Worker(2, 1, "1/4", 2)], queries=2)
    assert len(blocks.queries) == 2
    assert blocks.trie.parents() == [-1, 0, 0]
    assert blocks.workers == (Worker(2, 16, 4, 2),)  # a block costs as 16 tokens
    assert blocks.outputs == (3, 4)
    assert blocks.arrivals == (0.0, 10.0)
    tokens = routing_instance(trace, [Worker(40)], unit="token", interval=2.5)
    assert [tokens.trie.depth(query) for query in tokens.queries] == [30, 32, 9]
    assert len(tokens.trie) == 14 + 16 + 16 + 9  # the shared block once
    assert tokens.arrivals == (0.0, 2.5, 5.0)
    assert tokens.workers == (Worker(40),)


def test_a_query_that_fits_no_worker_is_named() -> None:
    trace = parse("gsp:groups=2,prompts=1,lengths=64+128,block=16,order=grouped")
    with pytest.raises(InadmissibleStepError, match="step 1: its footprint of 8 tokens exceeds"):
        routing_instance(trace, [Worker(7)])
    assert len(routing_instance(trace, [Worker(4), Worker(8)]).queries) == 2
    with pytest.raises(InputError, match="there is no worker"):
        routing_instance(trace, [])


def test_default_capacity() -> None:
    trace = parse("gsp:groups=4,prompts=4,lengths=128,block=16")
    # 4 groups of 4 shared blocks and 4 prompts with 4 blocks each: 80 distinct blocks.
    assert default_capacity(trace, 2) == 20
    assert default_capacity(trace, 10) == 8  # room for the longest
    assert default_capacity(trace, 1, unit="token") == 640


def test_rows_and_summary() -> None:
    study = MakespanStudy(["round-robin", "lbgr"], ["leaf-lru", "rlt"], horizon=4)
    rows = [row for seed in range(3) for row in study.run(small(seed), seed)]
    assert len(rows) == 3 * (2 * 2 + 1)
    for row in rows:
        instance = small(row.seed)
        assert row.proven
        assert row.optimum == row.bound == row.best_known == solve_makespan(instance).makespan
        assert row.gap == row.ratio - 1 >= 0
        if row.router != "rolling-horizon":
            run = route(instance, row.router, row.eviction, seed=row.seed)
            assert (row.makespan, row.hits, row.misses) == (run.makespan, run.hits, run.misses)
    lines = summarise(rows)
    assert [(line.router, line.eviction) for line in lines] == [
        ("round-robin", "leaf-lru"),
        ("lbgr", "leaf-lru"),
        ("round-robin", "rlt"),
        ("lbgr", "rlt"),
        ("rolling-horizon", "offline"),
    ]
    for line in lines:
        mine = [r for r in rows if (r.router, r.eviction) == (line.router, line.eviction)]
        assert line.mean == sum((r.ratio for r in mine), Fraction(0)) / 3
        assert line.worst == max(r.ratio for r in mine)
        assert next(r for r in mine if r.seed == line.worst_seed).ratio == line.worst
        assert (line.runs, line.proven) == (3, 3)


def test_the_same_eviction_reference_is_at_least_the_clairvoyant_one() -> None:
    fixed = MakespanStudy(["round-robin"], ["leaf-lru"], "same-eviction").run(small(), 0)
    free = MakespanStudy(["round-robin"], ["leaf-lru"]).run(small(), 0)
    assert fixed[0].makespan == free[0].makespan
    assert fixed[0].bound >= free[0].bound
    assert fixed[0].proven
    with pytest.raises(InputError, match="the reference can be"):
        MakespanStudy([], [], "other")


def test_without_a_proof_there_is_no_optimum_but_a_bound() -> None:
    trace = parse("gsp:groups=6,prompts=6,ratio=0.7,lengths=64+96+160,block=4", 1)
    instance = routing_instance(trace, [Worker(40)] * 5)
    (row,) = MakespanStudy(["lbgr"], ["leaf-lru"], time_limit=1e-3).run(instance, 0)
    assert not row.proven
    assert row.optimum is None
    assert row.bound < row.best_known
    assert row.ratio == Fraction(row.makespan) / Fraction(row.bound)


def test_a_router_that_beats_the_optimum_is_a_hard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = solve_makespan(small())
    too_high = MakespanOptimum(
        wrong.makespan * 9, wrong.makespan * 9, True, "a broken solver", wrong.assignment,
        wrong.caches, (),
    )  # fmt: skip
    monkeypatch.setattr(module, "solve_makespan", lambda *_, **__: too_high)
    with pytest.raises(OptimumError, match="lbgr with leaf-lru, seed 0, has a makespan of"):
        MakespanStudy(["lbgr"], ["leaf-lru"]).run(small(), 0)


def test_the_planned_run_has_the_loads_of_the_schedule() -> None:
    instance = small()
    best = solve_makespan(instance)
    ends = [0.0, 0.0]
    for row in planned(instance, best):
        assert row.start == ends[row.worker]
        ends[row.worker] = row.finish
    loads = schedule_loads(instance, best.assignment, best.caches)
    assert ends == [float(load) for load in loads]


def test_a_picture_is_the_same_each_time(tmp_path: Path) -> None:
    instance = small()
    study = MakespanStudy(["lbgr"], ["leaf-lru"], "same-eviction")
    for best in (solve_makespan(instance), study.optimum(instance, "leaf-lru", 0)):
        for name in ("a.png", "b.png"):
            draw_gantt(instance, "lbgr", "leaf-lru", best, tmp_path / name)
        first, again = ((tmp_path / name).read_bytes() for name in ("a.png", "b.png"))
        assert first.startswith(b"\x89PNG")
        assert first == again
    with pytest.raises(InputError, match=r"gantt: 'a.txt' is of no known kind; end it with .png"):
        draw_gantt(instance, "lbgr", "leaf-lru", best, tmp_path / "a.txt")
    with pytest.raises(InputError, match="cannot be written"):
        draw_gantt(instance, "lbgr", "leaf-lru", best, tmp_path / "no" / "a.png")


@pytest.mark.skipif("KVBOUNDS_TRACES" not in os.environ, reason="KVBOUNDS_TRACES is not set")
def test_a_real_trace_is_proven() -> None:
    path = Path(os.environ["KVBOUNDS_TRACES"]) / "mooncake_conversation_trace.jsonl"
    trace = load(path, limit=16)
    capacity = default_capacity(trace, 2)
    instance = routing_instance(trace, [Worker(capacity, alpha_output=1)] * 2)
    (row,) = MakespanStudy(["lbgr"], ["leaf-lru"]).run(instance, 0)
    assert row.proven
    assert row.bound == 121395
