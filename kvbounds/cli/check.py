"""``kvbounds check``: what is wrong with an eviction policy, in a second or two."""

from __future__ import annotations

from typing import Annotated

import typer

from kvbounds.cli.output import Format, FormatOption, SeedOption, print_json, print_table

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("check", help="What is wrong with an eviction policy.")(check)


def check(
    policy: Annotated[str, typer.Argument(help="A policy's name, or your own as module:Class.")],
    capacity: Annotated[
        int, typer.Option(min=2, max=64, help="The largest capacity of the instances, in tokens.")
    ] = 4,
    seed: SeedOption = 0,
    output: FormatOption = Format.table,
) -> None:
    """Hold a policy to every promise of the protocol, on small instances.

    Exit code 1 if a check fails. That none does proves nothing.
    """
    from adversary.checks import check_policy

    found = check_policy(policy, capacity, seed)
    right = all(one.result != "fail" for one in found)
    if output is Format.json:
        print_json(
            {
                "schema": "kvbounds/check/1",
                "policy": policy,
                "capacity": capacity,
                "seed": seed,
                "passed": right,
                "checks": [
                    {
                        "check": one.check,
                        "result": one.result,
                        "detail": one.detail,
                        "case": None if one.case is None else one.case.to_json(),
                    }
                    for one in found
                ],
            }
        )
    else:
        print_table([[*one[:3]] for one in found], ["check", "result", ""], left=3)
    if not right:
        raise typer.Exit(1)
