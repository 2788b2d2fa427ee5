"""An instance: a token trie, a capacity and the steps to serve (model, section 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from theory.errors import CapacityError, InadmissibleStepError, InputError
from theory.jsonfile import read_json, write_json
from theory.trie import TokenTrie

__all__ = ["Instance", "Overflow", "check_capacity", "split_step"]

Overflow = Literal["error", "split"]
"""What becomes of a batch that is not admissible: an error, or consecutive sub-batches."""

SCHEMA = "kvbounds/instance/1"


def check_capacity(capacity: object, where: str = "capacity") -> int:
    """Return `capacity` if it is a positive int, else raise `CapacityError`.

    Examples
    --------
    >>> check_capacity(8)
    8
    """
    # JSON has one kind of number: what is too large for an int is read as a float.
    if isinstance(capacity, float) and capacity >= 2**63:
        raise CapacityError(
            f"{capacity:.0e} is too large", where=where, fix="give a whole number below 2^63"
        )
    if not isinstance(capacity, int) or isinstance(capacity, bool) or capacity < 1:
        raise CapacityError(
            f"{capacity!r} is not a positive whole number", where=where, fix="give at least 1"
        )
    return capacity


def split_step(trie: TokenTrie, step: Sequence[int], capacity: int) -> list[tuple[int, ...]]:
    """Cut a batch, in order, into the fewest consecutive admissible sub-batches.

    A query longer than the capacity stays alone in its sub-batch, which is then not admissible.

    Examples
    --------
    >>> split_step(TokenTrie.from_parents([-1, -1, -1]), (0, 1, 2), 2)
    [(0, 1), (2,)]
    """
    parts: list[tuple[int, ...]] = []
    current: tuple[int, ...] = ()
    for query in step:
        wider = (*current, query)
        if current and trie.footprint_size(wider) > capacity:
            parts.append(current)
            wider = (query,)
        current = wider
    return [*parts, current]


@dataclass(frozen=True)
class Instance:
    """A validated sequence of admissible steps on a token trie, immutable.

    Parameters
    ----------
    trie : TokenTrie
        The tokens.
    capacity : int
        B, in tokens (in pages or blocks when the trie's nodes are pages or blocks).
    steps : sequence of sequences of int
        The batches, in order; a query is named by its last token. A query that occurs twice in a
        batch counts once.
    cycle_start : int, optional
        The steps from this index on are a cycle that may be repeated (see `unrolled`).
    name : str
        A short name for tables.
    notes : mapping
        Where the instance comes from: family, parameters, theorem. JSON values only.

    Raises
    ------
    CapacityError
        If the capacity is not a positive int.
    InadmissibleStepError
        If the footprint of a step exceeds the capacity.
    InputError
        If there is no step, a step is empty or a query is no token of the trie.

    Examples
    --------
    >>> broom = TokenTrie.from_parents([-1, 0, 0, 0])
    >>> instance = Instance(broom, capacity=3, steps=[[1], [2], [3]])
    >>> instance.u, instance.k, instance.beta, instance.shortest
    (2, 2, 1, 2)
    """

    trie: TokenTrie
    capacity: int
    steps: tuple[tuple[int, ...], ...]
    cycle_start: int | None = None
    name: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __init__(
        self,
        trie: TokenTrie,
        capacity: int,
        steps: Iterable[Sequence[int]],
        cycle_start: int | None = None,
        name: str = "",
        notes: Mapping[str, Any] | None = None,
        *,
        overflow: Overflow = "error",
    ) -> None:
        check_capacity(capacity)
        if overflow not in ("error", "split"):
            raise InputError(f"overflow can be 'error' or 'split', not {overflow!r}")
        checked: list[tuple[int, ...]] = []
        starts: list[int] = []  # where each given step begins among the checked ones
        for index, given in enumerate(steps):
            step = tuple(dict.fromkeys(given))
            if not step:
                raise InputError("the batch has no query", where=f"step {index}")
            for query in step:
                trie.check(query, where=f"step {index}")
            starts.append(len(checked))
            fits = trie.footprint_size(step) <= capacity
            for part in [step] if fits or overflow == "error" else split_step(trie, step, capacity):
                size = trie.footprint_size(part)
                if size > capacity:
                    raise InadmissibleStepError(
                        step=index, footprint=size, capacity=capacity, queries=len(part)
                    )
                checked.append(part)
        if not checked:
            raise InputError("the sequence has no step", where="steps", fix="give at least one")
        if cycle_start is not None:
            whole = isinstance(cycle_start, int) and not isinstance(cycle_start, bool)
            if not whole or not 0 <= cycle_start < len(starts):
                raise InputError(
                    f"cycle_start {cycle_start!r} is no step",
                    where="cycle_start",
                    fix=f"steps are 0 to {len(starts) - 1}",
                )
            cycle_start = starts[cycle_start]
        for key, value in (
            ("trie", trie),
            ("capacity", capacity),
            ("steps", tuple(checked)),
            ("cycle_start", cycle_start),
            ("name", name),
            ("notes", dict(notes or {})),
        ):
            object.__setattr__(self, key, value)

    @property
    def beta(self) -> int:
        """The largest number of distinct queries in a batch."""
        return max(len(step) for step in self.steps)

    @property
    def u(self) -> int:
        """The smallest footprint of the instance's own steps, in tokens."""
        return min(self.trie.footprint_size(step) for step in set(self.steps))

    @property
    def k(self) -> int:
        """B - u + 1, the number of free slots."""
        return self.capacity - self.u + 1

    @property
    def shortest(self) -> int:
        """L: the length of the shortest query, in tokens."""
        return min(self.trie.depth(query) for step in set(self.steps) for query in step)

    @property
    def cycle(self) -> tuple[tuple[int, ...], ...]:
        """The steps of the cycle; empty if there is none."""
        return () if self.cycle_start is None else self.steps[self.cycle_start :]

    @property
    def prefix(self) -> tuple[tuple[int, ...], ...]:
        """The steps before the cycle; all steps if there is none."""
        return self.steps if self.cycle_start is None else self.steps[: self.cycle_start]

    def footprint(self, index: int) -> tuple[int, ...]:
        """U_j: the tokens of step `index`, ancestors first."""
        return self.trie.footprint(self.steps[index])

    def unrolled(self, times: int) -> Instance:
        """The prefix followed by `times` copies of the cycle.

        Examples
        --------
        >>> star = TokenTrie.from_parents([-1, -1])
        >>> len(Instance(star, 1, [[0], [1]], cycle_start=0).unrolled(3).steps)
        6
        """
        if self.cycle_start is None:
            raise InputError("the instance has no cycle", where="cycle_start")
        return Instance(
            self.trie,
            self.capacity,
            self.prefix + self.cycle * times,
            name=self.name,
            notes=self.notes,
        )

    def with_capacity(self, capacity: int, *, overflow: Overflow = "error") -> Instance:
        """The same steps under another capacity, checked again."""
        return Instance(
            self.trie,
            capacity,
            self.steps,
            self.cycle_start,
            self.name,
            self.notes,
            overflow=overflow,
        )

    def paged(self, size: int, *, partial: Literal["keep", "drop"] = "keep") -> Instance:
        """The same steps at page granularity: capacity in whole pages (`TokenTrie.paged`).

        A step all of whose queries are shorter than a page disappears under ``partial="drop"``.

        Examples
        --------
        >>> chain = TokenTrie.from_segments([(-1, 9)])
        >>> paged = Instance(chain, 12, [[8]]).paged(4)
        >>> paged.capacity, paged.u
        (3, 3)
        """
        pages = self.trie.paged((q for step in self.steps for q in step), size, partial)
        capacity = self.capacity // size
        if capacity < 1:
            raise CapacityError(
                f"{self.capacity} tokens hold no page of {size}",
                where="capacity",
                fix=f"give at least {size}",
            )
        steps: list[list[int]] = []
        cycle_start = None
        for index, step in enumerate(self.steps):
            if index == self.cycle_start:
                cycle_start = len(steps)
            step_pages = [pages.end[query] for query in step if query in pages.end]
            if step_pages:
                steps.append(step_pages)
        if cycle_start == len(steps):
            cycle_start = None
        return Instance(pages.trie, capacity, steps, cycle_start, self.name, self.notes)

    def renamed(self, name: str, notes: Mapping[str, Any] | None = None) -> Instance:
        """The same instance under another name, with further notes."""
        new = copy(self)
        object.__setattr__(new, "name", name)
        object.__setattr__(new, "notes", {**self.notes, **(notes or {})})
        return new

    def to_json(self) -> dict[str, Any]:
        """The JSON form, schema ``kvbounds/instance/1``."""
        value: dict[str, Any] = {"schema": SCHEMA, "name": self.name, "capacity": self.capacity}
        value.update(self.trie.to_json())
        value["steps"] = [list(step) for step in self.steps]
        if self.cycle_start is not None:
            value["cycle_start"] = self.cycle_start
        if self.notes:
            value["notes"] = dict(self.notes)
        return value

    @classmethod
    def from_json(cls, value: Any, where: str = "instance") -> Instance:
        """Read the JSON form.

        Raises
        ------
        InputError
            With the JSON pointer of the first field that is missing or wrong.
        """
        if not isinstance(value, dict):
            raise InputError("is not a JSON object", where=f"{where}#")
        steps = value.get("steps")
        if not isinstance(steps, list) or not all(isinstance(step, list) for step in steps):
            raise InputError("is not a list of lists of tokens", where=f"{where}#/steps")
        for index, step in enumerate(steps):
            for place, query in enumerate(step):
                if not isinstance(query, int) or isinstance(query, bool):
                    raise InputError(
                        f"{query!r} is not a token", where=f"{where}#/steps/{index}/{place}"
                    )
        trie = TokenTrie.from_json(value, where)
        check_capacity(value.get("capacity"), where=f"{where}#/capacity")
        notes = value.get("notes", {})
        if not isinstance(notes, dict):
            raise InputError("is not a JSON object", where=f"{where}#/notes")
        name = value.get("name", "")
        if not isinstance(name, str):
            raise InputError("is not a string", where=f"{where}#/name")
        try:
            return cls(trie, value["capacity"], steps, value.get("cycle_start"), name, notes)
        except InputError as error:
            raise _told_where(error, where) from None

    def save(self, path: str | Path) -> None:
        """Write the instance to `path` as JSON, atomically."""
        write_json(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Instance:
        """Read an instance from a JSON file, with errors that name file and JSON pointer."""
        return cls.from_json(read_json(path, SCHEMA), where=str(path))


def _told_where(error: InputError, where: str) -> InputError:
    """The same error, told by file and JSON pointer: ``step 3`` is at ``#/steps/3``."""
    pointer = error.where.replace("step ", "steps/")
    return InputError(error.what, where=f"{where}#/{pointer}", fix=error.fix)
