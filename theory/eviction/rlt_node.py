"""RLT at node granularity: a uniformly random unmarked radix node leaves whole."""

from __future__ import annotations

from theory.eviction.base import Granularity
from theory.eviction.rlt_step import StepRLT

__all__ = ["NodeRLT"]


class NodeRLT(StepRLT):
    """Evict a uniformly random unmarked leaf *node*; marks as in `rlt-step`.

    Nodes are split where a match ends, so a node is marked as a whole or not at all. The
    logarithm is lost: ratio at least (k + 1)/2 (adversary family ``rlt-node``).
    """

    granularity: Granularity = "node"
