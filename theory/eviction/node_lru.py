"""Node-LRU: the least recently used radix node leaves whole; nodes are split before a refresh."""

from __future__ import annotations

from theory.eviction.base import Granularity
from theory.eviction.leaf_lru import LeafLRU

__all__ = ["NodeLRU"]


class NodeLRU(LeafLRU):
    """Evict the least recently used leaf *node*; ties go to the node that ends at the later token.

    A node is split where a match ends and only the matched part is refreshed, so the tokens of a
    node share their time. Marking, hence ratio at most B - u + 1 (Theorem 1).
    """

    granularity: Granularity = "node"
