"""The footprints of all steps, and the intervals between uses."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Array, Indices, Intervals, Runs

__all__ = ["footprints", "intervals"]


def footprints(
    parent: Indices, step_start: Array, last: Indices, by_query: bool = False
) -> tuple[Array, Indices]:
    """Where each footprint begins, and the runs of every footprint.

    All paths are climbed at once, one run at a time. The runs of a step come in their order or,
    with `by_query`, those of the last query first, then those of the query before that are not
    among them, and so on; ancestors first within each query.

    Examples
    --------
    >>> parent, last = np.array([-1, 0, 0]), np.array([1, 2])
    >>> footprints(parent, np.array([0, 1, 2]), last)
    (array([0, 2, 4]), array([0, 1, 0, 2]))
    >>> footprints(parent, np.array([0, 2]), last, by_query=True)
    (array([0, 3]), array([0, 2, 1]))
    """
    levels: list[tuple[Indices, Array]] = []
    run, query = last, np.arange(len(last))
    while len(run):
        levels.append((run, query))
        run = parent[run]
        below_root = run >= 0
        run, query = run[below_root], query[below_root]
    depth = np.zeros(len(last), np.int64)
    for _, query in levels:
        depth[query] += 1
    end = np.cumsum(depth)
    use = np.empty(end[-1], parent.dtype)
    for above, (run, query) in enumerate(levels):
        use[end[query] - 1 - above] = run
    start = np.append(0, end)[step_start]
    if len(last) == len(step_start) - 1:
        return start, use
    # Batches: the paths of a step overlap. Of equal runs the one of the last query stays.
    steps = len(step_start) - 1
    step = np.repeat(np.arange(steps), np.diff(start))
    key = step * len(parent) + use
    kept = len(key) - 1 - np.unique(key[::-1], return_index=True)[1]
    if by_query:
        of_query = np.repeat(np.arange(len(last)), depth)[kept]
        kept = kept[np.lexsort((use[kept], -of_query, step[kept]))]
    return np.searchsorted(step[kept], np.arange(steps + 1)), use[kept]


def intervals(runs: Runs) -> Intervals:
    """The intervals between consecutive uses of runs; equal neighbours are joined.

    Examples
    --------
    >>> runs = Runs(
    ...     parent=np.array([-1, 0]),
    ...     weight=np.array([3, 4]),
    ...     start=np.array([0, 1, 3, 5]),
    ...     use=np.array([0, 0, 1, 0, 1]),
    ...     step_start=np.arange(4),
    ...     last=np.array([0, 1, 1]),
    ... )
    >>> intervals(runs)
    Intervals(start=array([0, 1, 2, 2]), end=array([1, 2], dtype=int32), weight=array([3, 7]))
    """
    steps = len(runs.start) - 1
    step = np.repeat(np.arange(steps, dtype=np.int32), np.diff(runs.start))
    order = np.argsort(runs.use, kind="stable")
    again = np.flatnonzero(runs.use[order][1:] == runs.use[order][:-1])
    until = np.zeros_like(step)  # 0: not used again
    until[order[again]] = step[order[again + 1]]
    used_again = np.flatnonzero(until)
    since, until = step[used_again], until[used_again]
    first = np.flatnonzero(np.diff(since, prepend=-1) | np.diff(until, prepend=0))
    weight = runs.weight[runs.use[used_again]]
    return Intervals(
        start=np.searchsorted(since[first], np.arange(steps + 1)),
        end=until[first],
        weight=np.add.reduceat(weight, first) if len(first) else weight,
    )
