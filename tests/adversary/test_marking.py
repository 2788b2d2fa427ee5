"""The search for violations of the marking rule."""

from __future__ import annotations

import pytest

from adversary.granular import sglang
from adversary.marking import first_violation, look_for_violation
from adversary.target import Target
from tests.theory.phases import first_violation as by_definition
from theory.cache import run
from theory.eviction import POLICIES, policy_class
from theory.eviction.base import RandomisedPolicy

MARKING = {"leaf-lru", "vllm-lru", "node-lru", "rlt", "rlt-step", "rlt-node", "rlt-token"}
KNOWN_NOT = {
    "sglang-lru",
    "fifo",
    "filo",
    "lfu",
    "slru",
    "hits-per-token",
    "mru",
    "clock",
    "clock-clear",
}


@pytest.mark.parametrize("policy", sorted(MARKING))
def test_marking_policies(policy):
    found = look_for_violation(Target(policy, 6), seed=1)
    assert found.violation is None
    assert found.steps > 10_000


@pytest.mark.parametrize("policy", sorted(KNOWN_NOT))
@pytest.mark.parametrize("beta", [1, 2])
def test_others_have_a_violating_step(policy, beta):
    violation = look_for_violation(Target(policy, 6, beta), seed=1).violation
    assert violation is not None
    instance = violation.instance
    assert all(len(step) == beta for step in instance.steps)
    assert violation.step == len(instance.steps) - 1
    # The definition, applied to the run itself.
    evicted = [step.evicted for step in run(instance, policy).steps]
    assert by_definition(instance, evicted) == violation.step
    phase = instance.trie.footprint(
        q for step in instance.steps[violation.phase_start :] for q in step
    )
    assert violation.token in phase
    assert violation.token in evicted[-1]
    assert len(phase) <= instance.capacity


def test_every_built_in_policy_is_classified():
    for policy in POLICIES:
        if policy not in MARKING | KNOWN_NOT and not issubclass(
            policy_class(policy), RandomisedPolicy
        ):
            assert look_for_violation(Target(policy, 5)).steps > 0


def test_given_sequences_come_first():
    assert first_violation(sglang().unrolled(2), "sglang-lru") is not None
    found = look_for_violation(Target("sglang-lru", 5), also=[sglang()])
    assert found.steps == len(sglang().steps)


def test_stops_when_told():
    assert look_for_violation(Target("mru", 4), stop=lambda: True).steps == 0
