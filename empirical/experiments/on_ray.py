"""Calls on the cluster that ray is connected to, each result as soon as it is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from theory.errors import InputError

__all__ = ["check_ray", "on_ray"]

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def check_ray() -> None:
    """Check that ray can be imported, and keep it from sending statistics.

    Raises
    ------
    InputError
        If it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would send them to its makers
    try:
        import ray  # noqa: F401
    except ImportError:
        raise InputError(
            "ray is not installed", where="--backend ray", fix="pip install 'kvbounds[cluster]'"
        ) from None


def on_ray(
    work: Callable[[Argument], Result], arguments: Iterable[Argument], jobs: int = -1
) -> Iterator[Result]:
    """The results of `work` in the order in which they are finished.

    Without a running cluster (RAY_ADDRESS, or ``ray.init`` before) one is started on this machine.

    Parameters
    ----------
    work : callable
        Something that the machines of the cluster can import.
    arguments : iterable
        One a call.
    jobs : int
        Calls at a time; -1 for as many as the cluster has processors.
    """
    check_ray()
    import ray

    if not ray.is_initialized():
        ray.init(num_cpus=jobs if jobs > 0 and "RAY_ADDRESS" not in os.environ else None)
    limit = jobs if jobs > 0 else int(ray.cluster_resources()["CPU"])
    remote = ray.remote(lambda one: work(one))  # noqa: PLW0108 - ray takes no partial
    left = iter(arguments)
    running: list[object] = []
    try:
        while True:
            running += [remote.remote(one) for one in islice(left, limit - len(running))]
            if not running:
                return
            done, running = ray.wait(running)
            yield from ray.get(done)
    finally:
        for one in running:
            ray.cancel(one)
