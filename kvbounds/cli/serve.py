"""``kvbounds serve``: a router as an HTTP server in front of SGLang workers."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from kvbounds.cli.output import QuietOption, SeedOption, note
from theory.errors import InputError

__all__ = ["register"]

WorkerOption = Annotated[
    list[str], typer.Option("--worker", help="A worker, http://HOST:PORT; once for each.")
]
RouterOption = Annotated[
    str, typer.Option(help="Who decides: name[:parameter=value...] or module:Class.")
]
HostOption = Annotated[str, typer.Option(help="The address to listen on.")]
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free port.")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("serve")(serve)


def serve(  # noqa: PLR0917 - typer calls it by keyword
    worker: WorkerOption,
    router: RouterOption = "lbgr",
    host: HostOption = "127.0.0.1",
    port: PortOption = 30000,
    max_in_flight: Annotated[int, typer.Option(help="Requests that a worker has at once.")] = 256,
    max_queue: Annotated[
        int, typer.Option(help="Requests that wait; the next one gets status 429.")
    ] = 1024,
    max_body: Annotated[int, typer.Option(help="Bytes of a request.")] = 32 * 2**20,
    retries: Annotated[int, typer.Option(help="Other workers that a request may go to.")] = 2,
    silence: Annotated[
        float, typer.Option(help="Seconds that a worker may send nothing while it owes an answer.")
    ] = 600,
    connect: Annotated[float, typer.Option(help="Seconds to reach a worker.")] = 3,
    health_interval: Annotated[float, typer.Option(help="Seconds between looks at /health.")] = 5,
    health_timeout: Annotated[float, typer.Option(help="Seconds that a look may take.")] = 5,
    failures: Annotated[
        int, typer.Option(help="Failures in a row until a worker is taken out.")
    ] = 3,
    grace: Annotated[
        float, typer.Option(help="Seconds for running requests when told to stop.")
    ] = 10,
    symbol_tokens: Annotated[
        int, typer.Option(help="Tokens that are one symbol of the prefix index.")
    ] = 16,
    capacity: Annotated[
        int, typer.Option(help="Tokens of a worker's cache, for workers that do not tell.")
    ] = 2**20,
    alpha_miss: Annotated[
        float, typer.Option(help="A worker's ms per missed token (see kvbounds calibrate).")
    ] = 0.1,
    alpha_cached: Annotated[float, typer.Option(help="Its ms per cached token.")] = 0,
    alpha_output: Annotated[float, typer.Option(help="Its ms per output token.")] = 0,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Serve a router over HTTP in front of SGLang workers, until SIGINT or SIGTERM.

    Prints its URL once it listens. /generate, /v1/completions and /v1/chat/completions are
    routed, streams included; /health, /workers and /metrics tell how it is.
    """
    missing = [
        name for name in ("aiohttp", "httptools", "prometheus_client") if not find_spec(name)
    ]
    if missing:
        raise InputError(
            f"serve needs {', '.join(missing)}", fix='run pip install "kvbounds[gateway]"'
        )
    import asyncio
    import logging
    import signal
    import sys

    from empirical.gateway import Gateway, GatewayOptions, serve_until_signal
    from theory.routing import make_router

    options = GatewayOptions(
        max_in_flight=max_in_flight,
        max_queue=max_queue,
        max_body=max_body,
        retries=retries,
        silence=silence,
        connect=connect,
        health_interval=health_interval,
        health_timeout=health_timeout,
        failures=failures,
        grace=grace,
        symbol_tokens=symbol_tokens,
        capacity=capacity,
        alpha_miss=alpha_miss,
        alpha_cached=alpha_cached,
        alpha_output=alpha_output,
    )
    logging.basicConfig(
        stream=sys.stderr,
        format="%(asctime)s %(message)s",
        level=logging.ERROR if quiet else logging.WARNING,
    )
    gateway = Gateway(worker, make_router(router), options, seed=seed)
    if host not in ("127.0.0.1", "::1", "localhost"):
        note(
            f"listening on {host}: everybody who reaches this address can use the workers; "
            "the gateway asks for no key of its own",
            quiet,
        )
    ended_by = asyncio.run(
        serve_until_signal(gateway, host, port, lambda url: print(url, flush=True))
    )
    if ended_by == signal.SIGINT:
        raise KeyboardInterrupt
