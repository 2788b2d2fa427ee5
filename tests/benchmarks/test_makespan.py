"""How long the least makespan takes as the instance grows."""

from __future__ import annotations

from time import perf_counter

import pytest

from empirical.makespan import default_capacity, routing_instance
from empirical.traces.workload import parse
from mip.makespan import solve_makespan
from mip.makespan_bounds import lower_bounds
from tests.benchmarks.race import Table
from theory.routing.instance import RoutingInstance, Worker

LENGTHS = "lengths=512+700+1024+1500+2048,scale=1/16,block=1"


def instance(groups: int, prompts: int, workers: int, seed: int) -> RoutingInstance:
    """Groups of prompts of 32 to 128 tokens, of which 40 to 128 fit each worker besides."""
    trace = parse(f"gsp:groups={groups},prompts={prompts},{LENGTHS}", seed)
    return routing_instance(trace, [Worker(192)] * workers)


@pytest.mark.parametrize(
    ("groups", "prompts", "workers", "limit"),
    [(4, 2, 2, 5), (4, 3, 2, 5), (4, 4, 2, 5), (7, 3, 2, 20), (4, 6, 2, 20), (4, 4, 3, 20),
     (4, 6, 3, None)],
)  # fmt: skip
def test_proofs(table: Table, groups: int, prompts: int, workers: int, limit: float | None) -> None:
    seconds = []
    for seed in range(3):
        problem = instance(groups, prompts, workers, seed)
        began = perf_counter()
        best = solve_makespan(problem, time_limit=60)
        seconds.append(perf_counter() - began)
        assert best.proven or limit is None
    segments = len(problem.trie.radix_segments(problem.queries))
    table.add(
        f"proven makespan: {groups * prompts} queries, {workers} workers, {segments} segments",
        f"{max(seconds):.2f} s",
        "",
        "",
        "" if limit is None else f"<= {limit} s",
    )
    assert limit is None or max(seconds) < limit


@pytest.mark.parametrize(("groups", "workers"), [(8, 4), (32, 10), (128, 10)])
def test_bounds(table: Table, groups: int, workers: int) -> None:
    trace = parse(f"gsp:groups={groups}")
    problem = routing_instance(trace, [Worker(default_capacity(trace, workers))] * workers)
    began = perf_counter()
    bound = lower_bounds(problem)[0]
    bounds = perf_counter() - began
    best = solve_makespan(problem, time_limit=1)
    whole = perf_counter() - began
    assert bound.value == best.bounds[0].value <= best.bound <= best.makespan
    table.add(
        f"bounds: {len(trace):,} queries, {workers} workers",
        f"{bounds:.2f} s",
        "",
        f"gap {100 * float(best.gap):.1f} % after {whole:.1f} s",
        "<= 30 s",
    )
    assert whole < 30
