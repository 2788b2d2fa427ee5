"""Helpers of kernels: the radix nodes of a cache, as chains of runs.

A match ends where a run ends, and so does a query: radix nodes consist of whole runs. `bottom`
says at which cached runs a node ends. Where it is set for all runs from the start, nothing is ever
split, and every run is a node of its own.
"""

from __future__ import annotations

from theory.engine.arrays import Array, Flags, Indices
from theory.engine.kernel import helper

__all__ = ["split"]


@helper
def split(
    parent: Indices,
    queries: Indices,
    step: int,
    cached: Flags,
    bottom: Flags,
    child: Indices,
    inside: Array,
    rests: Indices,
    cuts: Indices,
) -> tuple[int, int]:
    """Split the nodes in which a match of the step ends and insert the nodes of its queries.

    Each query sees what the queries before it have inserted. Sets ``inside[run] = step`` for the
    runs of the footprint, fills `cuts` with the cached runs at which a node was split and `rests`
    with the runs of the nodes right below them, and returns how many rests and cuts there are.
    """
    cut = 0
    for query in queries:
        run = query
        while run >= 0 and not cached[run] and inside[run] != step:
            run = parent[run]
        if run >= 0 and not bottom[run]:
            bottom[run] = True
            if cached[run]:
                cuts[cut] = run
                cut += 1
        run = query
        while run >= 0 and inside[run] != step:
            inside[run] = step
            run = parent[run]
        bottom[query] = True
    below = 0
    for run in cuts[:cut]:
        lower = child[run]
        rests[below] = lower
        below += 1
        while not bottom[lower]:
            lower = child[lower]
            rests[below] = lower
            below += 1
    return below, cut
