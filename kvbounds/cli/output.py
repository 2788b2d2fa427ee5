"""What the commands print: results on stdout, progress and logs on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Any, TextIO, TypeVar

import typer

from theory.errors import InputError
from theory.jsonfile import dumps

__all__ = [
    "Format",
    "FormatOption",
    "QuietOption",
    "SeedOption",
    "integers",
    "print_json",
    "print_table",
    "progress",
    "words",
]

Item = TypeVar("Item")


class Format(StrEnum):
    """How a result is printed."""

    table = "table"
    json = "json"


def _alone(context: typer.Context, chosen: Format) -> Format:
    """Keep stdout for the JSON: what a user's policy prints goes to stderr."""
    if chosen is Format.json:
        context.with_resource(_kept_for_json())
    return chosen


@contextmanager
def _kept_for_json() -> Iterator[None]:
    global _stdout  # noqa: PLW0603 - there is one, as there is one sys.stdout
    _stdout = sys.stdout
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _stdout = None


_stdout: TextIO | None = None
"""Where JSON is printed while `sys.stdout` is kept clear of all else."""

FormatOption = Annotated[
    Format, typer.Option("--format", help="Print a table or JSON.", callback=_alone)
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="No progress and no notes on stderr.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random draw.")]


def words(text: str, option: str) -> list[str]:
    """Split a comma-separated list, without empty items.

    Examples
    --------
    >>> words("leaf-lru, rlt", "--policy")
    ['leaf-lru', 'rlt']
    """
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise InputError("the list is empty", where=option)
    return found


def integers(text: str, option: str) -> list[int]:
    """Read a comma-separated list of integers; ``a-b`` is a range.

    Examples
    --------
    >>> integers("2-4,8", "--capacity")
    [2, 3, 4, 8]
    """
    found: list[int] = []
    for word in words(text, option):
        first, dash, last = word.partition("-") if not word.startswith("-") else (word, "", "")
        try:
            low = int(first)
            high = int(last) if dash else low
        except ValueError:
            raise InputError(
                f"{word!r} is not an integer or a range",
                where=option,
                fix="write for example 8 or 2-4 or 2,4,8",
            ) from None
        if high < low or high - low > 10**6:
            raise InputError(f"{word!r} is not a range from low to high", where=option)
        found.extend(range(low, high + 1))
    return found


def print_json(value: Any) -> None:
    """Print `value` as JSON on stdout."""
    (_stdout or sys.stdout).write(dumps(value))


def cell(value: Any) -> str:
    """How one value stands in a table."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10**5 else str(value)
    return str(value)


def print_table(
    rows: Iterable[Sequence[Any]], header: Sequence[str], title: str = "", left: int = 1
) -> None:
    """Print an aligned table on stdout; the first `left` columns are aligned to the left."""
    lines = [list(header), *([cell(value) for value in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    if title:
        print(title)
    for number, line in enumerate(lines):
        cells = (
            text.ljust(width) if i < left else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


@contextmanager
def progress(items: Sequence[Item], label: str, quiet: bool) -> Iterator[Iterable[Item]]:
    """Go through `items` with a progress bar on stderr (none if quiet or not a terminal)."""
    if quiet or not sys.stderr.isatty():
        yield items
        return
    from rich.console import Console
    from rich.progress import track

    yield track(
        items, description=label, console=Console(stderr=True), total=len(items), transient=True
    )


def note(text: str, quiet: bool) -> None:
    """Print a remark on stderr."""
    if not quiet:
        print(text, file=sys.stderr)
