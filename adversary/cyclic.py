"""Theorem 2: the broom on which every deterministic policy has ratio at least B - L - beta + 2.

A chain of L - 1 tokens carries beta - 1 leaves that every batch asks for and k + 1 free ones,
k = B - L - beta + 2. The last query of each batch asks for a free leaf that is not cached, and
there always is one: the cache has room for only k of them. So the policy misses in every step,
while farthest-next-use misses at most once in k steps.
"""

from __future__ import annotations

from typing import NamedTuple

from adversary.adaptive import chase, describe
from adversary.tries import at_least, broom
from theory.errors import CapacityError, InputError
from theory.eviction import EvictionPolicy, RandomisedPolicy, make_policy
from theory.model import Instance, check_capacity
from theory.trie import TokenTrie

__all__ = ["Brush", "adaptive_cyclic", "brush", "cyclic", "free_slots"]

SOURCE = "model, Theorem 2"


class Brush(NamedTuple):
    """The broom of Theorem 2.

    Attributes
    ----------
    trie : TokenTrie
        The broom.
    fixed : tuple of int
        The beta - 1 leaves that every batch asks for.
    free : tuple of int
        The other leaves: k + 1 of them, or more if asked for.
    """

    trie: TokenTrie
    fixed: tuple[int, ...]
    free: tuple[int, ...]


def free_slots(capacity: int, length: int = 1, beta: int = 1) -> int:
    """The number k = B - L - beta + 2 of leaves that fit beside handle and fixed leaves.

    Raises
    ------
    CapacityError
        If not even one does: then no batch is admissible.

    Examples
    --------
    >>> free_slots(8), free_slots(8, length=3, beta=2)
    (8, 5)
    """
    at_least(check_capacity(capacity), 1, "capacity")
    at_least(length, 1, "length")
    at_least(beta, 1, "beta")
    k = capacity - length - beta + 2
    if k < 1:
        raise CapacityError(
            f"{beta} queries of {length} tokens that differ in the last one take "
            f"{length + beta - 1} tokens, the capacity is {capacity}",
            where="capacity",
            fix=f"give at least {length + beta - 1}",
        )
    return k


def brush(capacity: int, length: int = 1, beta: int = 1, extra: int = 0) -> Brush:
    """The broom of Theorem 2 with ``k + 1 + extra`` free leaves.

    Examples
    --------
    >>> brush(4, length=2, beta=2)[1:]
    ((1,), (2, 3, 4))
    """
    k = free_slots(capacity, length, beta)
    at_least(extra, 0, "extra")
    trie, leaves = broom(length, beta + k + extra)
    return Brush(trie, leaves[: beta - 1], leaves[beta - 1 :])


def cyclic(capacity: int, length: int = 1, beta: int = 1) -> Instance:
    """The static worst case: the k + 1 free leaves in turn, for ever.

    This is what adaptive play yields against Leaf-LRU (and against FIFO). The cycle has k + 1
    steps; Leaf-LRU misses one token in each, the optimum k + 1 in k cycles.

    Parameters
    ----------
    capacity : int
        B.
    length : int
        L, the length of every query.
    beta : int
        Distinct queries a batch.

    Examples
    --------
    >>> instance = cyclic(4, length=2, beta=2)
    >>> instance.steps, instance.cycle_start, instance.k
    (((1, 2), (1, 3), (1, 4)), 0, 2)
    """
    trie, fixed, free = brush(capacity, length, beta)
    return Instance(
        trie,
        capacity,
        [(*fixed, leaf) for leaf in free],
        cycle_start=0,
        name="cyclic",
        notes={"source": SOURCE, "shows": "leaf-lru has ratio B - u + 1, exactly"},
    )


def adaptive_cyclic(
    policy: str | EvictionPolicy, capacity: int, length: int = 1, beta: int = 1, steps: int = 0
) -> Instance:
    """The worst case of Theorem 2 played against a deterministic policy, which misses every time.

    Parameters
    ----------
    policy : str or EvictionPolicy
        The opponent, by name or as an object that serves no other cache.
    capacity, length, beta : int
        As in `cyclic`.
    steps : int
        The number of steps; 0 plays until the state of the game repeats (at most ``100 (k + 1)``
        steps), and then marks the cycle.

    Raises
    ------
    InputError
        If the policy is randomised: Theorem 2 is about deterministic ones (see `adversary.yao`).

    Examples
    --------
    >>> adaptive_cyclic("leaf-lru", 2, steps=5).steps
    ((0,), (1,), (2,), (0,), (1,))
    """
    at_least(steps, 0, "steps")
    opponent = make_policy(policy) if isinstance(policy, str) else policy
    if isinstance(opponent, RandomisedPolicy):
        raise InputError(
            f"{describe(policy)} is randomised, and Theorem 2 is about deterministic policies",
            where="policy",
            fix="use the family yao",
        )
    trie, fixed, free = brush(capacity, length, beta)
    return chase(
        trie,
        capacity,
        opponent,
        free,
        steps or 100 * len(free),
        fixed=fixed,
        until_cycle=not steps,
        name="cyclic",
        notes={
            "against": describe(policy),
            "source": SOURCE,
            "shows": "a deterministic policy misses in every step",
        },
    )
