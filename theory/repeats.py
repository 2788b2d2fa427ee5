"""A deterministic policy does the same when it serves the same steps again."""

from __future__ import annotations

from collections.abc import Sequence

from theory.cache import StepResult
from theory.errors import PolicyError

__all__ = ["check_repeats", "difference", "not_repeated"]


def difference(first: Sequence[StepResult], second: Sequence[StepResult]) -> str | None:
    """The first step in which two runs of the same steps part; None if there is none.

    Examples
    --------
    >>> difference([StepResult((), (2,), (0,))], [StepResult((), (2,), (1,))])
    'step 0: evicts [0], and [1]'
    """
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        if one != other:
            return f"step {number}: evicts {list(one.evicted)}, and {list(other.evicted)}"
    return None


def check_repeats(policy: str, first: Sequence[StepResult], second: Sequence[StepResult]) -> None:
    """Check that two runs of a deterministic policy are one.

    Raises
    ------
    PolicyError
        If they are not: it draws random numbers, or reads what is not in the steps.
    """
    found = difference(first, second)
    if found is not None:
        raise not_repeated(policy, found)


def not_repeated(policy: str, what: str) -> PolicyError:
    """The error of a deterministic policy that does two things in the same place.

    Examples
    --------
    >>> print(not_repeated("mine:Coins", "evicts 1 or 2"))  # doctest: +ELLIPSIS
    policy mine:Coins: evicts 1 or 2 when the same steps are served again; derive a policy ...
    """
    return PolicyError(
        f"{what} when the same steps are served again",
        where=f"policy {policy}",
        fix="derive a policy that tosses coins from RandomisedPolicy, which has the seed, and give "
        f"its distribution(); 'kvbounds check {policy}' tells more",
    )
