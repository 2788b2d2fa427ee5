"""Leaf-LRU at one capacity and at all of them, against the executable cache."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.engine.instances import agrees, instances
from theory.cache import run
from theory.engine import Flat, StackDistances, simulate
from theory.model import Instance


@settings(max_examples=300, deadline=None, derandomize=True)
@given(instances())
def test_equals_the_specification_at_every_step(instance: Instance) -> None:
    flat = Flat.from_instance(instance)
    assert agrees(simulate(flat, "leaf-lru", instance.capacity), instance, "leaf-lru")


@pytest.mark.parametrize("policy", ["leaf-lru", "vllm-lru"])
@settings(max_examples=100, deadline=None, derandomize=True)
@given(instances())
def test_one_pass_equals_the_specification_at_every_capacity(
    policy: str, instance: Instance
) -> None:
    flat = Flat.from_instance(instance)
    distances = StackDistances(flat, by_query=policy == "vllm-lru")
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
