"""Workers that do as they are told, and a gateway in front of them that has to add up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import pytest

pytest.importorskip("aiohttp", reason='needs pip install "kvbounds[gateway]"')
pytest.importorskip("httptools", reason='needs pip install "kvbounds[gateway]"')

from aiohttp import web

from empirical.gateway import OUTCOMES, Gateway, GatewayOptions
from theory.routing import make_router

Behaviour = Callable[["FakeWorker", web.BaseRequest], Awaitable[web.StreamResponse]]

PATIENCE = 10.0
"""Seconds after which a test that waits for an event has failed."""


async def echo(worker: FakeWorker, request: web.BaseRequest) -> web.StreamResponse:
    """Answer with what was asked."""
    return web.Response(body=worker.bodies[-1], content_type="application/json")


async def hold(worker: FakeWorker, request: web.BaseRequest) -> web.StreamResponse:
    """Answer once the test opens the gate."""
    await worker.gate.wait()
    return web.Response(text="held")


async def stream(worker: FakeWorker, request: web.BaseRequest) -> web.StreamResponse:
    """Send one event, wait for the gate, send another one and the end."""
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await answer.prepare(request)
    await answer.write(b"data: 1\n\n")
    await worker.gate.wait()
    await answer.write(b"data: [DONE]\n\n")
    await answer.write_eof()
    return answer


def status(code: int) -> Behaviour:
    """Answer with a status."""

    async def behave(worker: FakeWorker, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=code, text=f"status {code}")

    return behave


class FakeWorker:
    """An HTTP server on the loopback that counts what it is asked.

    Attributes
    ----------
    behaviour : callable
        How it answers a POST.
    healthy : bool or None
        Whether ``/health`` says so; None: it does not answer at all.
    bodies, headers : list
        What it was asked.
    aborted : int
        Requests that were given up before they were answered.
    """

    def __init__(self, behaviour: Behaviour = echo, capacity: int | None = 4096) -> None:
        self.behaviour = behaviour
        self.capacity = capacity
        self.healthy: bool | None = True
        self.gate = asyncio.Event()
        self.bodies: list[bytes] = []
        self.headers: list[Any] = []
        self.aborted = 0
        self.port = 0
        self._changed = asyncio.Condition()
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen; at the same port as before, if it was stopped."""
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.01)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def kill(self) -> None:
        """Vanish, as a process does: all connections are cut."""
        if self._runner is None:
            return
        runner, self._runner = self._runner, None
        for site in list(runner.sites):
            await site.stop()
        assert runner.server is not None
        for connection in runner.server.connections:
            if connection.transport is not None:
                connection.transport.abort()
        await runner.cleanup()

    async def asked(self, count: int) -> None:
        """Wait until it was asked `count` times."""
        await self._until(lambda: len(self.bodies) >= count)

    async def gave_up(self, count: int) -> None:
        """Wait until `count` requests to it were given up."""
        await self._until(lambda: self.aborted >= count)

    async def _until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(true)

    async def _note(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/health":
            if self.healthy is None:
                await asyncio.Event().wait()
            return web.Response(status=200 if self.healthy else 503)
        if request.path == "/server_info":
            facts = {} if self.capacity is None else {"max_total_num_tokens": self.capacity}
            return web.Response(body=orjson.dumps(facts), content_type="application/json")
        if request.method == "GET":
            return web.Response(text=f"{request.path} of {self.port}")
        self.bodies.append(await request.read())
        self.headers.append(request.headers)
        await self._note()
        try:
            return await self.behaviour(self, request)
        except asyncio.CancelledError:
            self.aborted += 1
            asyncio.get_running_loop().create_task(self._note())
            raise


class Front:
    """A gateway and a client of it."""

    def __init__(
        self, gateway: Gateway, url: str, client: aiohttp.ClientSession, patience: float
    ) -> None:
        self.gateway, self.url, self.client, self.patience = gateway, url, client, patience

    def post(self, value: Any = None, path: str = "/generate", **more: Any) -> Any:
        """Ask; used as a context manager that gives the answer."""
        data = value if isinstance(value, bytes) else orjson.dumps(value or {"input_ids": [1, 2]})
        headers = {"Content-Type": "application/json"} | more.pop("headers", {})
        return self.client.post(self.url + path, data=data, headers=headers, **more)

    async def ask(self, value: Any = None, **more: Any) -> tuple[int, bytes]:
        """Ask; the status and the body of the answer."""
        async with self.post(value, **more) as answer:
            return answer.status, await answer.read()

    def start(self, value: Any = None, **more: Any) -> asyncio.Task[tuple[int, bytes]]:
        """Ask in a task of its own."""
        return asyncio.create_task(self.ask(value, **more))

    def count(self, outcome: str) -> int:
        """How many requests have ended so."""
        return int(self.gateway.metrics.value("kvbounds_outcomes_total", outcome=outcome))

    @property
    def counts(self) -> dict[str, int]:
        """How the requests have ended, what never happened left out."""
        return {name: self.count(name) for name in OUTCOMES if self.count(name)}

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait, a turn of the loop at a time, until something is true."""
        async with asyncio.timeout(self.patience):
            while not true():
                await asyncio.sleep(0.001)

    async def adds_up(self) -> None:
        """Nothing is lost, nothing is counted twice, and no load stays behind."""
        gateway = self.gateway
        await self.until(lambda: gateway.held == 0)
        received = gateway.metrics.value("kvbounds_requests_total")
        assert received == sum(self.counts.values()), (received, self.counts)
        assert not gateway.router.in_flight
        assert gateway.router.requests == [0] * len(gateway.workers)
        assert [state["in_flight"] for state in gateway.states()] == [0] * len(gateway.workers)
        for load in ("load", "queued"):  # what LBGR and LMetric account for themselves
            assert not any(getattr(gateway.router, load, [])), load


@asynccontextmanager
async def front(
    workers: Sequence[FakeWorker | str],
    router: str = "round-robin",
    patience: float = PATIENCE,
    **options: Any,
) -> AsyncIterator[Front]:
    """A gateway before `workers`, which are started; it has to add up at the end.

    Nothing looks after the workers' health but the test itself, with ``gateway.look()``.
    """
    own = [worker for worker in workers if isinstance(worker, FakeWorker)]
    for worker in own:
        if not worker.port:
            await worker.start()
    urls = [worker if isinstance(worker, str) else worker.url for worker in workers]
    options = {"health_interval": 1e6, "grace": PATIENCE, "silence": 1e3} | options
    gateway = Gateway(urls, make_router(router), GatewayOptions(**options))
    port = await gateway.start("127.0.0.1", 0)
    client = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=patience))
    here = Front(gateway, f"http://127.0.0.1:{port}", client, patience)
    try:
        yield here
        await here.adds_up()
    finally:
        await client.close()
        await gateway.stop()
        for worker in own:
            await worker.kill()
