"""Helpers of kernels: heaps that can be melded, of small integers with keys.

Skew heaps: a heap is named by its root, -1 is the empty one, and ``links[member]`` holds the left
child, the right child and the parent of a member of any heap. Melding and deleting take amortised
logarithmic time. The member with the smallest key is the root; of equal keys, the smaller member.
Source: Sleator and Tarjan, "Self-adjusting heaps", 1986.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from theory.engine.arrays import Array
from theory.engine.kernel import helper

__all__ = ["Links", "delete", "meld", "no_links", "single"]

Links = npt.NDArray[np.int32]

LEFT, RIGHT, UP = range(3)


@helper
def no_links(limit: int) -> Links:
    """Room for heaps of 0 .. limit - 1."""
    return np.full((limit, 3), -1, np.int32)


@helper
def single(links: Links, member: int) -> int:
    """Make a heap of one member, which must be in no other."""
    links[member] = -1
    return member


@helper
def meld(links: Links, key: Array, left: int, right: int) -> int:
    """The heap of all members of two heaps."""
    root = -1
    above = -1
    while left >= 0 and right >= 0:
        if key[right] < key[left] or (key[right] == key[left] and right < left):
            left, right = right, left
        if above < 0:
            root = left
        else:
            links[above, LEFT] = left
        links[left, UP] = above
        above = left
        left = links[above, RIGHT]
        links[above, RIGHT] = links[above, LEFT]
    rest = max(left, right)
    if above < 0:
        root = rest
    else:
        links[above, LEFT] = rest
    if rest >= 0:
        links[rest, UP] = above
    return root


@helper
def delete(links: Links, key: Array, root: int, member: int) -> int:
    """Delete a member of the heap `root`; returns the heap that is left."""
    rest = meld(links, key, links[member, LEFT], links[member, RIGHT])
    above = links[member, UP]
    if rest >= 0:
        links[rest, UP] = above
    if above < 0:
        return rest
    side = LEFT if links[above, LEFT] == member else RIGHT
    links[above, side] = rest
    return root
