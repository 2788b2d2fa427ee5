"""Round-robin: each query goes to the worker after the last one."""

from __future__ import annotations

from theory.routing.base import RoutedQuery, Router

__all__ = ["RoundRobin"]


class RoundRobin(Router):
    """Take the workers in turn, skipping those that are down or too small."""

    def choose(self, query: RoutedQuery, now: float) -> int:
        return self.rotate(self.eligible(query))
