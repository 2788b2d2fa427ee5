"""What holds for the policies of real systems, and what does not: exact ratios and witnesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from statistics import mean, stdev

import pytest
from hypothesis import given

from adversary.families import FAMILIES
from adversary.slack import three_chains
from adversary.tries import forests
from mip.belady import farthest_next_use
from tests.theory.law import branches, laws
from tests.theory.strategies import examples, instances
from theory.bounds import evaluate
from theory.cache import PrefixCache, run
from theory.eviction import Step
from theory.eviction.clock_clear import ClearClock
from theory.eviction.sglang_lru import SGLangLRU
from theory.exact import cycle_ratio
from theory.exact.arena import Arena
from theory.exact.solver import ExactRatio, exact_ratio
from theory.model import Instance
from theory.trie import ROOT, TokenTrie


def star(leaves: int) -> TokenTrie:
    return TokenTrie.from_parents([-1] * leaves)


def optimum(instance: Instance) -> int:
    misses = farthest_next_use(instance, schedule=False).misses
    assert misses is not None
    return misses


def per_cycle(instance: Instance, policy: str) -> tuple[int, int]:
    """The misses of the policy and of the optimum in the fourth cycle."""
    few, more = instance.unrolled(3), instance.unrolled(4)
    cost = run(more, policy).misses - run(few, policy).misses
    return cost, optimum(more) - optimum(few)


def solved(found: ExactRatio) -> Fraction | None:
    assert found.complete
    return found.ratio


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize(
    ("policy", "family"),
    [
        *((policy, "frequency") for policy in ("lfu", "slru", "hits-per-token")),
        *((policy, "newest-first") for policy in ("mru", "filo")),
    ],
)
def test_five_policies_have_no_ratio_at_all(policy: str, family: str, length: int) -> None:
    cost, best = per_cycle(FAMILIES[family](length=length), policy)
    assert (cost, best) == (2, 0)


@pytest.mark.parametrize("policy", ["lru-k", "sieve"])
@pytest.mark.parametrize(("length", "others"), [(1, 3), (1, 8), (4, 3)])
def test_two_more_keep_what_was_hit_once(policy: str, length: int, others: int) -> None:
    instance = FAMILIES["frequency"](length=length, others=others)
    assert per_cycle(instance, policy) == (others, 0)
    assert cycle_ratio(instance, policy).ratio is None


@pytest.mark.parametrize("policy", ["lfu", "slru", "hits-per-token", "mru", "filo"])
def test_the_exact_solver_calls_them_unbounded(policy: str) -> None:
    assert solved(exact_ratio(Arena(star(3), 2), policy)) is None


def test_sglang_exceeds_the_marking_bound() -> None:
    instance = FAMILIES["sglang"]()
    assert (instance.capacity, instance.u) == (5, 1)
    assert per_cycle(instance, "sglang-lru") == (18, 3)
    assert Fraction(18, 3) > evaluate("marking-upper", B=5, u=1)
    # Splitting the node before it is stamped repairs it.
    assert per_cycle(instance, "node-lru") == (9, 3)


@pytest.mark.parametrize(("weight", "handle"), [(1, 0), (3, 2), (20, 0), (95, 4)])
def test_sglang_is_almost_twice_as_bad_as_leaf_lru(weight: int, handle: int) -> None:
    instance = FAMILIES["sglang-twice"](weight=weight, handle=handle)
    cost, best = per_cycle(instance, "sglang-lru")
    assert best == 3
    assert Fraction(cost, best) == evaluate("sglang-lower", k=instance.k) == 2 * instance.k - 4
    assert cycle_ratio(instance, "sglang-lru").ratio == 2 * instance.k - 4
    # Splitting first repairs it; leaf by leaf the sequence is harmless.
    assert Fraction(per_cycle(instance, "node-lru")[0], best) <= instance.k
    assert per_cycle(instance, "leaf-lru") == (12, 3)


class Refreshes(SGLangLRU):
    """SGLang's LRU, and in which steps it makes tokens young that nobody asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[bool] = []

    def on_step(self, step: Step) -> None:
        self.seen.append(bool(step.split_off))
        super().on_step(step)


def loads_in_phases(instance: Instance) -> Iterator[tuple[int, int]]:
    """In each phase, how often some token is loaded at most, and the steps that refresh a rest."""
    policy = Refreshes()
    cache = PrefixCache(instance.trie, instance.capacity, policy)
    used: set[int] = set()
    loads: Counter[int] = Counter()
    refreshes = 0
    for step in instance.steps:
        tokens = {token for query in step for token in instance.trie.path(query)}
        if len(used | tokens) > instance.capacity:
            yield max(loads.values(), default=0), refreshes
            used, loads, refreshes = set(), Counter(), 0
        used |= tokens
        loads.update(cache.serve(step).misses)
        refreshes += policy.seen[-1]
    yield max(loads.values(), default=0), refreshes


@pytest.mark.parametrize("weight", [1, 6])
def test_sglang_loads_twice_in_its_worst_phases(weight: int) -> None:
    found = list(loads_in_phases(FAMILIES["sglang-twice"](weight=weight).unrolled(3)))
    assert max(loads for loads, _ in found) == 2
    assert all(loads <= 1 + refreshes for loads, refreshes in found)


@given(instances(most_tokens=12, most_steps=60))
@examples(300)
def test_each_load_again_in_a_phase_needs_a_refresh_of_its_own(instance: Instance) -> None:
    for loads, refreshes in loads_in_phases(instance):
        assert loads <= 1 + refreshes


@given(instances(most_tokens=12, most_steps=60))
@examples(100)
def test_sglang_is_bounded(instance: Instance) -> None:
    bound = evaluate("sglang-upper", B=instance.capacity)
    assert run(instance, "sglang-lru").misses <= bound * (optimum(instance) + 1)


def test_sglang_on_that_trie_is_six_exactly() -> None:
    instance = FAMILIES["sglang"]()
    assert solved(exact_ratio(Arena(instance.trie, 5), "sglang-lru")) == 6
    assert solved(exact_ratio(Arena(instance.trie, 5), "node-lru")) == 5


@pytest.mark.parametrize(("size", "handle"), [(4, 0), (7, 3)])
def test_whole_nodes_reach_the_bound_on_two_chains(size: int, handle: int) -> None:
    instance = FAMILIES["two-chains"](size=size, handle=handle)
    assert per_cycle(instance, "node-lru") == (2 * instance.k, 2)
    assert per_cycle(instance, "leaf-lru") == (2, 2)


@pytest.mark.parametrize("slots", [3, 4, 5, 6])
def test_whole_nodes_lose_the_logarithm(slots: int) -> None:
    instance = FAMILIES["rlt-node"](slots=slots)
    queries = sorted({query for step in instance.steps for query in step})
    arena = Arena(instance.trie, instance.capacity, queries=queries)
    assert solved(exact_ratio(arena, "rlt-node")) == evaluate("rlt-node-lower", k=slots)


def test_uniform_leaves_do_not_lose_it_there() -> None:
    for slots in (4, 6):
        instance = FAMILIES["rlt-node"](slots=slots)
        queries = sorted({query for step in instance.steps for query in step})
        arena = Arena(instance.trie, instance.capacity, queries=queries)
        assert solved(exact_ratio(arena, "rlt-step")) == Fraction(3, 2)


@given(instances(most_tokens=10, most_steps=40, most_queries=3))
@examples(150)
def test_fifo_is_at_most_b(instance: Instance) -> None:
    bound = evaluate("fifo-upper", B=instance.capacity) * optimum(instance) + instance.capacity
    for policy in ("fifo", "fifo:granularity=node"):
        assert run(instance, policy).misses <= bound
        # The reason: within a phase no token is loaded twice.
        cache = PrefixCache(instance.trie, instance.capacity, policy)
        used: set[int] = set()
        loaded: set[int] = set()
        for step in instance.steps:
            tokens = set(instance.trie.footprint(step))
            if len(used | tokens) > instance.capacity:
                used, loaded = set(), set()
            used |= tokens
            misses = cache.serve(step).misses
            assert loaded.isdisjoint(misses)
            loaded.update(misses)


@pytest.mark.parametrize("policy", ["lfu", "slru"])
def test_counts_of_nodes_have_no_ratio_either(policy: str) -> None:
    for length in (1, 3):
        instance = FAMILIES["frequency"](length=length)
        assert per_cycle(instance, f"{policy}:granularity=node") == (2, 0)


def test_fifo_exceeds_the_marking_bound_with_batches() -> None:
    instance = FAMILIES["fifo-batch"]()
    assert (instance.capacity, instance.u, instance.beta) == (3, 2, 2)
    assert per_cycle(instance, "fifo") == (9, 3)
    assert Fraction(9, 3) > evaluate("marking-upper", B=3, u=2)
    assert solved(exact_ratio(Arena(star(4), 3, beta=2), "fifo")) == 3


@pytest.mark.parametrize("slots", [2, 3])
@pytest.mark.parametrize("extra", [1, 2])
def test_a_clock_whose_bit_is_clear_at_insertion_pays_almost_twice(slots: int, extra: int) -> None:
    arena = Arena(star(slots + extra), slots)
    assert solved(exact_ratio(arena, "clock-clear")) == 2 * slots - 1
    # With the bit set at insertion it is as good as a marking policy here.
    assert solved(exact_ratio(arena, "clock")) == evaluate("marking-upper", B=slots, u=1)


def test_the_order_in_which_a_clock_takes_new_tokens_matters() -> None:
    # Were new tokens put behind the hand before it moves, the ratio would be 2 B: the tokens that
    # the hand clears would come after them.
    policy = f"{EarlyClock.__module__}:{EarlyClock.__name__}"
    for slots in (2, 3):
        assert solved(exact_ratio(Arena(star(slots + 1), slots), policy)) == 2 * slots


class EarlyClock(ClearClock):
    """A clock whose new tokens stand in the circle before the hand moves."""

    def on_step(self, step: Step) -> None:
        super().on_step(step)
        self.circle.extend(self.loaded)
        self.loaded = ()


def test_a_clock_exceeds_the_marking_bound_with_batches() -> None:
    found = solved(exact_ratio(Arena(star(5), 4, beta=2), "clock"))
    assert found == 4 > evaluate("marking-upper", B=4, u=2)


def test_three_chains_refute_the_marker_ratio_for_single_queries() -> None:
    instance = three_chains(singles=5)
    assert (instance.capacity, instance.k, instance.beta) == (9, 9, 1)
    third = len(instance.cycle) // 3
    for policy in ("rlt", "rlt-step"):
        costs = [cost for _, cost in laws(instance.unrolled(1), policy)]
        # From the second phase on each costs the same, and the optimum misses once in it.
        assert sum(costs[third : 2 * third]) == Fraction(118463, 25200)
        assert sum(costs[2 * third :]) == Fraction(118463, 25200)
    assert per_cycle(instance, "leaf-lru")[1] == 3
    assert Fraction(118463, 25200) > evaluate("broom-exact", k=9)
    assert Fraction(118463, 25200) < evaluate("one-new-upper", k=9)


WITNESSES = {
    "rlt-step": Instance(
        TokenTrie.from_parents([-1, -1, -1, -1, -1, 0]),
        4,
        [(1, 4), (3, 5), (0, 2), (1, 3), (1, 4), (1, 2), (0, 1), (0, 5), (0, 2), (0, 4), (0, 3),
         (0, 2), (0, 5), (0, 1), (0, 2), (1, 3)],
        cycle_start=4,
    ),
    "rlt": Instance(
        TokenTrie.from_parents([-1, -1, -1, -1, 0, 1, 2]),
        5,
        [(0, 1, 4), (2, 3, 5), (1, 3, 6), (0, 2, 6), (0, 2, 4), (0, 2, 3), (0, 1, 4), (0, 1, 5),
         (0, 1, 3), (1, 2, 5), (1, 2, 6), (1, 2, 3), (0, 2, 6)],
        cycle_start=4,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "cost", "best", "above"),
    [
        ("rlt-step", Fraction(43, 4), 4, Fraction(43, 16)),
        ("rlt", Fraction(33, 4), 3, Fraction(11, 4)),
    ],
)
def test_batches_refute_the_marker_ratio(
    policy: str, cost: Fraction, best: int, above: Fraction
) -> None:
    instance = WITNESSES[policy]
    assert instance.k == 3
    size = len(instance.cycle)
    costs = [paid for _, paid in laws(instance.unrolled(3), policy)]
    assert sum(costs[-size:]) == sum(costs[-2 * size : -size]) == cost
    assert per_cycle(instance, "leaf-lru")[1] == best
    assert cost / best == above > evaluate("broom-exact", k=3)


@pytest.mark.parametrize(("slots", "rounds"), [(1, 1), (2, 1), (2, 4), (3, 2), (3, 6)])
def test_random_leaf_pays_for_junk_exactly(slots: int, rounds: int) -> None:
    found = cycle_ratio(FAMILIES["memoryless"](slots=slots, rounds=rounds), "random-leaf")
    bound = slots * (1 - (1 - Fraction(1, slots)) ** rounds)
    assert found.ratio is not None
    assert bound <= found.ratio <= slots


def test_a_phase_can_start_without_junk() -> None:
    """Two slots, one round: a phase with junk costs 3/2, and after one in four comes none."""
    found = cycle_ratio(FAMILIES["memoryless"](slots=2, rounds=1), "random-leaf")
    assert found.ratio == Fraction(3, 2) * Fraction(4, 5)


@pytest.mark.parametrize(("slots", "length"), [(4, 1), (8, 3)])
def test_random_leaf_pays_for_junk_on_average(slots: int, length: int) -> None:
    few, more = (FAMILIES["memoryless"](slots=slots, length=length).unrolled(n) for n in (1, 5))
    costs = [
        (run(more, "random-leaf", seed=s).misses - run(few, "random-leaf", seed=s).misses) / 8
        for s in range(60)
    ]
    spread = 3 * stdev(costs) / len(costs) ** 0.5
    assert optimum(more) - optimum(few) == 8
    assert mean(costs) + spread >= slots * (1 - (1 - 1 / slots) ** (2 * slots))
    assert mean(costs) - spread <= slots == evaluate("random-leaf-lower", k=slots)


def closed_sets(trie: TokenTrie, most: int) -> list[frozenset[int]]:
    """All prefix-closed sets of at most `most` tokens."""
    found = [
        frozenset(tokens)
        for size in range(most + 1)
        for tokens in combinations(range(len(trie)), size)
    ]
    return [s for s in found if all(trie.parent(token) in {*s, ROOT} for token in s)]


def after_random_leaves(
    trie: TokenTrie, cached: frozenset[int], used: frozenset[int], capacity: int
) -> dict[frozenset[int], Fraction]:
    """The law of the cache after a step, from the definition of the policy."""
    law: dict[frozenset[int], Fraction] = {cached: Fraction(1)}
    for _ in range(max(0, len(cached | used) - capacity)):
        then: Counter[frozenset[int]] = Counter()
        for now, weight in law.items():
            inner = {trie.parent(token) for token in now}
            leaves = [token for token in now if token not in used and token not in inner]
            for leaf in leaves:
                then[now - {leaf}] += weight / len(leaves)  # type: ignore[assignment]
        law = dict(then)  # type: ignore[arg-type]
    return {now | used: weight for now, weight in law.items()}


@pytest.mark.parametrize("beta", [1, 2])
@pytest.mark.parametrize("capacity", [2, 3])
def test_random_leaf_has_a_potential(capacity: int, beta: int) -> None:
    """Cost and growth of B |OPT's cache - the policy's| are at most B OPT's cost, on every edge."""
    edges = 0
    for parents in forests(4):
        trie = TokenTrie.from_parents(parents)
        caches = closed_sets(trie, capacity)
        for batch in combinations(range(4), beta):
            used = frozenset(token for query in batch for token in trie.path(query))
            if len(used) > capacity:
                continue
            for cached in caches:
                law = after_random_leaves(trie, cached, used, capacity)
                for best in caches:
                    before = capacity * (len(best - cached) + len(used - best))
                    for then in caches:
                        if not used <= then <= best | used:
                            continue
                        edges += 1
                        grown = sum(
                            weight * capacity * len(then - now) for now, weight in law.items()
                        )
                        assert len(used - cached) + grown <= before
    assert edges > 300


def test_the_law_in_that_test_is_that_of_the_policy() -> None:
    trie = TokenTrie.from_parents([-1, -1, 0, -1])
    cache = PrefixCache(trie, 3, "random-leaf")
    for query in (2, 1):
        cache.serve([query])
    seen: dict[frozenset[int], Fraction] = {}
    for weight, _, then in branches(cache, [3]):
        key = frozenset(then.cached)
        seen[key] = seen.get(key, Fraction(0)) + weight
    assert seen == after_random_leaves(trie, frozenset({0, 1, 2}), frozenset({3}), 3)
