"""The built-in policies on arrays."""

from __future__ import annotations

import numpy as np

from theory.engine.flat import Flat, StepCounts, check_admissible
from theory.errors import PolicyError

__all__ = ["simulate", "supports"]


def supports(policy: str) -> bool:
    """Whether `simulate` knows the policy (given as ``name[:parameter=value...]``)."""
    return policy == "leaf-lru"


def simulate(flat: Flat, policy: str, capacity: int, seed: int = 0) -> StepCounts:
    """Serve a sequence from an empty cache with a compiled policy.

    The result equals that of `theory.cache.run` step by step, for randomised policies with the
    same seed too.

    Parameters
    ----------
    flat : Flat
        The sequence.
    policy : str
        ``name[:parameter=value...]``, see `supports`.
    capacity : int
        B, in units.
    seed : int
        Seeds a randomised policy.

    Raises
    ------
    PolicyError
        If there is no compiled form of the policy.
    InadmissibleStepError
        If the footprint of a step exceeds the capacity.

    Examples
    --------
    >>> flat = Flat(np.array([-1, -1, -1]), np.arange(5), np.array([0, 1, 2, 0]))
    >>> simulate(flat, "leaf-lru", 2).misses.tolist()
    [1, 1, 1, 1]
    """
    if not supports(policy):
        raise PolicyError(
            "has no compiled form", where=f"policy {policy}", fix="use theory.cache.run"
        )
    from theory.engine.lru import leaf_lru

    check_admissible(flat, capacity)
    runs = flat.runs
    hits, evicted = np.empty(flat.steps, np.int64), np.empty(flat.steps, np.int64)
    leaf_lru(runs.weight, runs.start, runs.use, capacity, hits, evicted)
    return StepCounts(hits, flat.footprint - hits, evicted)
