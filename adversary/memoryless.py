"""Junk that leaves by luck alone: the worst case of a policy that keeps no account of its cache."""

from __future__ import annotations

from adversary.tries import at_least, broom
from theory.model import Instance

__all__ = ["memoryless"]


def memoryless(slots: int = 4, rounds: int = 0, length: int = 1) -> Instance:
    """Rounds over k leaves, of which one is new: `random-leaf` pays about k a phase, the optimum 1.

    On the broom with k + 1 leaves, a phase repeats the round b, s_1, ..., s_{k-1}; b is one of two
    leaves, in turn. The other one is junk, and the optimum evicts it at once. A uniform draw finds
    it with probability 1/k at each miss, and while it is there each round costs at least one: with
    r rounds k (1 - (1 - 1/k)^r) in a phase that starts with junk, as nearly all do.

    Parameters
    ----------
    slots : int
        k, from 1 to 256; B = slots + length - 1.
    rounds : int
        r; 0: 2k, so that less than e^-2 of k is missing.
    length : int
        L.

    Examples
    --------
    >>> memoryless(2, rounds=2).cycle
    ((1,), (0,), (1,), (0,), (2,), (0,), (2,), (0,))
    """
    k = at_least(slots, 1, "slots", most=256)
    times = at_least(rounds, 0, "rounds", most=10_000) or 2 * k
    trie, (*stay, one, other) = broom(length, k + 1)
    return Instance(
        trie,
        k + length - 1,
        [(leaf,) for new in (one, other) for leaf in (new, *stay) * times],
        cycle_start=0,
        name="memoryless",
        notes={
            "source": "P. Raghavan and M. Snir, ICALP 1989, for RAND of paging",
            "shows": "random-leaf: k; without marks randomness gains nothing in the worst case",
        },
    )
