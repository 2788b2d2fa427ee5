"""The arrays that the kernels read and write."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Flags", "Indices", "Intervals", "Runs", "StepCounts"]

Array = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


class StepCounts(NamedTuple):
    """What every step did, in units.

    Attributes
    ----------
    hits, misses, evicted : int64 array of shape (steps,)
        As in `theory.cache.StepResult`, counted.
    """

    hits: Array
    misses: Array
    evicted: Array

    @classmethod
    def empty(cls, steps: int) -> StepCounts:
        """Room for what a kernel counts in `steps` steps."""
        return cls(*(np.empty(steps, np.int64) for _ in range(3)))


class Runs(NamedTuple):
    """The contracted trie and the footprints of all steps.

    Attributes
    ----------
    parent : int32 array of shape (runs,)
        The run above, or -1.
    weight : int64 array of shape (runs,)
        Its number of units.
    start : int64 array of shape (steps + 1,)
        Where each footprint begins in `use`.
    use : int32 array
        The runs of all footprints, step by step, ancestors first.
    step_start : int64 array of shape (steps + 1,)
        Where each step begins in `last`.
    last : int32 array of shape (queries,)
        The run in which each query ends.
    """

    parent: Indices
    weight: Array
    start: Array
    use: Indices
    step_start: Array
    last: Indices


class Intervals(NamedTuple):
    """The intervals between consecutive uses: what a cache can keep in order to hit later.

    Attributes
    ----------
    start : int64 array of shape (steps + 1,)
        Where the intervals begin that open with each step.
    end : int32 array
        The step of the next use.
    weight : int64 array
        The number of units.
    """

    start: Array
    end: Indices
    weight: Array
