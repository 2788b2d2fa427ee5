"""``kvbounds makespan``: every router against the least makespan."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kvbounds.cli.output import (
    Format,
    FormatOption,
    QuietOption,
    SeedOption,
    integers,
    note,
    print_json,
    print_table,
    progress,
    words,
)
from theory.errors import InputError, MissingProofError

if TYPE_CHECKING:
    from empirical.makespan import GapRow, GapSummary
    from empirical.traces.base import Trace
    from theory.routing.instance import Duration, RoutingInstance, Worker

__all__ = ["register"]

_Unit = StrEnum("_Unit", {"block": "block", "token": "token"})
_Reference = StrEnum("_Reference", {"clairvoyant": "clairvoyant", "same_eviction": "same-eviction"})


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("makespan", help="Measure routers against the least makespan.")(makespan)


def makespan(  # noqa: PLR0917 - typer calls it by keyword
    trace: Annotated[str | None, typer.Option(help="A trace in the Mooncake format.")] = None,
    workload: Annotated[
        str | None, typer.Option(help="A generated trace, e.g. gsp:groups=4,prompts=4.")
    ] = None,
    instance: Annotated[
        str | None, typer.Option(help="A routing instance or a routing witness (JSON).")
    ] = None,
    workers: Annotated[int | None, typer.Option(max=10**6, help="Workers; 2 by default.")] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="Only the first N queries.")] = None,
    router: Annotated[str, typer.Option(help="Routers R[,R...], or all.")] = "lbgr",
    eviction: Annotated[str, typer.Option(help="Eviction policies E[,E...].")] = "leaf-lru",
    seeds: Annotated[int, typer.Option(min=1, max=10**6, help="Seeds, from --seed on.")] = 1,
    capacity: Annotated[
        str | None,
        typer.Option(
            help="Units a worker holds, N or one N for each worker; by default half of an even "
            "share of all distinct units, but room for the longest query."
        ),
    ] = None,
    alpha_miss: Annotated[
        str, typer.Option(help="ms per missed token; one, or one for each worker.")
    ] = "1",
    alpha_cached: Annotated[
        str, typer.Option(help="ms per cached token; one, or one for each worker.")
    ] = "0",
    alpha_output: Annotated[
        str, typer.Option(help="ms per output token; one, or one for each worker.")
    ] = "1",
    interval: Annotated[
        float | None,
        typer.Option(min=0, help="ms between arrivals; by default those of the trace."),
    ] = None,
    unit: Annotated[_Unit, typer.Option(help="What a capacity counts.")] = _Unit.block,
    reference: Annotated[
        _Reference,
        typer.Option(help="The optimum over all evictions too, or under the router's policy."),
    ] = _Reference.clairvoyant,
    time_limit: Annotated[
        float, typer.Option(help="Seconds for each program, 0 for no limit.")
    ] = 60.0,
    max_nodes: Annotated[
        int, typer.Option(min=1, help="Nodes of each search for the same-eviction optimum.")
    ] = 200_000,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Also run the rolling horizon, N queries a window.")
    ] = None,
    gantt: Annotated[
        str | None, typer.Option(help="Draw the first run and the optimum (.png, .pdf, .svg).")
    ] = None,
    save: Annotated[
        str | None, typer.Option(help="Write the instance of the first seed to this file.")
    ] = None,
    require_proof: Annotated[
        bool, typer.Option("--require-proof", help="Exit with 1 if an optimum is not proven.")
    ] = False,
    seed: SeedOption = 0,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Serve the queries with every router and eviction policy, and compare with the optimum."""
    if sum(source is not None for source in (trace, workload, instance)) != 1:
        raise InputError(
            "give exactly one source of queries",
            where="makespan",
            fix="use --trace FILE, --workload gsp:... or --instance FILE",
        )
    if workers is not None and workers < 1:
        raise InputError(f"{workers} workers can serve nothing", where="--workers", fix="give 1")
    if not 0 <= time_limit < float("inf"):
        raise InputError(f"{time_limit} is no number of seconds", where="--time-limit")

    from empirical.makespan import MakespanStudy, summarise
    from theory.eviction import make_policy
    from theory.jsonfile import check_writable
    from theory.routing import ROUTERS, make_router

    routers = list(ROUTERS) if router == "all" else words(router, "--router")
    evictions = words(eviction, "--eviction")
    for spec in routers:
        make_router(spec)  # an unknown name is told before a long trace is read
    for spec in evictions:
        make_policy(spec)
    check_writable(gantt, save)
    source = _Source(
        trace,
        workload,
        instance,
        workers,
        queries,
        capacity,
        (alpha_miss, alpha_cached, alpha_output),
        interval,
        "block" if unit is _Unit.block else "token",
    )
    study = MakespanStudy(
        routers,
        evictions,
        reference.value,
        time_limit or None,
        max_nodes=max_nodes,
        horizon=horizon,
    )
    rows: list[GapRow] = []
    chosen = range(seed, seed + seeds)
    with progress(chosen, "seeds", quiet) as steps:
        for current in steps:
            problem = source.problem(current)
            rows += study.run(problem, current)
    first = source.problem(seed)
    if save is not None:
        first.save(save)
        note(f"{save}: {len(first.queries)} queries, {len(first.workers)} workers", quiet)
    if gantt is not None:
        from empirical.gantt import draw_gantt

        best = study.optimum(first, evictions[0], seed)
        draw_gantt(first, routers[0], evictions[0], best, gantt, seed=seed)
        note(f"{gantt}: {routers[0]} with {evictions[0]}, seed {seed}", quiet)
    summary = summarise(rows)
    if output is Format.json:
        print_json(_json(first, reference.value, time_limit, rows, summary))
    else:
        _print(first, reference.value, rows, summary)
    unproven = sum(not row.proven for row in rows)
    if unproven:
        note(
            f"{unproven} of {len(rows)} rows have no proven optimum: their ratio is to a lower "
            "bound, so it is an upper bound itself",
            quiet,
        )
    if unproven and require_proof:
        raise MissingProofError(
            f"{unproven} of {len(rows)} rows have no proven optimum; give fewer queries, or more "
            "time (--time-limit) or nodes (--max-nodes)"
        )


class _Source:
    """Where the queries come from; the instance of each seed."""

    def __init__(
        self,
        trace: str | None,
        workload: str | None,
        instance: str | None,
        workers: int | None,
        queries: int | None,
        capacity: str | None,
        alphas: tuple[str, str, str],
        interval: float | None,
        unit: Literal["block", "token"],
    ) -> None:
        self.trace, self.workload, self.instance = trace, workload, instance
        self.workers, self.queries, self.capacity = workers, queries, capacity
        self.alphas, self.interval, self.unit = alphas, interval, unit
        self._fixed: RoutingInstance | None = None
        if instance is not None and (workers is not None or capacity is not None):
            raise InputError(
                "the instance has its workers",
                where="--workers" if workers is not None else "--capacity",
                fix="leave it out",
            )

    def problem(self, seed: int) -> RoutingInstance:
        """The instance of a seed."""
        if self._fixed is None:
            found = self._build(seed)
            if self.workload is not None:
                return found
            self._fixed = found
        return self._fixed

    def _build(self, seed: int) -> RoutingInstance:
        from empirical.makespan import routing_instance
        from empirical.traces.mooncake import load
        from empirical.traces.workload import parse

        if self.instance is not None:
            from adversary.routing import load_routing_instance

            fixed = load_routing_instance(self.instance)
            return fixed if self.queries is None else fixed.first(self.queries)
        trace = (
            load(self.trace, limit=self.queries)
            if self.trace is not None
            else parse(str(self.workload), seed)
        )
        return routing_instance(
            trace,
            self._workers(trace),
            queries=self.queries,
            unit=self.unit,
            interval=self.interval,
        )

    def _workers(self, trace: Trace) -> list[Worker]:
        from empirical.makespan import default_capacity
        from theory.routing.instance import Worker

        count = self.workers or 2
        capacities = (
            [default_capacity(trace, count, queries=self.queries, unit=self.unit)]
            if self.capacity is None
            else integers(self.capacity, "--capacity")
        )
        columns: list[list[Any]] = [_spread(list(capacities), count, "--capacity")]
        for option, text in zip(
            ("--alpha-miss", "--alpha-cached", "--alpha-output"), self.alphas, strict=True
        ):
            columns.append(_spread(words(text, option), count, option))
        return [Worker(*values) for values in zip(*columns, strict=True)]


def _spread(values: list[Any], count: int, option: str) -> list[Any]:
    """One value for every worker."""
    if len(values) not in (1, count):
        raise InputError(
            f"{len(values)} values for {count} workers", where=option, fix=f"give 1 or {count}"
        )
    return values * count if len(values) == 1 else values


def _number(value: Duration | None) -> int | float | None:
    """A time in JSON: whole as an int, else the nearest float."""
    return value if value is None or isinstance(value, int) else float(value)


def _json(
    first: RoutingInstance,
    reference: str,
    time_limit: float,
    rows: list[GapRow],
    summary: list[GapSummary],
) -> dict[str, Any]:
    return {
        "schema": "kvbounds/makespan/1",
        "name": first.name,
        "queries": len(first.queries),
        "workers": [
            {
                "capacity": worker.capacity,
                "alpha_miss": str(worker.alpha_miss),
                "alpha_cached": str(worker.alpha_cached),
                "alpha_output": str(worker.alpha_output),
            }
            for worker in first.workers
        ],
        "reference": reference,
        "time_limit_s": time_limit or None,
        "rows": [
            {
                "seed": row.seed,
                "router": row.router,
                "eviction": row.eviction,
                "makespan": _number(row.makespan),
                "optimum": _number(row.optimum),
                "bound": _number(row.bound),
                "gap": float(row.gap),
                "proven": row.proven,
                "best_known": _number(row.best_known),
                "ratio": str(row.ratio),
                "hits": row.hits,
                "misses": row.misses,
            }
            for row in rows
        ],
        "summary": [
            {
                "router": line.router,
                "eviction": line.eviction,
                "mean_ratio": float(line.mean),
                "worst_ratio": float(line.worst),
                "worst_seed": line.worst_seed,
                "mean_makespan": float(line.mean_makespan),
                "runs": line.runs,
                "proven": line.proven,
            }
            for line in summary
        ],
    }


def _print(
    first: RoutingInstance, reference: str, rows: list[GapRow], summary: list[GapSummary]
) -> None:
    capacities = sorted({worker.capacity for worker in first.workers})
    print(
        f"{first.name}: {len(first.queries)} queries, {len(first.workers)} workers of "
        f"{', '.join(map(str, capacities))} units; ratio = makespan / optimum ({reference})"
    )
    if len({row.seed for row in rows}) == 1:
        print_table(
            [
                (
                    row.router,
                    row.eviction,
                    _number(row.makespan),
                    _number(row.optimum),
                    _number(row.bound),
                    float(row.ratio),
                    row.proven,
                )
                for row in rows
            ],
            ("router", "eviction", "makespan ms", "optimum ms", "bound ms", "ratio", "proven"),
            left=2,
        )
        return
    print_table(
        [
            (
                line.router,
                line.eviction,
                float(line.mean),
                float(line.worst),
                line.worst_seed,
                float(line.mean_makespan),
                f"{line.proven}/{line.runs}",
            )
            for line in summary
        ],
        ("router", "eviction", "mean ratio", "worst ratio", "at seed", "mean ms", "proven"),
        left=2,
    )
