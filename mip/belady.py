"""Farthest-next-use on leaves: the offline optimum, combinatorially.

Evict the token whose next use is farthest, never being farthest of all; among equals the one with
the larger number. A descendant is never used before its ancestors and has a larger number, so the
victim is a leaf of the cached trie, and the rule is optimal even among schedules whose cache need
not be prefix-closed (model, Lemma 1). With *bypass* the tokens of the step are victims like all
others: the cache after a step is any B tokens of S ∪ U, so a query may be refused caching.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

from mip.schedule import Optimum, Schedule, schedule_cost
from theory.errors import InadmissibleStepError, InputError, OptimumError
from theory.model import Instance, check_capacity
from theory.trie import ROOT

__all__ = ["farthest_next_use", "farthest_next_use_counts"]


def farthest_next_use(
    instance: Instance, *, bypass: bool = False, schedule: bool = True
) -> Optimum:
    """The fewest misses of an instance, and a schedule that has them.

    Parameters
    ----------
    instance : Instance
        The instance; its nodes may be tokens, pages or blocks.
    bypass : bool
        Whether a query may be served without being cached.
    schedule : bool
        Whether to return the schedule (at most B tokens a step) and recompute the misses from it.

    Returns
    -------
    Optimum
        Always proven (Lemma 1).

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> best = farthest_next_use(Instance(star, 2, [[0], [1], [2], [0]]))
    >>> best.misses, best.proven, sorted(best.schedule[2])
    (3, True, [0, 2])
    """
    footprints = [instance.footprint(index) for index in range(len(instance.steps))]
    misses = 0
    cached: set[int] = set()
    caches: list[frozenset[int]] = []
    for footprint, (hits, evicted) in zip(
        footprints,
        _sweep(footprints, len(instance.trie), instance.capacity, bypass),
        strict=True,
    ):
        misses += len(footprint) - hits
        if schedule:
            cached.update(footprint)
            cached.difference_update(evicted)
            caches.append(frozenset(cached))
    found: Schedule | None = None
    if schedule:
        found = tuple(caches)
        cost = schedule_cost(instance, found, bypass)
        if cost != misses:
            raise OptimumError(f"farthest-next-use counts {misses} misses, its schedule has {cost}")
    return Optimum(misses, misses, proven=True, method="farthest-next-use", schedule=found)


def farthest_next_use_counts(
    parent: Sequence[int] | Any,
    step_start: Sequence[int] | Any,
    query: Sequence[int] | Any,
    capacity: int,
    *,
    bypass: bool = False,
) -> list[int]:
    """The hits of the optimum, step by step, for a trace given by arrays.

    Parameters
    ----------
    parent : sequence of int, shape (n,)
        The parent of each node, an earlier node or -1. Nodes are tokens, pages or blocks.
    step_start : sequence of int, shape (m + 1,)
        Step j serves ``query[step_start[j]:step_start[j + 1]]``, which may be empty.
    query : sequence of int, shape (q,)
        The last node of each query.
    capacity : int
        B, in nodes.
    bypass : bool
        Whether a query may be served without being cached; then it may also be longer than B.

    Returns
    -------
    list of int
        The nodes of each footprint that are cached before the step; shape (m,). The misses are
        fewest over the whole trace, not over a window of it.

    Raises
    ------
    CapacityError
        If the capacity is not a positive int.
    InadmissibleStepError
        If a footprint exceeds the capacity and there is no bypass.
    InputError
        If the arrays do not describe queries on a forest.

    Notes
    -----
    O(N log N) time and O(N) memory for N = the sum of all footprints.

    Examples
    --------
    >>> farthest_next_use_counts([-1, -1, -1], [0, 1, 2, 3, 4], [0, 1, 2, 0], 2)
    [0, 0, 0, 1]
    """
    check_capacity(capacity)
    parents, starts, queries = (_plain(values) for values in (parent, step_start, query))
    footprints = _footprints(parents, starts, queries)
    if not bypass:
        for step, footprint in enumerate(footprints):
            if len(footprint) > capacity:
                raise InadmissibleStepError(
                    step=step,
                    footprint=len(footprint),
                    capacity=capacity,
                    queries=starts[step + 1] - starts[step],
                )
    return [hits for hits, _ in _sweep(footprints, len(parents), capacity, bypass)]


def _plain(values: Sequence[int] | Any) -> list[int]:
    """A list of Python ints; an array's own conversion is far faster than one by one."""
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _footprints(
    parent: Sequence[int], step_start: Sequence[int], query: Sequence[int]
) -> list[list[int]]:
    """The distinct nodes of each step, in no particular order."""
    if not step_start or step_start[0] != 0 or step_start[-1] != len(query):
        raise InputError(f"does not run from 0 to {len(query)} queries", where="step_start")
    for step in range(len(step_start) - 1):
        if step_start[step + 1] < step_start[step]:
            raise InputError("decreases", where=f"step_start[{step + 1}]")
    for node, above in enumerate(parent):
        if not ROOT <= above < node:
            raise InputError(
                f"parent {above} of node {node} is no earlier node", where=f"parent[{node}]"
            )
    seen = [-1] * len(parent)  # the last step that used a node
    footprints: list[list[int]] = []
    for step in range(len(step_start) - 1):
        footprint: list[int] = []
        for node in query[step_start[step] : step_start[step + 1]]:
            if not 0 <= node < len(parent):
                raise InputError(f"{node} is no node", where=f"step {step}")
            while node != ROOT and seen[node] != step:
                seen[node] = step
                footprint.append(node)
                node = parent[node]
        footprints.append(footprint)
    return footprints


def _sweep(
    footprints: Sequence[Sequence[int]], nodes: int, capacity: int, bypass: bool
) -> Iterator[tuple[int, list[int]]]:
    """Serve the steps; yield the hits and the victims of each.

    The heap holds one key a use, ``next use * nodes + node``, negated: its top is the farthest
    next use, ties to the larger node. A key whose next use has come is out of date, but it lies
    below those of all cached nodes that may leave, and so it never comes to the top. Without bypass
    the keys of the step come after its evictions: U is locked.
    """
    never = len(footprints)
    upcoming = [never] * nodes  # the first use at or after the step, going backwards
    next_uses: list[list[int]] = []
    for step in range(len(footprints) - 1, -1, -1):
        next_uses.append([upcoming[node] for node in footprints[step]])
        for node in footprints[step]:
            upcoming[node] = step
    cached = bytearray(nodes)
    heap: list[int] = []
    free = capacity
    for footprint in footprints:
        hits = 0
        keys = []
        for node, use in zip(footprint, next_uses.pop(), strict=True):
            hits += cached[node]
            cached[node] = 1
            keys.append(-(use * nodes + node))
        free -= len(footprint) - hits
        if bypass:  # the tokens of the step are victims like all others
            for key in keys:
                heappush(heap, key)
        evicted: list[int] = []
        while free < 0:
            node = -heappop(heap) % nodes
            cached[node] = 0
            evicted.append(node)
            free += 1
        if not bypass:
            for key in keys:
                heappush(heap, key)
        yield hits, evicted
