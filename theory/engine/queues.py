"""Helpers of kernels: queues of small integers that can be left from the middle.

Circular doubly linked lists in one array: 0 .. limit - 1 are the members, each in one queue at
most, and limit, limit + 1, ... stand for the queues themselves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from theory.engine.kernel import helper

__all__ = ["Queues", "enqueue", "leave", "new_queues", "oldest_of"]

Queues = npt.NDArray[np.int32]

OLDER, YOUNGER = range(2)


@helper
def new_queues(limit: int, number: int) -> Queues:
    """Empty queues."""
    queues = np.zeros((limit + number, 2), np.int32)
    for queue in range(limit, limit + number):
        queues[queue] = queue
    return queues


@helper
def enqueue(queues: Queues, queue: int, member: int) -> None:
    """Append a member."""
    youngest = queues[queue, OLDER]
    queues[member, OLDER] = youngest
    queues[member, YOUNGER] = queue
    queues[youngest, YOUNGER] = member
    queues[queue, OLDER] = member


@helper
def leave(queues: Queues, member: int) -> None:
    """Take a member out of its queue."""
    older, younger = queues[member, OLDER], queues[member, YOUNGER]
    queues[older, YOUNGER] = younger
    queues[younger, OLDER] = older


@helper
def oldest_of(queues: Queues, queue: int) -> int:
    """The member that came first; the queue must not be empty."""
    return int(queues[queue, YOUNGER])
