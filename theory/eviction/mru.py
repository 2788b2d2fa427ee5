"""MRU: evict the leaf whose last use is newest."""

from __future__ import annotations

from collections.abc import Sequence

from theory.eviction.base import EvictionPolicy, Sees, Step
from theory.eviction.bookkeeping import check_granularity, touch

__all__ = ["MRU"]


class MRU(EvictionPolicy):
    """Evict the most recently used leaf outside the footprint; ties go to the later token.

    Parameters
    ----------
    granularity : {"token", "node"}
        With ``"node"`` it is SGLang's rule: key ``-last_access_time``, and a partial match
        refreshes the whole node (`touch`).

    Notes
    -----
    Not competitive: on ``a b (c b)^inf`` with B = 2 every step misses, and the optimum stops
    missing (adversary family ``newest-first``).
    """

    sees: Sees = "footprint"

    def __init__(self, granularity: str = "token") -> None:
        self.granularity = check_granularity(granularity)
        self.last: dict[int, int] = {}

    def on_step(self, step: Step) -> None:
        touch(self.last, step)

    def _key(self, token: int) -> tuple[int, int]:
        return -self.last[token], -token

    def choose(self, leaves: Sequence[int]) -> int:
        return min(leaves, key=self._key)

    def on_evict(self, token: int) -> None:
        del self.last[token]

    def state(self) -> tuple[int, ...]:
        return tuple(sorted(self.last, key=self._key))
