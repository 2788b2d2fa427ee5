"""The offline optimum as a minimum-cost flow: which tokens to keep between two uses.

*Reduction.* A token that is used at steps i < j and not in between is a hit at step j exactly if it
is kept over the interval (i, j); every other use is a miss. B units flow along the steps, one a
slot of the cache:

====================  ==================================  ==========
arc                   meaning                             cost
====================  ==================================  ==========
in(j) -> out(j)       slots that serve step j or idle     0
out(j) -> in(j + 1)   slots that idle until the next step 0
out(i) -> in(j)       slots that keep tokens over (i, j)  -1 a token
====================  ==================================  ==========

Without bypass the lock of U_j needs at least |U_j| slots at step j: that is the lower bound of the
arc in(j) -> out(j), and so the kept intervals that cross step j number at most B - |U_j|. With
bypass the lower bound is 0 and only the capacity B of the cut after each step counts. The data are
integers, so network simplex returns an integral flow (Lemma 1's consecutive-ones matrix).

*A prefix-closed schedule.* Among the flows that keep the most tokens we take one with the shortest
intervals in all, by the cost ``length - M`` with M above the sum of all lengths. If a token were
kept over (i, j) and an ancestor were not over one of its own intervals, which lies inside (i, j),
the ancestor could be kept instead: no less would be kept, in no longer intervals. So that happens
only between equal intervals, and there ancestors, which have smaller numbers, are served first.
"""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx

from mip.schedule import Optimum, Schedule, schedule_cost
from theory.errors import OptimumError
from theory.model import Instance

__all__ = ["flow_optimum"]

Interval = tuple[int, int]


def flow_optimum(instance: Instance, *, bypass: bool = False) -> Optimum:
    """The fewest misses of an instance by network simplex, in integer arithmetic.

    Parameters
    ----------
    instance : Instance
        The instance; its nodes may be tokens, pages or blocks.
    bypass : bool
        Whether a query may be served without being cached.

    Returns
    -------
    Optimum
        Always proven; with a schedule whose cost has been recomputed.

    Raises
    ------
    OptimumError
        If the cost of the flow is not that of its schedule.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> flow_optimum(Instance(star, 2, [[0], [1], [2], [0]])).misses
    3
    """
    footprints = [instance.footprint(index) for index in range(len(instance.steps))]
    intervals = _intervals(footprints)
    kept = _most_kept([len(f) for f in footprints], intervals, instance.capacity, bypass)
    schedule = _schedule(footprints, intervals, kept, bypass)
    misses = schedule_cost(instance, schedule, bypass)
    expected = sum(map(len, footprints)) - sum(kept.values())
    if misses != expected:
        raise OptimumError(f"the flow has {expected} misses, its schedule has {misses}")
    return Optimum(misses, misses, proven=True, method="min-cost flow", schedule=schedule)


def _intervals(footprints: list[tuple[int, ...]]) -> dict[Interval, list[int]]:
    """The tokens that are used at steps i < j and not in between, by (i, j), ancestors first."""
    last_use: dict[int, int] = {}
    intervals: dict[Interval, list[int]] = {}
    for step, footprint in enumerate(footprints):
        for token in footprint:
            if token in last_use:
                intervals.setdefault((last_use[token], step), []).append(token)
            last_use[token] = step
    return intervals


def _most_kept(
    sizes: list[int], intervals: Mapping[Interval, list[int]], capacity: int, bypass: bool
) -> dict[Interval, int]:
    """The number of tokens to keep over each interval: as many as possible, then the shortest."""
    weight = 1 + sum((j - i) * len(tokens) for (i, j), tokens in intervals.items())
    last = len(sizes) - 1
    network: nx.MultiDiGraph[tuple[str, int]] = nx.MultiDiGraph()
    # A lower bound of an arc is moved into the demands (inflow minus outflow) of its two ends.
    for step, size in enumerate(sizes):
        least = 0 if bypass else size
        network.add_node(("in", step), demand=least - (capacity if step == 0 else 0))
        network.add_node(("out", step), demand=(capacity if step == last else 0) - least)
        network.add_edge(("in", step), ("out", step), capacity=capacity - least, weight=0)
    for step in range(last):
        network.add_edge(("out", step), ("in", step + 1), capacity=capacity, weight=0)
    for (i, j), tokens in intervals.items():
        network.add_edge(
            ("out", i), ("in", j), key=(i, j), capacity=len(tokens), weight=j - i - weight
        )
    _, flow = nx.network_simplex(network)
    return {(i, j): flow["out", i]["in", j][i, j] for i, j in intervals}


def _schedule(
    footprints: list[tuple[int, ...]],
    intervals: Mapping[Interval, list[int]],
    kept: Mapping[Interval, int],
    bypass: bool,
) -> Schedule:
    """The cache after each step: what is kept across it, and without bypass what is served."""
    caches: list[set[int]] = [set() if bypass else set(f) for f in footprints]
    for (i, j), tokens in intervals.items():
        for step in range(i, j):
            caches[step].update(tokens[: kept[i, j]])
    return tuple(map(frozenset, caches))
