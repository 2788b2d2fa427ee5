"""Random prompts as token sequences, and the traces that they make: the oracle of the loaders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from empirical.traces.base import Trace

Prompt = tuple[int, ...]


def examples(count: int = 60) -> settings:
    """Settings under which a run is the same every time."""
    return settings(deadline=None, derandomize=True, max_examples=count)


def trace_of(prompts: Sequence[Prompt], block_size: int, exact: bool = True) -> Trace:
    """The trace of token sequences: a block is named by all tokens up to its end.

    With `exact` off, a partial block has the name of the full block that some prompt continues it
    to: ids that name contents loosely, which the loader has to bear.
    """
    full = {
        prompt[:end] for prompt in prompts for end in range(block_size, len(prompt) + 1, block_size)
    }
    names: dict[Prompt, int] = {}
    rows = []
    for prompt in prompts:
        row = []
        for start in range(0, len(prompt), block_size):
            name = prompt[: start + block_size]
            if not exact and len(name) % block_size:
                name = min((f for f in full if f[: len(name)] == name), default=name)
            row.append(names.setdefault(name, len(names)))
        rows.append(row)
    lengths = [len(prompt) for prompt in prompts]
    return Trace.from_hash_ids(
        rows, range(len(rows)), lengths, [1] * len(rows), block_size=block_size, name="random"
    )


@st.composite
def prompts(draw: Callable[[Any], Any], most_tokens: int = 14, most: int = 10) -> list[Prompt]:
    """Prompts over two symbols, each often the continuation of an earlier one."""
    found: list[Prompt] = []
    for _ in range(draw(st.integers(1, most))):
        base: Prompt = ()
        if found and draw(st.booleans()):
            base = draw(st.sampled_from(found))
            base = base[: draw(st.integers(0, len(base)))]
        rest = draw(st.lists(st.integers(0, 1), min_size=0 if base else 1, max_size=6))
        found.append((*base, *rest)[:most_tokens])
    return found
