"""Helpers of kernels: an order of small integers that new ones can enter anywhere.

A linked list with labels that grow along it: of two members the lower one has the smaller label. A
new member gets a label halfway between its neighbours'; where there is none left, all labels are
spaced anew. The label 0 says that an integer is not in the order. Source: Dietz, "Maintaining order
in a linked list", 1982.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from theory.engine.arrays import Array
from theory.engine.kernel import helper

__all__ = ["Neighbours", "insert_below", "no_labels", "no_neighbours", "take_out"]

Neighbours = npt.NDArray[np.int32]

LOWER, HIGHER = range(2)
HIGHEST = 2**62


@helper
def no_neighbours(limit: int) -> Neighbours:
    """The empty order of 0 .. limit - 1; below all stands limit + 1, and above all limit."""
    neighbours = np.full((limit + 2, 2), -1, np.int32)
    neighbours[limit, LOWER] = limit + 1
    neighbours[limit + 1, HIGHER] = limit
    return neighbours


@helper
def no_labels(limit: int) -> Array:
    """The labels of the empty order."""
    label = np.zeros(limit + 2, np.int64)
    label[limit] = HIGHEST
    return label


@helper
def insert_below(neighbours: Neighbours, label: Array, above: int, member: int) -> None:
    """Insert a member right below another one, or highest: `above` is then the limit."""
    lower = neighbours[above, LOWER]
    if label[above] - label[lower] < 2:
        _space(neighbours, label)
    label[member] = (label[lower] + label[above]) >> 1
    neighbours[member, LOWER] = lower
    neighbours[member, HIGHER] = above
    neighbours[lower, HIGHER] = member
    neighbours[above, LOWER] = member


@helper
def _space(neighbours: Neighbours, label: Array) -> None:
    """Space all labels evenly."""
    gap = HIGHEST // len(label)
    highest = len(label) - 2
    now = gap
    member = neighbours[highest + 1, HIGHER]
    while member != highest:
        label[member] = now
        now += gap
        member = neighbours[member, HIGHER]


@helper
def take_out(neighbours: Neighbours, label: Array, member: int) -> None:
    """Delete a member."""
    lower, higher = neighbours[member, LOWER], neighbours[member, HIGHER]
    neighbours[lower, HIGHER] = higher
    neighbours[higher, LOWER] = lower
    label[member] = 0
