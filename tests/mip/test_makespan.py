"""The least makespan against every routing, its bounds, and the judge of its schedules."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings

from mip.makespan import MakespanOptimum, offline_caches, schedule_loads, solve_makespan
from mip.makespan_bounds import BOUNDS, lower_bounds
from mip.makespan_program import MakespanProgram
from mip.makespan_start import best_start, by_prefix, greedy, local_search
from mip.routing_data import RoutingData, fewest_misses
from mip.solver import Outcome, solve
from tests.mip.makespan_oracle import least_makespan, routing_instances
from tests.mip.oracle import brute_force
from theory.errors import MissingProofError, OptimumError, RoutingError
from theory.load import route
from theory.model import Instance
from theory.routing import ROUTERS
from theory.routing.instance import RoutingInstance, Worker
from theory.trie import TokenTrie

EXAMPLES = settings(deadline=None, derandomize=True, max_examples=60)


def shared_prefixes(
    groups: int, prompts: int, seed: int, *, ratio: Fraction = Fraction(1, 2)
) -> tuple[TokenTrie, list[int]]:
    """Groups of prompts with a common prefix, lengths cycling over 8 to 128, in random order."""
    segments: list[tuple[int, int]] = []
    ends: list[int] = []
    size = 0
    for group in range(groups):
        length = (8, 16, 32, 64, 128)[group % 5]
        prefix = int(length * ratio)
        segments.append((-1, prefix))
        size += prefix
        top = size - 1
        for _ in range(prompts):
            segments.append((top, length - prefix))
            size += length - prefix
            ends.append(size - 1)
    random.Random(seed).shuffle(ends)
    return TokenTrie.from_segments(segments), ends


@given(routing_instances())
@EXAMPLES
def test_optimum_equals_every_routing_tried(instance: RoutingInstance) -> None:
    best = solve_makespan(instance, effort=0)
    assert best.proven
    assert best.makespan == least_makespan(instance)
    assert max(schedule_loads(instance, best.assignment, best.caches)) == best.makespan


@pytest.mark.parametrize("seed", range(4))
def test_optimum_of_eight_queries_on_three_workers(seed: int) -> None:
    rng = random.Random(seed)
    trie, ends = TokenTrie.from_sequences(
        ["".join(rng.choice("ab") for _ in range(rng.randint(1, 4))) for _ in range(8)]
    )
    instance = RoutingInstance(trie, [Worker(4)] * 3, ends)
    assert solve_makespan(instance, effort=0).makespan == least_makespan(instance)


@given(routing_instances(max_queries=5))
@EXAMPLES
def test_program_alone_equals_every_routing_tried(instance: RoutingInstance) -> None:
    """Without a start and without the combinatorial bounds."""
    data = RoutingData(instance)
    program = MakespanProgram(data, range(len(instance.queries)), at_least=0)
    answer = solve(program.problem)
    assert answer.outcome is Outcome.proven
    assert data.ms(round(answer.objective or 0)) == least_makespan(instance)
    assert data.ms(max(data.loads(program.assignment(answer)))) == least_makespan(instance)


@given(routing_instances(max_queries=5))
@EXAMPLES
def test_no_bound_exceeds_the_optimum(instance: RoutingInstance) -> None:
    optimum = least_makespan(instance)
    for bound in lower_bounds(instance):
        assert bound.value <= optimum, bound


def test_each_bound_is_the_best_one_somewhere() -> None:
    star = TokenTrie.from_parents([-1] * 6)
    chain = TokenTrie.from_segments([(-1, 9), (-1, 1)])
    pair, ends = TokenTrie.from_sequences(["abcd", "abcx", "abcy"])
    cases = {
        "longest-query": RoutingInstance(chain, [Worker(9)] * 2, [8, 9]),
        "packing": RoutingInstance(star, [Worker(1)] * 2, [0, 1, 2]),
        "pooled-work": RoutingInstance(star, [Worker(1)], [0, 1, 0, 1]),
        "replication": RoutingInstance(pair, [Worker(4)] * 2, ends),
    }
    assert set(cases) == set(BOUNDS)
    for name, instance in cases.items():
        values = {bound.name: bound.value for bound in lower_bounds(instance)}
        assert values[name] == max(values.values()), (name, values)
        assert values[name] == least_makespan(instance)
        if name in ("pooled-work", "replication"):
            assert sorted(values.values())[-2] < values[name]


@given(routing_instances(max_queries=5))
@EXAMPLES
def test_pooled_work_is_the_relaxation_for_equal_workers(instance: RoutingInstance) -> None:
    worker = max(instance.workers, key=lambda w: w.capacity)
    equal = RoutingInstance(instance.trie, [worker] * 3, instance.queries, instance.outputs)
    data = RoutingData(equal)
    window = range(len(equal.queries))
    answer = solve(MakespanProgram(data, window, at_least=0, relaxed=True).problem)
    misses = sum(fewest_misses(data.used, data.lengths, sum(data.capacity)))
    pooled = Fraction(sum(data.base[0]) + data.miss[0] * misses, 3)
    assert answer.objective == pytest.approx(float(pooled), abs=1e-6)


@given(routing_instances())
@EXAMPLES
def test_segments_cut_anywhere_miss_as_tokens_do(instance: RoutingInstance) -> None:
    data = RoutingData(instance)
    size = max(w.capacity for w in instance.workers)
    misses = fewest_misses(data.used, data.lengths, size // data.unit)
    steps = [[query] for query in instance.queries]
    assert sum(misses) * data.unit == brute_force(Instance(instance.trie, size, steps))


def test_units_and_quanta_scale_exactly() -> None:
    trie, ends = shared_prefixes(3, 2, 0)
    instance = RoutingInstance(
        trie, [Worker(64, "0.05", "0.001", "0.2"), Worker(96, "0.1")], ends, outputs=[4] * 6
    )
    data = RoutingData(instance)
    assert data.unit == 4
    assert Fraction(data.quantum) == Fraction(1, 250)  # of 0.2, 0.004, 0.4 and 0.8
    assert (
        data.ms(data.loads([0, 1] * 3)[0])
        == schedule_loads(instance, [0, 1] * 3, offline_caches(instance, [0, 1] * 3))[0]
    )


@pytest.mark.parametrize("router", sorted(ROUTERS))
@pytest.mark.parametrize("eviction", ["leaf-lru", "rlt"])
def test_no_router_beats_the_optimum(router: str, eviction: str) -> None:
    for seed in range(3):
        trie, ends = shared_prefixes(4, 3, seed)
        instance = RoutingInstance(trie, [Worker(80)] * 2, ends, outputs=[4] * len(ends))
        best = solve_makespan(instance)
        assert best.proven
        best.check(route(instance, router, eviction, seed=seed).makespan, router)


def test_a_schedule_below_the_bound_is_a_hard_error() -> None:
    with pytest.raises(OptimumError, match="below the lower bound"):
        MakespanOptimum(4, 5, False, "example", (), (), ())
    with pytest.raises(OptimumError, match="called optimal"):
        MakespanOptimum(5, 4, True, "example", (), (), ())
    found = MakespanOptimum(5, 4, False, "example", (), (), ())
    with pytest.raises(OptimumError, match="round-robin has a makespan of 3 ms"):
        found.check(3, "round-robin")
    with pytest.raises(MissingProofError, match="raise the time limit"):
        found.require()
    assert found.gap == Fraction(1, 5)


def test_the_judge_refuses_what_is_no_schedule() -> None:
    trie, ends = TokenTrie.from_sequences(["ab", "ac"])
    instance = RoutingInstance(trie, [Worker(2), Worker(1)], ends)
    with pytest.raises(RoutingError, match="query 1: does not fit worker 1"):
        schedule_loads(instance, [0, 1], ((), ()))
    with pytest.raises(RoutingError, match="1 workers for 2 queries"):
        schedule_loads(instance, [0], ((), ()))
    too_much = (frozenset({0, 1}), frozenset({0, 1, 2}))
    with pytest.raises(OptimumError, match="the capacity is 2"):
        schedule_loads(instance, [0, 0], (too_much, ()))


def test_a_tiny_time_limit_leaves_a_checked_schedule_and_a_bound() -> None:
    trie, ends = shared_prefixes(5, 8, 1, ratio=Fraction(7, 10))
    instance = RoutingInstance(trie, [Worker(150)] * 5, ends)
    best = solve_makespan(instance, time_limit=1e-3, effort=0)
    assert not best.proven
    assert best.bound < best.makespan
    assert best.bound == best.bounds[0].value
    assert max(schedule_loads(instance, best.assignment, best.caches)) == best.makespan


def test_local_search_only_improves_and_keeps_to_capacities() -> None:
    trie, ends = shared_prefixes(5, 3, 2)
    instance = RoutingInstance(trie, [Worker(200), Worker(200), Worker(40)], ends)
    data = RoutingData(instance)
    start = greedy(data)
    better = local_search(data, start, 500)
    instance.check_assignment(better)
    assert max(data.loads(better)) <= max(data.loads(start))
    assert max(data.loads(best_start(data, [start]))) <= max(data.loads(better))


def test_equal_workers_are_told_apart_but_all_routings_remain() -> None:
    """The program has the optimum for each number of workers that may be used at all."""
    trie, ends = TokenTrie.from_sequences(["ab", "cd", "ab", "ef"])
    for workers in product([2, 4], repeat=3):
        instance = RoutingInstance(trie, [Worker(size) for size in workers], ends)
        data = RoutingData(instance)
        answer = solve(MakespanProgram(data, range(4), at_least=0).problem)
        assert data.ms(round(answer.objective or 0)) == least_makespan(instance)


def test_whole_prefixes_stay_together_where_they_fit() -> None:
    trie, ends = shared_prefixes(5, 4, 3)
    instance = RoutingInstance(trie, [Worker(128), Worker(128), Worker(40)], ends)
    assignment = by_prefix(RoutingData(instance))
    instance.check_assignment(assignment)
    homes: dict[int, set[int]] = {}
    for query, worker in zip(ends, assignment, strict=True):
        homes.setdefault(trie.path(query)[0], set()).add(worker)
    assert all(len(workers) == 1 for workers in homes.values())
    assert set(assignment) == {0, 1, 2}


def test_long_sequences_have_a_checked_schedule_and_a_bound() -> None:
    trie, ends = shared_prefixes(20, 20, 4)
    instance = RoutingInstance(trie, [Worker(300)] * 4, ends)
    best = solve_makespan(instance, time_limit=1e-3)
    assert best.bound <= best.makespan
    assert best.gap < Fraction(1, 10)
    assert max(schedule_loads(instance, best.assignment, best.caches)) == best.makespan


def test_times_without_a_common_measure_stay_exact() -> None:
    """10^9 quanta a query are more than a solver can tell apart: a bound, but no false proof."""
    trie, ends = shared_prefixes(5, 2, 5)
    workers = [Worker(136, "0.123456789", "0.000000007", "0.318309886"), Worker(136, "0.2")]
    instance = RoutingInstance(trie, workers, ends, outputs=list(range(10)))
    data = RoutingData(instance)
    best = solve_makespan(instance)
    exhaustive = min(max(data.loads(routing)) for routing in product(range(2), repeat=len(ends)))
    assert best.bound <= data.ms(exhaustive) <= best.makespan
    assert best.makespan == data.ms(exhaustive)
    assert best.gap < Fraction(1, 10**5)


@pytest.mark.parametrize("solver", ["highs", "cbc"])
@pytest.mark.parametrize("seed", range(3))
def test_ten_queries_equal_every_routing_tried(solver: str, seed: int) -> None:
    trie, ends = shared_prefixes(5, 2, seed, ratio=Fraction(3, 4))
    instance = RoutingInstance(trie, [Worker(130), Worker(140, 2, 1)], ends, outputs=[seed] * 10)
    data = RoutingData(instance)
    best = solve_makespan(instance, solver=solver, effort=0)
    assert best.proven
    assert best.makespan == data.ms(
        min(
            max(data.loads(routing))
            for routing in product(range(2), repeat=10)
            if all(data.fits[i][j] for j, i in enumerate(routing))
        )
    )


def test_free_service_takes_no_time() -> None:
    trie, ends = shared_prefixes(2, 2, 0)
    best = solve_makespan(RoutingInstance(trie, [Worker(16, 0)] * 2, ends))
    assert (best.makespan, best.proven, best.gap) == (0, True, 0)
