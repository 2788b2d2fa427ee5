"""RLT: the phase lemma (R1), no slack (R2), any trie and batches (R5), and the exact brooms."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given

from adversary.families import FAMILIES
from adversary.tries import broom
from mip.belady import farthest_next_use
from tests.theory.interval import interval
from tests.theory.law import advance, expected_cost
from tests.theory.phases import phase_tokens
from tests.theory.strategies import examples, instances
from theory.bounds import approximate, evaluate
from theory.cache import PrefixCache
from theory.engine import Flat, simulate
from theory.exact.arena import Arena
from theory.exact.solver import exact_ratio
from theory.model import Instance
from theory.trie import TokenTrie


def optimum(instance: Instance) -> int:
    misses = farthest_next_use(instance, schedule=False).misses
    assert misses is not None
    return misses


def phase_starts(instance: Instance) -> list[int]:
    tokens = phase_tokens(instance)
    starts = [0]
    for index in range(1, len(tokens)):
        if not tokens[index - 1] <= tokens[index]:
            starts.append(index)
    return starts


class Phase(NamedTuple):
    """A phase from one cache that rlt-step can have at its start."""

    absent: int  # M: the tokens of the phase that are not in that cache
    first_evictions: int
    cost: Fraction  # expected


def phases(instance: Instance) -> Iterator[Phase]:
    """Every phase from every cache that is possible at its start, exactly."""
    starts = [*phase_starts(instance), len(instance.steps)]
    now = [(Fraction(1), PrefixCache(instance.trie, instance.capacity, "rlt-step"))]
    for first, stop in pairwise(starts):
        steps = instance.steps[first:stop]
        used = {t for index in range(first, stop) for t in instance.footprint(index)}
        for _, cache in now:
            law, cost = [(Fraction(1), cache)], Fraction(0)
            for step in steps:
                law, paid = advance(law, step)
                cost += paid
            excess = len({*cache.cached, *instance.footprint(first)}) - instance.capacity
            yield Phase(len(used - set(cache.cached)), max(0, excess), cost)
        for step in steps:
            now, _ = advance(now, step)


SMALL = instances(most_tokens=8, most_steps=12, most_queries=2, least_tokens=5)


@given(SMALL)
@examples(60)
def test_the_phase_lemma_exactly(instance: Instance) -> None:
    for phase in phases(instance):
        if phase.absent == 0:
            assert phase.cost == 0
            continue
        assert phase.cost <= evaluate("phase-upper", M=phase.absent, k=instance.k)
        if phase.first_evictions <= 1:
            bound = evaluate("phase-one-eviction-upper", M=phase.absent, k=instance.k)
            assert phase.cost <= bound


@given(SMALL)
@examples(60)
def test_the_phase_lemma_with_the_harmonic_number_is_conjectured(instance: Instance) -> None:
    for phase in phases(instance):
        assert phase.cost <= phase.absent * evaluate("yao-lower", k=instance.k)


@pytest.mark.parametrize("policy", ["rlt", "rlt-step", "rlt-token"])
@given(instance=instances(most_tokens=6, most_steps=24, most_queries=1, least_tokens=4))
@examples(40)
def test_no_slack(policy: str, instance: Instance) -> None:
    # Single tokens: every completed phase has exactly B tokens, and opens with one new token.
    star = Instance(
        TokenTrie.from_parents([-1] * len(instance.trie)), instance.capacity, instance.steps
    )
    cost = expected_cost(star, policy)
    bound = evaluate("no-slack-upper", k=star.k) * optimum(star) + star.capacity
    assert cost <= bound
    if policy != "rlt-token":
        assert cost <= evaluate("one-new-upper", k=star.k) * optimum(star) + star.capacity


@given(instances(most_tokens=7, most_steps=14, most_queries=3, least_tokens=5))
@examples(60)
def test_any_trie_and_batches_exactly(instance: Instance) -> None:
    bound = evaluate("rlt-upper", k=instance.k) * optimum(instance) + instance.capacity
    assert expected_cost(instance, "rlt") <= bound


LONG: list[tuple[str, dict[str, Any], int]] = [
    ("cyclic", {"capacity": 24}, 200),
    ("cyclic", {"capacity": 30, "length": 4, "beta": 5}, 200),
    ("yao", {"capacity": 20, "length": 3, "steps": 5000}, 0),
    ("slack", {"size": 32, "beta": 16}, 30),
    ("slack-fixed", {"size": 32, "beta": 32, "handle": 4}, 30),
    ("three-chains", {"singles": 9}, 100),
    ("caterpillar", {"capacity": 20, "spine": 16, "legs": 2}, 60),
    ("binary", {"capacity": 20, "depth": 5, "beta": 2}, 60),
    ("two-chains", {"size": 16}, 200),
    ("rlt-node", {"slots": 12}, 200),
    ("sglang", {}, 100),
    ("fifo-batch", {}, 100),
    ("clock-star", {"slots": 10}, 10),
]


@pytest.mark.parametrize(("family", "given", "times"), LONG)
def test_the_bound_on_worst_cases_over_seeds(
    family: str, given: dict[str, Any], times: int
) -> None:
    instance = FAMILIES[family](**given)
    if times:
        instance = instance.unrolled(times)
    flat = Flat.from_instance(instance)
    best = optimum(instance)
    costs = [int(simulate(flat, "rlt", instance.capacity, seed).misses.sum()) for seed in range(40)]
    low, high = interval([cost / best for cost in costs])
    assert 1 <= low <= high
    assert high <= approximate("rlt-upper", k=instance.k) + instance.capacity / best
    # It is marking, so each single run obeys Theorem 1 as well.
    assert max(costs) <= evaluate("marking-upper", B=instance.capacity, u=instance.u) * best


def star_ratio(length: int, k: int, extra: int, policy: str, beta: int = 1) -> Fraction | None:
    trie, leaves = broom(length, k + extra + beta - 1)
    arena = Arena(trie, k + length - 1 + beta - 1, queries=leaves, beta=beta)
    found = exact_ratio(arena, policy)
    assert found.complete
    return found.ratio


@pytest.mark.parametrize("policy", ["rlt", "rlt-step", "rlt-token"])
@pytest.mark.parametrize(("length", "k"), [(1, 2), (1, 3), (3, 2), (3, 3)])
def test_brooms_have_the_ratio_of_the_marker(policy: str, length: int, k: int) -> None:
    assert star_ratio(length, k, 1, policy) == evaluate("broom-tight", k=k)
    assert star_ratio(length, k, 2, policy) == evaluate("broom-exact", k=k)
