"""``kvbounds adversary``: write the instance of a worst-case family."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from kvbounds.cli.output import (
    Format,
    FormatOption,
    QuietOption,
    note,
    print_json,
    print_table,
)
from theory.errors import InputError

__all__ = ["register", "settings"]

FAMILY, LIST = "kvbounds/family/1", "kvbounds/families/1"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("adversary", help="Write an instance of a worst-case family.")(adversary)


def adversary(  # noqa: PLR0917 - typer calls it by keyword
    family: Annotated[str | None, typer.Argument(help="The family; --list shows all.")] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List the families and their parameters.")
    ] = False,
    capacity: Annotated[int | None, typer.Option(help="B, in tokens.")] = None,
    length: Annotated[int | None, typer.Option("--length", "-L", help="L, in tokens.")] = None,
    leaves: Annotated[int | None, typer.Option(help="The number of leaves.")] = None,
    beta: Annotated[int | None, typer.Option(help="Distinct queries a batch.")] = None,
    against: Annotated[
        str | None, typer.Option(help="A policy to play against, adaptively.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="The number of steps.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of every random draw.")] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--set", help="More parameters: key=value,key=value; may be repeated."),
    ] = None,
    cycles: Annotated[
        int | None, typer.Option(min=1, help="Write the prefix and this many copies of the cycle.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="The instance file to write; - is stdout.")
    ] = None,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Build the instance of a family, save it, and print what it is."""
    from adversary.families import make_instance, parameters

    if listing:
        _list_families(output)
        return
    if family is None:
        raise InputError(
            "no family is named", where="family", fix="see 'kvbounds adversary --list'"
        )
    defaults = parameters(family)
    options = {
        "capacity": capacity,
        "length": length,
        "leaves": leaves,
        "beta": beta,
        "against": against,
        "steps": steps,
        "seed": seed,
    }
    given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    for text in more or ():
        given.update(settings(text, defaults))
    instance = make_instance(family, given)
    if cycles is not None:
        instance = instance.unrolled(cycles)
    if out == "-":
        print_json(instance.to_json())
        return
    if out is not None:
        instance.save(out)
        note(f"written to {out}", quiet)
    summary = {
        "family": family,
        "B": instance.capacity,
        "u": instance.u,
        "k": instance.k,
        "beta": instance.beta,
        "L": instance.shortest,
        "tokens": len(instance.trie),
        "steps": len(instance.steps),
        "cycle": len(instance.cycle),
    }
    if output is Format.json:
        print_json({"schema": FAMILY, **summary, "notes": dict(instance.notes)})
    else:
        print_table([list(summary.values())], list(summary))
        print(f"shows: {instance.notes['shows']}")


def settings(text: str, defaults: dict[str, Any]) -> dict[str, Any]:
    """Read ``key=value,key=value``; a list of numbers may contain commas itself."""
    found: dict[str, Any] = {}
    for pair in re.split(r",(?=[A-Za-z_-]+=)", text):
        key, equals, value = pair.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key:
            raise InputError(f"{pair!r} is not key=value", where="--set")
        found[key] = _value(key, value.strip(), defaults.get(key))
    return found


def _value(key: str, text: str, default: object) -> Any:
    """Read one value with the type of the default."""
    if isinstance(default, str):
        return text
    try:
        if isinstance(default, tuple):
            return tuple(int(word) for word in text.split(","))
        return int(text)
    except ValueError:
        wanted = "a list of integers" if isinstance(default, tuple) else "an integer"
        raise InputError(f"{text!r} is not {wanted}", where=f"--set {key}") from None


def _list_families(output: Format) -> None:
    from adversary.families import FAMILIES, parameters

    if output is Format.json:
        print_json(
            {
                "schema": LIST,
                "families": [
                    {"family": name, "parameters": parameters(name), "about": _about(build)}
                    for name, build in FAMILIES.items()
                ],
            }
        )
        return
    rows = []
    for name, build in FAMILIES.items():
        shown = (
            f"{key}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
            for key, value in parameters(name).items()
        )
        rows.append([name, " ".join(shown), _about(build)])
    print_table(rows, ["family", "parameters", "about"], left=3)


def _about(build: Any) -> str:
    return str(build.__doc__).split("\n", maxsplit=1)[0]
