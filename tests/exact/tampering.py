"""Ways to tamper with a certificate."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

Path = tuple[str | int, ...]


def entries(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all numbers, texts and truth values below `value`."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from entries(below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from entries(below, (*path, index))
    else:
        yield path


def lists(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all lists that are not empty."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in pairs:
        if isinstance(below, dict | list):
            if isinstance(below, list) and below:
                yield (*path, key)
            yield from lists(below, (*path, key))


def at(value: Any, path: Path) -> Any:
    """The entry at a path."""
    for key in path:
        value = value[key]
    return value


def changed(value: Any, path: Path, new: Any) -> Any:
    """A copy with another entry at a path."""
    value = copy.deepcopy(value)
    at(value, path[:-1])[path[-1]] = new
    return value


def others(old: Any, draw: random.Random) -> list[Any]:
    """What an entry could be changed to."""
    if isinstance(old, bool):
        return [not old]
    if isinstance(old, int):
        return [old + 1, old - 1, old + draw.randrange(2, 9), str(old), None, float(old)]
    if isinstance(old, str):
        try:
            number = Fraction(old)
        except ValueError:
            return [old + "x", 0]
        return [str(number + 1), str(number - 1), str(number + Fraction(1, 7)), f"{number}.0", 0]
    return [0]
