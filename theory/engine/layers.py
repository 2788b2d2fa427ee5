"""Helpers of kernels: the layers of a nested matroid with a basis, as `onlinemin` needs them.

Every layer has a place, low to high, and a row of `table`: its number of slots and of tokens, those
of the basis among them as a number and as a heap, and the layers next to it; ``up[place]`` is the
place itself while its layer lives, and later a place on the way to the layer that it has joined.
Place 0 stands below the lowest and above the highest layer, for what is forgotten.

The basis has at most as many tokens in the layers up to any one as these have slots; where it has
as many, the layer is *full*. A segment tree keeps of every range of places the gap (slots less
tokens of the basis), the smallest gap of one of its prefixes, and the basis token of smallest key.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from theory.engine.arrays import Array
from theory.engine.kernel import helper
from theory.engine.meldable import Links, meld

__all__ = [
    "ABOVE",
    "BELOW",
    "HELD",
    "ROOT",
    "SIZE",
    "SLOTS",
    "Table",
    "Tree",
    "find",
    "first_full",
    "join",
    "lowest_of_all",
    "lowest_up_to",
    "no_layers",
    "refresh",
]

Table = npt.NDArray[np.int64]
Tree = npt.NDArray[np.int64]

SLOTS, SIZE, HELD, ROOT, BELOW, ABOVE = range(6)
"""The columns of the table."""

GAP, LEAST, LOWEST = range(3)


@helper
def no_layers(limit: int) -> Tree:
    """The tree for the places 0 .. limit - 1, all without a layer."""
    size = 1
    while size < limit:
        size *= 2
    tree = np.zeros((2 * size, 3), np.int64)
    tree[:, LOWEST] = -1
    return tree


@helper
def _lower(key: Array, left: int, right: int) -> int:
    """Of two tokens, or -1 for none, the one with the smaller key; the smaller one of equals."""
    if left < 0 or right < 0:
        return max(left, right)
    if key[right] < key[left] or (key[right] == key[left] and right < left):
        return right
    return left


@helper
def find(up: Array, place: int) -> int:
    """The layer that the tokens of a place are in now."""
    while up[place] != place:
        up[place] = up[up[place]]
        place = up[place]
    return place


@helper
def refresh(tree: Tree, key: Array, table: Table, place: int) -> None:
    """Tell the tree that a row of the table has changed."""
    node = (len(tree) >> 1) + place
    tree[node, GAP] = tree[node, LEAST] = table[place, SLOTS] - table[place, HELD]
    tree[node, LOWEST] = table[place, ROOT]
    node >>= 1
    while node > 0:
        left, right = 2 * node, 2 * node + 1
        tree[node, GAP] = tree[left, GAP] + tree[right, GAP]
        tree[node, LEAST] = min(tree[left, LEAST], tree[left, GAP] + tree[right, LEAST])
        tree[node, LOWEST] = _lower(key, tree[left, LOWEST], tree[right, LOWEST])
        node >>= 1


@helper
def join(
    tree: Tree, key: Array, table: Table, up: Array, links: Links, place: int, into: int
) -> None:
    """Join a layer to the one above or below it; to place 0: forget it."""
    below, above = table[place, BELOW], table[place, ABOVE]
    table[below, ABOVE] = above
    table[above, BELOW] = below
    up[place] = into
    if into > 0:
        table[into, SLOTS] += table[place, SLOTS]
        table[into, SIZE] += table[place, SIZE]
        table[into, HELD] += table[place, HELD]
        table[into, ROOT] = meld(links, key, table[into, ROOT], table[place, ROOT])
        refresh(tree, key, table, into)
    table[place, SLOTS] = table[place, HELD] = 0
    table[place, ROOT] = -1
    refresh(tree, key, table, place)


@helper
def first_full(tree: Tree, place: int) -> int:
    """The first full place from `place` on; all layers together are full."""
    size = len(tree) >> 1
    node = size + place
    gap = 0  # of all places before the node
    above = node
    while above > 1:
        if above & 1:
            gap += tree[above - 1, GAP]
        above >>= 1
    while gap + tree[node, LEAST] > 0:
        gap += tree[node, GAP]
        while node & 1:
            node >>= 1
        node += 1
    while node < size:
        node *= 2
        if gap + tree[node, LEAST] > 0:
            gap += tree[node, GAP]
            node += 1
    return node - size


@helper
def lowest_up_to(tree: Tree, key: Array, place: int) -> int:
    """The token with the smallest key that the basis has in the places up to `place`."""
    node = (len(tree) >> 1) + place
    lowest = tree[node, LOWEST]
    while node > 1:
        if node & 1:
            lowest = _lower(key, lowest, tree[node - 1, LOWEST])
        node >>= 1
    return int(lowest)


@helper
def lowest_of_all(tree: Tree) -> int:
    """The token of the basis with the smallest key."""
    return int(tree[1, LOWEST])
