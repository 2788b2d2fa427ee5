"""Equal states have equal futures: a bisimulation over all histories of a small trie."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from itertools import combinations

import pytest

from tests.theory.law import WITH_LAW, law
from theory.cache import PrefixCache
from theory.trie import TokenTrie

NODE = [f"{name}:granularity=node" for name in ("fifo", "filo", "lfu", "slru", "mru")]
UNBOUNDED = {"lfu", "lfu:granularity=node", "hits-per-token", "lfu-ageing", "gdsf"}
"""Their counts are."""
MANY = {"arc", "lru-k", "s3-fifo", "sieve"}
"""Finitely many, but more than are looked at here."""
GAMES = [
    ([-1, -1, -1], 2, 1),
    ([-1, 0, 0, -1], 3, 1),
    ([-1, 0, 1, -1], 3, 1),
    ([-1, -1, -1, 0], 3, 2),
]
"""Parents, capacity, and the most queries a step."""


@pytest.mark.parametrize(("parents", "capacity", "beta"), GAMES)
@pytest.mark.parametrize("spec", [*WITH_LAW, *NODE])
def test_equal_states_have_equal_futures(
    spec: str, parents: list[int], capacity: int, beta: int
) -> None:
    trie = TokenTrie.from_parents(parents)
    steps = [
        step
        for size in range(1, beta + 1)
        for step in combinations(range(len(trie)), size)
        if trie.footprint_size(step) <= capacity
    ]
    start = PrefixCache(trie, capacity, spec)
    futures = {start.state(): [law(start, step) for step in steps]}
    queue: deque[PrefixCache] = deque([start])
    checked: set[Hashable] = set()
    limit = 150
    while queue and len(futures) < limit:
        cache = queue.popleft()
        for step in steps:
            then = cache.fork()
            then.serve(step)
            state = then.state()
            future = [law(then, step) for step in steps]
            if state in futures:
                # Another history has led here: one step on, nothing may differ. As the next
                # states are compared too, all futures agree.
                assert future == futures[state]
                checked.add(state)
            else:
                futures[state] = future
                queue.append(then)
    assert len(checked) > 3
    if spec not in UNBOUNDED | MANY:
        assert not queue, "the states of this policy should be finitely many"
