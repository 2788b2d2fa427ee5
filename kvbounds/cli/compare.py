"""``kvbounds compare``: routers side by side on the same real workers and requests."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from importlib.util import find_spec
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
    note,
    print_json,
    print_table,
    words,
)
from theory.errors import InputError

if TYPE_CHECKING:
    from empirical.contenders import Contender
    from empirical.sglang.plan import Plan
    from empirical.sglang.target import Target

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("compare", help="Routers side by side on the same real workers.")(compare)


def compare(  # noqa: PLR0917 - typer calls it by keyword
    workload: Annotated[
        str | None, typer.Option(help="A generated trace, e.g. gsp:groups=4,scale=1/16.")
    ] = None,
    trace: Annotated[str | None, typer.Option(help="A trace in the Mooncake format.")] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="Only the first N requests.")] = None,
    output_tokens: Annotated[int, typer.Option(min=1, help="The longest answer, in tokens.")] = 4,
    worker: Annotated[
        list[str] | None, typer.Option(help="A running worker's URL; may be given again.")
    ] = None,
    start: Annotated[int | None, typer.Option(min=1, help="Start N workers for this.")] = None,
    router: Annotated[
        str, typer.Option(help="Routers of kvbounds, separated by commas.")
    ] = "lbgr,cache-aware,round-robin",
    peer: Annotated[
        str, typer.Option(help="Peers: sglang-router, smg, each with :POLICY or not; or none.")
    ] = "sglang-router,smg",
    peer_python: Annotated[
        str | None, typer.Option(help="The interpreter that has the peers, if not this one.")
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, help="So many at a time, not at their times of arrival."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of every router.")] = 1,
    probes: Annotated[
        int, typer.Option(min=0, help="Short requests a turn that measure the overhead.")
    ] = 100,
    alpha_miss: Annotated[
        float | None,
        typer.Option(min=0, help="A worker's ms per missed token; fitted to them if not given."),
    ] = None,
    eviction: Annotated[str, typer.Option(help="Of started workers.")] = "lru",
    capacity: Annotated[int, typer.Option(min=1, help="Tokens of a started worker.")] = 4096,
    page_size: PageOption = 1,
    device: DeviceOption = Device.cpu,
    model: ModelOption = None,
    port: PortOption = 31000,
    log_dir: LogOption = None,
    python: PythonOption = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds of silence after which a request has failed.")
    ] = 60,
    out: Annotated[str | None, typer.Option(help="Write the report (JSON) to this file.")] = None,
    seed: SeedOption = 0,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Measure routers on the same workers, the caches emptied before each turn.

    Hit rate, time to first token, latency, throughput, and what a router adds to a request. A peer
    that is not installed is left out, with the reason.
    """
    if (workload is None) == (trace is None):
        raise InputError(
            "give exactly one source of requests",
            where="compare",
            fix="use --trace FILE or --workload gsp:...",
        )
    check_workers(worker, start)
    if not all(map(find_spec, ("aiohttp", "httptools", "prometheus_client"))):
        raise InputError("compare needs the gateway", fix='run pip install "kvbounds[gateway]"')

    from empirical.compare import Comparison, milliseconds_per_miss
    from empirical.sglang.target import Target
    from empirical.sglang.workers import interrupt_on_signals
    from theory.jsonfile import check_writable, write_json

    check_writable(out)
    plan = _plan(workload, trace, queries, output_tokens, seed)
    _check_routers(router)
    peers, left_out = _peers(peer, peer_python or sys.executable)
    with ExitStack() as stack:
        stack.enter_context(interrupt_on_signals())
        if start is not None:
            options = worker_options(model, eviction, capacity, device, page_size)
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
        targets = [Target.ask(url) for url in worker or ()]
        if alpha_miss is None:
            alpha_miss = milliseconds_per_miss(plan, targets[0])
        contenders = [*_own(router, alpha_miss, seed), *peers]
        run = Comparison(plan, targets, contenders, concurrency, repeats, probes, timeout, left_out)
        try:
            run.run(on_run=lambda name: note(name, quiet))
        finally:
            report = run.report() | {"seed": seed, "alpha_miss_ms": alpha_miss}
            if out is not None and report["rows"]:
                write_json(out, report)
    if output is Format.json:
        print_json(report)
    else:
        _print(report, targets)


def _plan(
    workload: str | None, trace: str | None, queries: int | None, output_tokens: int, seed: int
) -> Plan:
    from empirical.sglang.plan import of_trace

    requests = read_requests(trace, workload, queries, seed)
    return of_trace(requests, longest_output=output_tokens)


def _check_routers(routers: str) -> None:
    from theory.routing import make_router

    for name in words(routers, "--router"):
        make_router(name)


def _own(routers: str, alpha_miss: float | None, seed: int) -> list[Contender]:
    from empirical.contenders import kvbounds_router

    options = ["--seed", str(seed), "--quiet"]
    if alpha_miss is not None:
        options += ["--alpha-miss", repr(alpha_miss)]
    return [kvbounds_router(name, *options) for name in words(routers, "--router")]


def _peers(peers: str, python: str) -> tuple[list[Contender], dict[str, str]]:
    """The peers that are there, and why the others are not."""
    from empirical.contenders import ContenderError, peer_router

    found: list[Contender] = []
    left_out: dict[str, str] = {}
    for name in [] if peers.strip() == "none" else words(peers, "--peer"):
        try:
            found += peer_router(name, python)
        except ContenderError as error:
            left_out[name] = str(error)
    return found, left_out


_COLUMNS = (
    "hit_rate",
    "p50_ttft_ms",
    "p95_ttft_ms",
    "p50_latency_ms",
    "p95_latency_ms",
    "throughput_tok_s",
    "failed",
    "overhead_ms",
)


def _interval(row: dict[str, Any]) -> str:
    if row["overhead_ms"] is None:
        return "-"
    return f"{row['overhead_low_ms']:.2f} to {row['overhead_high_ms']:.2f}"


def _print(report: dict[str, Any], targets: list[Target]) -> None:
    rows = [
        (row["method"], *(row[name] for name in _COLUMNS), _interval(row)) for row in report["rows"]
    ]
    first = targets[0]
    title = (
        f"{report['name']}: {report['requests']} requests, {report['sent']}; {len(targets)} "
        f"workers of {first.capacity} tokens on the {first.device}, {first.eviction}"
    )
    header = ("method", *(name.replace("_", " ") for name in _COLUMNS), "95 % interval")
    print_table(rows, header, title=title)
    print("hit rate: cached tokens of all prompt tokens; overhead: what a router adds to a short")
    print("request, against the same request to the same worker without it, at the median")
    for row in report["left_out"]:
        print(f"left out: {row['method']}: {row['reason']}")
