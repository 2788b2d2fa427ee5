"""Leaf-LRU at every capacity in one pass (model, Lemma 2)."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from theory.engine.arrays import Array, Runs, StepCounts
from theory.engine.flat import Flat, check_admissible

__all__ = ["StackDistances"]


class StackDistances:
    """The positions of all used units in the list of Lemma 2: Leaf-LRU at every capacity.

    Parameters
    ----------
    flat : Flat
        The sequence. O(n log n) time and O(n) memory for n uses of runs, once; after that each
        capacity takes one vectorised pass.
    by_query : bool
        Order the tokens of a batch as vLLM does (policy `vllm-lru`). The proof of Lemma 2 holds
        for every order within a step that does not depend on the capacity.

    Examples
    --------
    >>> flat = Flat(np.array([-1, -1, -1]), np.arange(6), np.array([0, 1, 2, 0, 0]))
    >>> distances = StackDistances(flat)
    >>> [int(distances.counts(b).misses.sum()) for b in (1, 2, 3)]
    [4, 4, 3]
    >>> distances.misses().tolist()
    [4, 4, 3]
    """

    def __init__(self, flat: Flat, *, by_query: bool = False) -> None:
        self.flat = flat
        self.runs: Runs = flat.by_query if by_query else flat.runs

    @cached_property
    def position(self) -> Array:
        """The number of units before each used run in the list, before its step."""
        from theory.engine.stack import stack_positions

        position = np.empty(len(self.runs.use), np.int64)
        stack_positions(self.runs, position)
        return position

    def counts(self, capacity: int) -> StepCounts:
        """Hits, misses and evictions of every step at one capacity.

        Raises
        ------
        InadmissibleStepError
            If the footprint of a step exceeds the capacity.
        """
        flat = self.flat
        capacity = check_admissible(flat, capacity)
        # The first units of a run lie first: those before place `capacity` hit.
        hit = np.clip(capacity - self.position, 0, self.runs.weight[self.runs.use])
        hits = np.add.reduceat(hit, self.runs.start[:-1])
        misses = flat.footprint - hits
        size = np.minimum(flat.distinct, capacity)
        evicted = misses - np.diff(size, prepend=0)
        return StepCounts(hits, misses, evicted)

    def misses(self, first_step: int = 0) -> Array:
        """The misses from `first_step` on at every capacity 1 .. flat.units.

        Returns
        -------
        int64 array of shape (units,)
            Entry b - 1 is for capacity b; it means something where every footprint fits.
        """
        flat, begin = self.flat, self.runs.start[first_step]
        position = self.position[begin:]
        known = position < flat.units
        weight = self.runs.weight[self.runs.use[begin:]][known]
        position = position[known]
        # A run at position p with weight w hits min(w, b - p) units for b > p: slope 1 from p to
        # p + w, summed twice.
        bend = np.bincount(position, minlength=flat.units + 1)
        bend -= np.bincount(position + weight, minlength=flat.units + 1)
        hits = np.cumsum(np.cumsum(bend))[: flat.units]
        return int(flat.footprint[first_step:].sum()) - hits
