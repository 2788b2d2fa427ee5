"""Lemma 3: the paper's rule and its generation-first form have the same law; rlt-step has not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from adversary.families import FAMILIES
from tests.theory import paper_rlt
from tests.theory.law import advance
from tests.theory.strategies import examples, instances
from theory.cache import PrefixCache
from theory.eviction.rlt import RLT
from theory.eviction.rlt_step import StepRLT
from theory.model import Instance
from theory.trie import TokenTrie


def paper_laws(instance: Instance) -> list[paper_rlt.Law]:
    law: paper_rlt.Law = {(frozenset(), frozenset()): Fraction(1)}
    result = []
    for step in instance.steps:
        law = paper_rlt.serve(instance.trie, instance.capacity, law, step)
        result.append(law)
    return result


def policy_laws(instance: Instance, policy: str) -> list[paper_rlt.Law]:
    """The same of a policy of the toolkit."""
    now = [(Fraction(1), PrefixCache(instance.trie, instance.capacity, policy))]
    result = []
    for step in instance.steps:
        now, _ = advance(now, step)
        law: paper_rlt.Law = {}
        for weight, cache in now:
            assert isinstance(cache.policy, RLT | StepRLT)
            state = frozenset(cache.policy.marked), frozenset(cache.cached)
            law[state] = law.get(state, Fraction(0)) + weight
        result.append(law)
    return result


@pytest.mark.parametrize("most_queries", [1, 2, 4])
def test_the_two_forms_have_the_same_law(most_queries: int) -> None:
    @given(instances(most_tokens=8, most_steps=9, most_queries=most_queries, least_tokens=4))
    @examples(120)
    def check(instance: Instance) -> None:
        assert policy_laws(instance, "rlt") == paper_laws(instance)

    check()


@pytest.mark.parametrize(
    ("family", "given"),
    [
        ("slack", {"size": 4, "beta": 2}),
        ("slack-fixed", {"size": 4, "beta": 4, "handle": 2}),
        ("three-chains", {"singles": 1}),
        ("cyclic", {"capacity": 5, "length": 2, "beta": 2}),
        ("sglang", {}),
    ],
)
def test_also_on_worst_cases(family: str, given: dict[str, int]) -> None:
    instance = FAMILIES[family](**given).unrolled(2)
    assert policy_laws(instance, "rlt") == paper_laws(instance)


def test_the_step_granular_rule_has_another_law() -> None:
    # Chains 0-3 and 2-4, a single token 1; B = 3, single queries. The phase {2, 4} ends with one
    # token of slack, which holds 1 with probability 1/4, else 0. When 0-3 comes again and 1 is
    # there, the paper's rule evicts 1 and then 4; the step-granular one evicts 4 and then 2, so
    # that the older 1 survives, with probability 1/4.
    witness = Instance(TokenTrie.from_parents([-1, -1, -1, 0, 2]), 3, [[3], [1], [4], [3]])
    paper, step = paper_laws(witness), policy_laws(witness, "rlt-step")
    assert policy_laws(witness, "rlt") == paper
    assert paper[:-1] == step[:-1]
    marks = frozenset({0, 3})
    assert paper[-1] == {(marks, marks | {2}): Fraction(1)}
    assert step[-1] == {
        (marks, marks | {2}): Fraction(15, 16),
        (marks, marks | {1}): Fraction(1, 16),
    }


def test_without_slack_the_step_granular_rule_agrees() -> None:
    # Single tokens: every phase ends with exactly B distinct ones.
    @given(instances(most_tokens=7, most_steps=10, most_queries=1, least_tokens=4))
    @examples(60)
    def check(instance: Instance) -> None:
        star = Instance(
            TokenTrie.from_parents([-1] * len(instance.trie)), instance.capacity, instance.steps
        )
        assert policy_laws(star, "rlt-step") == paper_laws(star)

    check()
