"""SGLang's LRU: whole radix nodes, and a partial match refreshes the whole node first."""

from __future__ import annotations

from theory.eviction.base import Granularity, Step
from theory.eviction.bookkeeping import touch
from theory.eviction.leaf_lru import LeafLRU

__all__ = ["SGLangLRU"]


class SGLangLRU(LeafLRU):
    """Evict the least recently used leaf *node* by SGLang's clock; ties go to the later token.

    A match that ends inside a node stamps the whole node before splitting it, so the unmatched
    rest becomes young although nobody asked for it (`touch`). Not marking: where Leaf-LRU has ratio
    k, this one has at least 2k - 4 from k = 6 on (adversary family ``sglang-twice``) and at least
    the order of k sqrt(k) (``sglang-cuts``). Source: SGLang 0.5.23, ``RadixCache``.
    """

    granularity: Granularity = "node"

    def on_step(self, step: Step) -> None:
        touch(self.last, step)
