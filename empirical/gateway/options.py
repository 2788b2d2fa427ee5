"""What bounds the gateway, and when a worker counts as dead."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from urllib.parse import urlsplit

from theory.errors import InputError

__all__ = ["GatewayOptions", "check_urls"]


_ALPHAS = ("alpha_miss", "alpha_cached", "alpha_output")


@dataclass(frozen=True)
class GatewayOptions:
    """The limits of a gateway; times are in seconds where nothing else is said.

    Parameters
    ----------
    max_in_flight : int
        Requests that one worker may have at once.
    max_queue : int
        Requests that may be held beyond those; the next one is refused with status 429.
    max_body : int
        Bytes of a request.
    retries : int
        How often a request goes to another worker after one failed before its answer began.
    silence : float
        How long a worker may send nothing while it owes an answer or a part of one.
    connect : float
        How long reaching a worker may take.
    health_interval : float
        Between two looks at each worker.
    health_timeout : float
        How long a look may take.
    failures : int
        Looks or requests in a row that fail until a worker is taken out.
    grace : float
        How long running requests may go on once the gateway is told to stop.
    symbol_tokens : int
        Tokens that one symbol of the prefix index stands for.
    capacity : int
        Tokens that the index remembers of a worker that does not tell its own capacity.
    alpha_miss, alpha_cached, alpha_output : float
        What a worker takes per missed, cached and output token, in ms, for routers that predict
        latencies (``kvbounds calibrate`` measures it).

    Examples
    --------
    >>> GatewayOptions(retries=0).max_queue
    1024
    """

    max_in_flight: int = 256
    max_queue: int = 1024
    max_body: int = 32 * 2**20
    retries: int = 2
    silence: float = 600.0
    connect: float = 3.0
    health_interval: float = 5.0
    health_timeout: float = 5.0
    failures: int = 3
    grace: float = 10.0
    symbol_tokens: int = 16
    capacity: int = 2**20
    alpha_miss: float = 0.1
    alpha_cached: float = 0.0
    alpha_output: float = 0.0

    def __post_init__(self) -> None:
        zero_is_fine = ("max_queue", "retries", "grace", *_ALPHAS)
        for field in fields(self):
            value, where = getattr(self, field.name), f"--{field.name.replace('_', '-')}"
            if not isfinite(value):
                raise InputError(f"{value} is not finite", where=where)
            if value < 0 or (not value and field.name not in zero_is_fine):
                kind = "negative" if field.name in zero_is_fine else "not positive"
                raise InputError(f"{value} is {kind}", where=where)


def check_urls(urls: list[str]) -> list[str]:
    """Return the workers' URLs without a final slash.

    Raises
    ------
    InputError
        If there is none, one is named twice, or one is no ``http://HOST:PORT``.

    Examples
    --------
    >>> check_urls(["http://127.0.0.1:30001/"])
    ['http://127.0.0.1:30001']
    """
    if not urls:
        raise InputError("there is no worker", where="--worker", fix="give at least one URL")
    found: list[str] = []
    for url in urls:
        try:
            parts = urlsplit(url)
            fine = parts.scheme in ("http", "https") and bool(parts.hostname)
            fine = fine and parts.path in ("", "/") and parts.port != 0
            fine = fine and not (parts.query or parts.fragment or parts.username)
        except ValueError:
            fine = False
        if not fine or not url.isascii() or not url.isprintable() or " " in url:
            raise InputError(
                f"{url!r} is no URL of a worker", where="--worker", fix="write http://HOST:PORT"
            )
        if url.rstrip("/") in found:
            raise InputError(f"{url} is named twice", where="--worker", fix="name each worker once")
        found.append(url.rstrip("/"))
    return found
