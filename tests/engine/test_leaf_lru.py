"""Leaf-LRU at one capacity and at all of them, against the executable cache."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.engine.instances import WAYS, agrees, instances, running
from theory.cache import run
from theory.engine import Flat, StackDistances, simulate
from theory.model import Instance


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", ["leaf-lru", "vllm-lru"])
@settings(max_examples=200, deadline=None, derandomize=True)
@given(instances())
def test_equals_the_specification_at_every_step(policy: str, way: str, instance: Instance) -> None:
    with running(way):
        counts = simulate(Flat.from_instance(instance), policy, instance.capacity)
    assert agrees(counts, instance, policy)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", ["leaf-lru", "vllm-lru"])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(instances())
def test_one_pass_equals_the_specification_at_every_capacity(
    policy: str, way: str, instance: Instance
) -> None:
    flat = Flat.from_instance(instance)
    distances = StackDistances(flat, by_query=policy == "vllm-lru")
    with running(way):
        curve = distances.misses()
    late = distances.misses(first_step=flat.steps // 2)
    for capacity in range(int(flat.footprint.max()), flat.units + 2):
        at = instance.with_capacity(capacity)
        assert agrees(distances.counts(capacity), at, policy)
        if capacity <= flat.units:
            steps = run(at, policy).steps
            assert curve[capacity - 1] == sum(len(step.misses) for step in steps)
            assert late[capacity - 1] == sum(len(s.misses) for s in steps[flat.steps // 2 :])


def test_nodes_with_lengths_are_chains_of_units() -> None:
    rng = np.random.default_rng(7)
    parent = np.array([-1, 0, 0, 1, 2, -1, 5, 3])
    flat = Flat(parent, np.arange(201), rng.integers(0, 8, 200), rng.integers(1, 9, 8))
    single = flat.expanded()
    assert flat.units == single.units
    assert (flat.footprint == single.footprint).all()
    for capacity in range(int(flat.footprint.max()), flat.units + 1):
        for mine, theirs in zip(
            simulate(flat, "leaf-lru", capacity),
            simulate(single, "leaf-lru", capacity),
            strict=True,
        ):
            assert (mine == theirs).all()
