"""The command line: one file a command group, each imported only when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

import kvbounds
from theory.errors import KvboundsError
from theory.plugins import users_own

__all__ = ["COMMANDS", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "exact": ("kvbounds.cli.exact", "Exact competitive ratios on finite tries."),
    "verify": ("kvbounds.cli.verify", "Check a certificate of an exact ratio."),
    "validate": ("kvbounds.cli.validate", "Hold the policies to the proven bounds."),
    "ratio": ("kvbounds.cli.ratio", "Measure policies against the offline optimum."),
    "curve": ("kvbounds.cli.curve", "Hit rate and ratio to the optimum at many capacities."),
    "check": ("kvbounds.cli.check", "What is wrong with an eviction policy."),
    "attack": ("kvbounds.cli.attack", "Find the worst case of any eviction policy."),
    "zoo": ("kvbounds.cli.zoo", "One table of all policies."),
    "adversary": ("kvbounds.cli.adversary", "Write an instance of a worst-case family."),
    "makespan": ("kvbounds.cli.makespan", "Measure routers against the least makespan."),
    "simulate": ("kvbounds.cli.simulate", "Simulate a cluster: routers, evictions, latencies."),
    "experiment": ("kvbounds.cli.experiment", "The paper's experiments and ten questions."),
    "workers": ("kvbounds.cli.workers", "Start, watch and stop real SGLang servers."),
    "replay": ("kvbounds.cli.replay", "Send sequences to real workers; model against measurement."),
    "calibrate": ("kvbounds.cli.calibrate", "Fit a profile of a worker to a replay."),
    "trace": ("kvbounds.cli.trace", "Inspect, generate and convert traces."),
    "proofs": ("kvbounds.cli.proofs", "The theorems that Coq has checked."),
    "compare": ("kvbounds.cli.compare", "Routers side by side on the same real workers."),
    "serve": ("kvbounds.cli.serve", "A router as an HTTP server in front of SGLang workers."),
    "claims": ("kvbounds.cli.claims", "The ledger of claims, and whether they hold."),
}
"""Command -> (module with a function ``register(app)``, one line of help)."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kvbounds {kvbounds.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Verify and validate the theory of KV-cache eviction and routing in LLM serving."""


def _not_loaded() -> None:
    """Stand for a command in the list of commands."""


def build_app(wanted: str | None = None) -> typer.Typer:
    """The application with the command `wanted` loaded and all others listed."""
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
    )
    app.callback()(_options)
    for name, (module, line) in COMMANDS.items():
        if name == wanted:
            importlib.import_module(module).register(app)
        else:
            app.command(name, help=line)(_not_loaded)
    return app


def _fail(message: str, code: int) -> NoReturn:
    print(f"kvbounds: error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


def _fail_of_user(error: BaseException) -> None:
    """End here if a class of the user raised the error."""
    place = users_own(error)
    if place is not None:
        told = f"{type(error).__name__}: {error}".rstrip(": ")
        _fail(f"{place}: {told}; mend the class (KVBOUNDS_DEBUG=1 shows the traceback)", 2)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 done, 1 a claim failed, 2 bad input, 130 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:  # closed, as by >&-
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - as long as the process
    wanted = next((word for word in given if not word.startswith("-")), None)
    try:
        command = typer.main.get_command(build_app(wanted))
        code = command.main(given, prog_name="kvbounds", standalone_mode=False)
        sys.stdout.flush()
    except KvboundsError as error:
        _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted; what was finished is kept", 130)
    except (BrokenPipeError, SystemExit) as error:
        # The reader of our output has gone; nothing is left to say, and nobody to say it to.
        # typer ends with code 1 then, and hides what it has done to stdout.
        if isinstance(error, SystemExit) and type(sys.stdout).__name__ != "PacifyFlushWrapper":
            _fail_of_user(error)
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
    except MemoryError:
        _fail("out of memory; give a smaller instance, fewer capacities or a shorter trace", 2)
    except OSError as error:
        if os.environ.get("KVBOUNDS_DEBUG"):
            raise
        _fail_of_user(error)
        where = error.filename or "the output"
        _fail(f"{where}: {error.strerror or error}; make room, or name another place", 2)
    except OverflowError as error:
        if os.environ.get("KVBOUNDS_DEBUG"):
            raise
        _fail(f"a number is too large to compute with ({error}); give smaller ones", 2)
    except Exception as error:
        if os.environ.get("KVBOUNDS_DEBUG"):
            raise
        usage = getattr(error, "format_message", None)
        if callable(usage):
            if type(error).__name__ == "NoArgsIsHelpError":
                print(usage())
                sys.exit(0)
            path = getattr(getattr(error, "ctx", None), "command_path", "kvbounds")
            _fail(f"{usage().rstrip('.')}; see '{path} --help'", 2)
        _fail_of_user(error)
        _fail(
            f"{type(error).__name__}: {error}; this is a fault of kvbounds: please report it "
            "(KVBOUNDS_DEBUG=1 shows where)",
            2,
        )
    if code == 130:  # typer turns Ctrl-C into this code, without a word
        _fail("interrupted; what was finished is kept", 130)
    sys.exit(code if isinstance(code, int) else 0)
