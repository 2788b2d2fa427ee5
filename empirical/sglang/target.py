"""A worker that is up: where it is and how it serves, as it says itself."""

from __future__ import annotations

from typing import NamedTuple

from empirical.sglang.client import ServerError, server_info
from empirical.sglang.plugin import BACKENDS

__all__ = ["Target"]


class Target(NamedTuple):
    """A worker: where it is and how it serves.

    Attributes
    ----------
    url : str
        ``http://HOST:PORT``.
    eviction : str
        A name of `empirical.sglang.workers.EVICTIONS`.
    capacity, page_size, chunk : int
        In tokens.
    version : str
        SGLang's.
    device : str
        What it runs on.
    seed : int
        Of the plugin.
    overlap : bool
        Whether it schedules a step while the one before is computed.
    """

    url: str
    eviction: str
    capacity: int
    page_size: int
    chunk: int
    version: str
    device: str
    seed: int
    overlap: bool

    @classmethod
    def ask(cls, url: str, seed: int = 0) -> Target:
        """Ask the worker itself; only its seed it does not tell.

        Raises
        ------
        ServerError
            If it cannot be reached or is no SGLang server.
        """
        info = server_info(url)
        try:
            backend = info.get("radix_cache_backend")
            return cls(
                url,
                backend if backend in BACKENDS else info["radix_eviction_policy"],
                int(info["max_total_num_tokens"]),
                int(info["page_size"]),
                int(info["chunked_prefill_size"]),
                str(info["version"]),
                str(info["device"]),
                seed,
                not info["disable_overlap_schedule"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ServerError(f"{url}/server_info lacks {error}; it is no SGLang server") from error
