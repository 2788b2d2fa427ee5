"""Power of two choices: the less loaded of two random workers."""

from __future__ import annotations

from theory.routing.base import RoutedQuery, Router

__all__ = ["PowerOfTwo"]


class PowerOfTwo(Router):
    """Draw two distinct workers and take the one with fewer queries in flight.

    Equally loaded, the one that was drawn first, which is uniform.

    Notes
    -----
    Source: Mitzenmacher, The power of two choices in randomized load balancing, 2001.
    """

    def choose(self, query: RoutedQuery, now: float) -> int:
        candidates = self.eligible(query)
        pair = self.random.sample(candidates, min(2, len(candidates)))
        return min(pair, key=self.requests.__getitem__)
