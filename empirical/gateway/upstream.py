"""Connections to one worker: HTTP/1.1, kept alive, one request at a time on each.

This is a client for one purpose. It sends a request whose body is at hand, hands the answer on as
it comes and undecoded, and says how it failed. `httptools` parses what comes back.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from typing import Any
from urllib.parse import urlsplit

import httptools

__all__ = ["Exchange", "Upstream", "UpstreamError"]

_IDLE = 4.0  # a connection that is idle for longer is not used again: servers close them after 5 s
_HEAD_BYTES = 64 * 2**10
_BUFFER = 2**18  # bytes that wait for a slow client before the worker has to wait too


class UpstreamError(Exception):
    """A worker that cannot be reached, breaks off, is silent or speaks no HTTP.

    Attributes
    ----------
    silent : bool
        Whether it just took too long.
    """

    def __init__(self, what: str, *, silent: bool = False) -> None:
        super().__init__(what)
        self.silent = silent


class _TakenOutError(UpstreamError):
    """The gateway itself has given the worker up."""

    def __init__(self) -> None:
        super().__init__("was taken out")


class Exchange(asyncio.Protocol):
    """A connection and the answer that it carries.

    Attributes
    ----------
    status : int
        The answer's status; 0 until its head is there.
    headers : list of (bytes, bytes)
        The answer's headers as they came.
    length : int
        Bytes of the answer's body; -1 if its head does not say.
    """

    def __init__(self, silence: float) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.length = -1
        self.idle_since = 0.0
        self.answering = False  # a byte of the answer has come
        self._silence = silence
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._busy = False
        self._complete = False
        self._keep_alive = False
        self._chunked = False
        self._head_bytes = 0
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self._paused = False
        self._error: UpstreamError | None = None
        self._waiter: asyncio.Future[None] | None = None

    # What is asked of it.

    @property
    def usable(self) -> bool:
        """Whether another request can be sent."""
        transport = self._transport
        return (
            self._error is None
            and not self._busy
            and transport is not None
            and not transport.is_closing()
        )

    async def send(self, data: bytes) -> None:
        """Send a request and wait for the head of the answer.

        Raises
        ------
        UpstreamError
            If the worker fails first.
        """
        assert self._transport is not None
        assert self.usable
        self.status, self.headers, self.length = 0, [], -1
        self._busy, self.answering, self._complete = True, False, False
        self._chunked, self._head_bytes = False, 0
        self._transport.write(data)
        while not self.status:
            await self._wait()

    async def chunk(self) -> bytes:
        """The next part of the answer's body; empty at its end.

        Raises
        ------
        UpstreamError
            If the worker fails before the end.
        """
        while not self._chunks and not self._complete:
            await self._wait()
        if not self._chunks:
            return b""
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._buffered = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def read(self, most: int = 2**24) -> bytes:
        """The rest of the answer's body.

        Raises
        ------
        UpstreamError
            If the worker fails before its end, or it has more than `most` bytes.
        """
        parts, size = [], 0
        while part := await self.chunk():
            parts.append(part)
            size += len(part)
            if size > most:
                raise UpstreamError(f"answers more than {most} bytes")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def finish(self) -> bool:
        """End the exchange; True if the connection can be used again, else it is closed."""
        if self._busy and self._complete and self._keep_alive and not self._chunks:
            self._busy = False
            self.idle_since = self._loop.time()
        if not self.usable:
            self.fail(UpstreamError("the connection is closed"))
            return False
        return True

    def fail(self, error: UpstreamError) -> None:
        """Close the connection; who waits for it gets `error`."""
        if self._error is None:
            self._error = error
        if self._transport is not None:
            self._transport.abort()
        self._wake()

    async def _wait(self) -> None:
        """Wait until something happens, for as long as the worker may be silent."""
        self._check()
        self._waiter = self._loop.create_future()
        timer = self._loop.call_later(self._silence, self._is_silent)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None
        self._check()

    def _check(self) -> None:
        if self._error is not None and not self._complete:
            raise self._error

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _is_silent(self) -> None:
        self.fail(UpstreamError(f"is silent for {self._silence:g} s", silent=True))

    # What the transport tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Parse what has come."""
        if not self._busy or self._complete:
            self.fail(UpstreamError("answers what was not asked"))
            return
        self.answering = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.fail(UpstreamError("does not answer in HTTP/1.1"))

    def connection_lost(self, exc: Exception | None) -> None:
        """End the answer if this is how it ends, or fail."""
        if self.status and self._error is None and self.length < 0 and not self._chunked:
            self._complete = exc is None  # such a body ends with the connection
        self.fail(UpstreamError("closed the connection"))

    # What the parser tells.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > _HEAD_BYTES or self._complete:
            raise ValueError("too many headers, or a second answer")
        self.headers.append((name, value))
        lower = name.lower()
        if lower == b"content-length":
            self.length = int(value)
        elif lower == b"transfer-encoding":
            self._chunked = True

    def on_headers_complete(self) -> None:
        """Publish the head of the answer."""
        status = self._parser.get_status_code()
        if status < 200:  # an interim answer: the real one follows
            self.headers = []
            return
        self.status = status
        self._wake()

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        self._chunks.append(body)
        self._buffered += len(body)
        if self._buffered > _BUFFER and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        """Note the end of the answer."""
        if self.status:
            self._complete = True
            self._keep_alive = self._parser.should_keep_alive()
            self._wake()


class Upstream:
    """The connections to one worker.

    Parameters
    ----------
    url : str
        ``http://HOST:PORT`` or ``https://HOST:PORT``.
    connect : float
        Seconds to reach it.
    silence : float
        Seconds that it may send nothing while it owes something.
    """

    def __init__(self, url: str, *, connect: float, silence: float) -> None:
        parts = urlsplit(url)
        self.host = str(parts.hostname)
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        self.authority = parts.netloc.encode()
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._connect = connect
        self._silence = silence
        self._idle: deque[Exchange] = deque()
        self._busy: set[Exchange] = set()
        self._epoch = 0

    async def send(self, data: bytes) -> Exchange:
        """Send a request; the exchange, with the head of its answer. Give it back with `end`.

        A connection that was kept alive may have been closed by the worker at this very moment.
        Then nothing has come back, and the request goes out again on a new connection.

        Raises
        ------
        UpstreamError
            If the worker cannot be reached or fails before the head of its answer is complete.
        """
        exchange = self._reuse()
        if exchange is not None:
            try:
                return await self._ask(exchange, data)
            except UpstreamError as error:
                if exchange.answering or error.silent or isinstance(error, _TakenOutError):
                    raise
        return await self._ask(await self._open(), data)

    async def _ask(self, exchange: Exchange, data: bytes) -> Exchange:
        self._busy.add(exchange)
        try:
            await exchange.send(data)
        except BaseException:
            self.end(exchange)
            raise
        return exchange

    def end(self, exchange: Exchange) -> None:
        """Keep the connection for the next request if the answer was read to its end."""
        self._busy.discard(exchange)
        if exchange.finish():
            self._idle.append(exchange)
        while self._idle and not self._fresh(self._idle[0]):
            self._idle.popleft().fail(UpstreamError("idle for too long"))

    def abandon(self) -> None:
        """Give up the requests whose answers have not begun, and the idle connections."""
        self._epoch += 1
        for exchange in list(self._busy):
            if not exchange.status:
                exchange.fail(_TakenOutError())
        while self._idle:
            self._idle.pop().fail(_TakenOutError())

    def close(self) -> None:
        """Close all connections."""
        self.abandon()
        for exchange in list(self._busy):
            exchange.fail(_TakenOutError())

    def _reuse(self) -> Exchange | None:
        while self._idle:
            exchange = self._idle.pop()  # the one that was used last: the others may get old
            if self._fresh(exchange):
                return exchange
            exchange.fail(UpstreamError("idle for too long"))
        return None

    @staticmethod
    def _fresh(exchange: Exchange) -> bool:
        now = asyncio.get_running_loop().time()
        return exchange.usable and now - exchange.idle_since < _IDLE

    async def _open(self) -> Exchange:
        epoch = self._epoch
        loop = asyncio.get_running_loop()
        where: dict[str, Any] = {"host": self.host, "port": self.port, "ssl": self._tls}
        try:
            async with asyncio.timeout(self._connect):
                _, exchange = await loop.create_connection(lambda: Exchange(self._silence), **where)
        except TimeoutError:
            what = f"cannot be reached within {self._connect:g} s"
            raise UpstreamError(what, silent=True) from None
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            raise UpstreamError(f"cannot be reached ({reason})") from error
        if epoch != self._epoch:
            exchange.fail(_TakenOutError())
            raise _TakenOutError()
        return exchange
