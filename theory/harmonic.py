"""Harmonic numbers, exactly."""

from __future__ import annotations

from fractions import Fraction

from theory.errors import InputError

__all__ = ["harmonic"]


def harmonic(n: int) -> Fraction:
    """H_n = 1 + 1/2 + ... + 1/n; H_0 = 0.

    Raises
    ------
    InputError
        If `n` is not a natural number.

    Examples
    --------
    >>> harmonic(4)
    Fraction(25, 12)
    """
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        raise InputError(f"there is no harmonic number of {n!r}", fix="give an integer from 0 on")
    numerator, denominator = _sum(1, n + 1)
    return Fraction(numerator, denominator)


def _sum(first: int, stop: int) -> tuple[int, int]:
    """The sum of 1/i for first <= i < stop, not reduced; halves, so that few products are long."""
    if stop - first < 2:
        return (1, first) if stop > first else (0, 1)
    middle = (first + stop) // 2
    (a, b), (c, d) = _sum(first, middle), _sum(middle, stop)
    return a * d + c * b, b * d
