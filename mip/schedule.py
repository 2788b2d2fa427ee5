"""An offline optimum, and the judge of every schedule: the cost is recomputed, never believed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

from theory.errors import MissingProofError, OptimumError
from theory.model import Instance
from theory.trie import ROOT

__all__ = ["Optimum", "Schedule", "schedule_cost", "step_hits"]

Schedule = tuple[frozenset[int], ...]
"""S_1, ..., S_m: the tokens that are cached after each step."""


@dataclass(frozen=True)
class Optimum:
    """What a method found out about the fewest misses of an instance.

    Attributes
    ----------
    misses : int or None
        The misses of the best schedule that passed `schedule_cost`, in tokens; None if the method
        ended without one.
    bound : int
        No schedule has fewer misses.
    proven : bool
        Whether `misses` is the optimum: it equals `bound`.
    method : str
        Who says so.
    schedule : tuple of frozenset of int, or None
        The cached tokens after each step; None if it was not asked for.

    Examples
    --------
    >>> Optimum(misses=5, bound=4, proven=False, method="example").gap
    Fraction(1, 5)
    """

    misses: int | None
    bound: int
    proven: bool
    method: str
    schedule: Schedule | None = None

    def __post_init__(self) -> None:
        if self.misses is not None and self.misses < self.bound:
            raise OptimumError(
                f"{self.method}: a schedule with {self.misses} misses is below the lower bound "
                f"{self.bound}"
            )
        if self.proven and self.misses != self.bound:
            raise OptimumError(
                f"{self.method}: {self.misses} misses are called optimal, the bound is {self.bound}"
            )

    @property
    def gap(self) -> Fraction | None:
        """(misses - bound) / misses, exactly; None without a schedule."""
        if self.misses is None:
            return None
        return Fraction(self.misses - self.bound, self.misses) if self.misses else Fraction(0)

    def require(self) -> int:
        """The optimum, in tokens.

        Raises
        ------
        MissingProofError
            If it is not proven.
        """
        if self.misses is None or not self.proven:
            found = "no schedule" if self.misses is None else f"a schedule with {self.misses}"
            raise MissingProofError(
                f"{self.method} ended with {found} and the lower bound {self.bound} on the misses, "
                "without a proof of the optimum; raise the time limit"
            )
        return self.misses


def step_hits(instance: Instance, schedule: Sequence[Collection[int]]) -> list[int]:
    """The tokens of each footprint that the schedule holds before the step; shape (m,)."""
    before: Collection[int] = frozenset()
    hits = []
    for index, after in enumerate(schedule):
        hits.append(sum(token in before for token in instance.footprint(index)))
        before = after
    return hits


def schedule_cost(
    instance: Instance, schedule: Sequence[Collection[int]], bypass: bool = False
) -> int:
    """The misses of a schedule, after a check that it is one.

    Parameters
    ----------
    instance : Instance
        The steps U_1, ..., U_m and the capacity B.
    schedule : sequence of sets of int
        S_1, ..., S_m: the tokens cached after each step. S_0 is empty.
    bypass : bool
        Whether tokens of a step may be refused: U_j need not lie in S_j.

    Returns
    -------
    int
        The sum of the misses, ``|U_j minus S_{j-1}|`` for step j, in tokens.

    Raises
    ------
    OptimumError
        If some S_j has more than B tokens, is not prefix-closed, holds a token that was neither
        cached before nor served, or (without bypass) lacks a token of U_j.

    Notes
    -----
    Source: the model, section 1, *serving a step*.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> star = Instance(TokenTrie.from_parents([-1, -1]), 1, [[0], [1], [0]])
    >>> schedule_cost(star, [{0}, {1}, {0}]), schedule_cost(star, [{0}, {0}, {0}], bypass=True)
    (3, 2)
    """
    if len(schedule) != len(instance.steps):
        raise OptimumError(
            f"the schedule has {len(schedule)} caches for {len(instance.steps)} steps"
        )
    parent = instance.trie.parents()
    before: frozenset[int] = frozenset()
    misses = 0
    for index, given in enumerate(schedule):
        after, footprint = frozenset(given), frozenset(instance.footprint(index))
        fault = ""
        if len(after) > instance.capacity:
            fault = f"{len(after)} tokens are cached, the capacity is {instance.capacity}"
        elif not after <= before | footprint:
            fault = f"token {min(after - before - footprint)} is cached but was not served"
        elif not bypass and not footprint <= after:
            fault = f"token {min(footprint - after)} is served but not cached"
        elif cut := [t for t in after if parent[t] != ROOT and parent[t] not in after]:
            fault = f"token {min(cut)} is cached without its parent"
        if fault:
            raise OptimumError(f"not a schedule: after step {index}, {fault}")
        misses += len(footprint - before)
        before = after
    return misses
