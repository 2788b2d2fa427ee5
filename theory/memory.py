"""Whether work fits into memory, told before it is begun."""

from __future__ import annotations

import os
from pathlib import Path

from theory.errors import InputError

__all__ = ["available_memory", "check_memory"]


def available_memory() -> int | None:
    """The bytes that this process may still take; None where the system does not tell.

    The least of what the machine has free, what the limits of the process leave (``ulimit -v``)
    and what its control group leaves (containers).
    """
    known = [_free(), _within_limit(), _within_group()]
    return min((value for value in known if value is not None), default=None)


def check_memory(need: int, what: str, *, where: str = "", fix: str = "") -> None:
    """Raise if `need` bytes are more than there are.

    Raises
    ------
    InputError
        With both numbers.

    Examples
    --------
    >>> check_memory(1 << 60, "the trace")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    theory.errors.InputError: the trace needs about 1,073,741,824.0 GiB of memory, ... available
    """
    there = available_memory()
    if there is not None and need > there:
        raise InputError(
            f"{what} needs about {_gib(need)} GiB of memory, {_gib(there)} GiB are available",
            where=where,
            fix=fix,
        )


def _gib(size: int) -> str:
    return f"{max(size, 0) / 2**30:,.1f}"


def _free() -> int | None:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _within_limit() -> int | None:
    try:
        import resource
    except ImportError:  # no such limits on this system
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _lines("/proc/self/statm")
    if limit == resource.RLIM_INFINITY or not pages:
        return None
    return limit - int(pages[0].split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _within_group() -> int | None:
    group = "/sys/fs/cgroup/memory."
    limit, used = _lines(f"{group}max"), _lines(f"{group}current")
    if not limit or not used or limit[0] == "max":
        return None
    return int(limit[0]) - int(used[0])


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").splitlines()
    except OSError:
        return []
