"""``kvbounds verify``: check a certificate from first principles."""

from __future__ import annotations

from typing import Annotated

import typer

from kvbounds.cli.output import Format, FormatOption, print_json
from theory.errors import ClaimError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("verify", help="Check a certificate of an exact ratio.")(verify)


def verify(
    file: Annotated[str, typer.Argument(help="The certificate.")],
    output: FormatOption = Format.table,
) -> None:
    """Re-derive every number of a certificate; exit 1 and name the first that is wrong."""
    from theory.exact.verify import verify_file

    try:
        verdict = verify_file(file)
    except ClaimError as error:
        if output is Format.json:
            print_json({"valid": False, "error": str(error)})
        raise
    if output is Format.json:
        print_json(
            {
                "valid": True,
                "kind": verdict.kind,
                "policy": verdict.policy,
                "ratio": verdict.ratio,
                "establishes": verdict.establishes,
            }
        )
    else:
        print(f"valid: {verdict.establishes}")
