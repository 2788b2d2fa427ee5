"""Adaptive play on any trie: ask for what the policy has just evicted.

The adversary watches the cache and records the steps; what it returns is an ordinary sequence that
anyone can serve again. Against a deterministic policy adaptive and oblivious adversaries have the
same power, because the adversary can simulate the policy.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from adversary.tries import at_least
from theory.cache import PrefixCache
from theory.errors import InputError
from theory.eviction import EvictionPolicy, RandomisedPolicy
from theory.model import Instance
from theory.trie import TokenTrie

__all__ = ["chase", "describe"]


def describe(policy: str | EvictionPolicy) -> str:
    """How a policy is named in the notes of an instance."""
    return policy if isinstance(policy, str) else type(policy).__name__


def chase(
    trie: TokenTrie,
    capacity: int,
    policy: str | EvictionPolicy,
    queries: Sequence[int],
    steps: int,
    *,
    beta: int = 1,
    fixed: Sequence[int] = (),
    seed: int = 0,
    until_cycle: bool = False,
    name: str = "",
    notes: dict[str, Any] | None = None,
) -> Instance:
    """Play `steps` steps, each asking for a query whose last token is not cached.

    Among several such queries the one evicted last is asked for, and before any eviction the
    first one in `queries`; so while everything fits, all queries are asked for in order. A batch
    takes more missing queries in that order, then cached ones, as far as they fit.

    Parameters
    ----------
    trie : TokenTrie
        The tokens.
    capacity : int
        B.
    policy : str or EvictionPolicy
        The opponent, by name or as an object that serves no other cache. A randomised one is
        played against one run of its own, with `seed`.
    queries : sequence of int
        What the adversary may ask for, besides the fixed ones.
    steps : int
        The number of steps.
    beta : int
        How many of `queries` a batch asks for (fewer where no more fit).
    fixed : sequence of int
        Queries that every batch asks for.
    seed : int
        Seeds a randomised policy.
    until_cycle : bool
        Stop as soon as the state of the game repeats; then ``cycle_start`` is set. Without effect
        against a randomised policy or one without ``state()``.
    name, notes : str, dict
        The name and further notes of the instance.

    Raises
    ------
    InputError
        If everything that may be asked for is cached at once, so that there is nothing to chase.

    Examples
    --------
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> game = chase(star, 2, "leaf-lru", [0, 1, 2], 10, until_cycle=True)
    >>> game.prefix, game.cycle
    (((0,), (1,)), ((2,), (0,), (1,)))
    """
    at_least(steps, 1, "steps")
    at_least(beta, 1, "beta")
    cache = PrefixCache(trie, capacity, policy, seed=seed)
    watched = until_cycle and not isinstance(cache.policy, RandomisedPolicy)
    # When each token was last evicted; before any eviction, the first query counts as the latest.
    evicted_at = {query: -place for place, query in enumerate(queries)}
    evictions = 0
    played: list[tuple[int, ...]] = []
    seen: dict[Hashable, int] = {}
    cycle_start = None
    while len(played) < steps:
        missing = [query for query in queries if query not in cache.cached]
        if not missing:
            raise InputError(
                "everything that may be asked for is cached at once",
                where=f"step {len(played)}",
                fix="give a smaller capacity or more queries",
            )
        if watched:
            # The future depends on the past only through this.
            try:
                state = cache.state(), tuple(sorted(missing, key=evicted_at.__getitem__))
            except NotImplementedError:
                watched = False
            else:
                cycle_start = seen.setdefault(state, len(played))
                if cycle_start < len(played):
                    break
                cycle_start = None
        step = _batch(trie, capacity, fixed, missing, queries, evicted_at, beta)
        for token in cache.serve(step).evicted:
            evictions += 1
            evicted_at[token] = evictions
        played.append(step)
    told = {"against": describe(policy), "shows": "asks for what was evicted"}
    return Instance(trie, capacity, played, cycle_start, name, {**told, **(notes or {})})


def _batch(
    trie: TokenTrie,
    capacity: int,
    fixed: Sequence[int],
    missing: Sequence[int],
    queries: Sequence[int],
    evicted_at: dict[int, int],
    beta: int,
) -> tuple[int, ...]:
    """The latest evicted query, and up to `beta` - 1 more as far as they fit."""
    order = sorted(missing, key=evicted_at.__getitem__, reverse=True)
    step = (*fixed, order[0])
    if beta > 1:
        order += [query for query in queries if query not in set(missing)]
        for query in order[1:]:
            if len(step) == len(fixed) + beta:
                break
            if query not in step and trie.footprint_size((*step, query)) <= capacity:
                step = (*step, query)
    return step
