"""Exact ratios on many small tries: all forests, capacities, batch sizes and least lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from theory.errors import InputError
from theory.exact.arena import Arena
from theory.exact.solver import exact_ratio
from theory.trie import TokenTrie

__all__ = ["Row", "Task", "solve", "tasks", "worst_rows"]


@dataclass(frozen=True, order=True)
class Task:
    """One exact ratio to compute.

    Attributes
    ----------
    policy : str
        The policy.
    capacity, beta : int
        B, and the distinct queries in each batch.
    parents : tuple of int
        The trie.
    min_length : int
        The length of the shortest query that is allowed.
    """

    policy: str
    capacity: int
    beta: int
    parents: tuple[int, ...]
    min_length: int

    @property
    def arena(self) -> Arena:
        """The arena; `InputError` if it has no step."""
        trie = TokenTrie.from_parents(self.parents)
        return Arena(trie, self.capacity, self.beta, min_length=self.min_length)


@dataclass(frozen=True)
class Row:
    """The result of a task.

    Attributes
    ----------
    task : Task
        The task.
    u : int
        The smallest footprint of an admissible step; k = B - u + 1.
    ratio : Fraction or None
        None: unbounded.
    complete : bool
        Whether the ratio is exact; otherwise it is a lower bound (cap on the states).
    states : int
        The product states found.
    """

    task: Task
    u: int
    ratio: Fraction | None
    complete: bool
    states: int

    @property
    def k(self) -> int:
        """B - u + 1."""
        return self.task.capacity - self.u + 1

    @property
    def cell(self) -> tuple[str, int, int, int]:
        """Policy, B, beta and u: the rows of one cell have the same bounds."""
        return self.task.policy, self.task.capacity, self.task.beta, self.u

    @property
    def size(self) -> tuple[bool, Fraction]:
        """Sorts ratios; unbounded is the largest."""
        return self.ratio is None, self.ratio or Fraction(0)

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "policy": self.task.policy,
            "capacity": self.task.capacity,
            "beta": self.task.beta,
            "min_length": self.task.min_length,
            "parents": list(self.task.parents),
            "u": self.u,
            "k": self.k,
            "ratio": "unbounded" if self.ratio is None else str(self.ratio),
            "complete": self.complete,
            "states": self.states,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any], where: str) -> Row:
        """Read the JSON form.

        Raises
        ------
        InputError
            If a field is missing or wrong.
        """
        try:
            task = Task(
                str(value["policy"]),
                int(value["capacity"]),
                int(value["beta"]),
                tuple(int(parent) for parent in value["parents"]),
                int(value["min_length"]),
            )
            ratio = None if value["ratio"] == "unbounded" else Fraction(value["ratio"])
            return cls(task, int(value["u"]), ratio, value["complete"] is True, value["states"])
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise InputError(
                f"is no row of a sweep ({type(error).__name__}: {error})",
                where=where,
                fix="delete the file or give another --out",
            ) from None


def tasks(
    forests: Iterable[Sequence[int]],
    capacities: Sequence[int],
    betas: Sequence[int],
    lengths: Sequence[int],
    policies: Sequence[str],
) -> list[Task]:
    """All tasks in which there is something to decide.

    Left out are those without an admissible step, those whose tokens all fit into the cache, and
    those with k = 1, where every step fills the cache.

    Examples
    --------
    >>> len(tasks([[-1, 0, 0], [-1, -1, -1]], [2], [1], [1, 2], ["rlt"]))
    2
    """
    found: list[Task] = []
    for parents in forests:
        for capacity in capacities:
            for beta in betas:
                for length in lengths:
                    task = Task("", capacity, beta, tuple(parents), length)
                    try:
                        arena = task.arena
                    except InputError:
                        continue
                    if not arena.trivial and arena.k > 1:
                        found += [
                            Task(policy, capacity, beta, tuple(parents), length)
                            for policy in policies
                        ]
    return sorted(found)


def solve(task: Task, most_states: int) -> Row:
    """Compute one exact ratio.

    Examples
    --------
    >>> solve(Task("rlt", 2, 1, (-1, -1, -1), 1), most_states=1000).ratio
    Fraction(3, 2)
    """
    arena = task.arena
    found = exact_ratio(arena, task.policy, most_states=most_states)
    return Row(task, arena.u, found.ratio, found.complete, found.states)


def worst_rows(rows: Iterable[Row]) -> list[tuple[Row, int, int]]:
    """The largest ratio of each cell, with the number of tries in it and of those cut short.

    Among equals the first is shown, in the order of the tries.
    """
    cells: dict[tuple[str, int, int, int], list[Row]] = {}
    for row in rows:
        cells.setdefault(row.cell, []).append(row)
    return [
        (max(cell, key=lambda row: row.size), len(cell), sum(not row.complete for row in cell))
        for _, cell in sorted(cells.items())
    ]
