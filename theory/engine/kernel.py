"""The decorator of the compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["inlined", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(signature: str) -> Callable[[Function], Function]:
    """Compile a function for exactly one signature and keep the machine code on disk.

    The code is kept beside the source, or in the user's cache folder where the package is installed
    read-only. Where neither can be written the function is compiled in every process: slower, but
    nothing else changes. Kernels release the interpreter lock, so threads run them in parallel.
    """

    def compiled(function: Function) -> Function:
        try:
            return cast(Function, numba.njit(signature, cache=True, nogil=True)(function))
        except (RuntimeError, OSError):  # no folder for the cache can be written
            return cast(Function, numba.njit(signature, nogil=True)(function))

    return compiled


def inlined(function: Function) -> Function:
    """Mark a helper that is compiled as a part of each kernel that calls it."""
    return cast(Function, numba.njit(nogil=True)(function))
