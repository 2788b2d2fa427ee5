"""What is known about a least makespan: a schedule's, a lower bound, and whether they meet."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from theory.errors import MissingProofError, OptimumError
from theory.routing.instance import Duration

__all__ = ["LeastMakespan"]


@dataclass(frozen=True)
class LeastMakespan:
    """The best makespan found and the best lower bound, with or without a proof of optimality.

    Attributes
    ----------
    makespan : int or Fraction
        Of the best schedule known, in ms.
    bound : int or Fraction
        No schedule has a smaller makespan, in ms.
    proven : bool
        Whether `makespan` is the optimum: it equals `bound`.
    method : str
        Who says so.
    assignment : tuple of int
        The worker of each query.

    Raises
    ------
    OptimumError
        If the bound is above the makespan, or an optimum is claimed that is not at the bound.

    Examples
    --------
    >>> LeastMakespan(8, 6, False, "example", (0, 1)).gap
    Fraction(1, 4)
    """

    remedy: ClassVar[str] = "give fewer queries"
    """What may bring the proof that is missing."""

    makespan: Duration
    bound: Duration
    proven: bool
    method: str
    assignment: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.makespan < self.bound:
            raise OptimumError(
                f"{self.method}: a schedule with makespan {self.makespan} ms is below the lower "
                f"bound {self.bound} ms"
            )
        if self.proven and self.makespan != self.bound:
            raise OptimumError(
                f"{self.method}: {self.makespan} ms are called optimal, the bound is "
                f"{self.bound} ms"
            )

    @property
    def gap(self) -> Fraction:
        """(makespan - bound) / makespan, exactly."""
        if not self.makespan:
            return Fraction(0)
        return Fraction(self.makespan - self.bound) / Fraction(self.makespan)

    def require(self) -> Duration:
        """The optimum, in ms.

        Raises
        ------
        MissingProofError
            If it is not proven.
        """
        if not self.proven:
            raise MissingProofError(
                f"{self.method} ended with a makespan of {self.makespan} ms and the lower bound "
                f"{self.bound} ms, without a proof of the optimum; {self.remedy}"
            )
        return self.makespan

    def check(self, makespan: Duration, who: str) -> None:
        """Raise `OptimumError` if the schedule of `who` is better than the bound allows."""
        if makespan < self.bound:
            raise OptimumError(
                f"{who} has a makespan of {makespan} ms, below the lower bound {self.bound} ms "
                f"of {self.method}"
            )
