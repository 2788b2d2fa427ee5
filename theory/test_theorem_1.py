"""Theorem 1: every marking policy satisfies ALG <= (B - u + 1) OPT + B on every sequence."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adversary.families import FAMILIES
from mip.belady import farthest_next_use
from tests.theory.offline import brute_force
from tests.theory.phases import first_violation
from tests.theory.strategies import examples, instances
from theory.bounds import evaluate
from theory.cache import PrefixCache, run
from theory.eviction import POLICIES, RandomisedPolicy, make_policy
from theory.model import Instance
from theory.trie import TokenTrie

MARKING = ("leaf-lru", "vllm-lru", "node-lru", "rlt", "rlt-step", "rlt-node", "rlt-token")
OTHERS = tuple(
    name
    for name in POLICIES
    if name not in MARKING and not isinstance(make_policy(name), RandomisedPolicy)
)
WORST = [
    *(("cyclic", {"capacity": B, "length": L, "beta": b}) for B, L, b in [(6, 1, 1), (8, 3, 2)]),
    *(("slack", {"size": 8, "beta": b}) for b in (2, 8)),
    *(("slack-fixed", {"size": 8, "beta": 4, "handle": h}) for h in (0, 3)),
    ("three-chains", {"singles": 5}),
    ("rlt-node", {"slots": 6, "handle": 2}),
    ("two-chains", {"size": 5}),
    ("sglang", {}),
    ("fifo-batch", {}),
    ("clock-star", {"slots": 5}),
    ("yao", {"capacity": 8, "length": 2, "steps": 200}),
]


def cost_and_bound(instance: Instance, policy: str, seed: int = 0) -> tuple[int, Fraction | int]:
    """The misses, and what the theorem allows from an empty cache: no additive constant."""
    optimum = farthest_next_use(instance, schedule=False).misses
    assert optimum is not None
    bound = evaluate("marking-upper", B=instance.capacity, u=instance.u)
    return run(instance, policy, seed=seed).misses, bound * optimum


@pytest.mark.parametrize("policy", MARKING)
@given(
    instance=instances(most_tokens=12, most_steps=40, most_queries=3),
    seed=st.integers(0, 3),
)
@examples(60)
def test_bound_on_random_sequences_from_an_empty_cache(
    policy: str, instance: Instance, seed: int
) -> None:
    cost, bound = cost_and_bound(instance, policy, seed)
    assert cost <= bound


@pytest.mark.parametrize("policy", MARKING)
@pytest.mark.parametrize(("family", "given"), WORST)
def test_bound_on_worst_cases(policy: str, family: str, given: dict[str, int]) -> None:
    instance = FAMILIES[family](**given)
    if instance.cycle_start is not None:
        instance = instance.unrolled(4)
    for seed in range(3):
        cost, bound = cost_and_bound(instance, policy, seed)
        assert cost <= bound


@pytest.mark.parametrize("policy", MARKING)
@given(
    instance=instances(most_tokens=6, most_steps=12, least_tokens=4),
    split=st.integers(1, 6),
    seed=st.integers(0, 3),
)
@examples(25)
def test_bound_from_any_cache_against_an_optimum_from_any_cache(
    policy: str, instance: Instance, split: int, seed: int
) -> None:
    if split >= len(instance.steps):
        return
    cache = PrefixCache(instance.trie, instance.capacity, policy, seed=seed)
    for step in instance.steps[:split]:
        cache.serve(step)
    rest = Instance(instance.trie, instance.capacity, instance.steps[split:])
    cost = sum(cache.serve(step).cost for step in rest.steps)
    optimum = brute_force(rest, any_start=True)
    bound = evaluate("marking-upper", B=rest.capacity, u=rest.u)
    assert cost <= bound * optimum + rest.capacity


@pytest.mark.parametrize("policy", MARKING)
@given(instance=instances(most_tokens=12, most_steps=30, most_queries=3), seed=st.integers(0, 3))
@examples(60)
def test_marking_policies_evict_nothing_used_in_the_phase(
    policy: str, instance: Instance, seed: int
) -> None:
    evicted = [step.evicted for step in run(instance, policy, seed=seed).steps]
    assert first_violation(instance, evicted) is None


STAR = TokenTrie.from_parents([-1] * 5)
NOT_MARKING = {
    "sglang-lru": FAMILIES["sglang"]().unrolled(1),
    "fifo": FAMILIES["fifo-batch"]().unrolled(2),
    "filo": FAMILIES["newest-first"]().unrolled(2),
    "mru": FAMILIES["newest-first"]().unrolled(2),
    "lfu": FAMILIES["frequency"]().unrolled(2),
    "slru": FAMILIES["frequency"]().unrolled(2),
    "hits-per-token": FAMILIES["frequency"]().unrolled(2),
    "clock-clear": FAMILIES["clock-star"](slots=4).unrolled(1),
    # A chain of three, a single token, a chain of two. The last step needs two tokens: the hand
    # clears the middle of the chain and token 4, evicts the middle, clears the top, which has just
    # become a leaf, and takes 4, which was used in this phase.
    "clock": Instance(TokenTrie.from_parents([-1, -1, 1, 2, -1, 0]), 3, [[3], [4], [5]]),
    # Found by `kvbounds attack`, and minimal.
    "lru-k": Instance(STAR, 2, [[0], [0], [1], [2], [1]]),
    "lfu-ageing": Instance(STAR, 2, [[0], [0], [0], [1], [2], [1]]),
    "gdsf": Instance(STAR, 2, [[0], [0], [0], [1], [2], [1]]),
    "s3-fifo": Instance(STAR, 2, [[0], [0], [0], [1], [2], [1]]),
    "arc": Instance(STAR, 2, [[0], [1], [1], [2], [3]]),
    "2q": Instance(STAR, 3, [[0], [1], [2], [3], [1], [4]]),
    "sieve": Instance(TokenTrie.from_parents([-1, 0, -1, -1]), 2, [[1], [0], [2], [3]]),
    "tail-lru": Instance(TokenTrie.from_parents([-1, 0, 1, -1, -1, 4]), 3, [[2], [3], [5]]),
}


@pytest.mark.parametrize("policy", OTHERS)
def test_the_other_policies_are_not_marking(policy: str) -> None:
    instance = NOT_MARKING[policy]
    evicted = [step.evicted for step in run(instance, policy).steps]
    assert first_violation(instance, evicted) is not None


@given(
    rest=st.lists(st.integers(0, 5), min_size=3, max_size=40),
    capacity=st.integers(3, 7),
    length=st.integers(2, 3),
)
@examples(150)
def test_one_short_query_costs_less(rest: list[int], capacity: int, length: int) -> None:
    # Query 0 has length 1; the others are disjoint chains of `length` tokens.
    trie = TokenTrie.from_segments([(-1, 1), *[(-1, length)] * 5])
    ends = [0, *(length * i for i in range(1, 6))]
    instance = Instance(trie, capacity, [[ends[i]] for i in rest])
    optimum = farthest_next_use(instance, schedule=False).misses
    assert optimum is not None
    bound = evaluate("short-query-upper", B=capacity, Lp=length)
    additive = capacity + Fraction(length - 1, 2)
    for policy in MARKING:
        assert run(instance, policy).misses <= bound * optimum + additive
