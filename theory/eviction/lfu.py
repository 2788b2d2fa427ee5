"""LFU with in-cache counts: evict the leaf with the fewest uses since it was inserted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from theory.eviction.base import EvictionPolicy, Sees, Step
from theory.eviction.bookkeeping import check_granularity, count_uses, touch

__all__ = ["LFU"]


class LFU(EvictionPolicy):
    """Evict the least frequently used leaf; ties go to the older one, then to the later token.

    A use is a query of a step that contains the token, the query that inserts it included;
    eviction forgets the count.

    Parameters
    ----------
    granularity : {"token", "node"}
        With ``"node"`` it is SGLang's rule: key ``(hit_count, last_access_time)``, both parts of a
        split node keep the count, and a partial match refreshes the whole node (`touch`).

    Notes
    -----
    Not competitive: on ``a a (b c)^inf`` with B = 2 every step misses, and the optimum stops
    missing (adversary family ``frequency``).

    Counts are unbounded and a new token starts at 1, so no shift of them leaves all decisions
    unchanged: `state` gives them as they are, and the set of states is infinite. An exact ratio
    of this policy is one over a finite part of its states.
    """

    sees: Sees = "queries"

    def __init__(self, granularity: str = "token") -> None:
        self.granularity = check_granularity(granularity)
        self.uses: dict[int, int] = {}
        self.last: dict[int, int] = {}

    def on_step(self, step: Step) -> None:
        touch(self.last, step)
        count_uses(self.uses, step, self.cache.trie)

    def _age(self, token: int) -> tuple[int, int]:
        return self.last[token], -token

    def _key(self, token: int) -> tuple[Any, tuple[int, int]]:
        return self.uses[token], self._age(token)

    def choose(self, leaves: Sequence[int]) -> int:
        return min(leaves, key=self._key)

    def on_evict(self, token: int) -> None:
        del self.uses[token], self.last[token]

    def state(self) -> Hashable:
        return tuple((token, self.uses[token]) for token in sorted(self.last, key=self._age))
