"""Helpers of kernels: the generator of Python's `random`, draw for draw.

A compiled randomised policy consumes the same draws as its specification, so both make the same
choices for the same seed. Source: Matsumoto and Nishimura, "Mersenne Twister", 1998.
"""

from __future__ import annotations

import random
from math import frexp

import numpy as np
import numpy.typing as npt

from theory.engine.kernel import helper

__all__ = ["State", "below", "seeded"]

State = npt.NDArray[np.uint32]
"""624 words and the place of the next one; shape (625,)."""

N, M = 624, 397


def seeded(seed: int) -> State:
    """The state of ``random.Random(seed)``."""
    return np.array(random.Random(seed).getstate()[1], dtype=np.uint32)


@helper
def word(state: State) -> int:
    """The next 32 bits."""
    if state[N] >= N:
        for i in range(N):
            mixed = (state[i] & 0x80000000) | (state[(i + 1) % N] & 0x7FFFFFFF)
            twisted = mixed >> 1
            if mixed & 1:
                twisted ^= 0x9908B0DF
            state[i] = state[(i + M) % N] ^ twisted
        state[N] = 0
    bits = np.int64(state[state[N]])
    state[N] += 1
    bits ^= bits >> 11
    bits ^= (bits << 7) & 0x9D2C5680
    bits ^= (bits << 15) & 0xEFC60000
    return int(bits ^ (bits >> 18))


@helper
def below(state: State, limit: int) -> int:
    """A uniform draw from 0 .. limit - 1, as ``Random.randrange(limit)``; limit < 2**32."""
    length = frexp(float(limit))[1]  # the bits of the limit
    drawn = word(state) >> (32 - length)
    while drawn >= limit:
        drawn = word(state) >> (32 - length)
    return drawn
