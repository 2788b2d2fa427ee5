"""FILO: evict the leaf that was inserted last."""

from __future__ import annotations

from theory.eviction.fifo import FIFO

__all__ = ["FILO"]


class FILO(FIFO):
    """Evict the leaf outside the footprint with the newest insertion; ties go to the later token.

    Insertion times, and the granularity ``"node"`` as in SGLang, are those of `FIFO`.

    Notes
    -----
    Not competitive: on ``a b (c b)^inf`` with B = 2 every step misses, and the optimum stops
    missing (adversary family ``newest-first``).
    """

    def _key(self, token: int) -> tuple[int, int]:
        return -self.created[token], -token
