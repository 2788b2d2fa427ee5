"""The errors that a user can meet: one line each, with what, where and what to do.

Every error derives from `KvboundsError`, which carries the exit code of the command line:
2 for bad usage or bad input, 1 for a claim that does not hold or a proof that is missing.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CapacityError",
    "ClaimError",
    "InadmissibleStepError",
    "InputError",
    "KvboundsError",
    "MissingProofError",
    "OptimumError",
    "PolicyError",
    "RoutingError",
]


class KvboundsError(Exception):
    """Base class: an error that is reported as one line and ends with `exit_code`."""

    exit_code: ClassVar[int] = 2


class InputError(KvboundsError):
    """Bad input or bad usage.

    Parameters
    ----------
    what : str
        What is wrong, as a clause without a final full stop.
    where : str, optional
        File and line, step number or JSON pointer.
    fix : str, optional
        What the user can do about it.

    Examples
    --------
    >>> print(InputError("capacity 0 is not positive", where="--capacity", fix="give at least 1"))
    --capacity: capacity 0 is not positive; give at least 1
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        super().__init__((f"{where}: " if where else "") + what + (f"; {fix}" if fix else ""))


class InadmissibleStepError(InputError):
    """A step whose footprint exceeds the capacity (model, section 1: *admissible*).

    Examples
    --------
    >>> print(InadmissibleStepError(step=3, footprint=9, capacity=8, queries=1))
    step 3: its footprint of 9 tokens exceeds the capacity 8; raise the capacity to at least 9
    """

    def __init__(
        self,
        *,
        step: int,
        footprint: int,
        capacity: int,
        queries: int,
        where: str = "",
        unit: str = "tokens",
    ) -> None:
        self.step, self.footprint, self.capacity = step, footprint, capacity
        fix = f"raise the capacity to at least {footprint}"
        if queries > 1:
            fix += " or split the batch (overflow='split', on the command line --overflow split)"
        super().__init__(
            f"its footprint of {footprint} {unit} exceeds the capacity {capacity}",
            where=where or f"step {step}",
            fix=fix,
        )


class CapacityError(InputError):
    """A capacity that is not a positive whole number of tokens."""


class PolicyError(InputError):
    """An unknown policy, a policy that cannot be loaded, or one that breaks its protocol."""


class RoutingError(InputError):
    """An unknown router, a query that fits no worker, or a broken routing protocol."""


class ClaimError(KvboundsError):
    """A claim does not hold: an assertion of a theorem or an invalid certificate."""

    exit_code = 1


class OptimumError(ClaimError):
    """An offline optimum above the cost of a feasible schedule: never a result, always a fault."""


class MissingProofError(KvboundsError):
    """A proof was required and the solver ended without one."""

    exit_code = 1
