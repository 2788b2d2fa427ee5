"""The token trie: radix segments inside, tokens outside.

A token is one symbol together with its whole prefix, so the tokens of an instance form a rooted
forest (the root itself is no token). Tokens are numbered ``0, 1, ..., n-1`` and every parent has a
smaller number than its children; that order, ancestors first, is the documented total order that
breaks every tie. Inside, maximal runs of consecutive numbers are stored as one segment, so that a
trace of millions of tokens takes a few numbers per block.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from theory.errors import InputError

__all__ = ["ROOT", "PagedTrie", "Segment", "TokenTrie"]

ROOT = -1
"""The parent of a token at depth 1."""


class Segment(NamedTuple):
    """A radix segment: a chain of tokens that the same queries use.

    Attributes
    ----------
    first, last : int
        Its topmost and its deepest token.
    length : int
        Its number of tokens.
    parent : int
        The index of the segment above it in the same list, or ``ROOT``.
    """

    first: int
    last: int
    length: int
    parent: int


class PagedTrie(NamedTuple):
    """A trie whose nodes are pages (`TokenTrie.paged`).

    Attributes
    ----------
    trie : TokenTrie
        One node a page.
    end : dict of int to int
        The last page of each query, by the query's last token. With ``partial="drop"`` a query
        shorter than a page has no page and is left out.
    tokens : dict of int to int
        The number of tokens in each partial page; every other page is full.
    """

    trie: TokenTrie
    end: dict[int, int]
    tokens: dict[int, int]


class TokenTrie:
    """A rooted forest of tokens, immutable.

    Build one with `from_parents`, `from_segments` or `from_sequences`.

    Examples
    --------
    >>> trie = TokenTrie.from_parents([-1, 0, 1, 1])
    >>> len(trie), trie.depth(3), trie.path(3)
    (4, 3, (0, 1, 3))
    >>> trie.footprint([2, 3])
    (0, 1, 2, 3)
    """

    __slots__ = ("_attach", "_depth", "_size", "_start")

    def __init__(self, attach: Sequence[int], lengths: Sequence[int]) -> None:
        # Segment s holds the tokens _start[s] .. _start[s + 1] - 1, each the child of the one
        # before; _attach[s] is the parent of the first, _depth[s] the depth above the first.
        attached: list[int] = []
        start: list[int] = []
        depth: list[int] = []
        size = 0
        for index, (parent, length) in enumerate(zip(attach, lengths, strict=True)):
            where = f"/segments/{index}"
            if not _is_int(length) or length < 1:
                raise InputError(f"length {length!r} is not a positive integer", where=where)
            if not _is_int(parent) or not ROOT <= parent < size:
                raise InputError(
                    f"parent {parent!r} is no earlier token",
                    where=where,
                    fix="number ancestors before descendants; -1 is the root",
                )
            # A run that continues the one before is stored with it: equal tries have equal runs.
            if not size or parent != size - 1:
                attached.append(parent)
                start.append(size)
                depth.append(0 if parent == ROOT else self._depth_of(parent, start, depth))
            size += length
        self._attach = tuple(attached)
        self._start = tuple(start)
        self._depth = tuple(depth)
        self._size = size

    @staticmethod
    def _depth_of(token: int, start: Sequence[int], depth: Sequence[int]) -> int:
        segment = bisect_right(start, token) - 1
        return depth[segment] + token - start[segment] + 1

    @classmethod
    def from_parents(cls, parents: Sequence[int]) -> TokenTrie:
        """Build from the parent of each token; ``-1`` is the root.

        Raises
        ------
        InputError
            If a parent is not an earlier token.

        Examples
        --------
        >>> TokenTrie.from_parents([-1, 0, 0]).segments
        [(-1, 2), (0, 1)]
        """
        for token, parent in enumerate(parents):
            if not _is_int(parent) or not ROOT <= parent < token:
                raise InputError(
                    f"parent {parent!r} of token {token} is no earlier token",
                    where=f"/parents/{token}",
                    fix="number ancestors before descendants; -1 is the root",
                )
        attach: list[int] = []
        lengths: list[int] = []
        for token, parent in enumerate(parents):
            if token and parent == token - 1:
                lengths[-1] += 1
            else:
                attach.append(parent)
                lengths.append(1)
        return cls(attach, lengths)

    @classmethod
    def from_segments(cls, segments: Iterable[tuple[int, int]]) -> TokenTrie:
        """Build from pairs (parent token, length); tokens are numbered in that order.

        Examples
        --------
        >>> TokenTrie.from_segments([(-1, 3), (1, 2)]).parents()
        [-1, 0, 1, 1, 3]
        """
        pairs = list(segments)
        return cls([parent for parent, _ in pairs], [length for _, length in pairs])

    @classmethod
    def from_sequences(cls, sequences: Iterable[Sequence[Any]]) -> tuple[TokenTrie, list[int]]:
        """Build the trie of the given symbol sequences.

        Parameters
        ----------
        sequences : iterable of sequences of hashable symbols
            One query each; a str is a sequence of characters.

        Returns
        -------
        trie : TokenTrie
            Tokens numbered in order of first appearance.
        ends : list of int
            The last token of each query.

        Raises
        ------
        InputError
            If a sequence is empty.

        Examples
        --------
        >>> trie, ends = TokenTrie.from_sequences(["abcd", "ab", "abx"])
        >>> ends, trie.path(ends[2])
        ([3, 1, 4], (0, 1, 4))
        """
        child: dict[tuple[int, Any], int] = {}
        parents: list[int] = []
        ends: list[int] = []
        for index, sequence in enumerate(sequences):
            token = ROOT
            for symbol in sequence:
                step = (token, symbol)
                token = child.setdefault(step, len(parents))
                if token == len(parents):
                    parents.append(step[0])
            if token == ROOT:
                raise InputError("the query is empty", where=f"query {index}")
            ends.append(token)
        return cls.from_parents(parents), ends

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenTrie):
            return NotImplemented
        return self.segments == other.segments

    def __hash__(self) -> int:
        return hash((self._attach, self._start, self._size))

    def __repr__(self) -> str:
        return f"TokenTrie({self._size} tokens in {len(self._start)} segments)"

    @property
    def segments(self) -> list[tuple[int, int]]:
        """The stored runs as pairs (parent token of the first, length)."""
        bounds = (*self._start, self._size)
        return [(a, bounds[i + 1] - bounds[i]) for i, a in enumerate(self._attach)]

    def check(self, token: int, where: str = "") -> None:
        """Raise `InputError` if `token` is not a token of this trie."""
        if not _is_int(token) or not 0 <= token < self._size:
            raise InputError(
                f"{token!r} is not a token of the trie",
                where=where,
                fix=f"tokens are 0 to {self._size - 1}" if self._size else "the trie is empty",
            )

    def segment_of(self, token: int) -> int:
        """The index of the stored run that holds `token`."""
        return bisect_right(self._start, token) - 1

    def parent(self, token: int) -> int:
        """The parent of `token`, or ``ROOT``."""
        segment = self.segment_of(token)
        return self._attach[segment] if token == self._start[segment] else token - 1

    def parents(self) -> list[int]:
        """The parent of every token; shape (n,)."""
        result = list(range(-1, self._size - 1))
        for first, attach in zip(self._start, self._attach, strict=True):
            result[first] = attach
        return result

    def depth(self, token: int) -> int:
        """The number of tokens on the path to `token`: the length of the query that ends there."""
        return self._depth_of(token, self._start, self._depth)

    def runs(self, token: int) -> list[tuple[int, int]]:
        """The path to `token` as runs (first, last) of consecutive numbers, top first."""
        result = []
        while token != ROOT:
            segment = self.segment_of(token)
            result.append((self._start[segment], token))
            token = self._attach[segment]
        return result[::-1]

    def path(self, token: int) -> tuple[int, ...]:
        """All tokens from depth 1 down to `token`: the query that ends there."""
        return tuple(t for first, last in self.runs(token) for t in range(first, last + 1))

    def _extents(self, ends: Iterable[int]) -> dict[int, int]:
        """The deepest used token of every stored run that the given queries touch."""
        deepest: dict[int, int] = {}
        for token in ends:
            while token != ROOT:
                segment = self.segment_of(token)
                if deepest.get(segment, ROOT) >= token:
                    break
                deepest[segment] = token
                token = self._attach[segment]
        return deepest

    def footprint(self, ends: Iterable[int]) -> tuple[int, ...]:
        """The union of the paths to `ends`, in the order of tokens (ancestors first)."""
        deepest = self._extents(ends)
        return tuple(t for s in sorted(deepest) for t in range(self._start[s], deepest[s] + 1))

    def footprint_size(self, ends: Iterable[int]) -> int:
        """``len(self.footprint(ends))`` without listing the tokens."""
        return sum(last - self._start[s] + 1 for s, last in self._extents(ends).items())

    def is_ancestor(self, above: int, below: int) -> bool:
        """Whether `above` lies on the path to `below` (a token is its own ancestor)."""
        return any(first <= above <= last for first, last in self.runs(below))

    def radix_segments(self, ends: Iterable[int]) -> list[Segment]:
        """The maximal chains of tokens that exactly the same queries use.

        Parameters
        ----------
        ends : iterable of int
            The last tokens of all queries.

        Returns
        -------
        list of Segment
            Parents first. Their lengths add up to the size of the footprint of `ends`.

        Examples
        --------
        >>> trie, ends = TokenTrie.from_sequences(["abcd", "abx"])
        >>> [(s.length, s.parent) for s in trie.radix_segments(ends)]
        [(2, -1), (2, 0), (1, 0)]
        """
        queries = set(ends)
        deepest = self._extents(queries)
        branching = {self._attach[s] for s in deepest} - {ROOT}
        cuts = sorted(queries | branching)
        result: list[Segment] = []
        ending: dict[int, int] = {}  # the index of the segment that ends at a token
        for s in sorted(deepest):
            first, last = self._start[s], deepest[s]
            inner = cuts[bisect_left(cuts, first) : bisect_left(cuts, last)]
            top = first
            for bottom in (*inner, last):
                above = self._attach[s] if top == first else top - 1
                parent = ending[above] if above != ROOT else ROOT
                ending[bottom] = len(result)
                result.append(Segment(top, bottom, bottom - top + 1, parent))
                top = bottom + 1
        return _merge_chains(result, queries)

    def paged(self, ends: Iterable[int], size: int, partial: str = "keep") -> PagedTrie:
        """The same queries at page granularity.

        Page ``i`` of a query holds its tokens ``i*size .. (i+1)*size - 1``. A full page is shared
        by all queries with the same tokens up to its end. A partial last page is shared only by
        queries that end at the same token.

        Parameters
        ----------
        ends : iterable of int
            The last tokens of all queries.
        size : int
            Tokens a page, at least 1.
        partial : {"keep", "drop"}
            Whether a partial last page occupies a page of its own or is not cached at all (as in
            SGLang and vLLM, which cache full pages only).

        Examples
        --------
        >>> trie, ends = TokenTrie.from_sequences(["abcdefghi", "abcdx"])
        >>> pages = trie.paged(ends, 4)
        >>> [pages.trie.depth(pages.end[e]) for e in ends]
        [3, 2]
        >>> pages.tokens[pages.end[ends[0]]]
        1
        """
        if not _is_int(size) or size < 1:
            raise InputError(f"page size {size!r} is not a positive integer", where="page size")
        if partial not in ("keep", "drop"):
            raise InputError(f"partial pages can be 'keep' or 'drop', not {partial!r}")
        queries = sorted(set(ends))
        page: dict[int, int] = {}  # the page that ends at a token of depth divisible by size
        attach: list[int] = []
        lengths: list[int] = []
        count = 0
        for s, last in sorted(self._extents(queries).items()):
            first, above = self._start[s], self._depth[s]
            skip = size - above % size  # the run's skip-th token ends the first full page in it
            bottoms = range(first + skip - 1, last + 1, size)
            if not bottoms:
                continue
            whole = above // size * size
            attach.append(page[self._ancestor(self._attach[s], whole)] if whole else ROOT)
            lengths.append(len(bottoms))
            for bottom in bottoms:
                page[bottom] = count
                count += 1
        end: dict[int, int] = {}
        tokens: dict[int, int] = {}
        for query in queries:
            depth = self.depth(query)
            whole = depth // size * size
            above = page[self._ancestor(query, whole)] if whole else ROOT
            if whole == depth:
                end[query] = page[query]
            elif partial == "keep":
                attach.append(above)
                lengths.append(1)
                end[query] = count
                tokens[count] = depth - whole
                count += 1
            elif above != ROOT:
                end[query] = above
        return PagedTrie(TokenTrie(attach, lengths), end, tokens)

    def _ancestor(self, token: int, depth: int) -> int:
        """The token at `depth` on the path to `token`."""
        while True:
            segment = self.segment_of(token)
            if self._depth[segment] < depth:
                return self._start[segment] + depth - self._depth[segment] - 1
            token = self._attach[segment]

    def to_json(self) -> dict[str, Any]:
        """The JSON form: ``parents`` for small tries, ``segments`` for large ones."""
        if self._size <= 256:
            return {"parents": self.parents()}
        return {"segments": [list(pair) for pair in self.segments]}

    @classmethod
    def from_json(cls, value: dict[str, Any], where: str = "") -> TokenTrie:
        """Read the JSON form; errors name the JSON pointer below `where`."""
        try:
            if isinstance(value.get("parents"), list):
                return cls.from_parents(value["parents"])
            if isinstance(value.get("segments"), list):
                pairs = value["segments"]
                for index, pair in enumerate(pairs):
                    if not isinstance(pair, list) or len(pair) != 2:
                        raise InputError(
                            "is not a pair [parent, length]", where=f"/segments/{index}"
                        )
                return cls.from_segments((a, b) for a, b in pairs)
        except InputError as error:
            raise InputError(error.what, where=f"{where}#{error.where}", fix=error.fix) from None
        raise InputError(
            "has neither a list 'parents' nor a list 'segments'",
            where=f"{where}#",
            fix="give the parent of every token; -1 is the root",
        )


def _merge_chains(segments: list[Segment], queries: set[int]) -> list[Segment]:
    """Join a segment to its only child where no query ends between them."""
    children: dict[int, int] = {}
    for segment in segments:
        children[segment.parent] = children.get(segment.parent, 0) + 1
    place: dict[int, int] = {}
    result: list[Segment] = []
    for index, segment in enumerate(segments):
        parent = segment.parent
        if parent != ROOT and children[parent] == 1 and segments[parent].last not in queries:
            place[index] = place[parent]
            above = result[place[parent]]
            result[place[parent]] = Segment(
                above.first, segment.last, above.length + segment.length, above.parent
            )
        else:
            place[index] = len(result)
            result.append(segment._replace(parent=ROOT if parent == ROOT else place[parent]))
    return result


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
