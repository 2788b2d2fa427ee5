"""A routing instance in whole numbers: radix segments, scaled costs, offline misses of a worker.

By Lemma 1 the tokens of a radix segment are interchangeable, so a segment counts by its length; and
if all lengths and capacities are multiples of a unit, so are the fewest misses of any sequence
(the packing problem of Lemma 1 scales). Every load is then a whole multiple of one *quantum* of
time. All of mip's makespan code works in units and quanta: its arithmetic is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heappop, heappush
from math import gcd, lcm

from theory.routing.instance import Duration, RoutingInstance, exact
from theory.trie import ROOT, Segment

__all__ = ["RoutingData", "fewest_misses"]

LARGEST_NUMBER = 10**6
"""Up to which a solver is trusted to tell whole numbers apart: its tolerance is 1e-6."""


def fewest_misses(
    steps: Sequence[Sequence[int]], lengths: Sequence[int], capacity: int
) -> list[int]:
    """The misses of the offline optimum step by step, for segments that may be cut anywhere.

    Parameters
    ----------
    steps : sequence of sequences of int
        The segments of each query, without repetition.
    lengths : sequence of int
        The length of each segment.
    capacity : int
        At least the length of every query.

    Returns
    -------
    list of int
        Farthest-next-use: shape (m,), in the unit of `lengths`.

    Examples
    --------
    >>> sum(fewest_misses([[0, 1], [0, 2], [0, 1]], [2, 3, 1], 5))
    7
    """
    never = len(steps)
    upcoming = [never] * len(lengths)
    next_uses: list[list[int]] = []
    for number in range(never - 1, -1, -1):
        next_uses.append([upcoming[s] for s in steps[number]])
        for s in steps[number]:
            upcoming[s] = number
    resident = [0] * len(lengths)
    heap: list[tuple[int, int]] = []  # (-next use, -segment); stale unless upcoming agrees
    free = capacity
    misses = []
    for step in steps:
        uses = next_uses.pop()
        missed = 0
        for s, use in zip(step, uses, strict=True):
            missed += lengths[s] - resident[s]
            resident[s] = lengths[s]
            upcoming[s] = use
        free -= missed
        while free < 0:
            key, negative = heap[0]
            victim = -negative
            taken = min(resident[victim], -free) if upcoming[victim] == -key else 0
            resident[victim] -= taken
            free += taken
            if not taken or not resident[victim]:
                heappop(heap)
        for s, use in zip(step, uses, strict=True):
            heappush(heap, (-use, -s))
        misses.append(missed)
    return misses


class RoutingData:
    """The numbers of a routing instance.

    Parameters
    ----------
    instance : RoutingInstance
        The instance.
    unit : int, optional
        In place of the greatest common divisor; 1 where evictions are not the optimum's.

    Attributes
    ----------
    instance : RoutingInstance
        The instance.
    segments : list of Segment
        The radix segments of its queries, parents first; their own lengths are in nodes.
    unit : int
        The nodes in a unit: by default the greatest common divisor of all segment lengths and
        capacities.
    quantum : int or Fraction
        Every load is a multiple of it, in ms.
    lengths : list of int
        The length of each segment, in units.
    used : list of list of int
        The segments of each query, top first.
    capacity : list of int
        B_i, in units.
    base : list of list of int
        ``base[i][j]``: what query j costs worker i if it hits in full, in quanta.
    least_base : list of int
        The least of ``base[i][j]`` over all workers, in quanta.
    miss : list of int
        What a missed unit costs worker i on top, in quanta.
    fits : list of list of bool
        ``fits[i][j]``: whether query j fits into worker i.
    kind : list of int
        Equal workers have the same kind.
    """

    def __init__(self, instance: RoutingInstance, unit: int | None = None) -> None:
        self.instance = instance
        trie, workers = instance.trie, instance.workers
        self.segments: list[Segment] = trie.radix_segments(instance.queries)
        self.unit = unit or gcd(*(s.length for s in self.segments), *(w.capacity for w in workers))
        self.lengths = [segment.length // self.unit for segment in self.segments]
        self.used = self._used()
        self.capacity = [worker.capacity // self.unit for worker in workers]
        depths = [sum(self.lengths[s] for s in path) for path in self.used]
        # A load is a sum of these, each times a whole number.
        parts = {Fraction(self.unit * a) for w in workers for a in (w.alpha_miss, w.alpha_cached)}
        parts |= {Fraction(w.alpha_output * out) for w in workers for out in set(instance.outputs)}
        self.quantum: Duration = exact(_common_divisor(parts))
        self.base = [
            [
                self.quanta(w.alpha_cached * self.unit * depth + w.alpha_output * output)
                for depth, output in zip(depths, instance.outputs, strict=True)
            ]
            for w in workers
        ]
        self.least_base: list[int] = [
            min(costs[j] for costs in self.base) for j in range(len(self.used))
        ]
        self.miss = [self.quanta((w.alpha_miss - w.alpha_cached) * self.unit) for w in workers]
        self.fits = [[depth <= size for depth in depths] for size in self.capacity]
        kinds = {worker: kind for kind, worker in enumerate(dict.fromkeys(workers))}
        self.kind = [kinds[worker] for worker in workers]
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}

    def _used(self) -> list[list[int]]:
        ending = {segment.last: index for index, segment in enumerate(self.segments)}
        paths: dict[int, list[int]] = {}
        for query in self.instance.queries:
            if query not in paths:
                path = []
                index = ending[query]
                while index != ROOT:
                    path.append(index)
                    index = self.segments[index].parent
                paths[query] = path[::-1]
        return [paths[query] for query in self.instance.queries]

    def quanta(self, duration: Duration) -> int:
        """A duration in quanta, of which it must be a multiple."""
        count = Fraction(duration) / self.quantum
        assert count.denominator == 1, f"{duration} ms is no multiple of {self.quantum} ms"
        return int(count)

    def scale(self, quanta: int) -> int:
        """Quanta to a program's unit of time, if loads are about `quanta`."""
        return max(1, quanta // LARGEST_NUMBER)

    def ms(self, quanta: int) -> Duration:
        """A number of quanta in ms, exactly."""
        return exact(self.quantum * quanta)

    def load(self, worker: int, queries: tuple[int, ...]) -> int:
        """The least load of a worker that serves `queries` in order, in quanta (Lemma 1)."""
        size = self.capacity[worker]
        misses = self._known.get((size, queries))
        if misses is None:
            steps = [self.used[j] for j in queries]
            misses = self._known[size, queries] = sum(fewest_misses(steps, self.lengths, size))
        return sum(self.base[worker][j] for j in queries) + self.miss[worker] * misses

    def loads(self, assignment: Sequence[int]) -> list[int]:
        """The least load of every worker under an assignment, in quanta."""
        parts: list[list[int]] = [[] for _ in self.capacity]
        for j, worker in enumerate(assignment):
            parts[worker].append(j)
        return [self.load(worker, tuple(queries)) for worker, queries in enumerate(parts)]


def _common_divisor(numbers: set[Fraction]) -> Fraction:
    """The largest number of which all of `numbers` are whole multiples (1 if all are 0)."""
    denominator = lcm(*(number.denominator for number in numbers))
    divisor = gcd(*(int(number * denominator) for number in numbers))
    return Fraction(divisor, denominator) if divisor else Fraction(1)
