"""The offline optimum on arrays."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import StepCounts
from theory.engine.flat import Flat, check_admissible

__all__ = ["optimum"]


def optimum(flat: Flat, capacity: int, bypass: bool = False) -> StepCounts:
    """The fewest misses that any schedule can have, and one schedule that has them.

    Parameters
    ----------
    flat : Flat
        The sequence.
    capacity : int
        B, in units.
    bypass : bool
        Whether a step may leave its tokens out of the cache. Then its footprint may also exceed
        the capacity, and units that are not kept for a later hit count as evicted at once.

    Returns
    -------
    StepCounts
        Of farthest-next-use, whose sum of misses is the optimum (model, Lemma 1). The counts do
        not depend on the choice among victims with the same next use.

    Raises
    ------
    InadmissibleStepError
        Without bypass, if the footprint of a step exceeds the capacity.

    Examples
    --------
    >>> flat = Flat(np.array([-1, -1, -1]), np.arange(7), np.array([0, 1, 2, 0, 1, 2]))
    >>> int(optimum(flat, 2).misses.sum()), int(optimum(flat, 2, bypass=True).misses.sum())
    (4, 4)
    """
    from theory.engine.opt import farthest_next_use

    capacity = check_admissible(flat, capacity, bypass=bypass)
    hits, kept = np.empty(flat.steps, np.int64), np.empty(flat.steps, np.int64)
    farthest_next_use(flat.intervals, flat.footprint, capacity, bypass, hits, kept)
    misses = flat.footprint - hits
    # Without bypass a unit leaves only when its room is needed.
    size = np.append(kept[1:], 0) if bypass else np.minimum(flat.distinct, capacity)
    return StepCounts(hits, misses, misses - np.diff(size, prepend=0))
