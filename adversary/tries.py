"""Tries that worst cases live on: brooms, chains, caterpillars, binary tries, all small forests.

Every builder returns the trie and its leaves, the natural queries, in the order of tokens. All
nodes are ``range(len(trie))``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from theory.errors import InputError
from theory.trie import ROOT, TokenTrie

__all__ = ["at_least", "binary", "broom", "caterpillar", "chains", "forest", "forests"]

Shape = tuple[TokenTrie, tuple[int, ...]]
"""A trie and its leaves."""


MOST = 10**6
"""The largest size that a parameter can ask for: far beyond any use, far below any hang."""


def at_least(value: object, least: int, name: str, most: int = MOST) -> int:
    """Return `value` if it is an int from `least` to `most`, else raise an `InputError`.

    Examples
    --------
    >>> at_least(3, 1, "leaves")
    3
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(
            f"{value!r} is not a whole number of at least {least}", where=f"parameter {name}"
        )
    if value > most:
        raise InputError(f"{value} is more than {most}", where=f"parameter {name}")
    return value


def broom(length: int, leaves: int) -> Shape:
    """A chain of ``length - 1`` tokens, the handle, with `leaves` leaves below it.

    Every leaf is a query of `length` tokens; a broom of length 1 is a star.

    Examples
    --------
    >>> trie, leaves = broom(3, 2)
    >>> trie.parents(), leaves
    ([-1, 0, 1, 1], (2, 3))
    """
    at_least(length, 1, "length")
    at_least(leaves, 1, "leaves")
    handle = length - 1
    segments = [(ROOT, handle)] if handle else []
    segments += [(handle - 1, 1)] * leaves
    return TokenTrie.from_segments(segments), tuple(range(handle, handle + leaves))


def chains(lengths: Sequence[int], handle: int = 0) -> Shape:
    """Disjoint chains of the given lengths, below a common chain of `handle` tokens.

    Examples
    --------
    >>> trie, ends = chains([2, 1], handle=1)
    >>> trie.parents(), ends
    ([-1, 0, 1, 0], (2, 3))
    """
    if not lengths:
        raise InputError("there is no chain", where="parameter lengths")
    for length in lengths:
        at_least(length, 1, "lengths")
    at_least(handle, 0, "handle")
    at_least(sum(lengths), 1, "lengths")
    segments = [(ROOT, handle)] if handle else []
    segments += [(handle - 1, length) for length in lengths]
    ends: list[int] = []
    size = handle
    for length in lengths:
        size += length
        ends.append(size - 1)
    return TokenTrie.from_segments(segments), tuple(ends)


def caterpillar(spine: int, legs: int = 1) -> Shape:
    """A chain of `spine` tokens, each with `legs` leaves (so the queries have lengths 2, 3, ...).

    Examples
    --------
    >>> trie, leaves = caterpillar(2, legs=1)
    >>> trie.parents(), leaves
    ([-1, 0, 0, 1], (2, 3))
    """
    at_least(spine, 1, "spine")
    at_least(legs, 1, "legs", most=MOST // spine)
    parents = [*range(-1, spine - 1), *(token for token in range(spine) for _ in range(legs))]
    return TokenTrie.from_parents(parents), tuple(range(spine, spine + spine * legs))


def binary(depth: int) -> Shape:
    """The complete binary trie: two tokens at depth 1, ``2**depth`` leaves.

    Examples
    --------
    >>> trie, leaves = binary(2)
    >>> trie.parents(), leaves
    ([-1, -1, 0, 0, 1, 1], (2, 3, 4, 5))
    """
    at_least(depth, 1, "depth", most=18)
    inner = 2**depth - 2
    parents = [ROOT, ROOT, *(token for token in range(inner) for _ in range(2))]
    return TokenTrie.from_parents(parents), tuple(range(inner, len(parents)))


def forests(nodes: int) -> Iterator[tuple[int, ...]]:
    """Every rooted forest with `nodes` nodes, each isomorphism class exactly once.

    A rooted forest with n nodes is a rooted tree with n + 1 nodes without its root, so there are
    1, 2, 4, 9, 20, 48, 115, ... of them (OEIS A000081, shifted).

    Parameters
    ----------
    nodes : int
        At least 1.

    Yields
    ------
    tuple of int
        The canonical parent list, ``-1`` for the root, every parent before its children. The depths
        of the nodes are in depth-first order, and lexicographically largest in the class.

    Notes
    -----
    The successor rule on level sequences, constant amortised time: T. Beyer and S. M. Hedetniemi,
    Constant time generation of rooted trees, SIAM J. Comput. 9 (1980).

    Examples
    --------
    >>> list(forests(3))
    [(-1, 0, 1), (-1, 0, 0), (-1, 0, -1), (-1, -1, -1)]
    """
    at_least(nodes, 1, "nodes")
    depths = list(range(1, nodes + 1))
    while True:
        newest = {0: ROOT}  # the latest node at each depth
        parents: list[int] = []
        for node, depth in enumerate(depths):
            parents.append(newest[depth - 1])
            newest[depth] = node
        yield tuple(parents)
        last = max((node for node, depth in enumerate(depths) if depth > 1), default=ROOT)
        if last == ROOT:
            return
        # Raise the last deep node by one level and repeat the subtree of its parent behind it.
        period = last - parents[last]
        for node in range(last, nodes):
            depths[node] = depths[node - period]


def forest(nodes: int, index: int) -> Shape:
    """The forest number `index` (from 0) in the order of `forests`.

    Examples
    --------
    >>> forest(3, 2)[0].parents()
    [-1, 0, -1]
    """
    at_least(index, 0, "index")
    count = 0
    for count, parents in enumerate(forests(nodes)):
        if count == index:
            inner = set(parents)
            return TokenTrie.from_parents(parents), tuple(
                node for node in range(nodes) if node not in inner
            )
    raise InputError(
        f"there are {count + 1} forests with {nodes} nodes",
        where="parameter index",
        fix=f"give 0 to {count}",
    )
