"""The server: what can be asked of it, how it starts and how it stops."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from empirical.gateway.dispatch import Dispatcher
from empirical.gateway.headers import request_bytes
from empirical.gateway.health import Health, Worker
from empirical.gateway.metrics import Metrics
from empirical.gateway.options import GatewayOptions, check_urls
from empirical.gateway.relay import Relay, json_answer, problem, whole_answer
from empirical.gateway.upstream import UpstreamError
from theory.errors import InputError
from theory.routing import Router, WorkerInfo
from theory.routing.prefix import PrefixRouter

__all__ = ["ASKED", "GENERATING", "Gateway", "serve_until_signal"]

log = logging.getLogger("kvbounds.gateway")

# What a client sends that is no HTTP is answered with status 400: no reason for a traceback.
_http_log = logging.getLogger("kvbounds.gateway.http")
_http_log.setLevel(logging.CRITICAL)

GENERATING = ("/generate", "/v1/completions", "/v1/chat/completions")
"""The paths whose requests (POST) are routed."""

ASKED = ("/v1/models", "/model_info", "/get_model_info", "/server_info", "/get_server_info")
"""The paths whose requests (GET) any worker that is up can answer."""


class Gateway:
    """A router as a server, in front of SGLang workers or of anything that speaks like them.

    Parameters
    ----------
    urls : sequence of str
        The workers, ``http://HOST:PORT``.
    router : Router
        Who decides. Its prefix index, if it has one, is bounded here, whatever it is elsewhere.
    options : GatewayOptions
        Limits.
    seed : int
        Seeds the router.

    Raises
    ------
    InputError
        If a URL is none.

    Notes
    -----
    A request is sent to another worker if its own failed before the first byte of an answer went
    to the client; to generate an answer twice does no harm. An answer that breaks off later is
    broken off for the client too, who can then tell. Each request ends in exactly one way (see
    `metrics.OUTCOMES`), and its load is released exactly once.
    """

    def __init__(
        self,
        urls: Sequence[str],
        router: Router,
        options: GatewayOptions | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self.options = options or GatewayOptions()
        self.router = router
        self.metrics = Metrics()
        self._seed = seed
        self._urls = check_urls(list(urls))
        self._hurry = asyncio.Event()

    # Starting and stopping.

    async def start(self, host: str, port: int) -> int:
        """Meet the workers and listen; the port that was taken (for port 0).

        A worker that does not answer yet is taken in once it does.

        Raises
        ------
        InputError
            If the address cannot be listened on.
        """
        self._loop = asyncio.get_running_loop()
        self.workers = [Worker(url, self.options) for url in self._urls]
        self._health = Health(self.workers, self.options, self._on_change)
        await self._meet()
        server = web.Server(
            self._handle, handler_cancellation=True, access_log=None, logger=_http_log
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port, backlog=1024).start()
        except (OSError, OverflowError) as error:
            await self._close()
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                f"cannot listen on {host}:{port} ({reason})",
                where="--port",
                fix="choose a free port of this machine",
            ) from error
        self._watch = asyncio.create_task(self._health.watch())
        return int(self._runner.addresses[0][1])

    async def _meet(self) -> None:
        """Bind the router to what the workers tell of themselves; take out those that do not."""
        told = await asyncio.gather(*map(self._health.capacity, range(len(self.workers))))
        # A worker that is still to come is taken to be like the others.
        tokens = min((found for found in told if found), default=self.options.capacity)
        size = self.options.symbol_tokens
        costs = (self.options.alpha_miss, self.options.alpha_cached, self.options.alpha_output)
        infos = [WorkerInfo(-(-(found or tokens) // size), *costs) for found in told]
        if isinstance(self.router, PrefixRouter):
            self.router.bounded = True
        self.router.bind(infos, self._seed)
        self._dispatcher = Dispatcher(self.router, self.options.max_in_flight, self._now)
        self._relay = Relay(
            self.workers, self._dispatcher, self._health, self.metrics, self.options, self._now
        )
        await self._health.look(patience=1)

    async def stop(self) -> None:
        """Take no more requests, let those that run end within the grace, close everything."""
        if self.stopping:
            return
        self._relay.stopping = True
        for site in list(self._runner.sites):
            await site.stop()
        drained = asyncio.create_task(self._relay.drained())
        hurry = asyncio.create_task(self._hurry.wait())
        await asyncio.wait(
            {drained, hurry}, timeout=self.options.grace, return_when=asyncio.FIRST_COMPLETED
        )
        for task in (drained, hurry, self._watch):
            task.cancel()
        if self.held:
            log.warning("%d requests are broken off", self.held)
        await self._close()

    async def look(self) -> None:
        """Look at the health of all workers now."""
        await self._health.look()

    @property
    def held(self) -> int:
        """Requests that have come and not ended."""
        return self._relay.held

    @property
    def waiting(self) -> int:
        """Requests that wait for a place at a worker."""
        return self._dispatcher.waiting

    @property
    def stopping(self) -> bool:
        """Whether no more requests are taken."""
        return self._relay.stopping

    def end_grace(self) -> None:
        """Have `stop` break off what still runs."""
        self._hurry.set()

    async def _close(self) -> None:
        await self._runner.cleanup()
        for worker in self.workers:
            worker.upstream.close()

    def _on_change(self, index: int) -> None:
        if self.workers[index].up:
            self._dispatcher.back(index)
        else:
            self._dispatcher.down(index)

    def _now(self) -> float:
        return self._loop.time() * 1e3

    # What can be asked.

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        method, path = request.method, request.path
        if method == "POST" and path in GENERATING:
            return await self._relay.handle(request)
        if method == "GET":
            if path == "/health":
                up = self._dispatcher.up
                text = f"{up} of {len(self.workers)} workers\n"
                return web.Response(status=200 if up else 503, text=text)
            if path == "/metrics":
                return self._tell()
            if path == "/workers":
                return json_answer(200, {"workers": self.states()})
            if path in ASKED:
                return await self._ask_any(request)
        return problem(404, f"{method} {path} is not served here")

    def _tell(self) -> web.Response:
        for state in self.states():
            self.metrics.state(state["url"], up=state["up"], in_flight=state["in_flight"])
        self.metrics.waiting.set(self.waiting)
        self.metrics.held.set(self.held)
        return web.Response(body=self.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    def states(self) -> list[dict[str, Any]]:
        """Of each worker: its URL, whether it is up, and its requests in flight."""
        return [
            {"url": worker.url, "up": worker.up, "in_flight": in_flight}
            for worker, in_flight in zip(self.workers, self._dispatcher.in_flight, strict=True)
        ]

    async def _ask_any(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass a question on to the first worker that answers it."""
        for worker in self.workers:
            if not worker.up:
                continue
            upstream = worker.upstream
            data = request_bytes(
                "GET", request.path_qs, upstream.authority, request.raw_headers, None
            )
            try:
                exchange = await upstream.send(data)
                try:
                    return whole_answer(exchange, await exchange.read())
                finally:
                    upstream.end(exchange)
            except UpstreamError:
                continue
        return problem(503, "no worker is up")


async def serve_until_signal(
    gateway: Gateway, host: str, port: int, on_ready: Callable[[str], None]
) -> signal.Signals:
    """Serve until SIGINT or SIGTERM; a second one ends the grace of running requests.

    Parameters
    ----------
    gateway : Gateway
        Not started yet.
    host, port : str, int
        Where to listen; port 0 takes a free one.
    on_ready : callable
        Told the URL once the gateway listens.

    Returns
    -------
    signal.Signals
        The first signal.
    """
    loop = asyncio.get_running_loop()
    came: asyncio.Queue[signal.Signals] = asyncio.Queue()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, came.put_nowait, number)
    taken = await gateway.start(host, port)
    on_ready(f"http://{f'[{host}]' if ':' in host else host}:{taken}")
    first = await came.get()
    stopping = asyncio.create_task(gateway.stop())
    second = asyncio.create_task(came.get())
    await asyncio.wait({stopping, second}, return_when=asyncio.FIRST_COMPLETED)
    if second.done():
        gateway.end_grace()
    second.cancel()
    await stopping
    return first
