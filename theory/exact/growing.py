"""Does a policy's state keep growing while its cache repeats?

Then the exact solver never ends: time stamps and counters make situations differ that are equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from theory.cache import PrefixCache
from theory.eviction import make_policy
from theory.exact.arena import Arena

__all__ = ["grows", "state_grows"]

ROUNDS = 32
MOST_STEPS = 64


def grows(cache: PrefixCache, cycle: Sequence[Sequence[int]], rounds: int = ROUNDS) -> bool:
    """Whether the contents of a cache repeat over the rounds of a cycle, and its states do not.

    The cache is used up. The answer is about these rounds: a state that returns later counts as
    growing too.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> star = TokenTrie.from_parents([-1, -1])
    >>> [grows(PrefixCache(star, 1, name), [(0,), (0,), (1,)]) for name in ("lfu", "leaf-lru")]
    [False, False]
    >>> [grows(PrefixCache(star, 2, name), [(0,), (1,)]) for name in ("lfu", "leaf-lru")]
    [True, False]
    """
    contents, states = [], []
    for _ in range(rounds):
        for step in cycle:
            cache.serve(step)
        contents.append(frozenset(cache.cached))
        states.append(cache.state())
    half = rounds // 2
    return set(contents[half:]) <= set(contents[:half]) and len(
        set(states[half:]) - set(states[:half])
    ) == len(states[half:])


def state_grows(arena: Arena, policy: str) -> bool:
    """Whether the states of a policy keep growing on some plain cycle of an arena's steps.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> star = Arena(TokenTrie.from_parents([-1, -1, -1]), 2)
    >>> state_grows(star, "lfu"), state_grows(star, "arc")
    (True, False)
    """
    steps = arena.batches("footprint")[:MOST_STEPS]
    cycles = [steps, steps[:2], steps[:1]]
    return any(
        grows(PrefixCache(arena.trie, arena.capacity, make_policy(policy)), cycle)
        for cycle in cycles
    )
