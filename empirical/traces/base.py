"""A trace: the requests of a serving system with the blocks of their prompts, in numpy arrays.

A prompt is a path in the trie of *blocks* (runs of `block_size` tokens, the last one of a prompt
possibly partial). A block is named together with its whole prefix, so every block has one
predecessor. Everything that simulates a trace works on `TraceSteps`: the same requests as batches
over *units*, which are blocks, pages of blocks, tokens or pages of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from empirical.traces.steps import Partial, TraceSteps, units_of, whole_pages
from theory.errors import InputError
from theory.model import Instance, Overflow
from theory.trie import ROOT, TokenTrie

if TYPE_CHECKING:
    from theory.engine import Flat

__all__ = ["Trace", "Unit"]

Unit = Literal["block", "token"]
"""What a capacity counts: blocks (a partial block takes a whole one) or tokens."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trace:
    """Requests ordered by time, immutable. Build one with `from_hash_ids`.

    Attributes
    ----------
    name : str
        A short name for tables.
    parent : int64[n_blocks]
        The predecessor of each block, ``-1`` at the start of a prompt. Blocks are numbered by
        their first appearance, so ancestors come before descendants.
    last : int64[rows]
        The last block of each prompt.
    timestamp : float64[rows]
        Arrival in ms, ascending.
    input_length, output_length : int64[rows]
        Tokens of the prompt and of the answer.
    block_size : int
        Tokens a block.
    session : list of str, optional
        The session of each request.
    line : int64[rows]
        Where each request stood in its file, from 1 (in the order given, if there is no file).
    """

    name: str
    parent: Integers
    last: Integers
    timestamp: NDArray[np.float64]
    input_length: Integers
    output_length: Integers
    block_size: int
    session: list[str] | None
    line: Integers

    @classmethod
    def from_hash_ids(
        cls,
        hash_ids: Sequence[Sequence[int]],
        timestamp: ArrayLike,
        input_length: ArrayLike,
        output_length: ArrayLike,
        *,
        block_size: int = 512,
        session: Sequence[str] | None = None,
        line: ArrayLike | None = None,
        name: str = "",
        where: str = "",
    ) -> Trace:
        """Build a trace from the block ids of every prompt; requests are sorted by time, stably.

        Parameters
        ----------
        hash_ids : sequence of sequences of int
            One id (0 to 2**64 - 1) a block, first block first. Ids are global: equal ids are
            equal blocks with equal prefixes.
        timestamp, input_length, output_length : array-like, shape (rows,)
            In ms and tokens.
        block_size : int
            Tokens a block; the last block of a prompt may be partial.
        session : sequence of str, optional
            The session of each request.
        line : array-like of int, optional
            Where each request stood in its file, for messages.
        where : str, optional
            The file, for messages; `name` by default.
        name : str
            A short name for tables.

        Raises
        ------
        InputError
            If there is no request, a length is not positive, the number of ids does not match the
            length of the prompt, an id occurs twice in a prompt, or an id has two predecessors.

        Examples
        --------
        >>> trace = Trace.from_hash_ids(
        ...     [[7, 8], [7, 9]], [5, 0], [700, 1024], [1, 1], name="two prompts"
        ... )
        >>> trace.parent, trace.last, trace.input_length
        (array([-1,  0,  0]), array([1, 2]), array([1024,  700]))
        """
        where = where or name or "trace"
        rows = len(hash_ids)
        if rows == 0:
            raise InputError("the trace has no request", where=where, fix="give at least one row")
        times = np.asarray(timestamp, dtype=np.float64)
        order = np.argsort(times, kind="stable")
        lines = np.arange(1, rows + 1) if line is None else np.asarray(line, dtype=np.int64)
        ordered = [hash_ids[row] for row in order.tolist()]
        count = np.fromiter(map(len, ordered), np.int64, rows)
        inputs = np.asarray(input_length, dtype=np.int64)[order]
        outputs = np.asarray(output_length, dtype=np.int64)[order]
        lines = lines[order]
        _check_lengths(where, count, inputs, outputs, lines, block_size)
        ids = np.fromiter(chain.from_iterable(ordered), np.uint64, int(count.sum()))
        parent, blocks = _renumber(where, ids, count, lines)
        return cls(
            name=name,
            parent=parent,
            last=blocks[np.cumsum(count) - 1],
            timestamp=times[order],
            input_length=inputs,
            output_length=outputs,
            block_size=block_size,
            session=None if session is None else [session[row] for row in order.tolist()],
            line=lines,
        )

    def __len__(self) -> int:
        return len(self.last)

    def __repr__(self) -> str:
        return f"Trace({self.name!r}, {len(self)} requests, {len(self.parent)} distinct blocks)"

    @cached_property
    def blocks(self) -> Integers:
        """The number of blocks of each prompt; int64[rows]."""
        return -(-self.input_length // self.block_size)

    @cached_property
    def fill(self) -> Integers:
        """The tokens of each block; int64[n_blocks].

        A block that is partial in one prompt and full in another is full, and the shorter prompt
        uses the first part of it.
        """
        fill = np.full(len(self.parent), 0, dtype=np.int64)
        np.maximum.at(fill, self.last, self.input_length - (self.blocks - 1) * self.block_size)
        inner = self.parent[self.parent != ROOT]
        fill[inner] = self.block_size
        return fill

    @cached_property
    def new_blocks(self) -> Integers:
        """The blocks of each prompt that no earlier prompt has; int64[rows]."""
        seen = np.maximum.accumulate(self.last) + 1  # the last block has the largest number
        return np.diff(seen, prepend=0)

    @cached_property
    def trie(self) -> TokenTrie:
        """The trie of blocks, one node a block."""
        return TokenTrie.from_parents(self.parent.tolist())

    def hash_ids(self, row: int) -> list[int]:
        """The blocks of one prompt, first block first."""
        path = [int(self.last[row])]
        while (above := int(self.parent[path[-1]])) != ROOT:
            path.append(above)
        return path[::-1]

    def select(self, rows: ArrayLike, name: str | None = None) -> Trace:
        """The trace of some of the requests (a boolean or integer index), blocks renumbered.

        Examples
        --------
        >>> trace = Trace.from_hash_ids([[7], [8], [7]], [0, 1, 2], [9, 9, 9], [1, 1, 1])
        >>> len(trace.select([0, 2]).parent)
        1
        """
        chosen = np.arange(len(self))[np.asarray(rows)]
        return Trace.from_hash_ids(
            [self.hash_ids(row) for row in chosen.tolist()],
            self.timestamp[chosen],
            self.input_length[chosen],
            self.output_length[chosen],
            block_size=self.block_size,
            session=None if self.session is None else [self.session[r] for r in chosen.tolist()],
            line=self.line[chosen],
            name=self.name if name is None else name,
        )

    def steps(
        self,
        *,
        unit: Unit = "block",
        page_size: int = 1,
        batch: int = 1,
        partial: Partial = "keep",
    ) -> TraceSteps:
        """The requests as batches over units, for any capacity.

        Parameters
        ----------
        unit : {"block", "token"}
            What the capacity and the page size count.
        page_size : int
            Blocks or tokens a page; the units are pages (as in `TokenTrie.paged`).
        batch : int
            Consecutive requests that are served together, as one step.
        partial : {"keep", "drop"}
            Whether the partial last page of a prompt takes a page of its own or is not cached (and
            so for the partial last block, if the capacity counts blocks).
        """
        if unit not in ("block", "token"):
            raise InputError(f"unit can be 'block' or 'token', not {unit!r}", where="unit")
        tokens = page_size * (self.block_size if unit == "block" else 1)
        if unit == "block" and partial == "keep":  # a partial block takes a whole one
            size, length, page = np.ones_like(self.parent), self.blocks, page_size
        else:
            size, length, page = self.fill, self.input_length, tokens
        units = units_of(self.parent, size, self.last, length, page_size=page, partial=partial)
        return TraceSteps.cut(
            units,
            self.input_length,
            unit_tokens=tokens,
            unit_name=f"{unit}s" if page_size == 1 else "pages",
            batch=batch,
            line=self.line,
            name=self.name,
        )

    def flat(
        self,
        *,
        unit: Unit = "block",
        page_size: int = 1,
        batch: int = 1,
        partial: Partial = "keep",
    ) -> Flat:
        """The arrays that the compiled engine runs on (see `steps`)."""
        return self.steps(unit=unit, page_size=page_size, batch=batch, partial=partial).flat

    def instance(
        self,
        capacity: int,
        *,
        unit: Unit = "block",
        page_size: int = 1,
        batch: int = 1,
        partial: Partial = "keep",
        overflow: Overflow = "error",
    ) -> Instance:
        """The trace as an instance for the executable cache and the solvers.

        `capacity` counts blocks or tokens; with pages the cache holds as many whole ones as fit.

        Examples
        --------
        >>> trace = Trace.from_hash_ids([[7, 8], [7, 9]], [0, 1], [10, 9], [1, 1], block_size=8)
        >>> trace.instance(3).trie.parents(), len(trace.instance(12, unit="token").trie)
        ([-1, 0, 0], 11)
        """
        steps = self.steps(unit=unit, page_size=page_size, batch=batch, partial=partial)
        units = whole_pages(capacity, page_size)
        return steps.fit(units, overflow).instance(units)


def _check_lengths(
    file: str,
    count: Integers,
    inputs: Integers,
    outputs: Integers,
    lines: Integers,
    block_size: int,
) -> None:
    if not isinstance(block_size, int) or isinstance(block_size, bool) or block_size < 1:
        raise InputError(f"block size {block_size!r} is not a positive integer", where=file)
    for field, length in (("input_length", inputs), ("output_length", outputs)):
        bad = np.flatnonzero(length < 1)
        if len(bad):
            raise InputError(
                f"{field} {length[bad[0]]} is not positive", where=_where(file, lines[bad[0]])
            )
    wanted = -(-inputs // block_size)
    bad = np.flatnonzero(count != wanted)
    if len(bad):
        row = bad[0]
        raise InputError(
            f"has {count[row]} hash_ids, but input_length {inputs[row]} makes {wanted[row]} "
            f"blocks of {block_size} tokens",
            where=_where(file, lines[row]),
            fix="give one id per block, or the right block_size",
        )


def _renumber(
    file: str, ids: NDArray[np.uint64], count: Integers, lines: Integers
) -> tuple[Integers, Integers]:
    """Number the blocks by first appearance; return their parents and the numbers of `ids`."""
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    blocks = number[inverse.reshape(-1)]
    before = np.empty_like(blocks)
    before[1:] = blocks[:-1]
    starts = np.cumsum(count) - count
    before[starts] = ROOT
    parent = before[first[order]]
    bad = np.flatnonzero(parent[blocks] != before)
    if len(bad):
        place = int(bad[0])
        row = int(np.searchsorted(starts, place, side="right")) - 1
        where = _where(file, lines[row])
        given = int(ids[place])
        if given in ids[starts[row] : place]:
            raise InputError(f"hash id {given} occurs twice in the request", where=where)
        earlier = int(first[order[blocks[place]]])
        seen = int(lines[np.searchsorted(starts, earlier, side="right") - 1])
        raise InputError(
            f"hash id {given} {_follows(ids, starts, place)} here and "
            f"{_follows(ids, starts, earlier)} in line {seen}",
            where=where,
            fix="ids must be global: one id for a block together with its whole prefix",
        )
    return parent, blocks


def _follows(ids: NDArray[np.uint64], starts: Integers, place: int) -> str:
    return "opens the prompt" if place in starts else f"follows {ids[place - 1]}"


def _where(file: str, line: int) -> str:
    return f"{file}:{line}"
