"""Workloads by name: ``gsp:groups=4,prompts=4,ratio=0.5``, for every command with ``--workload``.

The keys are the parameters of the generator. Lists join their items by ``+``; a number may be a
fraction: ``gsp:lengths=512+1024,scale=1/16``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from empirical.traces import gsp, lengths, loogle, sharegpt, synthetic, ultrachat
from empirical.traces.base import Trace
from theory.errors import InputError

__all__ = ["WORKLOADS", "keys", "parse"]

WORKLOADS: dict[str, Callable[..., Trace]] = {
    "gsp": gsp.generate,
    "synthetic": synthetic.generate,
    "lengths": lengths.generate,
    "sharegpt": sharegpt.generate,
    "ultrachat": ultrachat.generate,
    "loogle": loogle.generate,
}
"""The generators by name; each takes a seed and a name."""


def keys(kind: str) -> list[str]:
    """The keys that a workload takes.

    Examples
    --------
    >>> "groups" in keys("gsp")
    True
    """
    return list(_readers(WORKLOADS[kind]))


def parse(text: str, seed: int = 0) -> Trace:
    """Generate the workload that `text` names.

    Parameters
    ----------
    text : str
        ``kind`` or ``kind:key=value,key=value``.
    seed : int
        Seeds the generator.

    Raises
    ------
    InputError
        If the kind or a key is unknown, a value cannot be read or is out of range.

    Examples
    --------
    >>> trace = parse("gsp:groups=2,prompts=3,lengths=128+256,scale=1/4", seed=1)
    >>> len(trace), trace.block_size, sorted(set(trace.input_length.tolist()))
    (6, 16, [32, 64])
    """
    kind, _, rest = text.partition(":")
    if kind not in WORKLOADS:
        raise InputError(
            f"unknown workload {kind!r}",
            where="workload",
            fix=f"choose from {', '.join(WORKLOADS)}",
        )
    readers = _readers(WORKLOADS[kind])
    values: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = (word.strip() for word in part.partition("="))
        where = f"workload {kind}"
        if key not in readers:
            raise InputError(
                f"has no key {key!r}", where=where, fix=f"choose from {', '.join(readers)}"
            )
        if not equals:
            raise InputError(f"{key!r} has no value", where=where, fix=f"write {key}=VALUE")
        field = key.replace("-", "_")
        if field in values:
            raise InputError(f"{key!r} is given twice", where=where)
        try:
            values[field] = readers[key](value)
        except (ValueError, ZeroDivisionError):
            raise InputError(f"cannot read {key}={value}", where=where) from None
    try:
        return WORKLOADS[kind](**values, seed=seed, name=text)
    except InputError as error:
        raise InputError(
            error.what, where=f"workload {kind}: {error.where}", fix=error.fix
        ) from None


def _readers(generate: Callable[..., Trace]) -> dict[str, Callable[[str], Any]]:
    """How the value of each key is read, from the generator's own signature."""
    found: dict[str, Callable[[str], Any]] = {}
    for parameter in inspect.signature(generate).parameters.values():
        if parameter.name not in ("seed", "name"):
            # Annotations are strings here: "int", "int | None", "float", "Sequence[int]", "str".
            kind = str(parameter.annotation).removesuffix(" | None")
            found[parameter.name.replace("_", "-")] = _READERS[kind]
    return found


def _number(text: str) -> float:
    return float(Fraction(text)) if "/" in text else float(text)


def _numbers(text: str) -> list[int]:
    return [int(item) for item in text.split("+")]


_READERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": _number,
    "str": str,
    "Sequence[int]": _numbers,
}
