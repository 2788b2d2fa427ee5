"""Kernels: functions on arrays that are compiled when the work is worth it.

A kernel is plain Python that numba can compile for one signature. Loading numba takes longer than
interpreting a kernel on a short sequence, so a *light* kernel is interpreted until a process has
interpreted `PATIENCE` uses in all; from then on it is compiled (the rule of the ski rental problem:
never more than about twice the time of the better choice). Kernels that are not light are always
compiled. Both ways mean the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numpy as np

from theory.engine.arrays import Intervals, Runs

__all__ = ["Kernel", "expect", "helper", "kernel"]

Arguments = ParamSpec("Arguments")
Helper = TypeVar("Helper", bound=Callable[..., Any])
Code = Callable[..., None]

PATIENCE = 400_000
"""The uses that a process interprets before it loads the compiler."""

_lock = threading.RLock()
_helpers: set[Any] = set()
_registered: set[Any] = set()
_interpreted = 0


def helper(function: Helper) -> Helper:
    """Mark a function that is compiled as a part of each kernel that calls it.

    The code on disk belongs to the kernel: delete it (``__pycache__/*.nb?``) after changing a
    helper.
    """
    _helpers.add(function)
    return function


def expect(uses: int) -> None:
    """Say how many uses will come, so that much work is compiled from the start."""
    global _interpreted  # noqa: PLW0603 - one count a process is the point
    if uses > PATIENCE:
        with _lock:
            _interpreted = PATIENCE


class Kernel(Generic[Arguments]):
    """A function that fills arrays, compiled on demand for exactly one signature.

    The machine code is kept on disk beside the source, or in the user's cache folder where the
    package is installed read-only. Where neither can be written the function is compiled in every
    process: slower, but nothing else changes. Compiled kernels release the interpreter lock, so
    threads run them in parallel.
    """

    def __init__(
        self, function: Callable[Arguments, None], signature: tuple[str, ...], light: bool
    ) -> None:
        self.function, self.signature, self.light = function, signature, light
        self._compiled: Code | None = None

    def __call__(self, *arguments: Arguments.args, **_: Arguments.kwargs) -> None:
        """Run it in the way that pays."""
        if self.light and _worth_interpreting(max(map(len, cast(Any, arguments[0])))):
            self.interpreted(*arguments)
        else:
            self.compiled(*arguments)

    @property
    def interpreted(self) -> Code:
        """The function on lists, without numba."""
        function = _on_lists(self.function)
        return lambda *arguments: function(*map(_as_lists, arguments))

    @property
    def compiled(self) -> Code:
        """The machine code, which takes plain tuples: what is kept on disk names no class."""
        if self._compiled is None:
            with _lock:
                self._compiled = self._compile()
        code = self._compiled
        return lambda *arguments: code(*map(_as_tuple, arguments))

    def _compile(self) -> Code:
        import numba
        from numba.extending import register_jitable

        for function in _helpers - _registered:
            register_jitable(function)
            _registered.add(function)
        types: Any = numba.types
        ints, indices = types.int64[::1], types.int32[::1]
        named = {
            "int": types.int64,
            "bool": types.boolean,
            "Array": ints,
            "Indices": indices,
            "State": types.uint32[::1],
            "Runs": types.Tuple((indices, ints, ints, indices, ints, indices)),
            "Intervals": types.Tuple((ints, indices, ints)),
            "StepCounts": types.Tuple((ints, ints, ints)),
        }
        signature = types.void(*(named[name] for name in self.signature))
        try:
            return cast(Code, numba.njit(signature, cache=True, nogil=True)(self.function))
        except Exception:  # no folder for the cache can be written, or what it holds is damaged
            return cast(Code, numba.njit(signature, nogil=True)(self.function))


def kernel(*, light: bool = False) -> Callable[[Callable[Arguments, None]], Kernel[Arguments]]:
    """Make a kernel of a function whose annotations are names known to `Kernel`."""

    def made(function: Callable[Arguments, None]) -> Kernel[Arguments]:
        annotations = dict(function.__annotations__)
        annotations.pop("return")
        return Kernel(function, tuple(annotations.values()), light)

    return made


def _worth_interpreting(uses: int) -> bool:
    global _interpreted  # noqa: PLW0603
    with _lock:
        _interpreted += uses
        return _interpreted <= PATIENCE


_LISTS = SimpleNamespace(
    zeros=lambda size, dtype: [0] * size,
    empty=lambda size, dtype: [0] * size,
    full=lambda size, value, dtype: [value] * size,
    int32=None,
    int64=None,
)
"""What kernels use of numpy, on lists: single elements are much faster to reach there."""


def _on_lists(function: Any) -> Any:
    """The function, and the helpers that it calls, with lists for arrays."""
    names: dict[str, Any] = {"np": _LISTS}
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if value is not np and value is not None:
            names[name] = _on_lists(value) if value in _helpers else value
    return FunctionType(function.__code__, names, function.__name__)


def _as_tuple(argument: Any) -> Any:
    return tuple(argument) if isinstance(argument, tuple) else argument


def _as_lists(argument: Any) -> Any:
    """What a kernel only reads often, as lists; what it fills stays."""
    if isinstance(argument, Runs | Intervals):
        return type(argument)(*(array.tolist() for array in argument))
    return argument
