"""The numbered moves against the executable cache."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from tests.theory.law import laws
from tests.theory.strategies import examples, instances
from theory.cache import run
from theory.errors import PolicyError
from theory.exact.outcomes import Distribution, ExhaustedError, Outcomes
from theory.model import Instance
from theory.trie import TokenTrie

RANDOMISED = ("rlt", "rlt-step", "rlt-node", "rlt-token", "tests.exact.policies:Sticky")


def costs(instance: Instance, policy: str) -> list[Fraction]:
    """The exact expected cost of each step."""
    steps = list(instance.steps)
    outcomes = Outcomes(instance.trie, instance.capacity, policy, steps)
    law = Distribution((0,), (1,))
    found = []
    for index in range(len(steps)):
        law, cost = outcomes.play(law, index)
        found.append(cost)
    return found


@pytest.mark.parametrize("policy", RANDOMISED)
@given(instances(most_tokens=6, most_steps=6))
@examples(40)
def test_expected_costs(policy: str, instance: Instance) -> None:
    assert costs(instance, policy) == [cost for _, cost in laws(instance, policy)]


@pytest.mark.parametrize("policy", ["leaf-lru", "sglang-lru", "clock", "vllm-lru"])
@given(instances(most_tokens=7, most_steps=12))
@examples(40)
def test_deterministic_costs(policy: str, instance: Instance) -> None:
    assert costs(instance, policy) == [step.cost for step in run(instance, policy).steps]


def test_a_row_is_all_moves() -> None:
    star = TokenTrie.from_parents([-1, -1, -1])
    steps = [(0,), (1,), (2,)]
    rows = Outcomes(star, 2, "rlt", steps)
    moves = Outcomes(star, 2, "rlt", steps)
    for state in range(3):
        assert rows.row(state) == [moves.move(state, step) for step in range(3)]
    with pytest.raises(AssertionError, match="forgotten"):
        rows.move(0, 0)


def test_cap_on_states() -> None:
    outcomes = Outcomes(TokenTrie.from_parents([-1, -1]), 1, "leaf-lru", [(0,), (1,)], most=2)
    assert outcomes.move(0, 0).outcomes == ((1, 1),)
    with pytest.raises(ExhaustedError):
        outcomes.move(0, 1)


@pytest.mark.parametrize(
    ("policy", "message"), [("Stateless", "gives no state"), ("NotOne", "no distribution")]
)
def test_policies_without_an_exact_ratio(policy: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        instance = Instance(TokenTrie.from_parents([-1, -1, -1]), 2, [[0], [1], [2]])
        costs(instance, f"tests.exact.policies:{policy}")
