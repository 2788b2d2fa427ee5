"""The decorators of the compiled kernels, and the types of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numba.types

from theory.engine.flat import Runs, StepCounts

__all__ = [
    "BOOL",
    "COUNTS",
    "INDICES",
    "INT",
    "INTS",
    "NOTHING",
    "PAIR",
    "RUNS",
    "WORDS",
    "inlined",
    "kernel",
]

Function = TypeVar("Function", bound=Callable[..., Any])

types: Any = numba.types
BOOL, INT, NOTHING = types.boolean, types.int64, types.void
INDICES, INTS, WORDS = types.int32[::1], types.int64[::1], types.uint32[::1]
RUNS = types.BaseTuple.from_types((INDICES, INTS, INTS, INDICES, INTS, INDICES), Runs)
COUNTS = types.BaseTuple.from_types((INTS, INTS, INTS), StepCounts)
PAIR = types.Tuple((INTS, INDICES))


def kernel(returns: Any, *arguments: Any) -> Callable[[Function], Function]:
    """Compile a function for exactly one signature and keep the machine code on disk.

    The code is kept beside the source, or in the user's cache folder where the package is installed
    read-only. Where neither can be written the function is compiled in every process: slower, but
    nothing else changes. Kernels release the interpreter lock, so threads run them in parallel.
    """
    signature = returns(*arguments)

    def compiled(function: Function) -> Function:
        try:
            return cast(Function, numba.njit(signature, cache=True, nogil=True)(function))
        except (RuntimeError, OSError):  # no folder for the cache can be written
            return cast(Function, numba.njit(signature, nogil=True)(function))

    return compiled


def inlined(function: Function) -> Function:
    """Mark a helper that is compiled as a part of each kernel that calls it."""
    return cast(Function, numba.njit(nogil=True)(function))
