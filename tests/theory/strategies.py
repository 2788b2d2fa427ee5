"""Hypothesis strategies: small tries, steps and instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from theory.model import Instance
from theory.trie import ROOT, TokenTrie

EXAMPLES = 100


def examples(count: int = EXAMPLES) -> settings:
    """Settings under which a run is the same every time."""
    return settings(deadline=None, derandomize=True, max_examples=count)


@st.composite
def parents(draw: Callable[[Any], Any], most: int = 8, least: int = 1) -> list[int]:
    """The parents of a random rooted forest."""
    count = draw(st.integers(least, most))
    return [draw(st.integers(ROOT, token - 1)) for token in range(count)]


@st.composite
def instances(
    draw: Callable[[Any], Any],
    *,
    most_tokens: int = 8,
    most_steps: int = 12,
    most_queries: int = 2,
    least_tokens: int = 2,
) -> Instance:
    """A random admissible instance; the capacity is mostly below the number of tokens."""
    trie = TokenTrie.from_parents(draw(parents(most_tokens, least_tokens)))
    token = st.integers(0, len(trie) - 1)
    steps = draw(
        st.lists(
            st.lists(token, min_size=1, max_size=most_queries, unique=True),
            min_size=1,
            max_size=most_steps,
        )
    )
    least = max(trie.footprint_size(step) for step in steps)
    capacity = draw(st.integers(least, max(least, len(trie) - 1)))
    return Instance(trie, capacity, steps)
