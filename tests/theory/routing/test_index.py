"""The prefix index against a naive list of prompts, and against Leaf-LRU."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.strategies import examples
from theory.cache import PrefixCache
from theory.routing.index import PrefixIndex
from theory.trie import TokenTrie

PROMPTS = st.lists(st.tuples(st.integers(0, 2), st.text("ab", min_size=1, max_size=6)), max_size=25)


def common(left: str, right: str) -> int:
    """The length of the common prefix."""
    length = 0
    while length < min(len(left), len(right)) and left[length] == right[length]:
        length += 1
    return length


@given(PROMPTS, st.text("ab", max_size=7))
@examples(300)
def test_match_and_sizes_equal_a_naive_list(sent: list[tuple[int, str]], asked: str) -> None:
    index = PrefixIndex(3)
    for worker, prompt in sent:
        index.insert(worker, prompt)
    for worker in range(3):
        prompts = [prompt for w, prompt in sent if w == worker]
        longest = max((common(asked, prompt) for prompt in prompts), default=0)
        assert index.match(asked)[worker] == longest
        assert index.sizes[worker] == len({p[: i + 1] for p in prompts for i in range(len(p))})


@given(PROMPTS)
@examples(100)
def test_removing_a_worker_leaves_the_others(sent: list[tuple[int, str]]) -> None:
    index = PrefixIndex(3, [6, 6, 6])
    other = PrefixIndex(3, [6, 6, 6])
    for worker, prompt in sent:
        index.insert(worker, prompt)
        if worker != 1:
            other.insert(worker, prompt)
    index.remove(1)
    assert index.sizes == other.sizes
    for _, prompt in sent:
        assert index.match(prompt) == other.match(prompt)
    index.insert(1, "ab")
    assert index.match("abb")[1] == 2


@pytest.mark.parametrize("seed", range(20))
def test_a_bounded_index_is_the_cache_of_a_leaf_lru_worker(seed: int) -> None:
    """So the router knows the hits of every worker that serves what it is sent, one by one."""
    rng = random.Random(seed)
    prompts = ["".join(rng.choice("ab") for _ in range(rng.randint(1, 7))) for _ in range(40)]
    trie, ends = TokenTrie.from_sequences(prompts)
    sizes = [8, 13]
    caches = [PrefixCache(trie, size, "leaf-lru") for size in sizes]
    index = PrefixIndex(2, sizes)
    for prompt, end in zip(prompts, ends, strict=True):
        worker = rng.randrange(2)
        assert index.match(prompt)[worker] == len(caches[worker].serve([end]).hits)
        index.insert(worker, prompt)
        assert index.sizes == [len(cache.cached) for cache in caches]


@pytest.mark.parametrize("seed", range(20))
def test_victims_are_what_an_insertion_forgets(seed: int) -> None:
    rng = random.Random(seed)
    index = PrefixIndex(1, [12])
    for number in range(30):
        prompt = "".join(rng.choice("ab") for _ in range(rng.randint(1, 4)))
        # A prompt of symbols that were never seen frees exactly its own length.
        new = tuple(("new", number, depth) for depth in range(rng.randint(1, 4)))
        excess = max(0, index.sizes[0] + len(new) - 12)
        victims = list(index.victims(0, excess))
        assert sum(victim.symbols for victim in victims) == excess
        before = index.sizes[0]
        index.insert(0, new)
        assert index.sizes[0] == before + len(new) - excess
        index.insert(0, prompt)


def test_victims_come_in_order_of_use_with_their_counts() -> None:
    index = PrefixIndex(1, [100])
    for prompt in ("abc", "xy", "abd", "abd"):
        index.insert(0, prompt)
    # Least recently used: c (once), xy (once), then d (twice), then ab (three times).
    assert [tuple(victim) for victim in index.victims(0, 7)] == [(1, 1), (2, 1), (1, 2), (2, 3)]
    assert [tuple(victim) for victim in index.victims(0, 2)] == [(1, 1), (1, 1)]
    assert index.sizes == [6]


def test_a_partial_match_does_not_refresh_the_rest() -> None:
    index = PrefixIndex(1, [6])
    index.insert(0, "abcd")
    index.insert(0, "xy")
    index.insert(0, "ab")  # c and d stay as old as they were
    index.insert(0, "z")
    assert index.match("abcd") == [3]
    assert index.match("xy") == [2]
