"""Random instances for hypothesis: forests, batches, repeated queries, any slack."""

from __future__ import annotations

from hypothesis import strategies as st

from theory.model import Instance
from theory.trie import TokenTrie


@st.composite
def instances(
    draw: st.DrawFn,
    max_tokens: int = 6,
    max_steps: int = 7,
    max_batch: int = 3,
    max_slack: int = 3,
) -> Instance:
    """An instance whose capacity is the largest footprint plus some slack."""
    n = draw(st.integers(1, max_tokens))
    trie = TokenTrie.from_parents([draw(st.integers(-1, token - 1)) for token in range(n)])
    query = st.integers(0, n - 1)
    batch = st.lists(query, min_size=1, max_size=max_batch)
    steps = draw(st.lists(batch, min_size=1, max_size=max_steps))
    least = max(trie.footprint_size(step) for step in steps)
    return Instance(trie, least + draw(st.integers(0, max_slack)), steps)
