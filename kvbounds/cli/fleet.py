"""Real workers for a command: the options that describe them, and how they are started."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kvbounds.cli.output import note
from theory.errors import InputError

if TYPE_CHECKING:
    from empirical.sglang.options import WorkerOptions
    from empirical.sglang.plan import Plan
    from empirical.traces.base import Trace

__all__ = [
    "Device",
    "DeviceOption",
    "LogOption",
    "ModelOption",
    "PageOption",
    "PortOption",
    "PythonOption",
    "check_workers",
    "read_requests",
    "start_workers",
    "worker_options",
]

Device = StrEnum("Device", {"cpu": "cpu", "cuda": "cuda"})

DeviceOption = Annotated[Device, typer.Option(help="Where started workers run.")]
ModelOption = Annotated[
    str | None, typer.Option(help="A model's folder for started workers; random weights.")
]
PageOption = Annotated[int, typer.Option(min=1, help="Tokens a page of started workers.")]
PortOption = Annotated[int, typer.Option(help="The first started worker's port.")]
LogOption = Annotated[str | None, typer.Option(help="Keep the logs of started workers.")]
PythonOption = Annotated[
    str | None, typer.Option(help="The interpreter that has SGLang, if not this one.")
]


def check_workers(worker: list[str] | None, start: int | None) -> None:
    """Refuse both running and started workers, and neither."""
    if (not worker) == (start is None):
        raise InputError("give running workers or start some", fix="use --worker URL or --start N")


def worker_options(
    model: str | None, eviction: str, capacity: int, device: Device, page_size: int
) -> WorkerOptions:
    """How a worker is started, from the command line."""
    from pathlib import Path

    from empirical.sglang.options import WorkerOptions

    return WorkerOptions(
        model=None if model is None else Path(model),
        eviction=eviction,
        capacity=capacity,
        device=device.value,
        page_size=page_size,
    )


def start_workers(
    stack: ExitStack,
    plan: Plan,
    options: WorkerOptions,
    count: int,
    *,
    port: int,
    log_dir: str | None,
    python: str | None,
    seed: int,
    quiet: bool,
) -> list[str]:
    """Start `count` workers that `plan` fits into; they stop with `stack`. Their URLs."""
    from pathlib import Path

    from empirical.sglang.workers import fleet

    plan.check_fits(options.capacity, options.page_size)
    note(f"starting {count} worker{'s' * (count > 1)} on the {options.device}", quiet)
    workers = fleet(
        [options.seeded(seed + index) for index in range(count)],
        range(port, port + count),
        folder=None if log_dir is None else Path(log_dir),
        python=python or sys.executable,
    )
    return [started.url for started in stack.enter_context(workers)]


def read_requests(trace: str | None, workload: str | None, queries: int | None, seed: int) -> Trace:
    """The first `queries` requests of a trace file, or of a workload if there is no file."""
    from empirical.traces.mooncake import load
    from empirical.traces.workload import parse

    requests = load(trace, limit=queries) if trace is not None else parse(str(workload), seed)
    if queries is not None and queries < len(requests):
        requests = requests.select(range(queries))
    return requests
