"""Theorem 2: on the broom no deterministic policy beats B - L - beta + 2; Leaf-LRU reaches it."""

from __future__ import annotations

import pytest

from adversary.cyclic import adaptive_cyclic, cyclic
from mip.belady import farthest_next_use
from theory.bounds import evaluate
from theory.cache import run
from theory.eviction import POLICIES, RandomisedPolicy, make_policy
from theory.model import Instance

GRID = [(2, 1, 1), (5, 1, 1), (6, 3, 1), (4, 1, 2), (7, 2, 3), (9, 4, 2)]
DETERMINISTIC = [n for n in POLICIES if not isinstance(make_policy(n), RandomisedPolicy)]
NODE = [f"{name}:granularity=node" for name in ("fifo", "filo", "lfu", "slru", "mru")]


def optimum(instance: Instance) -> int:
    misses = farthest_next_use(instance, schedule=False).misses
    assert misses is not None
    return misses


@pytest.mark.parametrize(("capacity", "length", "beta"), GRID)
@pytest.mark.parametrize("policy", [*DETERMINISTIC, *NODE])
def test_every_deterministic_policy_misses_every_time(
    policy: str, capacity: int, length: int, beta: int
) -> None:
    steps = 120
    instance = adaptive_cyclic(policy, capacity, length, beta, steps)
    assert {len(step) for step in instance.steps} == {beta}
    assert instance.shortest == length
    result = run(instance, policy)
    assert all(step.cost >= 1 for step in result.steps)
    ratio = evaluate("deterministic-lower", B=capacity, L=length, beta=beta)
    # OPT misses at most B tokens to fill the cache, and then at most once in k steps.
    assert optimum(instance) <= capacity + -(-steps // ratio)
    assert result.misses >= ratio * (optimum(instance) - capacity - 1)


@pytest.mark.parametrize(("capacity", "length", "beta"), GRID)
def test_the_static_cycle_is_exact_for_leaf_lru(capacity: int, length: int, beta: int) -> None:
    instance = cyclic(capacity, length, beta)
    k = evaluate("leaf-lru-exact", B=capacity, L=length, beta=beta)
    assert instance.k == k == evaluate("marking-upper", B=capacity, u=instance.u)
    few, more = instance.unrolled(int(k)), instance.unrolled(3 * int(k))
    cost = run(more, "leaf-lru").misses - run(few, "leaf-lru").misses
    best = optimum(more) - optimum(few)
    # 2 k cycles of k + 1 steps: a miss in each against one in k.
    assert (cost, best) == (2 * k * (k + 1), 2 * (k + 1))
    assert cost == k * best
    # From an empty cache to within the additive constant of Theorem 1.
    assert k * optimum(more) - capacity * k <= run(more, "leaf-lru").misses <= k * optimum(more)


@pytest.mark.parametrize(("capacity", "length", "beta"), GRID)
def test_what_the_paper_states(capacity: int, length: int, beta: int) -> None:
    values = {"B": capacity, "L": length, "beta": beta}
    exact = evaluate("leaf-lru-exact", **values)
    assert evaluate("paper-lower-batch", **values) == exact
    assert evaluate("paper-upper-batch", **values) == exact + 1
    if beta == 1:
        assert evaluate("paper-lower-single", **values) == exact
        assert evaluate("paper-upper-single", **values) == exact + 1


@pytest.mark.parametrize(("capacity", "length", "beta"), [(4, 1, 2), (7, 2, 3)])
def test_equal_queries_of_a_batch_count_once(capacity: int, length: int, beta: int) -> None:
    # The cycle of single queries, each asked for beta times in its batch: u falls back to L, and
    # the ratio to that of single queries.
    single = cyclic(capacity, length)
    k = int(evaluate("distinct-upper", B=capacity, L=length, r=1))
    few, more = (
        Instance(single.trie, capacity, [step * beta for step in single.unrolled(n).steps])
        for n in (k, 2 * k)
    )
    assert (more.beta, more.u) == (1, length)
    cost = run(more, "leaf-lru").misses - run(few, "leaf-lru").misses
    best = optimum(more) - optimum(few)
    assert cost == k * best
    if beta >= 3:  # more than the paper allows for batches of beta queries
        assert cost > best * evaluate("paper-upper-batch", B=capacity, L=length, beta=beta)
