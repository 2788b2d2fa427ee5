"""Families for policies without a guarantee, or with a worse one than marking policies.

On the first three the policy misses in every step of the cycle (or of an ever longer tail) while
the optimum misses nothing after three tokens: no competitive ratio at all. They hang below a handle
of L - 1 tokens, so they exist for every u.
"""

from __future__ import annotations

from adversary.tries import at_least, broom
from theory.model import Instance

__all__ = ["fifo_batch", "frequency", "newest_first", "perfect_frequency"]


def frequency(length: int = 1, others: int = 2) -> Instance:
    """The sequence a a (b c)^inf with room for two leaves: counting hits keeps the wrong leaf.

    Unbounded for LFU with counts of the time in the cache, segmented LRU without demotion, hits
    per token, and LRU-K with histories of the time in the cache: a is never evicted, b and c throw
    each other out. With three or more others it is so for SIEVE, whose hand never returns to a.

    Parameters
    ----------
    length : int
        L.
    others : int
        The leaves that take turns, at least 2; B = L + others - 1.

    Examples
    --------
    >>> frequency().steps
    ((0,), (0,), (1,), (2,))
    """
    at_least(length, 1, "length")
    at_least(others, 2, "others")
    trie, (a, *rest) = broom(length, others + 1)
    return Instance(
        trie,
        length + others - 1,
        [(a,), (a,), *((leaf,) for leaf in rest)],
        cycle_start=2,
        name="frequency",
        notes={
            "source": "model, section 3",
            "shows": "lfu, slru, hits-per-token and lru-k: unbounded; sieve from three others on",
        },
    )


def newest_first(length: int = 1) -> Instance:
    """The sequence a b (c b)^inf with room for two leaves: evicting the newest keeps the oldest.

    Unbounded for MRU and for FILO (last in, first out).

    Parameters
    ----------
    length : int
        L; B = L + 1.

    Examples
    --------
    >>> newest_first(2).steps
    ((1,), (2,), (3,), (2,))
    """
    at_least(length, 1, "length")
    trie, (a, b, c) = broom(length, 3)
    return Instance(
        trie,
        length + 1,
        [(a,), (b,), (c,), (b,)],
        cycle_start=2,
        name="newest-first",
        notes={"source": "model, section 3", "shows": "mru and filo: unbounded"},
    )


def perfect_frequency(times: int = 10, length: int = 1) -> Instance:
    """The sequence a^N (b c)^(N-1): frequencies of all time, kept also after an eviction.

    LFU with perfect frequencies misses 2N - 1 times, the optimum three times (plus the handle in
    both). There is no cycle: the prefix must grow with the tail.

    Parameters
    ----------
    times : int
        N.
    length : int
        L; B = L + 1.

    Examples
    --------
    >>> perfect_frequency(3).steps
    ((0,), (0,), (0,), (1,), (2,), (1,), (2,))
    """
    at_least(times, 2, "times")
    at_least(length, 1, "length")
    trie, (a, b, c) = broom(length, 3)
    return Instance(
        trie,
        length + 1,
        [(a,)] * times + [(b,), (c,)] * (times - 1),
        name="perfect-frequency",
        notes={"source": "model, section 3", "shows": "perfect LFU: 2N - 1 misses against 3"},
    )


def fifo_batch() -> Instance:
    """Four leaves, B = 3, batches of two: FIFO costs 9 a cycle, the optimum 3; B - u + 1 is 2.

    FIFO has ratio at most B on every sequence, but it is not marking, and with batches it exceeds
    B - u + 1.

    Examples
    --------
    >>> instance = fifo_batch()
    >>> instance.capacity, instance.u, instance.beta, len(instance.cycle)
    (3, 2, 2, 9)
    """
    trie, _ = broom(1, 4)
    prefix = [(1, 3), (0, 1), (1, 2)]
    cycle = [(2, 3), (1, 2), (0, 2), (0, 3), (0, 2), (0, 1), (1, 3), (0, 1), (1, 2)]
    return Instance(
        trie,
        3,
        prefix + cycle,
        cycle_start=len(prefix),
        name="fifo-batch",
        notes={"source": "found by the exact solver", "shows": "fifo has ratio 3 > B - u + 1 = 2"},
    )
