"""``kvbounds workers``: real SGLang servers, started, watched and stopped."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from kvbounds.cli.fleet import Device, worker_options
from kvbounds.cli.output import QuietOption, SeedOption, note
from theory.errors import InputError

__all__ = ["register"]

CountOption = Annotated[int, typer.Option(min=1, help="How many workers.")]
DeviceOption = Annotated[Device, typer.Option(help="Where they run.")]
ModelOption = Annotated[
    str | None, typer.Option(help="A folder with a model's config.json; weights are random.")
]
TinyOption = Annotated[bool, typer.Option("--tiny", help="A tiny Llama, the default.")]
EvictionOption = Annotated[
    str,
    typer.Option(help="lru, lfu, slru, fifo, mru, filo, kvbounds-leaf-lru, kvbounds-rlt[-step]."),
]
CapacityOption = Annotated[int, typer.Option(min=1, help="Tokens of each memory pool.")]
PageOption = Annotated[int, typer.Option(min=1, help="Tokens a page.")]
PortOption = Annotated[int, typer.Option(help="The first one's port; the others follow.")]
LogOption = Annotated[str | None, typer.Option(help="Keep the servers' logs in this folder.")]
PythonOption = Annotated[
    str | None, typer.Option(help="The interpreter that has SGLang, if not this one.")
]


def register(app: typer.Typer) -> None:
    """Add the command group to the application."""
    group = typer.Typer(help="Start, watch and stop real SGLang servers.", no_args_is_help=True)
    group.callback()(_group)
    group.command("start", help="Start workers and watch them until Ctrl-C.")(start)
    app.add_typer(group, name="workers")


def _group() -> None:
    """Keep the group a group, though it has one command."""


def start(  # noqa: PLR0917 - typer calls it by keyword
    count: CountOption = 1,
    device: DeviceOption = Device.cpu,
    model: ModelOption = None,
    tiny: TinyOption = False,
    eviction: EvictionOption = "lru",
    capacity: CapacityOption = 4096,
    page_size: PageOption = 1,
    port: PortOption = 31000,
    log_dir: LogOption = None,
    python: PythonOption = None,
    wait: Annotated[float, typer.Option(min=1, help="Seconds to wait for readiness.")] = 300,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Start workers, print their URLs when they are ready, and stop them all at the end.

    A worker that dies ends the command, which prints the last lines of its log.
    """
    from pathlib import Path

    from empirical.sglang.workers import fleet, interrupt_on_signals

    if tiny and model is not None:
        raise InputError("--tiny and --model exclude each other", where="--model")
    options = worker_options(model, eviction, capacity, device, page_size)
    note(f"starting {count} worker{'s' * (count > 1)} on the {device.value}", quiet)
    with (
        interrupt_on_signals(),
        fleet(
            [options.seeded(seed + index) for index in range(count)],
            range(port, port + count),
            folder=None if log_dir is None else Path(log_dir),
            python=python or sys.executable,
            timeout=wait,
            on_ready=lambda worker: print(worker.url, flush=True),
        ) as workers,
    ):
        note("ready; Ctrl-C stops them", quiet)
        while True:
            for worker in workers:
                worker.check_alive()
            time.sleep(0.5)
