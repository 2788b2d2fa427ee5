"""Page 16, a query of 5 tokens: one partial page, or nothing cached; never a truncated key."""

from __future__ import annotations

import pytest

from theory.cache import run
from theory.errors import InputError
from theory.model import Instance
from theory.trie import TokenTrie

TRIE, (SHORT, OTHER, LONG) = TokenTrie.from_sequences(["abcde", "abcdx", "abcdefghijklmnopq"])


def test_a_short_query_occupies_a_page_of_its_own() -> None:
    paged = Instance(TRIE, 48, [[SHORT], [OTHER], [SHORT], [LONG]]).paged(16)
    # Two partial pages that share nothing, then a full page and the partial page "q".
    assert [len(paged.footprint(j)) for j in range(4)] == [1, 1, 1, 2]
    assert paged.capacity == 3
    assert run(paged, "leaf-lru").misses == 4


def test_a_short_query_is_not_cached_where_only_full_pages_are() -> None:
    paged = Instance(TRIE, 48, [[SHORT], [LONG], [SHORT]]).paged(16, partial="drop")
    assert [len(paged.footprint(j)) for j in range(len(paged.steps))] == [1]


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(InputError, match="the sequence has no step"):
        Instance(TRIE, 48, [[SHORT]]).paged(16, partial="drop")


def test_a_capacity_below_a_page_is_an_error() -> None:
    with pytest.raises(InputError, match="15 tokens hold no page of 16; give at least 16"):
        Instance(TRIE, 15, [[SHORT]]).paged(16)
