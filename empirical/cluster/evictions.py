"""The eviction policies that a simulated worker has, by name."""

from __future__ import annotations

from collections.abc import Sequence

from empirical.cluster.cache import BlockCache
from empirical.cluster.leaf_cache import LeafLRUCache, RLTCache, StepRLTCache
from empirical.cluster.node_cache import SGLangLRUCache
from empirical.cluster.policy_cache import PolicyCache
from theory.errors import PolicyError
from theory.eviction import POLICIES, make_policy
from theory.model import check_capacity

__all__ = ["EVICTIONS", "FAST", "make_cache"]

FAST: dict[str, type[BlockCache]] = {
    "leaf-lru": LeafLRUCache,
    "rlt": RLTCache,
    "rlt-step": StepRLTCache,
    "sglang-lru": SGLangLRUCache,
}
"""Policies that have a cache of their own, which needs no list of leaves for each eviction."""

EVICTIONS: tuple[str, ...] = tuple(name for name in POLICIES if name != "onlinemin")
"""The built-in policies that run on a worker; the names are those of `theory.eviction`."""


def make_cache(eviction: str, parent: Sequence[int], capacity: int, seed: int = 0) -> BlockCache:
    """The memory of a worker.

    Parameters
    ----------
    eviction : str
        A name of `EVICTIONS`, with parameters if it has any (``slru:threshold=3``), or a user's
        ``module:Class``.
    parent : sequence of int
        The predecessor of each block, ``-1`` at the start of a prompt; ancestors first.
    capacity : int
        Blocks.
    seed : int
        Seeds a randomised policy.

    Raises
    ------
    PolicyError
        If there is no such policy for a worker.

    Examples
    --------
    >>> cache = make_cache("leaf-lru", [-1, 0, 0], 2)
    >>> cache.admit([0, 1]), cache.private
    (0, 2)
    >>> cache.commit([0, 1], 0, 2)
    >>> cache.release([0, 1], 0)
    >>> cache.admit([0, 2]), sorted(cache.locks)
    (1, [0])
    """
    room = check_capacity(capacity)
    if eviction in FAST:
        return FAST[eviction](parent, room, seed)
    name = ":".join(part for part in eviction.split(":") if "=" not in part)
    if name not in EVICTIONS and ":" not in name:
        why = "does not run on a worker" if name in POLICIES else "is unknown"
        raise PolicyError(
            why,
            where=f"eviction policy {eviction!r}",
            fix=f"choose from {', '.join(sorted(EVICTIONS))}, or name your own as module:Class",
        )
    return PolicyCache(parent, room, make_policy(eviction), seed)
