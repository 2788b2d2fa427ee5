"""``kvbounds trace``: inspect, generate and convert traces."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvbounds.cli.output import (
    Format,
    FormatOption,
    QuietOption,
    SeedOption,
    cell,
    note,
    print_json,
    print_table,
)
from theory.errors import InputError

if TYPE_CHECKING:
    from empirical.traces.base import Trace

__all__ = ["register"]

_File = Annotated[str, typer.Argument(help="A trace: .jsonl or .jsonl.gz.", metavar="FILE")]
_Out = Annotated[str, typer.Option("--out", help="The file to write.")]


class _Unit(StrEnum):
    block = "block"
    token = "token"


def register(app: typer.Typer) -> None:
    """Add the command group to the application."""
    group = typer.Typer(
        help="Inspect, generate and convert traces.", no_args_is_help=True, rich_markup_mode=None
    )
    group.command("inspect", help="Tell what is in a trace.")(inspect)
    group.command("generate", help="Write a synthetic trace.")(generate)
    group.command("convert", help="Write a trace in another form.")(convert)
    app.add_typer(group, name="trace")


def inspect(file: _File, output: FormatOption = Format.table) -> None:
    """Read a trace, check it, and tell what is in it."""
    from empirical.traces.convert import summarise
    from empirical.traces.mooncake import load

    found = summarise(load(file))
    if output is Format.json:
        print_json({"schema": "kvbounds/trace-summary/1", **asdict(found)})
        return
    lines = [
        ("requests", cell(found.requests)),
        ("sessions", cell(found.sessions)),
        ("arrivals", f"over {found.span_s:,.1f} s at {found.distinct_timestamps:,} distinct times"),
        ("block size", f"{found.block_size} tokens"),
        ("blocks", f"{found.blocks:,}, of which {found.distinct_blocks:,} distinct"),
        ("reuse", f"{found.reuse:.4f} of the blocks had been seen before"),
        ("prompt tokens", cell(found.prompt_tokens)),
        ("prompt length", _spread(found.input_length)),
        ("answer length", _spread(found.output_length)),
        ("footprint", f"{found.u} (= u) to {found.longest} blocks a request"),
        (
            "infinite cache",
            f"hit rate {found.infinite_hit_rate['all']:.4f} of all prompt tokens, "
            f"{found.infinite_hit_rate['last_half']:.4f} of those of the last half",
        ),
    ]
    print_table(lines, (found.name, ""), left=2)


def _spread(lengths: dict[str, float]) -> str:
    return (
        f"min {lengths['min']:,}, median {lengths['p50']:,}, mean {lengths['mean']:,.0f}, "
        f"95 % {lengths['p95']:,}, max {lengths['max']:,} tokens"
    )


def generate(  # noqa: PLR0917 - typer calls it by keyword
    out: _Out,
    requests: Annotated[int, typer.Option(max=10**8, help="Rows.")] = 2000,
    systems: Annotated[int, typer.Option(help="System prompts that sessions share.")] = 16,
    zipf: Annotated[float, typer.Option(help="Skew of their popularity; 0 is uniform.")] = 1.0,
    system_tokens: Annotated[int, typer.Option(help="Mean length of a system prompt.")] = 2048,
    message_tokens: Annotated[int, typer.Option(help="Mean length of a message.")] = 1024,
    answer_tokens: Annotated[int, typer.Option(help="Mean length of an answer.")] = 256,
    turns: Annotated[float, typer.Option(help="Mean turns of a session.")] = 4.0,
    rate: Annotated[float, typer.Option(help="Mean requests a second.")] = 4.0,
    think_ms: Annotated[float, typer.Option(help="Mean time between two turns.")] = 30_000.0,
    block_size: Annotated[int, typer.Option(help="Tokens a block.")] = 512,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Write a trace of sessions with several turns below shared system prompts."""
    from empirical.traces.mooncake import dump
    from empirical.traces.synthetic import generate as generate_trace

    _want(out, (".jsonl", ".jsonl.gz"))
    trace = generate_trace(
        requests,
        seed=seed,
        systems=systems,
        zipf=zipf,
        system_tokens=system_tokens,
        message_tokens=message_tokens,
        answer_tokens=answer_tokens,
        turns=turns,
        rate=rate,
        think_ms=think_ms,
        block_size=block_size,
    )
    dump(trace, out)
    note(f"{out}: {_told(trace)}", quiet)


def convert(
    file: Annotated[
        str,
        typer.Argument(help="A trace (.jsonl, .jsonl.gz) or an instance (.json).", metavar="FILE"),
    ],
    out: _Out,
    rows: Annotated[int | None, typer.Option(min=1, help="Keep the first N rows.")] = None,
    longest: Annotated[
        int | None, typer.Option(min=1, help="Drop prompts of more than N tokens.")
    ] = None,
    block_size: Annotated[
        int | None, typer.Option(min=1, help="Cut prompts into blocks of N tokens.")
    ] = None,
    capacity: Annotated[int | None, typer.Option(help="B, for an instance.")] = None,
    unit: Annotated[_Unit, typer.Option(help="The tokens of an instance.")] = _Unit.block,
    page_size: Annotated[int, typer.Option(min=1, help="Units a page, for an instance.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Requests a step, for an instance.")] = 1,
    quiet: QuietOption = False,
) -> None:
    """Cut, compress or cut anew a trace, or turn it into an instance (--out NAME.json)."""
    from empirical.traces.convert import from_instance, reblock, shorter_than
    from empirical.traces.mooncake import dump, load
    from theory.model import Instance

    _want(out, (".jsonl", ".jsonl.gz", ".json"))
    if file.endswith(".json"):
        trace = from_instance(Instance.load(file))
        if rows is not None:
            trace = trace.select(range(min(rows, len(trace))))
    else:
        trace = load(file, limit=rows)
    if longest is not None:
        trace = shorter_than(trace, longest)
    if block_size is not None:
        trace = reblock(trace, block_size)
    if not out.endswith(".json"):
        dump(trace, out)
        note(f"{out}: {_told(trace)}", quiet)
        return
    if capacity is None:
        raise InputError("an instance needs a capacity", where="--capacity", fix="give one")
    instance = trace.instance(capacity, unit=unit.value, page_size=page_size, batch=batch)
    instance.save(out)
    note(f"{out}: {len(instance.steps):,} steps on {len(instance.trie):,} tokens", quiet)


def _told(trace: Trace) -> str:
    return f"{len(trace):,} requests, {len(trace.parent):,} distinct blocks"


def _want(out: str, suffixes: tuple[str, ...]) -> None:
    if not Path(out).name.endswith(suffixes):
        raise InputError(
            f"{out!r} is of no known kind", where="--out", fix=f"end it with {', '.join(suffixes)}"
        )
