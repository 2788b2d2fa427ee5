"""Reading JSON that may be wrong anywhere: every entry knows its JSON pointer."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NoReturn

from theory.errors import ClaimError

__all__ = ["Entry", "reject"]


class Entry:
    """An entry of a JSON document and its JSON pointer.

    Examples
    --------
    >>> root = Entry({"costs": ["3/2", 7]}, "file#")
    >>> root.at("costs").at(0).fraction()
    Fraction(3, 2)
    >>> root.at("costs").at(1).fraction()
    Traceback (most recent call last):
    theory.errors.ClaimError: file#/costs/1: 7 is not a fraction in lowest terms, as text
    """

    __slots__ = ("value", "where")

    def __init__(self, value: Any, where: str) -> None:
        self.value = value
        self.where = where

    def at(self, key: str | int) -> Entry:
        """The entry below, of an object or a list; rejected if there is none."""
        below = f"{self.where}/{key}"
        if isinstance(key, str) and isinstance(self.value, dict) and key in self.value:
            return Entry(self.value[key], below)
        if isinstance(key, int) and isinstance(self.value, list) and 0 <= key < len(self.value):
            return Entry(self.value[key], below)
        raise ClaimError(f"{below}: is missing")

    def only(self, *keys: str) -> None:
        """Reject unless this is an object with exactly these keys."""
        if not isinstance(self.value, dict):
            reject(self, "is not an object")
        for key in self.value:
            if key not in keys:
                raise ClaimError(f"{self.where}/{key}: is no field of a certificate")
        for key in keys:
            self.at(key)

    def items(self, length: int | None = None) -> Iterator[Entry]:
        """The entries of a list, of this length if one is given."""
        if not isinstance(self.value, list):
            reject(self, "is not a list")
        if length is not None and len(self.value) != length:
            reject(self, f"has {len(self.value)} entries, wanted {length}")
        return (self.at(index) for index in range(len(self.value)))

    def integer(self, low: int = 0, high: int | None = None) -> int:
        """An int from `low` to `high`, both included."""
        value = self.value
        inside = isinstance(value, int) and not isinstance(value, bool) and value >= low
        if not inside or (high is not None and value > high):
            upto = "" if high is None else f" to {high}"
            reject(self, f"{value!r} is not a whole number from {low}{upto}")
        return int(value)

    def integers(self, low: int = 0, high: int | None = None) -> list[int]:
        """A list of such ints."""
        return [entry.integer(low, high) for entry in self.items()]

    def fraction(self) -> Fraction:
        """A fraction as Python prints it."""
        try:
            found = Fraction(self.value) if isinstance(self.value, str) else None
        except (ValueError, ZeroDivisionError):
            found = None
        if found is None or str(found) != self.value:
            reject(self, f"{self.value!r} is not a fraction in lowest terms, as text")
        return found

    def expect(self, wanted: object) -> None:
        """Reject unless the value is what was derived."""
        if type(self.value) is not type(wanted) or self.value != wanted:
            reject(self, f"{self.value!r} is wrong, derived {wanted!r}")


def reject(entry: Entry, why: str) -> NoReturn:
    """Raise the `ClaimError` that names the entry."""
    raise ClaimError(f"{entry.where}: {why}")
