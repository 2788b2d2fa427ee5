"""Page 4, a query of 9 tokens: the ninth is neither lost nor leaked."""

from __future__ import annotations

from theory.cache import PrefixCache, run
from theory.model import Instance
from theory.trie import TokenTrie

TRIE, (NINE, TEN, EIGHT) = TokenTrie.from_sequences(["abcdefghi", "abcdefghij", "abcdefgh"])


def test_the_tail_is_a_page_of_its_own() -> None:
    pages = TRIE.paged([NINE], 4)
    assert (len(pages.trie), pages.trie.depth(pages.end[NINE])) == (3, 3)
    assert pages.tokens == {pages.end[NINE]: 1}


def test_the_tail_hits_when_the_query_comes_again_and_not_for_a_longer_one() -> None:
    paged = Instance(TRIE, 20, [[NINE], [NINE], [TEN], [EIGHT]]).paged(4)
    steps = run(paged, "leaf-lru").steps
    assert [len(step.misses) for step in steps] == [3, 0, 1, 0]
    assert [len(step.hits) for step in steps] == [0, 3, 2, 2]


def test_the_tail_leaves_and_its_page_is_free_again() -> None:
    paged = Instance(TRIE, 12, [[NINE], [TEN]] * 5).paged(4)
    cache = PrefixCache(paged.trie, paged.capacity, "leaf-lru")
    for number, step in enumerate(paged.steps):
        result = cache.serve(step)
        assert len(cache.cached) == 3
        assert len(result.misses) == (1 if number else 3)
        assert len(result.evicted) == (1 if number else 0)


def test_where_only_full_pages_are_cached_the_tail_costs_nothing() -> None:
    paged = Instance(TRIE, 11, [[NINE], [TEN], [EIGHT]]).paged(4, partial="drop")
    assert [len(step.misses) for step in run(paged, "leaf-lru").steps] == [2, 0, 0]
