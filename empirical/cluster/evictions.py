"""The eviction policies that a simulated worker has, by name."""

from __future__ import annotations

from collections.abc import Sequence

from empirical.cluster.cache import BlockCache
from empirical.cluster.leaf_cache import LeafLRUCache, RLTCache, StepRLTCache
from empirical.cluster.node_cache import SGLangLRUCache
from theory.errors import PolicyError
from theory.model import check_capacity

__all__ = ["EVICTIONS", "make_cache"]

EVICTIONS: dict[str, type[BlockCache]] = {
    "leaf-lru": LeafLRUCache,
    "rlt": RLTCache,
    "rlt-step": StepRLTCache,
    "sglang-lru": SGLangLRUCache,
}
"""The names are those of `theory.eviction`."""


def make_cache(eviction: str, parent: Sequence[int], capacity: int, seed: int = 0) -> BlockCache:
    """The memory of a worker.

    Parameters
    ----------
    eviction : str
        A name of `EVICTIONS`.
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
    if eviction not in EVICTIONS:
        raise PolicyError(
            f"a simulated worker has no eviction policy {eviction!r}",
            where="eviction",
            fix=f"choose from {', '.join(EVICTIONS)}",
        )
    return EVICTIONS[eviction](parent, check_capacity(capacity), seed)
