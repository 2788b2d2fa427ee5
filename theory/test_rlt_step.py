"""The step-granular rule: R3 holds it down, R4 and R4' show that batches cost it the logarithm."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from adversary.slack import slack, slack_fixed
from mip.belady import farthest_next_use
from tests.theory.interval import interval
from tests.theory.law import expected_cost, laws
from tests.theory.strategies import examples, instances
from theory.bounds import approximate, evaluate
from theory.engine import Flat, optimum, simulate
from theory.model import Instance


def leaves_of_footprint(instance: Instance, index: int) -> int:
    footprint = set(instance.footprint(index))
    return len(footprint - {instance.trie.parent(token) for token in footprint})


@pytest.mark.parametrize("most_queries", [1, 3])
def test_the_bound_for_footprints_with_few_leaves(most_queries: int) -> None:
    @given(instances(most_tokens=7, most_steps=14, most_queries=most_queries, least_tokens=5))
    @examples(50)
    def check(instance: Instance) -> None:
        best = farthest_next_use(instance, schedule=False).misses
        assert best is not None
        cost = expected_cost(instance, "rlt-step")
        b = max(leaves_of_footprint(instance, j) for j in range(len(instance.steps)))
        bound = evaluate("rlt-step-batch-upper", k=instance.k, b=b)
        assert cost <= bound * best + instance.capacity
        if b == 1:
            single = evaluate("rlt-step-single-upper", k=instance.k)
            assert cost <= single * best + instance.capacity

    check()


def cycle_ratio(instance: Instance, policy: str, cycles: int) -> Fraction:
    """Expected cost of the last of some cycles against the optimum of that cycle, exactly."""
    whole = instance.unrolled(cycles)
    costs = [cost for _, cost in laws(whole, policy)]
    best = [
        farthest_next_use(instance.unrolled(n), schedule=False).misses for n in (cycles - 1, cycles)
    ]
    assert best[0] is not None and best[1] is not None
    return sum(costs[-len(instance.cycle) :], Fraction(0)) / (best[1] - best[0])


@pytest.mark.parametrize(("size", "beta"), [(4, 2), (4, 4), (6, 2)])
def test_slack_exactly(size: int, beta: int) -> None:
    instance = slack(size, beta)
    assert (instance.u, instance.k) == (size, size)
    loss = cycle_ratio(instance, "rlt-step", 2)
    assert loss >= evaluate("slack-lower", l=size, beta=beta)
    assert cycle_ratio(instance, "rlt", 2) <= loss


@pytest.mark.parametrize(("size", "beta"), [(4, 4)])
def test_slack_with_batches_of_one_size_exactly(size: int, beta: int) -> None:
    instance = slack_fixed(size, beta, handle=1)
    assert {len(step) for step in instance.steps} == {beta}
    loss = cycle_ratio(instance, "rlt-step", 3)
    assert loss >= evaluate("slack-fixed-lower", l=size, beta=beta)
    assert cycle_ratio(instance, "rlt", 3) <= loss


def measured(instance: Instance, policy: str, cycles: int, seeds: int) -> tuple[float, float]:
    """The 99 % interval of the ratio on `cycles` cycles after the first."""
    flat = Flat.from_instance(instance.unrolled(cycles + 1))
    first = len(instance.cycle)
    best = int(optimum(flat, instance.capacity).misses[first:].sum())
    runs = [simulate(flat, policy, instance.capacity, seed) for seed in range(seeds)]
    return interval([int(run.misses[first:].sum()) / best for run in runs], 0.99)


@pytest.mark.parametrize(("k", "low", "high"), [(64, 9.0, 10.5), (128, 18.0, 20.0)])
def test_the_ratio_grows_linearly_where_the_paper_rule_stays_flat(
    k: int, low: float, high: float
) -> None:
    instance = slack_fixed(k, k)
    loss = measured(instance, "rlt-step", 8, 20)
    assert low < loss[0] < loss[1] < high
    # Above the ratio that marking has on brooms, and above the theorem's lower bound.
    assert loss[0] > approximate("broom-exact", k=k)
    assert loss[0] > 0.95 * approximate("slack-fixed-lower", l=k, beta=k)
    assert measured(instance, "rlt", 8, 20)[1] < 1.5


def test_the_growth_is_linear() -> None:
    ratios = {}
    for k in (32, 64, 128):
        low, high = measured(slack_fixed(k, k), "rlt-step", 8, 20)
        ratios[k] = (low + high) / 2
    # A logarithm would grow by a constant with each doubling; this doubles.
    for k in (32, 64):
        assert 1.75 < ratios[2 * k] / ratios[k] < 2.1
    for k in (32, 64, 128):
        assert ratios[k] >= 0.95 * approximate("slack-linear-lower", k=k)
