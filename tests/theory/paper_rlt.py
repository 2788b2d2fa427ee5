"""The paper's rule, token by token, as an exact law of (marks, cache); see Lemma 3."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from theory.trie import ROOT, TokenTrie

State = tuple[frozenset[int], frozenset[int]]
Law = dict[State, Fraction]


def evictable(trie: TokenTrie, cache: frozenset[int], kept: frozenset[int]) -> list[int]:
    """The leaves of the cache outside `kept`."""
    inner = {trie.parent(token) for token in cache} - {ROOT}
    return sorted(cache - inner - kept)


def serve(trie: TokenTrie, capacity: int, law: Law, step: Sequence[int]) -> Law:
    """Serve a step: lock its footprint, then process its tokens, ancestors first.

    A processed token is marked. If that is mark B + 1, or a miss needs an eviction and there is no
    unmarked, unlocked leaf, the marks become the tokens of the step processed so far. A miss in a
    full cache evicts a uniform unmarked, unlocked leaf.
    """
    footprint = trie.footprint(step)
    locked = frozenset(footprint)
    for place, token in enumerate(footprint):
        so_far = frozenset(footprint[: place + 1])
        following: Law = {}
        for (marks, cache), weight in law.items():
            now = marks | {token}
            if len(now) > capacity:
                now = so_far
            victims: list[int | None] = [None]
            if token not in cache and len(cache) == capacity:
                free = evictable(trie, cache, now | locked)
                if not free:
                    now = so_far
                    free = evictable(trie, cache, now | locked)
                victims = list(free)
            for victim in victims:
                state = now, (cache - {victim}) | {token}
                following[state] = following.get(state, Fraction(0)) + weight / len(victims)
        law = following
    assert sum(law.values()) == 1
    return law
