"""The offline optimum on arrays."""

from __future__ import annotations

from theory.engine.flat import Flat, StepCounts, check_admissible
from theory.model import check_capacity

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
        the capacity, and units that do not stay count as evicted at once.

    Returns
    -------
    StepCounts
        Its sum of misses is the optimum (model, Lemma 1). Among victims with the same next use the
        least recently used leaves first, then the later one.

    Raises
    ------
    InadmissibleStepError
        Without bypass, if the footprint of a step exceeds the capacity.

    Examples
    --------
    >>> import numpy as np
    >>> flat = Flat(np.array([-1, -1, -1]), np.arange(7), np.array([0, 1, 2, 0, 1, 2]))
    >>> int(optimum(flat, 2).misses.sum()), int(optimum(flat, 2, bypass=True).misses.sum())
    (4, 4)
    """
    from theory.engine.opt import farthest_next_use

    if bypass:
        check_capacity(capacity)
    else:
        check_admissible(flat, capacity)
    counts = StepCounts.empty(flat)
    farthest_next_use(flat.runs, flat.next_use, capacity, bypass, counts)
    return counts
