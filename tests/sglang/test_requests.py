"""What a server does around its tree, request by request, against `empirical.sglang.prediction`.

The trees are driven in the order of SGLang's scheduler (`tests.sglang.trees.Run`). The points
in which a server differs from the token model are shown one by one on the real tree, and all of
them together on thousands of random sequences.
"""

from __future__ import annotations

from types import ModuleType

import pytest

from empirical.sglang.plugin import BACKENDS
from empirical.sglang.prediction import Request, ServerCache, page_trie, predict
from tests.sglang.workloads import capacity_for, requests
from theory.cache import PrefixCache

pytestmark = pytest.mark.sglang

OWN = ("lru", "lfu", "slru", "fifo", "mru", "filo")
CASES = [
    *(("radix", policy) for policy in (*OWN, *BACKENDS)),
    *(("unified", policy) for policy in ("lru", "lfu", "slru")),
    *(("unified-python", policy) for policy in OWN),
]
SEEDS = range(25)


class OlderTree(ServerCache):
    """The model of SGLang's ``RadixCache``."""

    inherits_creation = False


@pytest.mark.parametrize("answer", [1, 3])
@pytest.mark.parametrize("page_size", [1, 16])
@pytest.mark.parametrize(("kind", "policy"), CASES)
def test_random_sequences(
    trees: ModuleType, kind: str, policy: str, page_size: int, answer: int
) -> None:
    for seed in SEEDS:
        sequence = requests(seed, page_size, answer)
        capacity = capacity_for(sequence, page_size, seed)
        chunk = (8192, 2 * page_size)[seed % 2]
        tree = trees.Tree(
            kind, capacity, policy, page_size=page_size, seed=seed, events=seed % 3 == 0
        )
        trie, paged = page_trie(sequence, page_size)
        overlap = seed % 5 > 0
        model = (OlderTree if kind == "radix" else ServerCache)(
            trie, capacity, policy, page_size=page_size, seed=seed, chunk=chunk, overlap=overlap
        )
        for number, (request, known) in enumerate(zip(sequence, paged, strict=True)):
            found = tree.request(request, chunk, overlap=overlap)
            assert found == model.request(known), (seed, number)
            assert tree.cache.evictable_size() == len(model.cached) * page_size, (seed, number)
            tree.check()


@pytest.mark.parametrize("policy", ["fifo", "filo"])
def test_the_sequences_tell_the_trees_apart(policy: str) -> None:
    """What the older tree and the server's differ in is visible in the sequences above."""
    different = 0
    for seed in SEEDS:
        sequence = requests(seed, 1, 1)
        trie, paged = page_trie(sequence, 1)
        capacity = capacity_for(sequence, 1, seed)
        models = [tree(trie, capacity, policy) for tree in (OlderTree, ServerCache)]
        older, server = ([model.request(known) for known in paged] for model in models)
        different += older != server
    assert different > 0


A, B, C = [1, 2, 3, 4], [5, 6, 7, 8], [9]


def cached(
    trees: ModuleType, prompts: list[list[int]], capacity: int, policy: str = "lru", **options: int
) -> list[int]:
    """The cached tokens of each prompt, on the real tree and in the model."""
    sequence = [Request(prompt, [0]) for prompt in prompts]
    tree = trees.Tree("unified", capacity, policy, **options)
    measured = [tree.request(request) for request in sequence]
    assert measured == predict(sequence, capacity, policy, **options)
    return measured


def test_whole_nodes_leave(trees: ModuleType) -> None:
    """Point 1: one token is missing and the four of A leave; a token policy takes just one."""
    assert cached(trees, [A, B, C, A], 8) == [0, 0, 0, 0]
    assert cached(trees, [A, B, C, A], 8, "kvbounds-leaf-lru") == [0, 0, 0, 3]
    assert cached(trees, [A, B, C, [*A, 0]], 8, "kvbounds-leaf-lru") == [0, 0, 0, 3]


@pytest.mark.parametrize(("page_size", "found"), [(1, 319), (16, 304)])
def test_identical_prompt(trees: ModuleType, page_size: int, found: int) -> None:
    """Points 2 and 5: a match ends before the last token, at a page boundary."""
    prompt = list(range(320))
    assert cached(trees, [prompt, prompt], 1024, page_size=page_size) == [0, found]


def test_identical_prompt_in_a_full_cache(trees: ModuleType) -> None:
    """Point 2: the last token is computed into memory of its own, so something must leave.

    LRU: the match refreshes the whole node of A, so B is the victim; a model that only caps the
    match keeps B. Leaf-LRU: the unlocked last token of A is the oldest leaf and leaves itself.
    """
    assert cached(trees, [A, B, A, B], 8) == [0, 0, 3, 0]
    assert cached(trees, [A, B, A, B], 8, "kvbounds-leaf-lru") == [0, 0, 3, 3]
    trie, ends = page_trie([Request(A, [0]), Request(B, [0])], 1)
    capped = PrefixCache(trie, 8, "sglang-lru", match="all-but-last")
    served = [capped.serve([ends[i].prompt]) for i in (0, 1, 0, 1)]
    assert [len(step.hits) - len(step.recomputed) for step in served] == [0, 0, 3, 3]


def test_only_the_shortfall(trees: ModuleType) -> None:
    """Point 3: the match is locked before an eviction, and what is free is used first."""
    assert cached(trees, [A, [1, 2, 0, 0], A], 6) == [0, 2, 3]  # full, nothing left
    assert cached(trees, [A, [1, 2, 0, 0, 9, 9], A], 8) == [0, 2, 3]
    assert cached(trees, [A, [1, 2, 0, 0, 9, 9], A], 6) == [0, 2, 2]  # 34 left, 12 was locked


def test_partial_and_spare_pages(trees: ModuleType) -> None:
    """Point 4: 6 tokens in pages of 4 cache one page, but ask for two and a third one to spare."""
    prompts = [[token] * 6 for token in (1, 2, 3)]
    assert cached(trees, [*prompts, prompts[1], prompts[0]], 16, page_size=4) == [0, 0, 0, 4, 0]
    assert cached(trees, [*prompts, prompts[1], prompts[0]], 20, page_size=4) == [0, 0, 0, 4, 4]


def test_output_is_cached(trees: ModuleType) -> None:
    """Point 6: all but the last token of the output, as a node that leaves before the prompt."""
    first = Request(A, [10, 11, 12])
    for follower, found in (([*A, 10, 11, 12, 0], 6), ([*A, 10, 0], 5)):
        sequence = [first, Request(follower, [0])]
        tree = trees.Tree("unified", 32)
        assert [tree.request(request) for request in sequence] == [0, found]
        assert predict(sequence, 32) == [0, found]
    sequence = [first, Request([20], [0]), Request(A, [0])]  # 7 of 6 + 1: the output must go
    tree = trees.Tree("unified", 6)
    assert [tree.request(request) for request in sequence] == [0, 0, 3] == predict(sequence, 6)


@pytest.mark.parametrize(("overlap", "found"), [(True, 0), (False, 3)])
def test_overlapped_schedule(trees: ModuleType, overlap: bool, found: int) -> None:
    """Point 7: A again, with two tokens to answer, in a full cache of A and B.

    The last token of A is computed into memory of its own, for which B leaves as a whole in either
    case. In a pool that has one token more nothing leaves for it; the answer then needs one more,
    which is free only if the copy of the last token has been given back.
    """
    sequence = [Request(A, [0]), Request(B, [0]), Request(A, [11, 12]), Request(B, [0])]
    tree = trees.Tree("unified", 9)
    measured = [tree.request(request, overlap=overlap) for request in sequence]
    assert measured == [0, 0, 3, found]
    assert measured == predict(sequence, 9, overlap=overlap)


def test_chunked_prefill(trees: ModuleType) -> None:
    """A chunk is a node of its own, so only the second half of A leaves with chunks of 2."""
    sequence = [Request(prompt, [0]) for prompt in (A, B, C, A)]
    for chunk, found in ((8192, 0), (2, 2)):
        tree = trees.Tree("unified", 8)
        assert [tree.request(request, chunk) for request in sequence] == [0, 0, 0, found]
        assert predict(sequence, 8, chunk=chunk) == [0, 0, 0, found]


@pytest.mark.parametrize("policy", ["lru", *BACKENDS])
def test_aborted_requests_leave_no_memory_behind(trees: ModuleType, policy: str) -> None:
    """Clients hang up in the prefill and while decoding; every page is in the tree or free."""
    for seed in SEEDS:
        sequence = requests(seed, 4, 3)
        tree = trees.Tree("unified", capacity_for(sequence, 4, seed), policy, page_size=4)
        for number, request in enumerate(sequence):
            tree.request(request, 8, abort=(None, 0, 1)[number % 3])
            tree.check()
