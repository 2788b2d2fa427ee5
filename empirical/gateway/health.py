"""Which workers are up: looked at regularly, and watched while they serve."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import orjson

from empirical.gateway.headers import request_bytes
from empirical.gateway.options import GatewayOptions
from empirical.gateway.upstream import Upstream, UpstreamError

__all__ = ["Health", "Worker"]

log = logging.getLogger("kvbounds.gateway")


class Worker:
    """A worker: its address, its connections, and whether it is up.

    Attributes
    ----------
    url : str
        ``http://HOST:PORT``.
    up : bool
        Whether it takes requests.
    failed_looks, failed_requests : int
        How many it has failed in a row.
    """

    def __init__(self, url: str, options: GatewayOptions) -> None:
        self.url = url
        self.up = True
        self.failed_looks = self.failed_requests = 0
        self.upstream = Upstream(url, connect=options.connect, silence=options.silence)


class Health:
    """Takes workers out that fail, and in again when they are healthy.

    Parameters
    ----------
    workers : sequence of Worker
        All of them.
    options : GatewayOptions
        How often to look, and how many failures are too many.
    on_change : callable
        Told the index of a worker whose `up` has changed.

    Notes
    -----
    A worker that comes back is on probation: the next failure takes it out again, an answer ends
    the probation. So one whose ``/health`` is fine while it fails all requests costs one retry a
    look.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        options: GatewayOptions,
        on_change: Callable[[int], None],
    ) -> None:
        self._workers = workers
        self._options = options
        self._on_change = on_change

    async def watch(self) -> None:
        """Look at all workers again and again; ends when it is cancelled."""
        while True:
            await asyncio.sleep(self._options.health_interval)
            try:
                await self.look()
            except Exception:  # of a user's router that is told: the next look must come
                log.exception("a look at the workers failed")

    async def look(self, patience: int | None = None) -> None:
        """Look at all workers once; `patience` failed looks in a row take a worker out."""
        limit = self._options.failures if patience is None else patience
        await asyncio.gather(*(self._look_at(i, limit) for i in range(len(self._workers))))

    async def _look_at(self, index: int, patience: int) -> None:
        worker = self._workers[index]
        try:
            status, _ = await self._get(worker, "/health")
            why = "" if status == 200 else f"its /health answers {status}"
        except UpstreamError as error:
            why = f"it {error}"
        if why:
            worker.failed_looks += 1
            if worker.failed_looks >= patience:
                self.take_out(index, why)
            return
        worker.failed_looks = 0
        if not worker.up:
            worker.up, worker.failed_requests = True, self._options.failures - 1
            log.warning("worker %s is back", worker.url)
            self._on_change(index)

    def failure(self, index: int, why: str) -> None:
        """Count a request that the worker has failed; too many in a row take it out."""
        worker = self._workers[index]
        worker.failed_requests += 1
        if worker.failed_requests >= self._options.failures:
            self.take_out(index, why)

    def success(self, index: int) -> None:
        """Note that the worker has answered a request."""
        self._workers[index].failed_requests = 0

    def take_out(self, index: int, why: str) -> None:
        """Send nothing to a worker any more; what it has not begun to answer comes back."""
        worker = self._workers[index]
        if not worker.up:
            return
        worker.up = False
        log.warning("worker %s is taken out: %s", worker.url, why)
        self._on_change(index)
        worker.upstream.abandon()

    async def capacity(self, index: int) -> int | None:
        """The tokens that a worker's cache holds; None if it does not tell."""
        try:
            _, body = await self._get(self._workers[index], "/server_info")
            told = orjson.loads(body)["max_total_num_tokens"]
        except (UpstreamError, orjson.JSONDecodeError, KeyError, TypeError):
            return None
        return told if isinstance(told, int) and told > 0 else None

    async def _get(self, worker: Worker, path: str) -> tuple[int, bytes]:
        data = request_bytes("GET", path, worker.upstream.authority, (), None)
        try:
            async with asyncio.timeout(self._options.health_timeout):
                exchange = await worker.upstream.send(data)
                try:
                    return exchange.status, await exchange.read()
                finally:
                    worker.upstream.end(exchange)
        except TimeoutError:
            raise UpstreamError(
                f"does not answer {path} within {self._options.health_timeout:g} s", silent=True
            ) from None
