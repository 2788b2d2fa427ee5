"""The rolling horizon: a heuristic whose schedule is checked."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from mip.makespan import schedule_loads, solve_makespan
from mip.rolling_horizon import rolling_horizon
from tests.mip.makespan_oracle import least_makespan, routing_instances
from tests.mip.test_makespan import shared_prefixes
from theory.errors import InputError
from theory.load import route
from theory.routing.instance import RoutingInstance, Worker


@given(routing_instances(max_queries=6))
@settings(deadline=None, derandomize=True, max_examples=40)
def test_its_makespan_is_that_of_its_schedule(instance: RoutingInstance) -> None:
    for window in (1, 3, 9):
        plan = rolling_horizon(instance, window)
        assert max(schedule_loads(instance, plan.assignment, plan.caches)) == plan.makespan
        assert plan.makespan >= least_makespan(instance)
        assert plan.hits + plan.misses == sum(
            instance.trie.depth(query) for query in instance.queries
        )
        assert plan.greedy_windows == 0


def test_it_is_better_than_routers_on_a_long_sequence() -> None:
    trie, ends = shared_prefixes(6, 8, 2)
    instance = RoutingInstance(trie, [Worker(150)] * 3, ends)
    plan = rolling_horizon(instance, 8)
    best = solve_makespan(instance, time_limit=1, starts=[plan.assignment])
    best.check(plan.makespan, "rolling-horizon")
    assert plan.makespan <= min(
        route(instance, router, "leaf-lru").makespan for router in ("lbgr", "round-robin")
    )


def test_without_an_answer_of_the_solver_each_query_goes_where_it_ends_first() -> None:
    trie, ends = shared_prefixes(5, 6, 2)
    instance = RoutingInstance(trie, [Worker(150)] * 3, ends)
    plan = rolling_horizon(instance, 30, time_limit=1e-9)
    assert max(schedule_loads(instance, plan.assignment, plan.caches)) == plan.makespan


def test_a_window_has_queries() -> None:
    trie, ends = shared_prefixes(2, 2, 0)
    with pytest.raises(InputError, match="window: 0 queries are no window"):
        rolling_horizon(RoutingInstance(trie, [Worker(16)], ends), 0)
