"""``kvbounds simulate``: a cluster of LLM workers, without a GPU."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    from empirical.experiments.sweep import Row

__all__ = ["register"]

SCHEMA = "kvbounds/simulate/1"

_Window = StrEnum("_Window", {"all": "all", "last_half": "last-half"})
_Scheduler = StrEnum("_Scheduler", {"prefill_first": "prefill-first", "mixed": "mixed"})


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("simulate", help="Simulate a cluster: routers, evictions, latencies.")(simulate)


def simulate(  # noqa: PLR0917 - typer calls it by keyword
    trace: Annotated[
        str | None, typer.Option(help="A file in the Mooncake format, plain or gzip.")
    ] = None,
    workload: Annotated[
        str | None, typer.Option(help="A generated trace, e.g. gsp:groups=16,prompts=32,rate=2.")
    ] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="Only the first N queries.")] = None,
    router: Annotated[str, typer.Option(help="Routers R[,R...], or all.")] = "lbgr",
    eviction: Annotated[
        str,
        typer.Option(
            help="Eviction policies E[,E...] with parameters (slru:threshold=3), your own as "
            "module:Class, or all built-in ones."
        ),
    ] = "leaf-lru",
    workers: Annotated[int, typer.Option(min=1, max=10**6, help="Workers.")] = 4,
    profile: Annotated[
        str,
        typer.Option(
            help="Speed and memory of the workers: llama-3.1-8b-l40, llama-3.1-70b-h200x4, "
            "mixtral-8x7b-h200x4 or a file of kvbounds calibrate; one, or one for each."
        ),
    ] = "llama-3.1-8b-l40",
    speed: Annotated[float, typer.Option(help="How many times as fast as the profile.")] = 1.0,
    capacity: Annotated[
        int | None, typer.Option(min=1, help="Tokens of KV memory; by default the profile's.")
    ] = None,
    memory_fraction: Annotated[
        float | None, typer.Option(help="The share of the memory for weights and KV cache.")
    ] = None,
    arrivals: Annotated[
        str,
        typer.Option(
            help="trace, poisson:rate=R, bursty:rate=R,cv=C, regular:rate=R or closed:clients=N."
        ),
    ] = "trace",
    think_ms: Annotated[
        float, typer.Option(min=0, help="ms between an answer and what waits for it.")
    ] = 0.0,
    scheduler: Annotated[
        _Scheduler, typer.Option(help="Prefill before decode, or both in an iteration.")
    ] = _Scheduler.prefill_first,
    chunk: Annotated[int, typer.Option(min=1, help="Prompt tokens of an iteration.")] = 8192,
    max_running: Annotated[int, typer.Option(min=1, help="Queries that run at a time.")] = 256,
    window: Annotated[_Window, typer.Option(help="The queries that are counted.")] = _Window.all,
    seeds: Annotated[int, typer.Option(min=1, max=10**6, help="Seeds, from --seed on.")] = 1,
    jobs: Annotated[int, typer.Option(help="Processes; -1: one a core.")] = 1,
    timings: Annotated[
        bool, typer.Option("--timings", help="Also what decisions take on this machine.")
    ] = False,
    out: Annotated[
        str | None, typer.Option(help="Keep finished runs in this file (JSON), and use them.")
    ] = None,
    seed: SeedOption = 0,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Serve the queries with every router and eviction policy; a row for each pair."""
    if (trace is None) == (workload is None):
        raise InputError(
            "give exactly one source of queries",
            where="simulate",
            fix="use --trace FILE or --workload gsp:...",
        )
    from empirical.experiments.setting import Setting, is_file, trace_file

    if trace is not None and not trace_file(trace).is_file():
        raise InputError("cannot be read (no such file)", where=trace, fix="check the path")
    if trace is not None and not is_file(trace):
        trace = f"./{trace}"  # a file that is called like a workload

    from empirical.cluster.evictions import EVICTIONS, make_cache
    from empirical.experiments.sweep import Sweep
    from theory.routing import ROUTERS, make_router

    routers = list(ROUTERS) if router == "all" else words(router, "--router")
    evictions = list(EVICTIONS) if eviction == "all" else words(eviction, "--eviction")
    for name in routers:
        make_router(name)  # an unknown name is told before a long trace is read
    for name in evictions:
        make_cache(name, [], 1)
    base = Setting(
        workload=str(trace or workload),
        workers=workers,
        profile=profile,
        queries=queries,
        arrivals=arrivals,
        think_ms=think_ms,
        speed=speed,
        capacity=capacity,
        memory_fraction=memory_fraction,
        scheduler=scheduler.value,
        chunk=chunk,
        max_running=max_running,
        window=window.value,
    )
    sweep = Sweep(
        out,
        jobs=jobs,
        timed=timings,
        on_done=lambda done, count: note(f"run {done} of {count}", quiet or count < 2),
    )
    chosen = [base.but(router=r, eviction=e) for e in evictions for r in routers]
    rows = sweep.rows(chosen, range(seed, seed + seeds))
    if output is Format.json:
        print_json({"schema": SCHEMA, "setting": _common(base), "rows": rows})
    else:
        print_rows(rows, title=_title(base, rows), timings=timings)


def _common(base: Any) -> dict[str, Any]:
    fields: dict[str, Any] = base.to_json()
    return {k: v for k, v in fields.items() if k not in ("router", "eviction", "seed")}


def _title(base: Any, rows: list[Row]) -> str:
    first = rows[0]
    return (
        f"{base.workload}: {first['requests']:,.0f} queries ({base.window}), {base.workers} x "
        f"{base.profile}{f' at {base.speed:g} times its speed' if base.speed != 1 else ''}, "
        f"arrivals {base.arrivals}, seeds {first['seeds'][0]}-{first['seeds'][-1]}\n"
        f"hit rate = cached prompt tokens / {first['prompt_tokens']:,.0f} prompt tokens"
        + (
            f"; no cluster exceeds {first['hit_rate_bound']:.2%}"
            if first.get("hit_rate_bound") is not None
            else ""
        )
    )


COLUMNS = (
    ("hit rate", "hit_rate", "{:.2%}"),
    ("P50 latency ms", "p50_latency_ms", "{:,.0f}"),
    ("P95", "p95_latency_ms", "{:,.0f}"),
    ("P99", "p99_latency_ms", "{:,.0f}"),
    ("P50 TTFT ms", "p50_ttft_ms", "{:,.0f}"),
    ("P95", "p95_ttft_ms", "{:,.0f}"),
    ("tokens/s", "throughput_tok_s", "{:,.0f}"),
    ("imbalance", "imbalance", "{:.3f}"),
)
TIMINGS = (
    ("routing us", "routing_us", "{:.1f}"),
    ("eviction us", "eviction_us", "{:.1f}"),
)


def print_rows(rows: list[Row], title: str, timings: bool = False) -> None:
    """Print the figures of settings, with half the width of the 95 % interval of each mean."""
    columns = COLUMNS + TIMINGS if timings else COLUMNS
    print_table(
        [
            (row["method"], *(_cell(row, field, shape) for _, field, shape in columns))
            for row in rows
        ],
        ("method", *(name for name, _, _ in columns)),
        title=title,
    )


def _cell(row: Row, field: str, shape: str) -> str:
    text = shape.format(row[field])
    interval = row["intervals"].get(field)
    return f"{text} ±{shape.format((interval[1] - interval[0]) / 2)}" if interval else text
