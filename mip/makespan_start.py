"""Good routings to start from, their evictions offline: whole prefixes, greedy, local search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mip.routing_data import RoutingData
from theory.load import route

__all__ = ["LARGEST_SEARCH", "START_ROUTERS", "best_start", "by_prefix", "greedy", "local_search"]

START_ROUTERS = ("lbgr", "round-robin", "consistent-hash", "lmetric")
"""Routers whose routings are tried as a start, with Leaf-LRU in the caches."""

LARGEST_SEARCH = 256
"""Queries beyond which only whole prefixes and given routings are tried."""


def by_prefix(data: RoutingData) -> list[int]:
    """Keep together what shares its first node: the largest group first, to the least load.

    A query that does not fit the worker of its group goes to the least loaded one that it fits.
    """
    groups: dict[int, list[int]] = {}
    for j, path in enumerate(data.used):
        groups.setdefault(path[0], []).append(j)
    work: dict[int, int] = {}
    for head, queries in groups.items():
        segments = {s for j in queries for s in data.used[j]}
        misses = sum(data.lengths[s] for s in segments)
        work[head] = sum(data.least_base[j] for j in queries) + min(data.miss) * misses
    loads = [0] * len(data.capacity)
    assignment = [0] * len(data.used)
    for head in sorted(groups, key=lambda head: (-work[head], head)):
        for j in groups[head]:
            fitting = [i for i in range(len(loads)) if data.fits[i][j]]
            assignment[j] = min(fitting, key=lambda i: (loads[i], i))
        for i in {assignment[j] for j in groups[head]}:
            part = sum(assignment[j] == i for j in groups[head])
            loads[i] += work[head] * part // len(groups[head])
    return assignment


def greedy(data: RoutingData) -> list[int]:
    """Send each query where the largest load is then least; ties to the smaller sum of loads."""
    workers = range(len(data.capacity))
    parts: list[tuple[int, ...]] = [()] * len(workers)
    loads = [0] * len(workers)
    assignment = []
    for j in range(len(data.used)):
        tried = {i: data.load(i, (*parts[i], j)) for i in workers if data.fits[i][j]}
        best = min(tried, key=lambda i: (max(tried[i], *_without(loads, i)), tried[i] - loads[i]))
        parts[best] = (*parts[best], j)
        loads[best] = tried[best]
        assignment.append(best)
    return assignment


def _without(values: Sequence[int], index: int) -> list[int]:
    return [0, *values[:index], *values[index + 1 :]]


def best_start(
    data: RoutingData, given: Iterable[Sequence[int]] = (), effort: int = 3000
) -> list[int]:
    """The best routing of all starts, each improved by local search.

    Parameters
    ----------
    data : RoutingData
        The instance.
    given : iterable of sequences of int
        Routings to try as well.
    effort : int
        How many neighbours the local searches may look at, in all.
    """
    starts = [by_prefix(data), *map(list, given)]
    if len(data.used) > LARGEST_SEARCH:
        effort = 0
    else:
        starts.append(greedy(data))
        starts += [list(route(data.instance, router).assignment) for router in START_ROUTERS]
    return min(
        (local_search(data, start, effort // len(starts)) for start in starts),
        key=lambda routing: sorted(data.loads(routing), reverse=True),
    )


def local_search(data: RoutingData, start: Sequence[int], effort: int) -> list[int]:
    """Move queries from the busiest worker while the sorted loads get smaller.

    A move takes all its queries through one radix segment to another worker, and perhaps all
    queries through one segment back.
    """
    assignment = list(start)
    loads = data.loads(assignment)
    through: list[list[int]] = [[] for _ in data.lengths]
    for j, path in enumerate(data.used):
        for s in path:
            through[s].append(j)
    improved = True
    while improved:
        improved = False
        busiest = max(range(len(loads)), key=lambda i: (loads[i], -i))
        best = sorted(loads, reverse=True)
        for moved in _moves(through, assignment, busiest, loads):
            if effort <= 0:
                return assignment
            if not all(data.fits[i][j] for j, i in moved.items()):
                continue
            effort -= 1
            tried = [moved.get(j, i) for j, i in enumerate(assignment)]
            after = data.loads(tried)
            if sorted(after, reverse=True) < best:
                assignment, loads, improved = tried, after, True
                break
    return assignment


def _moves(
    through: list[list[int]], assignment: list[int], busiest: int, loads: list[int]
) -> Iterable[dict[int, int]]:
    """Changes of the assignment, single groups before exchanges."""
    groups: dict[int, list[tuple[int, ...]]] = {i: [] for i in range(len(loads))}
    for queries in through:
        for i, known in groups.items():
            group = tuple(j for j in queries if assignment[j] == i)
            if group and group not in known:
                known.append(group)
    others = sorted((i for i in groups if i != busiest), key=lambda i: (loads[i], i))
    for i in others:
        for group in groups[busiest]:
            yield dict.fromkeys(group, i)
    for i in others:
        for group in groups[busiest]:
            for back in groups[i]:
                yield {**dict.fromkeys(group, i), **dict.fromkeys(back, busiest)}
