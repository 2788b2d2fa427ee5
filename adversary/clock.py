"""CLOCK without a reference bit at insertion: twice as bad as a marking policy."""

from __future__ import annotations

from adversary.tries import at_least, broom
from theory.model import Instance

__all__ = ["clock_star"]


def clock_star(slots: int = 4, length: int = 1) -> Instance:
    """A hit, then the missing leaf 2k - 1 times: `clock-clear` costs 2k - 1 a phase, the optimum 1.

    On the broom with k + 1 leaves, a phase asks for all leaves p_0, ..., p_k and then again for
    p_1, ..., p_{k-1}. Only p_0 is a hit: its bit is set, all others enter without one and are first
    in, first out. The next phase has the order p_{k-1}, p_0, p_k, p_1, ..., p_{k-2}; the cycle ends
    when the orders repeat. A marking policy pays at most k a phase.

    Parameters
    ----------
    slots : int
        k, from 2 to 256; B = slots + length - 1.
    length : int
        L.

    Examples
    --------
    >>> instance = clock_star(3)
    >>> instance.prefix, instance.cycle[:6], len(instance.cycle)
    (((2,), (3,), (0,)), ((0,), (1,), (2,), (3,), (1,), (2,)), 24)
    """
    k = at_least(slots, 2, "slots", most=256)
    trie, leaves = broom(length, k + 1)
    cycle: list[int] = []
    order = leaves
    while not cycle or order != leaves:
        cycle += [*order, *order[1:k]]
        order = (order[k - 1], order[0], order[k], *order[1 : k - 1])
    return Instance(
        trie,
        k + length - 1,
        [(leaf,) for leaf in (*leaves[2:], leaves[0], *cycle)],
        cycle_start=k,
        name="clock-star",
        notes={
            "source": "the order generalises what the exact solver finds for k = 2 and 3",
            "shows": "clock-clear pays 2k - 1 against 1; a marking policy at most k",
        },
    )
