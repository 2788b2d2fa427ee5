"""Exact ratios against sequences: no sequence does worse, and the witness does as badly."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given

from adversary.tries import forests
from mip.belady import farthest_next_use
from tests.theory.law import WITH_LAW, laws
from tests.theory.strategies import examples, instances
from theory.cache import run
from theory.errors import InputError, PolicyError
from theory.eviction import RandomisedPolicy, make_policy
from theory.exact import Arena, ExactRatio, exact_ratio
from theory.exact.arena import sees
from theory.exact.replay import optimum_of_cycle, policy_of_cycle
from theory.model import Instance
from theory.trie import TokenTrie

STAR = TokenTrie.from_parents([-1, -1, -1])
BATCHED = TokenTrie.from_parents([-1, -1, -1, 0, 1])
ARENAS = [
    Arena(STAR, 2),
    Arena(TokenTrie.from_parents([-1, 0, 0, -1, 3]), 3),
    Arena(TokenTrie.from_parents([-1, 0, 0, 0]), 3, min_length=2),
    Arena(BATCHED, 3, beta=2),
]
FINITE = ("leaf-lru", "node-lru", "sglang-lru", "vllm-lru", "fifo", "clock", "rlt")


def random_instance(arena: Arena, steps: int, seed: int) -> Instance:
    """A random sequence of admissible steps."""
    draw = random.Random(seed)
    batches = arena.batches("order")
    chosen = [draw.choice(batches) for _ in range(steps)]
    return Instance(arena.trie, arena.capacity, chosen)


@pytest.mark.parametrize("policy", FINITE)
@pytest.mark.parametrize("arena", ARENAS, ids=["star", "forest", "broom", "batches"])
def test_no_sequence_exceeds_ratio_and_constant(arena: Arena, policy: str) -> None:
    found = exact_ratio(arena, policy)
    assert found.complete and found.ratio is not None and found.additive is not None
    for seed in range(20):
        instance = random_instance(arena, 20, seed)
        if isinstance(make_policy(policy), RandomisedPolicy):
            paid = sum((cost for _, cost in laws(instance, policy)), Fraction(0))
        else:
            paid = Fraction(run(instance, policy).misses)
        optimum = farthest_next_use(instance, schedule=False).misses
        assert optimum is not None
        assert paid <= found.ratio * optimum + found.additive


def check_witness(found: ExactRatio) -> None:
    """The cycle, repeated for ever, costs what the result says."""
    assert policy_of_cycle(found.witness, found.policy) == found.policy_cost
    assert optimum_of_cycle(found.witness) == found.optimum_cost


@pytest.mark.parametrize("policy", [*FINITE, "slru", "mru", "filo", "clock-clear"])
@pytest.mark.parametrize("arena", ARENAS, ids=["star", "forest", "broom", "batches"])
def test_the_witness_has_the_ratio(arena: Arena, policy: str) -> None:
    found = exact_ratio(arena, policy)
    check_witness(found)
    if found.ratio is None:
        assert found.optimum_cost == 0 < found.policy_cost
    else:
        assert found.ratio == found.policy_cost / found.optimum_cost


@pytest.mark.parametrize("policy", ["lfu", "hits-per-token"])
def test_unbounded_counters_end_with_an_unbounded_ratio(policy: str) -> None:
    found = exact_ratio(Arena(STAR, 2), policy)
    assert found.ratio is None and found.complete and found.states < 10_000
    check_witness(found)


def test_a_capped_run_is_a_lower_bound() -> None:
    arena = Arena(TokenTrie.from_parents([-1] * 5), 3)
    whole = exact_ratio(arena, "leaf-lru")
    part = exact_ratio(arena, "leaf-lru", most_states=400)
    assert whole.complete and whole.ratio == 3
    assert not part.complete and part.ratio is not None and part.ratio <= whole.ratio
    assert part.additive is None
    check_witness(part)


def test_a_cap_that_leaves_no_cycle_is_an_error_with_an_estimate() -> None:
    arena = Arena(TokenTrie.from_parents([-1] * 10), 8)
    with pytest.raises(InputError, match="has 1,013 prefix-closed caches"):
        exact_ratio(arena, "rlt", most_states=100)


def test_the_cap_stops_a_line_of_distributions_that_never_ends() -> None:
    """Their denominators grow without bound; the number of states alone would stop it far later."""
    arena = Arena(TokenTrie.from_parents([-1, -1, -1, 0, 1]), 3, beta=2)
    part = exact_ratio(arena, "rlt-step", most_states=1_000)
    assert not part.complete and part.ratio == Fraction(11, 6)
    check_witness(part)


@pytest.mark.parametrize("policy", WITH_LAW)
@given(instances(most_tokens=7, most_steps=7, most_queries=3))
@examples(30)
def test_what_a_policy_promises_not_to_see_makes_no_difference(
    policy: str, instance: Instance
) -> None:
    """Another order of the queries, or other queries with the same footprint."""
    what = sees(make_policy(policy))
    if what == "order":
        return
    steps = [step[::-1] for step in instance.steps]
    if what == "footprint":
        trie = instance.trie
        steps = [[q for q in step if not covered(trie, q, step)] for step in instance.steps]
    other = Instance(instance.trie, instance.capacity, steps)
    assert laws(other, policy) == laws(instance, policy)


def covered(trie: TokenTrie, query: int, step: tuple[int, ...]) -> bool:
    """Whether another query of the step contains the query."""
    return any(q != query and trie.is_ancestor(query, q) for q in step)


def test_the_order_of_a_batch_can_matter() -> None:
    """A policy that looks at the order is played against with every order."""
    arena = Arena(TokenTrie.from_parents([-1] * 4), 3, beta=2)
    found = exact_ratio(arena, "tests.exact.policies:LastQueryFirst")
    orders = {tuple(sorted(step)) for step in found.game.steps}
    assert len(found.game.steps) == 2 * len(orders)
    check_witness(found)


def test_leaf_lru_is_never_above_theorem_1_on_small_forests() -> None:
    for parents in forests(4):
        for capacity in (2, 3):
            arena = Arena(TokenTrie.from_parents(parents), capacity)
            if not arena.trivial:
                ratio = exact_ratio(arena, "leaf-lru").ratio
                assert ratio is not None and 1 <= ratio <= arena.k


def test_bad_input() -> None:
    with pytest.raises(InputError, match="hold all 3 tokens"):
        exact_ratio(Arena(STAR, 3), "rlt")
    with pytest.raises(InputError, match="no cycle closes"):
        exact_ratio(Arena(STAR, 2), "rlt", most_states=1)
    with pytest.raises(PolicyError, match="gives no state"):
        exact_ratio(Arena(STAR, 2), "tests.exact.policies:Stateless")
