"""``kvbounds replay``: the model's sequences on real SGLang workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbounds.cli.fleet import (
    Device,
    DeviceOption,
    LogOption,
    ModelOption,
    PageOption,
    PortOption,
    PythonOption,
    check_workers,
    read_requests,
    start_workers,
    worker_options,
)
from kvbounds.cli.output import (
    Format,
    FormatOption,
    QuietOption,
    SeedOption,
    print_json,
    print_table,
    progress,
)
from theory.errors import InputError

if TYPE_CHECKING:
    from empirical.replay import Replay
    from empirical.sglang.plan import Plan
    from empirical.sglang.target import Target

__all__ = ["register"]

_Mode = StrEnum("_Mode", {"sequential": "sequential", "batch": "batch", "timestamps": "timestamps"})


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("replay", help="Send sequences to real workers; model against measurement.")(replay)


def replay(  # noqa: PLR0917 - typer calls it by keyword
    instance: Annotated[str | None, typer.Option(help="An instance file.")] = None,
    trace: Annotated[str | None, typer.Option(help="A trace in the Mooncake format.")] = None,
    workload: Annotated[
        str | None, typer.Option(help="A generated trace, e.g. gsp:groups=4,scale=1/16.")
    ] = None,
    queries: Annotated[
        int | None, typer.Option(min=1, help="Only the first N requests of a trace.")
    ] = None,
    cycles: Annotated[
        int, typer.Option(min=1, help="How often the cycle of an instance is repeated.")
    ] = 3,
    stretch: Annotated[
        int, typer.Option(min=1, help="Token ids that stand for a token of an instance.")
    ] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Requests of a trace in a step.")] = 1,
    output_tokens: Annotated[int, typer.Option(min=1, help="The longest answer, in tokens.")] = 1,
    worker: Annotated[
        list[str] | None, typer.Option(help="A running worker's URL; may be given again.")
    ] = None,
    start: Annotated[int | None, typer.Option(min=1, help="Start N workers for this.")] = None,
    eviction: Annotated[
        str | None, typer.Option(help="Of the workers; see kvbounds workers start.")
    ] = None,
    capacity: Annotated[
        int | None,
        typer.Option(
            min=1, help="Tokens a started worker holds; by default an instance's, or 4096."
        ),
    ] = None,
    page_size: PageOption = 1,
    device: DeviceOption = Device.cpu,
    model: ModelOption = None,
    port: PortOption = 31000,
    log_dir: LogOption = None,
    python: PythonOption = None,
    router: Annotated[str, typer.Option(help="The router.")] = "round-robin",
    mode: Annotated[
        _Mode, typer.Option(help="One by one, the queries of a step together, or as they arrived.")
    ] = _Mode.sequential,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds of silence after which a worker has failed.")
    ] = 60,
    out: Annotated[str | None, typer.Option(help="Write the report (JSON) to this file.")] = None,
    seed: SeedOption = 0,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Send every query, compare its cached tokens with the model's, and fit the service times.

    The workers' caches are emptied first. The prediction for kvbounds-rlt needs the seed that its
    worker was started with: --seed for the first one, the next number for the next.
    """
    if sum(source is not None for source in (instance, trace, workload)) != 1:
        raise InputError(
            "give exactly one source of queries",
            where="replay",
            fix="use --instance FILE, --trace FILE or --workload gsp:...",
        )
    check_workers(worker, start)

    from empirical.replay import Replay
    from empirical.sglang.client import ServerError
    from empirical.sglang.target import Target
    from empirical.sglang.workers import interrupt_on_signals
    from theory.jsonfile import check_writable, write_json
    from theory.routing import make_router

    check_writable(out)
    make_router(router)
    plan, fitting = _plan(
        instance, trace, workload, queries, cycles, stretch, batch, output_tokens, seed
    )
    with ExitStack() as stack:
        stack.enter_context(interrupt_on_signals())
        if start is not None:
            options = worker_options(
                model, eviction or "lru", capacity or fitting, device, page_size
            )
            worker = start_workers(
                stack,
                plan,
                options,
                start,
                port=port,
                log_dir=log_dir,
                python=python,
                seed=seed,
                quiet=quiet,
            )
        targets = [Target.ask(url, seed + index) for index, url in enumerate(worker or ())]
        _check_eviction(targets, eviction)
        run = Replay(plan, targets, router, mode.value, seed, timeout)
        try:
            with progress(range(len(plan.prompts)), "queries", quiet) as bar:
                ticks = iter(bar)
                run.run(on_done=lambda: _advance(ticks))
        finally:
            report = run.report()
            if out is not None and run.done:
                write_json(out, report)
    if output is Format.json:
        print_json(report)
    else:
        _print(run, report)
    if not report["complete"]:
        missing = len(plan.prompts) - len(run.done)
        raise ServerError(
            f"{missing} of {len(plan.prompts)} queries were not answered, and no worker is left: "
            f"{report['failures'][-1]['error']}"
        )


def _plan(
    instance: str | None,
    trace: str | None,
    workload: str | None,
    queries: int | None,
    cycles: int,
    stretch: int,
    batch: int,
    output_tokens: int,
    seed: int,
) -> tuple[Plan, int]:
    """What is sent, and the capacity that a worker has by default."""
    from empirical.sglang.plan import of_instance, of_trace

    if instance is not None:
        from theory.model import Instance

        found = Instance.load(instance)
        return of_instance(found, cycles=cycles, stretch=stretch), found.capacity * stretch
    requests = read_requests(trace, workload, queries, seed)
    return of_trace(requests, batch=batch, longest_output=output_tokens), 4096


def _advance(ticks: Iterator[int]) -> None:
    next(ticks, None)


def _check_eviction(targets: list[Target], eviction: str | None) -> None:
    for target in targets:
        if eviction not in (None, target.eviction):
            raise InputError(
                f"{target.url} evicts by {target.eviction}, not by {eviction}",
                where="--eviction",
                fix="leave it out: a running worker says itself what it does",
            )


def _print(run: Replay, report: dict[str, Any]) -> None:
    summary = report["summary"]
    lines = []
    for number, target in enumerate(run.targets):
        rows = [row for row in report["rows"] if row["worker"] == number]
        prompt = sum(row["prompt_tokens"] for row in rows)
        measured = sum(row["measured_hits"] for row in rows)
        lines.append(
            (
                number,
                target.eviction,
                target.capacity,
                target.page_size,
                len(rows),
                prompt,
                sum(row["predicted_hits"] for row in rows),
                measured,
                sum(row["predicted_hits"] == row["measured_hits"] for row in rows),
                measured / prompt if prompt else None,
            )
        )
    counts = ("queries", "prompt tokens", "predicted", "measured", "equal", "hit rate")
    title = f"{report['name']}: {report['router']}, {report['mode']}"
    print_table(lines, ("worker", "eviction", "capacity", "page", *counts), title=title, left=2)
    print("predicted, measured: cached tokens; equal: queries in which they are equal")
    if summary["ratio_at_most"] is not None:
        low, high = summary["ratio_at_least"], summary["ratio_at_most"]
        print(
            f"computed: {summary['computed_tokens']} tokens, {low:.4f} to {high:.4f} times the "
            "optimum of the same routing"
        )
    for name, what in _TIMES.items():
        found = (report["fit"] or {}).get(name)
        if found is not None:
            print(f"{what}: {found['value']:.4f} ms ({found['low']:.4f} to {found['high']:.4f})")
    for failure in report["failures"]:
        print(f"failed: query {failure['query']} on worker {failure['worker']}: {failure['error']}")


_TIMES = {
    "fixed_ms": "per query",
    "alpha_miss_ms": "per missed token (alpha_miss)",
    "alpha_cached_ms": "per cached token (alpha_cached)",
    "decode_ms": "per further token of the answer",
    "context_ms": "per further token and token before it",
}
