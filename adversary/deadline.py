"""When a search that counts seconds has to come to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Deadline"]


@dataclass(frozen=True)
class Deadline:
    """A time that can be asked whether it is over; it can be sent to other processes.

    Parameters
    ----------
    at : float
        When it is over, as `clock` counts.
    clock : callable
        Tells the time in seconds. That of the system is the same in all its processes.

    Examples
    --------
    >>> end = Deadline(10.0, clock=lambda: 4.0)
    >>> end(), end.part(0.5), Deadline(4.0, clock=lambda: 4.0)()
    (False, Deadline(at=7.0), True)
    """

    at: float
    clock: Callable[[], float] = time.monotonic

    def __call__(self) -> bool:
        """Whether it is over."""
        return self.clock() >= self.at

    def part(self, share: float) -> Deadline:
        """After this share of the time that is left."""
        now = self.clock()
        return Deadline(now + share * max(0.0, self.at - now), self.clock)

    def __repr__(self) -> str:
        """Without the clock."""
        return f"Deadline(at={self.at})"
