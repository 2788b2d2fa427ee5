"""A trace cut into steps over units: what a simulation of the trace runs on.

A *unit* is what the cache keeps or drops as a whole: a block, a token, or a page of them. Caches
count hits and misses in units; `TraceSteps` turns them into prompt tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.cache import MatchRule
from theory.errors import CapacityError, InadmissibleStepError, InputError
from theory.model import Instance, Overflow, check_capacity
from theory.trie import ROOT, TokenTrie

if TYPE_CHECKING:
    from theory.engine import Flat

__all__ = ["Partial", "TraceSteps", "Units", "Window", "units_of", "whole_pages"]

Partial = Literal["keep", "drop"]
"""Whether the partial last page of a prompt takes a whole page or is not cached at all."""

Window = Literal["all", "last-half"]
"""Which requests are counted: all, or those with 0-based index >= rows // 2."""

Integers = NDArray[np.int64]


def whole_pages(capacity: int, page_size: int) -> int:
    """The number of whole pages in a capacity.

    Raises
    ------
    CapacityError
        If there is none.

    Examples
    --------
    >>> whole_pages(100, 16)
    6
    """
    pages = check_capacity(capacity) // page_size
    if pages < 1:
        raise CapacityError(
            f"{capacity} holds no page of {page_size}",
            where="capacity",
            fix=f"give at least {page_size}",
        )
    return pages


class Units(NamedTuple):
    """The trie of units of a trace, in chains that every prompt uses as a whole or not at all.

    Attributes
    ----------
    parent, length : int64[n]
        The chain above each chain, ``-1`` at the top, ancestors before descendants; its units.
    end : int64[rows]
        The last chain of each prompt; ``-1`` if it has none (shorter than a page and dropped).
    depth : int64[rows]
        The units of each prompt.
    """

    parent: Integers
    length: Integers
    end: Integers
    depth: Integers


def units_of(
    parent: Integers,
    size: Integers,
    last: Integers,
    length: Integers,
    *,
    page_size: int = 1,
    partial: Partial = "keep",
) -> Units:
    """Cut a trie of blocks into pages, without walking through single tokens or pages.

    Parameters
    ----------
    parent, size : int64[n_blocks]
        The block above each block, and the atoms (tokens, or 1 if blocks are atoms) it holds.
    last, length : int64[rows]
        The last block and the number of atoms of each prompt.
    page_size : int
        Atoms a page.
    partial : {"keep", "drop"}
        As in `TokenTrie.paged`: a full page is shared by all prompts with the same atoms up to its
        end, a partial one only by prompts that end at the same atom.

    Examples
    --------
    >>> chain = np.array([-1, 0]), np.array([4, 3])  # a block of 4 tokens, then one of 3
    >>> units = units_of(*chain, np.array([1, 0]), np.array([7, 4]), page_size=2)
    >>> units.length, units.depth
    (array([2, 1, 1]), array([4, 2]))
    """
    if not isinstance(page_size, int) or isinstance(page_size, bool) or page_size < 1:
        raise InputError(f"page size {page_size!r} is not a positive integer", where="page size")
    if partial not in ("keep", "drop"):
        raise InputError(f"partial pages can be 'keep' or 'drop', not {partial!r}")
    if page_size == 1 and (size == 1).all():  # every atom is a unit
        return Units(parent, size, last, length)
    above = _atoms_above(parent, size)
    pages = (above + size) // page_size - above // page_size  # full pages that end in each block
    whole = length // page_size
    inside = whole - above[last] // page_size  # those of the prompt that end in its last block

    # A chain ends with its block, and where a prompt ends in the middle of it.
    span = int(pages.max()) + 1
    blocks = np.flatnonzero(pages)
    ends_here = inside > 0
    keys = np.unique(
        np.concatenate((blocks * span + pages[blocks], (last * span + inside)[ends_here]))
    )
    block, cut = keys // span, keys % span
    opens = np.append(True, block[1:] != block[:-1])[: len(block)]
    chain_length = np.where(opens, cut, np.diff(cut, prepend=0))
    # The last page that is full before a block begins is the last one of a block above it.
    page_above = _lowest_with_pages(parent, pages)
    final = np.searchsorted(keys, page_above * span + pages[page_above])
    chain_above = np.where(page_above == ROOT, ROOT, final)
    chain_parent = np.where(opens, chain_above[block], np.arange(-1, len(block) - 1))
    end = np.where(ends_here, np.searchsorted(keys, last * span + inside), chain_above[last])
    if partial == "drop":
        return Units(chain_parent, chain_length, end, whole)
    tail = np.flatnonzero(length % page_size)
    place = last[tail] * (int(size.max()) + 1) + (length - above[last])[tail]
    _, first, which = np.unique(place, return_index=True, return_inverse=True)
    above_tail = end[tail[first]]
    end[tail] = len(block) + which.reshape(-1)
    return Units(
        np.append(chain_parent, above_tail),
        np.append(chain_length, np.ones_like(above_tail)),
        end,
        whole + (length % page_size > 0),
    )


def _atoms_above(parent: Integers, size: Integers) -> Integers:
    above: list[int] = []
    sizes = size.tolist()
    for up in parent.tolist():
        above.append(0 if up == ROOT else above[up] + sizes[up])
    return np.array(above, dtype=np.int64)


def _lowest_with_pages(parent: Integers, pages: Integers) -> Integers:
    """The lowest block above each block in which a full page ends, or ``-1``."""
    found: list[int] = []
    count = pages.tolist()
    for up in parent.tolist():
        found.append(up if up == ROOT or count[up] else found[up])
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class TraceSteps:
    """Batches of requests over units, for any capacity.

    Attributes
    ----------
    name : str
        The name of the trace.
    units : Units
        The trie of units, and where each prompt ends in it.
    tokens : int64[rows]
        Prompt tokens.
    unit_tokens : int
        Tokens of a whole unit.
    row_start : int64[m + 1]
        Step j serves the rows from ``row_start[j]`` to before ``row_start[j + 1]``.
    batched : bool
        Whether steps serve several rows. Then every unit counts as a whole one in hits and prompt
        tokens, because a batch is counted as one footprint.
    line : int64[rows]
        Where each row stood in its file, for messages.
    line_name, unit_name : str
        What `line` counts, and what a unit is called; for messages.
    """

    name: str
    units: Units
    tokens: Integers
    unit_tokens: int
    row_start: Integers
    batched: bool
    line: Integers
    line_name: str = "line"
    unit_name: str = "units"

    @classmethod
    def cut(
        cls,
        units: Units,
        tokens: Integers,
        *,
        unit_tokens: int = 1,
        unit_name: str = "units",
        batch: int = 1,
        line: Integers | None = None,
        name: str = "",
    ) -> TraceSteps:
        """Serve `batch` consecutive requests in each step."""
        if not isinstance(batch, int) or isinstance(batch, bool) or batch < 1:
            raise InputError(f"batch size {batch!r} is not a positive integer", where="batch")
        rows = len(tokens)
        return cls(
            name=name,
            units=units,
            tokens=tokens,
            unit_tokens=unit_tokens,
            row_start=np.append(np.arange(0, rows, batch), rows).astype(np.int64),
            batched=batch > 1,
            unit_name=unit_name,
            line=np.arange(1, rows + 1) if line is None else line,
        )

    @classmethod
    def of_instance(
        cls, instance: Instance, *, page_size: int = 1, partial: Partial = "keep"
    ) -> TraceSteps:
        """The steps of an instance: its queries are the rows, its tokens or pages the units."""
        parent = np.array(instance.trie.parents(), dtype=np.int64)
        queries = np.array([q for step in instance.steps for q in step], dtype=np.int64)
        depth = np.array([instance.trie.depth(q) for q in queries.tolist()], dtype=np.int64)
        sizes = np.array([len(step) for step in instance.steps], dtype=np.int64)
        units = units_of(
            parent, np.ones_like(parent), queries, depth, page_size=page_size, partial=partial
        )
        return cls(
            name=instance.name,
            units=units,
            tokens=depth,
            unit_tokens=page_size,
            row_start=np.append(0, np.cumsum(sizes)),
            batched=bool((sizes > 1).any()),
            line=np.repeat(np.arange(len(sizes)), sizes),
            line_name="step",
            unit_name="tokens" if page_size == 1 else "pages",
        )

    def __len__(self) -> int:
        return len(self.row_start) - 1

    @property
    def size(self) -> int:
        """The number of distinct units."""
        return int(self.units.length.sum())

    @cached_property
    def _queries(self) -> tuple[Integers, Integers]:
        """The distinct queries of each step in their order: their steps and their last chains."""
        rows = np.flatnonzero(self.units.end != ROOT)
        step = np.searchsorted(self.row_start, rows, side="right") - 1
        end = self.units.end[rows]
        if self.batched:
            _, first = np.unique(step * len(self.units.parent) + end, return_index=True)
            first.sort()
            step, end = step[first], end[first]
        return step, end

    @cached_property
    def served(self) -> Integers:
        """The steps that have a query: all, unless partial pages are dropped."""
        return np.unique(self._queries[0])

    @cached_property
    def flat(self) -> Flat:
        """The served steps as arrays for the compiled engine."""
        from theory.engine import Flat

        step, end = self._queries
        if not len(step):
            raise InputError(
                "no prompt fills a page", where=self.name or "sequence", fix="give smaller pages"
            )
        bounds = np.append(np.searchsorted(step, self.served), len(step))
        length = self.units.length
        return Flat(self.units.parent, bounds, end, None if (length == 1).all() else length)

    def instance(self, capacity: int) -> Instance:
        """The served steps as an instance for the executable cache and the solvers."""
        flat = self.flat.expanded()
        bounds, queries = flat.step_start.tolist(), flat.query.tolist()
        steps = [queries[bounds[i] : bounds[i + 1]] for i in range(flat.steps)]
        trie = TokenTrie.from_parents(flat.parent.tolist())
        return Instance(trie, capacity, steps, name=self.name)

    def fit(self, capacity: int, overflow: Overflow = "error") -> TraceSteps:
        """These steps if all are admissible under `capacity` units; else split, or an error.

        Raises
        ------
        InadmissibleStepError
            If a step is too large and is not to be split, or a single prompt is too large.
        """
        check_capacity(capacity)
        if overflow not in ("error", "split"):
            raise InputError(f"overflow can be 'error' or 'split', not {overflow!r}")
        if (self.units.depth > capacity).any():
            row = int(np.argmax(self.units.depth))
            raise self._too_large(row, int(self.units.depth[row]), capacity, queries=1)
        if not self.batched:
            return self
        starts: list[int] = []
        union = _Union(self.units.parent, self.units.length)
        ends = self.units.end.tolist()
        for first, stop in zip(
            self.row_start[:-1].tolist(), self.row_start[1:].tolist(), strict=True
        ):
            starts.append(first)
            union.clear()
            for row in range(first, stop):
                if union.size + union.gain(ends[row]) > capacity:
                    if overflow == "error":
                        union.add_all(ends[row:stop])
                        raise self._too_large(first, union.size, capacity, queries=stop - first)
                    starts.append(row)
                    union.clear()
                union.add_all(ends[row : row + 1])
        return replace(self, row_start=np.array([*starts, len(ends)], dtype=np.int64))

    def _too_large(
        self, row: int, footprint: int, capacity: int, queries: int
    ) -> InadmissibleStepError:
        return InadmissibleStepError(
            step=int(np.searchsorted(self.row_start, row, side="right")) - 1,
            footprint=footprint,
            capacity=capacity,
            queries=queries,
            where=f"{self.name or 'sequence'}, {self.line_name} {self.line[row]}",
            unit=self.unit_name,
        )

    @cached_property
    def prompt_tokens(self) -> Integers:
        """The prompt tokens of each step, the denominator of every rate; int64[m]."""
        tokens = self.tokens
        if self.batched:
            tokens = np.maximum(tokens, self.unit_tokens * self.units.depth)
        return np.add.reduceat(tokens, self.row_start[:-1])

    def hit_tokens(self, misses: Integers, match: MatchRule = "full") -> Integers:
        """The prompt tokens of each step that are not computed; int64[m].

        A unit is computed once for a batch: it counts as a hit of all its prompts but one.

        Parameters
        ----------
        misses : int64[served steps]
            The units that each served step loads.
        match : {"full", "all-but-last"}
            Whether a prompt can hit in full, or its last unit is always computed again.

        Raises
        ------
        InputError
            If ``"all-but-last"`` is asked for batches.
        """
        hits: Integers = np.add.reduceat(self.units.depth, self.row_start[:-1])
        hits[self.served] -= misses
        if self.batched:
            if match != "full":
                raise InputError(
                    "the match rule all-but-last is for single requests",
                    where="match",
                    fix="leave out the batch size, or use the match rule full",
                )
            return self.unit_tokens * hits
        if match == "all-but-last":
            whole = self.unit_tokens * self.units.depth >= self.tokens
            hits = hits - (whole & (hits == self.units.depth))
        return np.minimum(self.unit_tokens * hits, self.tokens)

    def window(self, window: Window) -> NDArray[np.bool_]:
        """The steps that are counted: those whose first row is in the window; bool[m]."""
        if window not in ("all", "last-half"):
            raise InputError(f"window can be 'all' or 'last-half', not {window!r}", where="window")
        first = 0 if window == "all" else len(self.tokens) // 2
        return np.asarray(self.row_start[:-1] >= first)


class _Union:
    """The size of a union of root paths, path by path."""

    def __init__(self, parent: Integers, length: Integers) -> None:
        self._parent, self._length = parent.tolist(), length.tolist()
        self._stamp = [0] * len(self._parent)
        self._round = 0
        self.size = 0

    def clear(self) -> None:
        self._round += 1
        self.size = 0

    def gain(self, end: int) -> int:
        """How many units of the path to `end` are not in the union."""
        fresh = 0
        while end != ROOT and self._stamp[end] != self._round:
            fresh += self._length[end]
            end = self._parent[end]
        return fresh

    def add_all(self, ends: list[int]) -> None:
        for end in ends:
            while end != ROOT and self._stamp[end] != self._round:
                self._stamp[end] = self._round
                self.size += self._length[end]
                end = self._parent[end]
