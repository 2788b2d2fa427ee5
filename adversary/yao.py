"""Yao's distribution (Theorem 3): a uniformly random free leaf of the broom in every step.

Any policy, randomised or not, misses with probability at least 1/(k+1) in each step, while the
optimum misses once per phase and a phase lasts (k+1) H_k steps on average (coupon collector); so
no policy has a ratio below H_k = 1 + 1/2 + ... + 1/k, k = B - L - beta + 2.
"""

from __future__ import annotations

import random

from adversary.cyclic import brush
from adversary.tries import at_least
from theory.model import Instance

__all__ = ["yao"]


def yao(
    capacity: int = 8,
    length: int = 1,
    beta: int = 1,
    extra: int = 0,
    steps: int = 1000,
    seed: int = 0,
) -> Instance:
    """A random sequence of Theorem 3.

    Parameters
    ----------
    capacity : int
        B.
    length : int
        L, the length of every query.
    beta : int
        Distinct queries a batch; beta - 1 of them are the same in every batch.
    extra : int
        Free leaves beyond k + 1.
    steps : int
        The number of steps.
    seed : int
        Seeds the draws.

    Examples
    --------
    >>> instance = yao(3, length=2, steps=200, seed=1)
    >>> instance.k, len(instance.steps), len(set(instance.steps))
    (2, 200, 3)
    """
    trie, fixed, free = brush(capacity, length, beta, extra)
    at_least(steps, 1, "steps")
    draw = random.Random(seed)
    return Instance(
        trie,
        capacity,
        [(*fixed, draw.choice(free)) for _ in range(steps)],
        name="yao",
        notes={"source": "model, Theorem 3", "shows": "every policy has ratio at least H_k"},
    )
