"""SGLang's trees against the token model: the same hits and the same victims, step by step.

Here a query may match in full and asks for what the model's step asks for; what a server does
differently around its tree is in `test_requests`. One difference between the trees was found: in
the server's both parts of a split node keep their time of creation, in the older one the upper part
is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from adversary.granular import sglang_cuts, sglang_twice
from empirical.sglang.plugin import BACKENDS
from empirical.sglang.prediction import POLICIES
from empirical.sglang.seeded import SeededRLT, SeededRLTStep
from tests.sglang.workloads import forest
from theory.bounds import evaluate
from theory.cache import PrefixCache
from theory.engine import Flat, simulate
from theory.eviction import EvictionPolicy
from theory.model import Instance
from theory.trie import TokenTrie

pytestmark = pytest.mark.sglang

SEEDS = range(120)
STEPS = 60
OWN = ("lru", "lfu", "slru", "fifo", "mru", "filo")
BY_CREATION = ("fifo", "filo")
CASES = [
    *(("radix", policy) for policy in OWN),
    *(("unified", policy) for policy in ("lru", "lfu", "slru")),
    *(("unified-python", policy) for policy in OWN if policy not in BY_CREATION),
]


@pytest.mark.parametrize(("kind", "policy"), CASES)
def test_own_policies(trees: ModuleType, kind: str, policy: str) -> None:
    spec = POLICIES[policy]
    for seed in SEEDS:
        trie, capacity, rng = forest(seed)
        steps = [[rng.randrange(len(trie))] for _ in range(STEPS)]
        tree = trees.Tree(kind, capacity, policy)
        model = PrefixCache(trie, capacity, spec)
        fast = simulate(Flat.from_instance(Instance(trie, capacity, steps)), spec, capacity)
        for number, step in enumerate(steps):
            expected = model.serve(step)
            hits, gone = tree.step(trie, step)
            assert hits == set(expected.hits), (seed, number)
            assert gone == set(expected.evicted), (seed, number)
            assert len(hits) == fast.hits[number]
            assert len(gone) == fast.evicted[number]
            tree.check()


def token_policy(backend: str, seed: int) -> str | EvictionPolicy:
    if backend == "kvbounds-leaf-lru":
        return "vllm-lru"  # the last query of a batch to be freed is the newest
    return SeededRLT(seed) if backend == "kvbounds-rlt" else SeededRLTStep(seed)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("events", [False, True])
def test_plugin(trees: ModuleType, backend: str, events: bool) -> None:
    """Batches too, and draw for draw; with KV events the plugin cuts its leaves at once."""
    for seed in SEEDS:
        trie, capacity, rng = forest(seed)
        tree = trees.Tree("radix", capacity, backend, seed=seed, events=events)
        model = PrefixCache(trie, capacity, token_policy(backend, seed))
        for number in range(STEPS):
            batch = list({rng.randrange(len(trie)) for _ in range(rng.choice([1, 1, 2, 3]))})
            while trie.footprint_size(batch) > capacity:
                batch.pop()
            expected = model.serve(batch)
            hits, gone = tree.step(trie, batch)
            assert hits == set(expected.hits), (seed, number)
            assert gone == set(expected.evicted), (seed, number)
            tree.check()


@pytest.mark.parametrize("kind", ["radix", "unified", "unified-python"])
@pytest.mark.parametrize("weight", [1, 20])
def test_twice_the_bound_of_marking_policies(trees: ModuleType, kind: str, weight: int) -> None:
    """SGLang's LRU loads 2k - 4 tokens a phase where one would do, in its own trees."""
    instance = sglang_twice(weight)
    few, many = instance.unrolled(2).steps, instance.unrolled(6).steps
    tree = trees.Tree(kind, instance.capacity, "lru")
    loaded = [
        instance.trie.depth(query) - len(tree.step(instance.trie, [query])[0]) for (query,) in many
    ]
    assert sum(loaded[len(few) :]) == 4 * 3 * (2 * instance.k - 4)


@pytest.mark.parametrize("kind", ["radix", "unified", "unified-python"])
@pytest.mark.parametrize(("cuts", "weight"), [(3, 20), (8, 20)])
def test_beyond_every_multiple_of_k(trees: ModuleType, kind: str, cuts: int, weight: int) -> None:
    """SGLang's own trees load as many tokens as the theorem says, where 2 (q + 1) would do."""
    instance = sglang_cuts(cuts, weight)
    few, many = instance.unrolled(1).steps, instance.unrolled(2).steps
    tree = trees.Tree(kind, instance.capacity, "lru")
    loaded = [
        instance.trie.depth(query) - len(tree.step(instance.trie, [query])[0]) for (query,) in many
    ]
    ratio = evaluate("sglang-cuts-lower", k=instance.k, q=cuts)
    assert sum(loaded[len(few) :]) == 2 * 2 * (cuts + 1) * ratio


def test_splitting_first_repairs_it(trees: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """SGLang's tree whose rests keep their old time is `node-lru`, and so a marking policy."""
    original = trees.RadixCache._match_prefix_helper

    def nodes(node: Any) -> Iterator[Any]:
        yield node
        for child in node.children.values():
            yield from nodes(child)

    def split_first(self: Any, node: Any, key: Any) -> Any:
        before = {one: one.last_access_time for one in nodes(self.root_node)}
        result = original(self, node, key)
        for one, time in before.items():
            if one.parent is not None and one.parent not in before:  # the rest of a split node
                one.last_access_time = time
        return result

    monkeypatch.setattr(trees.RadixCache, "_match_prefix_helper", split_first)
    worst = sglang_twice(20)
    cases = [(worst.trie, worst.capacity, [list(step) for step in worst.unrolled(4).steps])]
    for seed in SEEDS[:60]:
        trie, capacity, rng = forest(seed)
        cases.append((trie, capacity, [[rng.randrange(len(trie))] for _ in range(STEPS)]))
    for trie, capacity, steps in cases:
        tree = trees.Tree("radix", capacity, "lru")
        model = PrefixCache(trie, capacity, "node-lru")
        for step in steps:
            expected = model.serve(step)
            hits, gone = tree.step(trie, step)
            assert (hits, gone) == (set(expected.hits), set(expected.evicted))


def test_creation_of_the_upper_part(trees: ModuleType) -> None:
    """FIFO after abc, x and a, which splits abc: bc is the oldest leaf; then a is one too.

    The server's tree evicts it, as old as abc. The older tree evicts x: to it a is new.
    """
    trie = TokenTrie.from_parents([-1, 0, 1, -1, -1, 4, 5])  # abc ends at 2, x is 3
    gone = {}
    for kind in ("radix", "unified-python"):
        tree = trees.Tree(kind, 4, "fifo")
        for query in (2, 3, 0):
            tree.step(trie, [query])
        _, gone[kind] = tree.step(trie, [6])
    assert gone == {"radix": {1, 2, 3}, "unified-python": {0, 1, 2}}
