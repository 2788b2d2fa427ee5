"""Cache-aware: SGLang's router. Best match while the load is balanced, least load otherwise."""

from __future__ import annotations

from typing import Any

from theory.errors import InputError
from theory.routing.base import RoutedQuery, check_number
from theory.routing.prefix import PrefixRouter

__all__ = ["PRESETS", "CacheAware"]

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "abs_threshold": 32,
        "rel_threshold": 1.0001,
        "match_threshold": 0.5,
        "fallback": "smallest-tree",
    },
    "smg": {
        "abs_threshold": 64,
        "rel_threshold": 1.5,
        "match_threshold": 0.3,
        "fallback": "least-load",
    },
}
"""The paper's baseline (SGLang 0.4.6), and today's SGLang model gateway."""


class CacheAware(PrefixRouter):
    """Follow the longest match unless the queues are out of balance.

    The load is *imbalanced* if max - min > `abs_threshold` and max > `rel_threshold` * min,
    counting the queries in flight. Imbalanced: the least loaded worker. Otherwise, if the longest
    match is more than `match_threshold` of the prompt: a worker that has it (the least loaded
    one). Otherwise the fallback. All ties rotate.

    Parameters
    ----------
    preset : {"paper", "smg"}
        Where the values that are not given come from.
    abs_threshold, rel_threshold : float, optional
        See above.
    match_threshold : float, optional
        In [0, 1].
    fallback : {"smallest-tree", "least-load"}, optional
        Without a good match: the worker that was sent the fewest distinct tokens, or the least
        loaded one.

    Notes
    -----
    Source: the paper's set-up for ``paper`` (the rule of SGLang 0.4.6); SGLang's model gateway for
    ``smg``, which replaced the smallest tree by the least load. There ties go to whichever worker
    comes first.
    """

    bounded = False

    def __init__(
        self,
        preset: str = "paper",
        abs_threshold: float | None = None,
        rel_threshold: float | None = None,
        match_threshold: float | None = None,
        fallback: str | None = None,
    ) -> None:
        if preset not in PRESETS:
            raise InputError(f"preset can be {' or '.join(PRESETS)}, not {preset!r}")
        given = {
            "abs_threshold": abs_threshold,
            "rel_threshold": rel_threshold,
            "match_threshold": match_threshold,
            "fallback": fallback,
        }
        values = PRESETS[preset] | {key: v for key, v in given.items() if v is not None}
        self.abs_threshold = check_number(values["abs_threshold"], "abs-threshold", 0)
        self.rel_threshold = check_number(values["rel_threshold"], "rel-threshold", 0)
        self.match_threshold = check_number(values["match_threshold"], "match-threshold", 0, 1)
        self.fallback = values["fallback"]
        if self.fallback not in ("smallest-tree", "least-load"):
            raise InputError(
                f"fallback can be 'smallest-tree' or 'least-load', not {self.fallback!r}"
            )

    def choose(self, query: RoutedQuery, now: float) -> int:
        candidates = self.eligible(query)
        if self.imbalanced(candidates):
            return self.least(candidates, self.requests.__getitem__)
        hits = self.hits(query)
        longest = max(hits[worker] for worker in candidates)
        if longest > self.match_threshold * query.length:
            matched = [worker for worker in candidates if hits[worker] == longest]
            return self.least(matched, self.requests.__getitem__)
        size = self.index.sizes if self.fallback == "smallest-tree" else self.requests
        return self.least(candidates, size.__getitem__)

    def imbalanced(self, candidates: list[int]) -> bool:
        """Whether the queues of `candidates` are out of balance."""
        queues = [self.requests[worker] for worker in candidates]
        low, high = min(queues), max(queues)
        return high - low > self.abs_threshold and high > self.rel_threshold * low
