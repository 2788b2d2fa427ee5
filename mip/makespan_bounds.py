r"""Lower bounds on the makespan of every routing and every eviction, for instances of any size.

Each holds for unequal workers too: where speeds differ, the best worker's is taken. All are exact
and none uses another one; `lower_bounds` gives them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mip.routing_data import RoutingData, fewest_misses
from theory.routing.instance import Duration, RoutingInstance
from theory.trie import ROOT

__all__ = ["BOUNDS", "LowerBound", "least_costs", "lower_bounds"]


class LowerBound(NamedTuple):
    """A bound that no schedule beats.

    Attributes
    ----------
    name : str
        Which one: a key of `BOUNDS`.
    value : int or Fraction
        In ms.
    """

    name: str
    value: Duration


def longest_query(data: RoutingData) -> int:
    """Some worker serves the dearest query, with all the hits that earlier queries allow."""
    return max(least_costs(data))


def packing(data: RoutingData) -> int:
    """Of the k m + 1 dearest queries, some worker serves k + 1; each with all hits conceivable."""
    costs = sorted(least_costs(data), reverse=True)
    workers = len(data.capacity)
    best = 0
    for k in range(1, (len(costs) - 1) // workers + 1):
        last = k * workers
        best = max(best, sum(costs[last - k : last + 1]))
    return best


def pooled_work(data: RoutingData) -> int:
    """The work of one cache as large as all together, shared out evenly.

    The union of the workers' caches is a cache of sum B_i tokens that misses no more than they do
    together, so farthest-next-use at that capacity is a lower bound on all misses. For equal
    workers this is the value of the program's linear relaxation: averaged over all permutations of
    the workers, a relaxed solution becomes x = 1/m, and m times its y is a pooled cache.
    """
    misses = sum(fewest_misses(data.used, data.lengths, sum(data.capacity)))
    return -(-(sum(data.least_base) + min(data.miss) * misses) // len(data.capacity))


def replication(data: RoutingData) -> int:
    """Work that does not fit one worker needs more workers, each of which loads the prefix.

    Let Z be the makespan. A worker that serves a query through segment s misses the path to s at
    least once, which costs D_s; let W_s be the least work of all queries through s besides. Then
    p workers can do it only if p (Z - D_s) >= W_s. So s is missed by at least p_s = ceil(W_s /
    (Z - D_s)) workers, which adds to the work above it, up to the root: W <= m Z. The bound is the
    least Z for which all this, with p_s <= m and p_s at most the number of queries, is possible.
    """
    miss, workers = min(data.miss), len(data.capacity)
    count = len(data.lengths)
    served = [0] * count  # by all queries through a segment, if they hit in full
    queries = [0] * count
    for path, cost in zip(data.used, data.least_base, strict=True):
        for s in path:
            served[s] += cost
            queries[s] += 1
    path_cost: list[int] = []  # D_s
    for s, segment in enumerate(data.segments):
        above = 0 if segment.parent == ROOT else path_cost[segment.parent]
        path_cost.append(above + miss * data.lengths[s])
    all_served = sum(data.least_base)

    def possible(limit: int) -> bool:
        total = all_served
        loading = [0] * count  # below a segment
        for s in range(count - 1, -1, -1):  # children before parents
            work, room = served[s] + loading[s], limit - path_cost[s]
            if room < 0 or (room == 0 and work > 0):
                return False
            copies = max(1, -(-work // room)) if room else 1
            if copies > min(workers, queries[s]):
                return False
            own = miss * data.lengths[s] * copies
            total += own
            if data.segments[s].parent != ROOT:
                loading[data.segments[s].parent] += loading[s] + own
        return total <= limit * workers

    low, high = 0, all_served + miss * sum(data.lengths)  # one worker does all, loading once
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if possible(middle) else (middle + 1, high)
    return low


def least_costs(data: RoutingData) -> list[int]:
    """What each query costs at least, in quanta: it misses only what was never asked for before."""
    seen: set[int] = set()
    costs = []
    for j, path in enumerate(data.used):
        new = sum(data.lengths[s] for s in path if s not in seen)
        seen.update(path)
        costs.append(
            min(
                data.base[i][j] + data.miss[i] * new
                for i in range(len(data.capacity))
                if data.fits[i][j]
            )
        )
    return costs


BOUNDS: dict[str, Callable[[RoutingData], int]] = {
    "longest-query": longest_query,
    "packing": packing,
    "pooled-work": pooled_work,
    "replication": replication,
}
"""The bounds by name."""


def lower_bounds(instance: RoutingInstance | RoutingData) -> list[LowerBound]:
    """Every lower bound, the best one first.

    Examples
    --------
    >>> from theory.load import Worker
    >>> from theory.trie import TokenTrie
    >>> trie, ends = TokenTrie.from_sequences(["abcd", "abcx", "abcy"])
    >>> lower_bounds(RoutingInstance(trie, [Worker(4)] * 2, ends))[0]
    LowerBound(name='replication', value=5)
    """
    data = instance if isinstance(instance, RoutingData) else RoutingData(instance)
    found = [LowerBound(name, data.ms(bound(data))) for name, bound in BOUNDS.items()]
    return sorted(found, key=lambda bound: -bound.value)
