"""Random: each query goes to a uniformly random worker."""

from __future__ import annotations

from theory.routing.base import RoutedQuery, Router

__all__ = ["UniformRandom"]


class UniformRandom(Router):
    """Draw a worker uniformly, independently for each query."""

    def choose(self, query: RoutedQuery, now: float) -> int:
        return self.random.choice(self.eligible(query))
