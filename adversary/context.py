"""What is proved about the ratio of a policy, to hold the worst case that was found against."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, Literal

from adversary.growth import BATCH, PROVED, SINGLE
from adversary.target import Target
from theory.bounds import BOUNDS, approximate, evaluate
from theory.errors import InputError

__all__ = ["Known", "known_bounds"]


@dataclass(frozen=True)
class Known:
    """A proved bound at the target's capacity.

    Attributes
    ----------
    name : str
        In `theory.bounds.BOUNDS`.
    kind : {"lower", "upper"}
        Of the competitive ratio.
    about : {"class", "marking", "policy"}
        It is proved of every policy that tosses coins (or that tosses none), of every marking
        policy, which this one may be, or of this policy.
    value : int, Fraction or float
        Its value, a float if it is irrational.
    """

    name: str
    kind: Literal["lower", "upper"]
    about: Literal["class", "marking", "policy"]
    value: Fraction | int | float

    @property
    def text(self) -> str:
        """The value as it is printed."""
        return str(self.value) if isinstance(self.value, int) else f"{float(self.value):.4g}"

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "name": self.name,
            "kind": self.kind,
            "about": self.about,
            "value": self.value if isinstance(self.value, float) else str(self.value),
        }


def known_bounds(target: Target, marking: bool) -> list[Known]:
    """The proved bounds that hold for a policy.

    Parameters
    ----------
    target : Target
        The policy and its constraints.
    marking : bool
        Whether the policy may be marking: no violation was found.

    Examples
    --------
    >>> for known in known_bounds(Target("rlt", 3), marking=True):
    ...     print(known.name, known.kind, known.about, known.value)
    yao-lower lower class 11/6
    marking-upper upper marking 3
    rlt-upper upper policy 5
    """
    wanted: list[tuple[str, Literal["class", "marking", "policy"]]] = [
        ("yao-lower" if target.randomised else "deterministic-lower", "class")
    ]
    if marking:
        wanted.append(("marking-upper", "marking"))
    own = PROVED.get(target.policy, {}).get(SINGLE if target.beta == 1 else BATCH, ())
    wanted += [(name, "policy") for name in own if name not in [name for name, _ in wanted]]
    values = {
        "B": target.capacity,
        "L": target.min_length,
        "beta": target.beta,
        "b": target.beta,
        "u": target.capacity - target.k + 1,
        "k": target.k,
        "q": isqrt(2 * target.k // 3),
    }
    found = []
    for name, about in wanted:
        kind = BOUNDS[name].kind
        assert kind in ("lower", "upper"), kind
        try:
            value = approximate(name, **values)
        except InputError:  # a bound for larger caches only
            continue
        try:
            found.append(Known(name, kind, about, evaluate(name, **values)))
        except InputError:  # no rational value
            found.append(Known(name, kind, about, value))
    return found
