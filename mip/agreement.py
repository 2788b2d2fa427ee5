"""The offline optimum three ways, which must agree."""

from __future__ import annotations

from mip.belady import farthest_next_use
from mip.eviction import solve_eviction
from mip.flow import flow_optimum
from mip.schedule import Optimum
from theory.errors import OptimumError
from theory.model import Instance

__all__ = ["check_agreement"]


def check_agreement(
    instance: Instance,
    *,
    bypass: bool = False,
    solver: str = "highs",
    time_limit: float | None = None,
) -> Optimum:
    """Solve an instance by farthest next use, as a min-cost flow and as a MIP.

    Parameters
    ----------
    instance : Instance
        The instance.
    bypass : bool
        Whether a query may be served without being cached.
    solver : {"highs", "cbc"}
        Who solves the MIP.
    time_limit : float, optional
        Seconds for the MIP.

    Returns
    -------
    Optimum
        Of farthest next use, with its schedule.

    Raises
    ------
    OptimumError
        If two methods disagree.
    MissingProofError
        If the MIP ends without a proof.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> broom = TokenTrie.from_parents([-1, 0, 0, 0])
    >>> check_agreement(Instance(broom, 3, [[1], [2], [3], [1]])).misses
    4
    """
    best = farthest_next_use(instance, bypass=bypass)
    others = (
        flow_optimum(instance, bypass=bypass),
        solve_eviction(instance, bypass=bypass, solver=solver, time_limit=time_limit),
    )
    for other in others:
        if other.bound > best.bound or (other.misses is not None and other.misses < best.bound):
            raise OptimumError(
                f"{best.method} finds the optimum {best.misses}, {other.method} finds "
                f"{other.misses} misses and the lower bound {other.bound}"
            )
        other.require()  # a proven optimum is its own bound, so the two are equal
    return best
