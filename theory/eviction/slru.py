"""SLRU: tokens that were used again are protected; evict the oldest of the others first."""

from __future__ import annotations

from collections.abc import Hashable

from theory.errors import PolicyError
from theory.eviction.lfu import LFU

__all__ = ["SLRU"]


class SLRU(LFU):
    """Evict the least recently used unprotected leaf, else the least recently used protected one.

    A token is protected from its `threshold`-th use in the cache on, and never demoted (uses as
    in `LFU`). Ties go to the later token.

    Parameters
    ----------
    granularity : {"token", "node"}
        With ``"node"`` it is SGLang's rule: key ``(hit_count >= threshold, last_access_time)``.
    threshold : int
        At least 1; SGLang has 2.

    Notes
    -----
    Not competitive: on ``a a (b c)^inf`` with B = 2 every step misses, and the optimum stops
    missing (adversary family ``frequency``).
    """

    def __init__(self, granularity: str = "token", threshold: int = 2) -> None:
        super().__init__(granularity)
        if not isinstance(threshold, int) or threshold < 1:
            raise PolicyError(f"threshold {threshold!r} is not a positive integer")
        self.threshold = threshold

    def _key(self, token: int) -> tuple[bool, tuple[int, int]]:
        return self.uses[token] >= self.threshold, self._age(token)

    def state(self) -> Hashable:
        # Uses beyond the threshold decide nothing, so the set of states is finite.
        return tuple(
            (token, min(self.uses[token], self.threshold))
            for token in sorted(self.last, key=self._age)
        )
