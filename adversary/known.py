"""The worst cases of the proofs that fit a target."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from adversary.families import FAMILIES
from adversary.target import Target
from theory.errors import InputError
from theory.model import Instance

__all__ = ["known"]


def known(target: Target, longest: int | None = None) -> Iterator[tuple[str, Instance]]:
    """The families that meet the target's rules at its capacity.

    Parameters
    ----------
    target : Target
        The policy and its constraints.
    longest : int, optional
        Without the families whose cycles have more steps than so many.

    Yields
    ------
    name : str
        Of the family.
    instance : Instance
        The instance.

    Examples
    --------
    >>> [name for name, _ in known(Target("leaf-lru", 3))]
    ['cyclic', 'clock-star', 'memoryless', 'rlt-node', 'two-chains', 'frequency', 'newest-first']
    """
    b, length, beta = target.capacity, target.min_length, target.beta
    k = b - length + 1
    size = (b + 2 - length) // 2
    cuts = min(isqrt(2 * k // 3), 8)
    settings: dict[str, dict[str, int]] = {
        "cyclic": {"capacity": b, "length": length, "beta": beta},
        "clock-star": {"slots": k, "length": length},
        "memoryless": {"slots": k, "length": length},
        "rlt-node": {"slots": k, "handle": length - 1},
        "three-chains": {"singles": k - 4, "length": length},
        "two-chains": {"size": size, "handle": length - 1},
        "slack-fixed": {"size": size, "beta": beta, "handle": length - 1},
        "frequency": {"length": b - 1},
        "newest-first": {"length": b - 1},
        "sglang": {},
        "sglang-twice": {"weight": k - 5, "handle": length - 1},
        "sglang-cuts": {"cuts": cuts, "weight": k - 1 - (cuts + 1) ** 2, "handle": length - 1},
        "fifo-batch": {},
    }
    for name, steps in (("clock-star", k**3 // 2), ("memoryless", 4 * k * k)):
        if longest is not None and steps > longest:
            del settings[name]  # it would take seconds to build
    for name, given in settings.items():
        try:
            instance = FAMILIES[name](**given)
        except InputError:
            continue
        batches = set(instance.steps)
        if instance.capacity == b and all(target.allows(instance.trie, one) for one in batches):
            yield name, instance
