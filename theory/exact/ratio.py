"""The largest ratio of two sums around a cycle of a finite graph, exact, with its certificate.

Every edge has a cost of the policy and one of the optimum. The competitive ratio is the largest
(sum of policy costs) / (sum of optimum costs) over all cycles; it is unbounded if a cycle costs
the policy something and the optimum nothing. The certificate that no cycle exceeds r is a
*potential* phi >= 0 with

    policy cost - r * optimum cost + phi(target) <= phi(source)    on every edge.

The least such potential is the most that a walk from a state can gain; at the start it is the least
additive constant d of ALG <= r OPT + d over all sequences.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

__all__ = ["Edges", "Extreme", "free_cycle", "largest_ratio"]

Array = npt.NDArray[Any]

SAFE = 2**61
"""Sums of int64 below this cannot overflow in one more addition."""

LOOK_FOR_CYCLES_EVERY = 16
FLOAT_SWEEPS = 1024


class Edges(NamedTuple):
    """A graph on the states 0 .. n-1 with the same number of edges out of each expanded state.

    Attributes
    ----------
    targets : ndarray of int64, shape (m, s)
        Where the edges of the first m states lead; the other n - m have none.
    policy : ndarray of int64, object (Python ints) or float64, shape (m, s)
        Costs of the policy, in 1/`unit`. Floats will do where nothing is to be proved.
    optimum : ndarray of int64, shape (m, s)
        Costs of the optimum.
    unit : int
        The denominator of the policy's costs.
    states : int
        n.
    exact : callable, optional
        The policy's exact cost of an edge, if `policy` has floats.
    """

    targets: Array
    policy: Array
    optimum: Array
    unit: int
    states: int
    exact: Callable[[int, int], Fraction] | None = None

    def costs(self, cycle: list[tuple[int, int]]) -> tuple[Fraction, int]:
        """The exact sums along (state, edge) pairs: the policy's and the optimum's."""
        if self.exact is None:
            policy = Fraction(sum(int(self.policy[edge]) for edge in cycle), self.unit)
        else:
            policy = sum((self.exact(state, edge) for state, edge in cycle), Fraction(0))
        return policy, sum(int(self.optimum[edge]) for edge in cycle)


class Extreme(NamedTuple):
    """The largest ratio.

    Attributes
    ----------
    ratio : Fraction or None
        None: unbounded.
    cycle : list of (int, int)
        A cycle that has it: state and edge, one after the other.
    potential : list of int or None
        The least potential of every state in 1/`scale`; None if it was not asked for, or if the
        ratio is unbounded.
    scale : int
        The denominator of the potential.
    """

    ratio: Fraction | None
    cycle: list[tuple[int, int]]
    potential: list[int] | None
    scale: int


def free_cycle(edges: Edges) -> list[tuple[int, int]] | None:
    """A cycle that costs the policy something and the optimum nothing, if there is one.

    Examples
    --------
    >>> loop = Edges(np.array([[0]]), np.array([[1]]), np.array([[0]]), unit=1, states=1)
    >>> free_cycle(loop)
    [(0, 0)]
    """
    source, edge = np.nonzero(edges.optimum == 0)
    target = edges.targets[source, edge]
    shape = (edges.states, edges.states)
    free = csr_array((np.ones(len(source), dtype=np.int8), (source, target)), shape=shape)
    _, component = connected_components(free, directed=True, connection="strong")
    paid = edges.policy[source, edge] > 0
    bad = np.nonzero(paid.astype(bool) & (component[source] == component[target]))[0]
    if not len(bad):
        return None
    first = bad[0]
    start, end = int(source[first]), int(target[first])
    _, before = breadth_first_order(free, end, directed=True, return_predecessors=True)
    back: list[tuple[int, int]] = []
    node = start
    while node != end:
        above = int(before[node])
        step = np.nonzero((edges.targets[above] == node) & (edges.optimum[above] == 0))[0][0]
        back.append((above, int(step)))
        node = above
    return [(start, int(edge[first])), *back[::-1]]


def largest_ratio(edges: Edges, *, prove: bool = True) -> Extreme | None:
    """The largest ratio over all cycles.

    Parameters
    ----------
    edges : Edges
        The graph.
    prove : bool
        Whether to end with exact arithmetic and return the potential. Otherwise the ratio is that
        of a cycle, computed exactly, but only to rounding errors the largest.

    Returns
    -------
    Extreme or None
        None if there is no cycle on which anything is paid.

    Notes
    -----
    From the ratio r of a cycle, longest walks under the weights policy - r * optimum are built by
    value iteration; it either converges to the least potential or its choices close a cycle of
    larger ratio, which is the next r (Lawler; Dinkelbach).

    Examples
    --------
    Two loops at one state, 3 against 2 and 1 against 1:

    >>> edges = Edges(np.array([[0, 0]]), np.array([[3, 1]]), np.array([[2, 1]]), 1, 1)
    >>> largest_ratio(edges)
    Extreme(ratio=Fraction(3, 2), cycle=[(0, 0)], potential=[0], scale=2)
    """
    unbounded = free_cycle(edges)
    if unbounded is not None:
        return Extreme(None, unbounded, None, 1)
    ratio = Fraction(0)
    cycle: list[tuple[int, int]] | None = None
    exact = False
    while True:
        weights, exact = _weights(edges, ratio, exact=exact)
        potential, found = _longest_walks(edges, weights)
        better = max(((_ratio(edges, c), c) for c in found), default=(ratio, None))
        if better[1] is not None and better[0] > ratio:
            ratio, cycle = better
        elif cycle is None:
            return None
        elif exact or not prove:
            break
        else:
            exact = True
    if not prove:
        return Extreme(ratio, cycle, None, 1)
    return Extreme(
        ratio, cycle, [int(v) for v in potential.tolist()], edges.unit * ratio.denominator
    )


def _ratio(edges: Edges, cycle: list[tuple[int, int]]) -> Fraction:
    policy, optimum = edges.costs(cycle)
    return policy / optimum if optimum else Fraction(0)


def _weights(edges: Edges, ratio: Fraction, *, exact: bool) -> tuple[Array, bool]:
    """Policy - ratio * optimum in units of 1/(unit * denominator), and whether they are exact.

    In int64 where they fit; else Python ints if `exact`, else floats (of any unit).
    """
    p, q = ratio.numerator * edges.unit, ratio.denominator
    if edges.policy.dtype == np.int64 and edges.policy.size:
        largest = q * int(edges.policy.max()) + p * int(edges.optimum.max())
        if largest < 2**48:
            return q * edges.policy - p * edges.optimum, True
    if exact:
        return q * edges.policy.astype(object) - p * edges.optimum.astype(object), True
    scaled = edges.policy / edges.unit
    return scaled.astype(np.float64) - float(ratio) * edges.optimum, False


def _longest_walks(edges: Edges, weights: Array) -> tuple[Array, list[list[tuple[int, int]]]]:
    """The most that a walk from each state gains, or cycles on which walks gain without end."""
    expanded = len(edges.targets)
    tolerance = 1e-9 if weights.dtype == np.float64 else 0
    potential = np.zeros(edges.states, dtype=weights.dtype)
    choice = np.full(expanded, -1)
    every = np.arange(expanded)
    # Floats prove nothing, so there is no need to wait until the last long walk has settled.
    most = FLOAT_SWEEPS if weights.dtype == np.float64 else edges.states + LOOK_FOR_CYCLES_EVERY
    for count in range(1, most + 1):
        value = weights + potential[edges.targets]
        best = value.argmax(axis=1)
        top = value[every, best]
        better = (top > potential[:expanded] + tolerance).astype(bool)
        if not better.any():
            return potential, []
        potential[:expanded][better] = top[better]
        choice[better] = best[better]
        if weights.dtype == np.int64 and int(potential.max()) > SAFE:
            raise OverflowError("the potential leaves 64 bits")
        if count % LOOK_FOR_CYCLES_EVERY == 0:
            found = _cycles(edges, choice)
            if found:
                return potential, found
    if weights.dtype == np.float64:
        return potential, []
    raise AssertionError("value iteration neither converges nor closes a cycle")


def _cycles(edges: Edges, choice: Array) -> list[list[tuple[int, int]]]:
    """The cycles of the graph in which every state keeps its chosen edge."""
    stop = edges.states
    follow = np.full(edges.states + 1, stop)
    chosen = np.nonzero(choice >= 0)[0]
    follow[chosen] = edges.targets[chosen, choice[chosen]]
    far = follow
    for _ in range(edges.states.bit_length()):
        far = far[far]
    cycles: list[list[tuple[int, int]]] = []
    seen: set[int] = set()
    for start in np.unique(far[far != stop]).tolist():
        if start in seen:
            continue
        cycle = []
        node = start
        while node not in seen:
            seen.add(node)
            cycle.append((node, int(choice[node])))
            node = int(follow[node])
        cycles.append(cycle)
    return cycles
