"""The client that talks to a worker, against servers that send given bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

import tests.gateway.fakes  # noqa: F401 - skips without the extra
from empirical.gateway.upstream import Upstream, UpstreamError

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def upstream(serve: Serve, silence: float = 10.0) -> AsyncIterator[Upstream]:
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    made = Upstream(f"http://127.0.0.1:{port}", connect=5, silence=silence)
    try:
        async with asyncio.timeout(10):
            yield made
    finally:
        made.close()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def sends(*parts: bytes, then_waits: bool = False) -> Serve:
    """Read a request, send the parts one by one, then close (or wait)."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        if then_waits:
            await asyncio.Event().wait()

    return serve


async def fetch(made: Upstream) -> tuple[int, bytes]:
    exchange = await made.send(REQUEST)
    try:
        return exchange.status, await exchange.read()
    finally:
        made.end(exchange)


SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
TO_THE_END = b"HTTP/1.1 200 OK\r\n\r\nhello"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + SIZED


@pytest.mark.parametrize("answer", [SIZED, CHUNKED, TO_THE_END, INTERIM])
@pytest.mark.parametrize("cut", [1, 7, 10**6])
def test_an_answer_however_it_is_cut(answer: bytes, cut: int) -> None:
    async def run() -> None:
        parts = [answer[at : at + cut] for at in range(0, len(answer), cut)]
        async with upstream(sends(*parts)) as made:
            assert await fetch(made) == (200, b"hello")

    asyncio.run(run())


def test_status_without_a_body() -> None:
    async def run() -> None:
        async with upstream(sends(b"HTTP/1.1 204 No Content\r\n\r\n", then_waits=True)) as made:
            assert await fetch(made) == (204, b"")

    asyncio.run(run())


@pytest.mark.parametrize("answer", [SIZED, CHUNKED])
def test_every_truncation_is_an_error(answer: bytes) -> None:
    async def run() -> None:
        for length in range(len(answer)):
            async with upstream(sends(answer[:length])) as made:
                with pytest.raises(UpstreamError, match="closed the connection"):
                    await fetch(made)

    asyncio.run(run())


@pytest.mark.parametrize(
    "answer",
    [
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X%d: %s\r\n" % (n, b"y" * 99) for n in range(700)),
    ],
)
def test_what_is_no_answer(answer: bytes) -> None:
    async def run() -> None:
        async with upstream(sends(answer, then_waits=True)) as made:
            with pytest.raises(UpstreamError, match=r"HTTP/1\.1"):
                await fetch(made)

    asyncio.run(run())


def test_two_answers_to_one_request_spoil_the_connection_only() -> None:
    async def run() -> None:
        async with upstream(sends(SIZED + SIZED)) as made:
            for _ in range(3):
                assert await fetch(made) == (200, b"hello")

    asyncio.run(run())


def test_bytes_on_an_idle_connection_are_no_part_of_the_next_answer() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SIZED)
        await asyncio.sleep(0.01)
        writer.write(b"HTTP/1.1 408 Request Timeout\r\n")
        await reader.read()

    async def run() -> None:
        async with upstream(serve) as made:
            assert await fetch(made) == (200, b"hello")
            await asyncio.sleep(0.05)
            assert await fetch(made) == (200, b"hello")

    asyncio.run(run())


class TestKeepAlive:
    @staticmethod
    def counting(connections: list[int], answer: bytes, most: int = 10**6) -> Serve:
        """Answer at most `most` requests a connection, then close it without a word."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.append(0)
            mine = len(connections) - 1
            for _ in range(most):
                await reader.readuntil(b"\r\n\r\n")
                connections[mine] += 1
                writer.write(answer)

        return serve

    @pytest.mark.parametrize("answer", [SIZED, CHUNKED])
    def test_one_connection_serves_many(self, answer: bytes) -> None:
        async def run() -> None:
            connections: list[int] = []
            async with upstream(self.counting(connections, answer)) as made:
                for _ in range(5):
                    assert await fetch(made) == (200, b"hello")
            assert connections == [5]

        asyncio.run(run())

    def test_close_is_respected(self) -> None:
        async def run() -> None:
            connections: list[int] = []
            answer = SIZED.replace(b"X-A: b", b"Connection: close")
            async with upstream(self.counting(connections, answer)) as made:
                for _ in range(3):
                    assert await fetch(made) == (200, b"hello")
            assert connections == [1, 1, 1]

        asyncio.run(run())

    def test_one_that_the_worker_has_just_closed_is_replaced(self) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(SIZED)
            await reader.readuntil(b"\r\n\r\n")  # takes the second request, and closes

        async def run() -> None:
            async with upstream(serve) as made:
                for _ in range(4):
                    assert await fetch(made) == (200, b"hello")

        asyncio.run(run())

    def test_a_new_one_that_closes_is_a_failure(self) -> None:
        async def run() -> None:
            async with upstream(sends()) as made:
                with pytest.raises(UpstreamError, match="closed the connection"):
                    await made.send(REQUEST)

        asyncio.run(run())


def test_a_slow_reader_makes_the_worker_wait() -> None:
    async def run() -> None:
        total, sent = 32 * 2**20, 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal sent
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
            while sent < total:
                writer.write(b"x" * 2**16)
                sent += 2**16
                await writer.drain()

        async with upstream(serve) as made:
            exchange = await made.send(REQUEST)
            before = -1
            while before != sent:  # until the worker makes no more progress
                before = sent
                await asyncio.sleep(0.02)
            assert sent < total / 2
            assert len(await exchange.read(total)) == total
            made.end(exchange)

    asyncio.run(run())


def test_an_answer_without_end_is_not_read_whole() -> None:
    async def run() -> None:
        endless = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2**16
        async with upstream(sends(endless, then_waits=True)) as made:
            exchange = await made.send(REQUEST)
            with pytest.raises(UpstreamError, match="more than 1000 bytes"):
                await exchange.read(1000)
            made.end(exchange)

    asyncio.run(run())


def test_silence() -> None:
    async def run() -> None:
        for part in (b"", b"HTTP/1.1 200", SIZED[:-1], CHUNKED[:-4]):
            async with upstream(sends(part, then_waits=True), silence=0.02) as made:
                with pytest.raises(UpstreamError, match=r"silent for 0\.02 s") as caught:
                    await fetch(made)
                assert caught.value.silent

    asyncio.run(run())


def test_abandoned_while_it_owes_an_answer() -> None:
    async def run() -> None:
        async with upstream(sends(then_waits=True)) as made:
            asked = asyncio.create_task(made.send(REQUEST))
            for turns in (0, 0.05):  # while it connects, and while it waits
                await asyncio.sleep(turns)
                made.abandon()
                with pytest.raises(UpstreamError, match="taken out"):
                    await asked
                asked = asyncio.create_task(made.send(REQUEST))
            asked.cancel()

    asyncio.run(run())


def test_nobody_listens() -> None:
    async def run() -> None:
        made = Upstream("http://127.0.0.1:9", connect=5, silence=5)
        with pytest.raises(UpstreamError, match="cannot be reached"):
            await made.send(REQUEST)

    asyncio.run(run())
