"""TokenTrie against parent arrays and symbol strings."""

from __future__ import annotations

from itertools import product, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.strategies import examples, parents
from theory.errors import InputError
from theory.trie import ROOT, TokenTrie

SEQUENCES = st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=8)


def path(parent: list[int], token: int) -> list[int]:
    return [] if token == ROOT else [*path(parent, parent[token]), token]


def common(left: list[object], right: list[object]) -> int:
    """The length of the longest common prefix."""
    same = (a == b for a, b in zip(left, right, strict=False))
    return sum(takewhile(bool, same))


@given(parents(16))
@examples(200)
def test_paths_depths_and_ancestors(given_parents: list[int]) -> None:
    trie = TokenTrie.from_parents(given_parents)
    tokens = range(len(trie))
    assert trie.parents() == given_parents
    assert [trie.parent(t) for t in tokens] == given_parents
    for token in tokens:
        expected = path(given_parents, token)
        assert trie.path(token) == tuple(expected)
        assert trie.depth(token) == len(expected)
        assert [t for a, b in trie.runs(token) for t in range(a, b + 1)] == expected
        assert {t for t in tokens if trie.is_ancestor(t, token)} == set(expected)


@given(parents(16), st.data())
@examples(200)
def test_footprints(given_parents: list[int], data: st.DataObject) -> None:
    trie = TokenTrie.from_parents(given_parents)
    ends = data.draw(st.lists(st.integers(0, len(trie) - 1), max_size=5))
    expected = sorted({t for end in ends for t in path(given_parents, end)})
    assert trie.footprint(ends) == tuple(expected)
    assert trie.footprint_size(ends) == len(expected)


@given(parents(16))
@examples(100)
def test_round_trips_and_equality(given_parents: list[int]) -> None:
    trie = TokenTrie.from_parents(given_parents)
    assert TokenTrie.from_segments(trie.segments) == trie
    assert TokenTrie.from_json(trie.to_json()) == trie
    assert hash(TokenTrie.from_parents(given_parents)) == hash(trie)
    assert trie != TokenTrie.from_parents([*given_parents, ROOT])
    assert trie != given_parents


def test_a_large_trie_is_saved_as_segments() -> None:
    trie = TokenTrie.from_segments([(ROOT, 200), (99, 300), (99, 1)])
    assert trie.to_json() == {"segments": [[-1, 200], [99, 300], [99, 1]]}
    assert TokenTrie.from_json(trie.to_json()) == trie


@given(SEQUENCES)
@examples(200)
def test_sequences_share_exactly_their_common_prefixes(sequences: list[str]) -> None:
    trie, ends = TokenTrie.from_sequences(sequences)
    prefixes = {text[: i + 1] for text in sequences for i in range(len(text))}
    assert len(trie) == len(prefixes)
    name = {
        t: text[: i + 1]
        for text, e in zip(sequences, ends, strict=True)
        for i, t in enumerate(trie.path(e))
    }
    assert len(set(name.values())) == len(name) == len(prefixes)
    assert [name[e] for e in ends] == sequences


@given(parents(14), st.data())
@examples(200)
def test_radix_segments(given_parents: list[int], data: st.DataObject) -> None:
    trie = TokenTrie.from_parents(given_parents)
    ends = data.draw(st.lists(st.integers(0, len(trie) - 1), min_size=1, max_size=5))
    segments = trie.radix_segments(ends)
    footprint = trie.footprint(ends)
    users = {t: frozenset(e for e in ends if t in path(given_parents, e)) for t in footprint}
    covered: list[int] = []
    for index, segment in enumerate(segments):
        tokens = path(given_parents, segment.last)[-segment.length :]
        assert tokens[0] == segment.first
        # One chain, the same queries throughout, and no query ends inside it.
        assert len({users[t] for t in tokens}) == 1
        assert not set(tokens[:-1]) & set(ends)
        above = given_parents[segment.first]
        assert segment.parent < index
        assert (ROOT if segment.parent == ROOT else segments[segment.parent].last) == above
        # Maximal: the segment above ends there for a reason.
        if above != ROOT:
            assert above in ends or users[above] != users[segment.first]
        covered += tokens
    assert sorted(covered) == list(footprint)


@given(SEQUENCES, st.integers(1, 4), st.booleans())
@examples(300)
def test_pages_are_those_of_the_cut_strings(sequences: list[str], size: int, keep: bool) -> None:
    trie, ends = TokenTrie.from_sequences(sequences)
    pages = trie.paged(ends, size, "keep" if keep else "drop")
    cut = {}
    for text, end in zip(sequences, ends, strict=True):
        whole = len(text) // size * size
        cut[end] = [text[i : i + size] for i in range(0, whole, size)]
        if keep and len(text) % size:
            # A partial page belongs to the query alone: no longer query shares it.
            cut[end].append((text[whole:], "partial"))
    expected, _ = TokenTrie.from_sequences([c for c in cut.values() if c] or [["?"]])
    assert {end: pages.trie.depth(p) for end, p in pages.end.items()} == {
        end: len(c) for end, c in cut.items() if c
    }
    assert len(pages.trie) == (len(expected) if pages.end else 0)
    for a, b in product(pages.end, repeat=2):
        shared = set(pages.trie.path(pages.end[a])) & set(pages.trie.path(pages.end[b]))
        assert len(shared) == common(cut[a], cut[b])
    partial = {
        pages.end[e]: len(c[-1][0]) for e, c in cut.items() if c and isinstance(c[-1], tuple)
    }
    assert pages.tokens == partial


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"parents": [-1, 1]}, "x#/parents/1"),
        ({"parents": [0]}, "x#/parents/0"),
        ({"parents": [-2]}, "x#/parents/0"),
        ({"parents": [-1, "0"]}, "x#/parents/1"),
        ({"parents": [-1, True]}, "x#/parents/1"),
        ({"parents": [-1, 0.0]}, "x#/parents/1"),
        ({"parents": [None]}, "x#/parents/0"),
        ({"segments": [[-1, 2], [2, 1]]}, "x#/segments/1"),
        ({"segments": [[-1, 0]]}, "x#/segments/0"),
        ({"segments": [[-1, 1.5]]}, "x#/segments/0"),
        ({"segments": [[-1]]}, "x#/segments/0"),
        ({"segments": [[-1, 1], 7]}, "x#/segments/1"),
        ({"segments": 3}, "x#"),
        ({}, "x#"),
    ],
)
def test_a_broken_trie_names_the_json_pointer(value: dict[str, object], pointer: str) -> None:
    with pytest.raises(InputError) as caught:
        TokenTrie.from_json(value, "x")
    assert str(caught.value).startswith(pointer + ":")
    assert "\n" not in str(caught.value)


def test_an_empty_query_is_an_error() -> None:
    with pytest.raises(InputError, match="query 1: the query is empty"):
        TokenTrie.from_sequences(["a", ""])


@pytest.mark.parametrize("token", [-1, 3, 1.0, True, "a", None])
def test_only_tokens_are_tokens(token: object) -> None:
    with pytest.raises(InputError, match="is not a token of the trie"):
        TokenTrie.from_parents([-1, 0, 0]).check(token)  # type: ignore[arg-type]


def test_page_parameters_are_checked() -> None:
    trie = TokenTrie.from_parents([-1])
    for size in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="is not a positive integer"):
            trie.paged([0], size)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'keep' or 'drop'"):
        trie.paged([0], 1, "round")


def test_equal_tries_are_equal_however_they_are_given():
    given = TokenTrie.from_segments([(ROOT, 2), (1, 1), (1, 3), (5, 1)])
    listed = TokenTrie.from_parents(given.parents())
    assert given == listed
    assert hash(given) == hash(listed)
    assert given.segments == [(ROOT, 3), (1, 4)]
