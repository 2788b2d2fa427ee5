"""Sequences as arrays: what the kernels read.

A `Flat` is an instance without its capacity. Its nodes are units of the cache (tokens, pages or
blocks), or chains of units that every query uses as a whole. Before a kernel runs, chains are
contracted to runs: maximal chains of consecutive numbers that the same queries use. All units of a
run are used by the same steps and lie next to each other in the order that breaks ties, so most
policies keep of every run a top part, and one number says how long it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from theory.engine.arrays import Array, Flags, Intervals, Runs
from theory.engine.footprints import footprints, intervals
from theory.errors import InadmissibleStepError, InputError
from theory.memory import check_memory
from theory.model import Instance, check_capacity

__all__ = ["Flat", "check_admissible"]

_MOST_USES = 2**31 - 1
"""The kernels number the uses of runs with 32 bits."""

_UNIT_BYTES, _USE_BYTES = 120, 24
"""What a run of one unit takes in the arrays and kernels, and each of its uses; about."""


@dataclass(frozen=True, eq=False)
class Flat:
    """A sequence of steps on a trie of units, as arrays.

    Parameters
    ----------
    parent : int64 array of shape (nodes,)
        The node above each node, or -1; ancestors before descendants.
    step_start : int64 array of shape (steps + 1,)
        Where each step begins in `query`; the last entry is the number of queries.
    query : int64 array
        The last node of each query. A query that occurs twice in a step counts once: it keeps
        its first place and the others go.
    length : int64 array of shape (nodes,), optional
        The number of units in each node, when a node is a chain of units that is used as a whole
        (e.g. a block of tokens, with capacities in tokens). One unit each by default.

    Raises
    ------
    InputError
        If the arrays do not describe a sequence.

    Examples
    --------
    >>> flat = Flat(np.array([-1, 0, 0]), np.array([0, 1, 2]), np.array([1, 2]))
    >>> flat.steps, flat.units, flat.footprint.tolist()
    (2, 3, [2, 2])
    """

    parent: Array
    step_start: Array
    query: Array
    length: Array | None = None

    def __post_init__(self) -> None:
        for name in ("parent", "step_start", "query", "length"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _integers(value, name))
        parent, start, query = self.parent, self.step_start, self.query
        wrong = (parent < -1) | (parent >= np.arange(len(parent)))
        if wrong.any():
            node = int(wrong.argmax())
            raise InputError(
                f"parent {parent[node]} of node {node} is no earlier node",
                where=f"/parent/{node}",
                fix="number ancestors before descendants; -1 is the root",
            )
        if len(start) < 2:
            raise InputError("the sequence has no step", where="/step_start")
        if start[0] != 0 or start[-1] != len(query) or (np.diff(start) < 1).any():
            raise InputError(
                "the steps are not consecutive ranges of queries, at least one each",
                where="/step_start",
            )
        if len(query) and not (query.min() >= 0 and query.max() < len(parent)):
            place = int(((query < 0) | (query >= len(parent))).argmax())
            raise InputError(f"{query[place]} is not a node", where=f"/query/{place}")
        if len(query) > self.steps:
            key = np.repeat(np.arange(self.steps), np.diff(start)) * len(parent) + query
            kept = np.sort(np.unique(key, return_index=True)[1])
            if len(kept) < len(query):
                object.__setattr__(self, "query", query[kept])
                object.__setattr__(self, "step_start", np.searchsorted(kept, start))
        if self.length is not None:
            if len(self.length) != len(parent):
                raise InputError("wants one length a node", where="/length")
            if (self.length < 1).any():
                raise InputError("a length is not positive", where="/length")

    @classmethod
    def from_instance(cls, instance: Instance) -> Flat:
        """The steps of an instance (its capacity is given again to each function)."""
        trie = instance.trie
        parent = np.arange(-1, len(trie) - 1, dtype=np.int64)
        if len(trie):
            attach, length = np.array(trie.segments, dtype=np.int64).T
            parent[np.cumsum(length) - length] = attach
        sizes = np.fromiter((len(step) for step in instance.steps), np.int64)
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        query = np.fromiter((q for step in instance.steps for q in step), np.int64)
        return cls(parent, start, query)

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.step_start) - 1

    @property
    def units(self) -> int:
        """The number of distinct units."""
        return len(self.parent) if self.length is None else int(self.length.sum())

    @cached_property
    def footprint(self) -> Array:
        """|U_j| of every step, in units."""
        runs = self.runs
        return np.add.reduceat(runs.weight[runs.use], runs.start[:-1])

    @cached_property
    def distinct(self) -> Array:
        """The number of distinct units used up to and with every step."""
        runs = self.runs
        first = np.full(len(runs.weight), self.steps, np.int64)
        step = np.repeat(np.arange(self.steps), np.diff(runs.start))
        first[runs.use[::-1]] = step[::-1]  # the last assignment stands: the first use
        gained = np.bincount(first, weights=runs.weight, minlength=self.steps + 1)
        return np.cumsum(gained[:-1].astype(np.int64))

    @cached_property
    def runs(self) -> Runs:
        """The contracted form: for policies that treat all units of a run alike."""
        return self._runs(self._heads())

    def _heads(self) -> Flags:
        """Which nodes begin a run."""
        parent, query = self.parent, self.query
        head: Flags = (parent != np.arange(-1, len(parent) - 1)) | (parent < 0)
        # A chain is cut below a node with several children and where a query ends.
        branch = parent[head]
        below = np.concatenate([branch[branch >= 0], query]) + 1
        head[below[below < len(parent)]] = True
        return head

    @cached_property
    def by_query(self) -> Runs:
        """The contracted form with each footprint in another order.

        The runs of the last query come first, then those of the one before it that are left, and
        so on; ancestors first within a query. From back to front that is the order in which vLLM
        frees the blocks of a batch.
        """
        if self.steps == len(self.query):
            return self.runs
        return self._runs(self._heads(), by_query=True)

    @cached_property
    def intervals(self) -> Intervals:
        """The intervals between consecutive uses."""
        return intervals(self.runs)

    @cached_property
    def singles(self) -> Runs:
        """One run a unit: for policies that may treat the units of a run differently.

        Raises
        ------
        InputError
            If there are more units than fit into memory.
        """
        check_memory(
            _UNIT_BYTES * self.units + _USE_BYTES * int(self.footprint.sum()),
            f"a policy that tells {self.units:,} units apart",
            fix="count blocks, take larger pages, or give a shorter trace",
        )
        if self.length is None:
            return self._runs(np.ones(len(self.parent), np.bool_))
        return self.expanded().singles

    def expanded(self) -> Flat:
        """The same sequence with one node a unit."""
        if self.length is None:
            return self
        end = np.cumsum(self.length)
        parent = np.arange(-1, end[-1] - 1, dtype=np.int64)
        parent[end - self.length] = np.where(self.parent < 0, -1, end[self.parent] - 1)
        return Flat(parent, self.step_start, end[self.query] - 1)

    def _runs(self, head: Flags, by_query: bool = False) -> Runs:
        first = np.flatnonzero(head)
        run_of = np.cumsum(head, dtype=np.int32) - np.int32(1)
        above = self.parent[first]
        parent = np.where(above < 0, np.int32(-1), run_of[above])
        if self.length is None:
            weight = np.diff(first, append=len(self.parent))
        else:
            weight = np.add.reduceat(self.length, first)
        last = run_of[self.query]
        start, use = footprints(parent, self.step_start, last, by_query)
        if len(use) > _MOST_USES:
            raise InputError(f"{len(use)} uses of nodes are more than the engine can number")
        return Runs(parent, weight, start, use, self.step_start, last)


def check_admissible(flat: Flat, capacity: int, *, bypass: bool = False) -> int:
    """Return the capacity if every step fits into it; at most ``flat.units``, which is as good.

    Raises
    ------
    CapacityError, InadmissibleStepError
        If the capacity is not a positive int, or a footprint exceeds it (the first such step) and
        there is no bypass.
    """
    check_capacity(capacity)
    over = flat.footprint > capacity
    if over.any() and not bypass:
        step = int(over.argmax())
        raise InadmissibleStepError(
            step=step,
            footprint=int(flat.footprint[step]),
            capacity=capacity,
            queries=int(flat.step_start[step + 1] - flat.step_start[step]),
        )
    return min(capacity, flat.units)


def _integers(value: npt.ArrayLike, name: str) -> Array:
    array = np.asarray(value)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise InputError("is not a one-dimensional array of integers", where=f"/{name}")
    return np.require(array, np.int64, ["C", "A", "W"])
