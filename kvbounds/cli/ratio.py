"""``kvbounds ratio``: hit rates and empirical ratios on a trace or an instance."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbounds.cli.output import (
    Format,
    FormatOption,
    QuietOption,
    SeedOption,
    cell,
    integers,
    print_json,
    print_table,
    progress,
    words,
)
from theory.errors import InputError
from theory.jsonfile import check_writable, write_json

if TYPE_CHECKING:
    from empirical.intervals import Interval
    from empirical.ratio import RatioRow, RatioStudy

__all__ = ["register"]


_Unit = StrEnum("_Unit", {"block": "block", "token": "token"})
_Window = StrEnum("_Window", {"all": "all", "last_half": "last-half"})
_Partial = StrEnum("_Partial", {"keep": "keep", "drop": "drop"})
_Overflow = StrEnum("_Overflow", {"error": "error", "at_capacity": "split"})
_Match = StrEnum("_Match", {"full": "full", "all_but_last": "all-but-last"})


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("ratio", help="Measure policies against the offline optimum.")(ratio)


def ratio(  # noqa: PLR0917 - typer calls it by keyword
    trace: Annotated[str | None, typer.Option(help="A trace in the Mooncake format.")] = None,
    instance: Annotated[str | None, typer.Option(help="An instance file.")] = None,
    capacity: Annotated[
        str | None,
        typer.Option(help="Capacities N[,N...] in units; by default that of the instance."),
    ] = None,
    policy: Annotated[str, typer.Option(help="Eviction policies P[,P...].")] = "leaf-lru",
    unit: Annotated[_Unit, typer.Option(help="What capacities and pages count.")] = _Unit.block,
    page_size: Annotated[int, typer.Option(min=1, help="Units a page.")] = 1,
    partial: Annotated[
        _Partial, typer.Option(help="Cache the partial last page of a prompt, or not.")
    ] = _Partial.keep,
    batch: Annotated[int, typer.Option(min=1, help="Requests that are served together.")] = 1,
    overflow: Annotated[
        _Overflow, typer.Option(help="What becomes of a batch larger than the capacity.")
    ] = _Overflow.error,
    bypass: Annotated[
        bool, typer.Option("--bypass", help="Let the optimum refuse to cache a query.")
    ] = False,
    window: Annotated[_Window, typer.Option(help="The requests that rates count.")] = _Window.all,
    match: Annotated[
        _Match, typer.Option(help="Whether an identical prompt hits in full.")
    ] = _Match.full,
    cycles: Annotated[
        int | None, typer.Option(min=1, max=10**9, help="Serve the cycle of the instance so often.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=10**6, help="Runs of a randomised policy.")] = 20,
    seed: SeedOption = 0,
    out: Annotated[str | None, typer.Option(help="Also write the JSON to this file.")] = None,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Serve the sequence with every policy at every capacity, and compare with the optimum."""
    if (trace is None) == (instance is None):
        raise InputError(
            "give either a trace or an instance", where="ratio", fix="use --trace or --instance"
        )
    if trace is not None and capacity is None:
        raise InputError("a trace has no capacity", where="--capacity", fix="give N[,N...]")
    if instance is not None:
        _only_for_traces(unit, batch)
    check_writable(out)
    policies = words(policy, "--policy")
    capacities: list[int] | list[None] = (
        [None] if capacity is None else integers(capacity, "--capacity")
    )

    from empirical.ratio import RatioStudy
    from empirical.traces.mooncake import load
    from theory.eviction import make_policy
    from theory.model import Instance

    for spec in policies:
        make_policy(spec)  # an unknown name is told before a long trace is read
    study = RatioStudy(
        load(trace) if trace is not None else Instance.load(str(instance)),
        unit=unit.value,
        page_size=page_size,
        batch=batch,
        partial=partial.value,
        overflow=overflow.value,
        window=window.value,
        bypass=bypass,
        match=match.value,
        cycles=cycles,
        seed=seed,
        seeds=seeds,
    )
    runs = [(spec, number) for number in capacities for spec in policies]
    with progress(runs, "ratio", quiet) as tracked:
        rows = [study.row(spec, number) for spec, number in tracked]
    result = {**study.describe(), "rows": [row.to_json() for row in rows]}
    if out is not None:
        write_json(out, result)
    if output is Format.json:
        print_json(result)
    else:
        _print(study, rows)


def _only_for_traces(unit: _Unit, batch: int) -> None:
    if unit is not _Unit.block:
        raise InputError("an instance has tokens only", where="--unit", fix="leave the option out")
    if batch != 1:
        raise InputError(
            "an instance has its own batches", where="--batch", fix="leave the option out"
        )


def _print(study: RatioStudy, rows: list[RatioRow]) -> None:
    facts = study.describe()
    header = ["policy", "capacity", "tokens", "hits", "misses", "hit rate", "OPT hit rate"]
    # An instance's cycle has a ratio of its own, which can be unbounded where that of a run is not.
    cyclic = any(row.cycle is not None for row in rows)
    header += ["OPT misses", "ratio of run" if cyclic else "ratio", "95 % interval", "seeds"]
    header += ["ratio of cycle"] * cyclic
    lines: list[list[Any]] = []
    for row in rows:
        lines.append(
            [
                row.policy,
                row.capacity,
                row.tokens,
                _mean(row.hits),
                _mean(row.tokens - row.hits),
                row.hit_rate,
                row.opt_hit_rate,
                row.opt_misses,
                *_ratio_cells(row.ratio),
                *([_of_cycle(row)] if cyclic else []),
            ]
        )
    print_table(lines, header, title=facts["name"])
    print(f"capacity: {facts['capacity_unit']}")
    print(f"hit rate: hit tokens / {facts['denominator']}")
    print(f"OPT:      {facts['optimum']}")
    print(f"ratio:    {facts['ratio_of']}")
    if cyclic:
        print("          that of the cycle: in the repeated cycles below, after as many more")
    for row in rows:
        if row.cycle is not None:
            _, interval, _ = _ratio_cells(row.cycle.ratio)
            print(
                f"cycle:    {row.policy} at {row.capacity}: {row.cycle.misses:g} misses against "
                f"{row.cycle.opt_misses} in {row.cycles} repeated cycles, ratio "
                f"{_of_cycle(row)}"
                f"{'' if interval is None else f' ({interval})'}"
            )


def _mean(tokens: float) -> int | str:
    """A mean over seeds, rounded where what is left out does not show.

    Examples
    --------
    >>> _mean(39), _mean(38.55), _mean(123456.4)
    (39, '38.55', 123456)
    """
    whole = round(tokens)
    return whole if tokens == whole or whole >= 10**4 else f"{float(tokens):.2f}"


def _of_cycle(row: RatioRow) -> str | None:
    if row.cycle is None:
        return None
    if row.cycle.ratio is None:
        return "unbounded" if row.cycle.misses else "0/0"
    return cell(_ratio_cells(row.cycle.ratio)[0])


def _ratio_cells(ratio: Fraction | Interval | None) -> tuple[float | None, str | None, int | None]:
    """Its value, interval and seeds."""
    if ratio is None:
        return None, None, None
    if isinstance(ratio, Fraction):
        return float(ratio), None, None
    known = ratio.low is not None and ratio.high is not None
    return ratio.mean, f"{ratio.low:.4f} to {ratio.high:.4f}" if known else None, ratio.runs
