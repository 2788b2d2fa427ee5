"""The life of one request: read, placed, passed on, its answer passed back; counted once."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from aiohttp import web

from empirical.gateway.dispatch import Dispatcher
from empirical.gateway.headers import answer_headers, request_bytes
from empirical.gateway.health import Health, Worker
from empirical.gateway.metrics import Metrics
from empirical.gateway.options import GatewayOptions
from empirical.gateway.prompt import read_prompt
from empirical.gateway.upstream import Exchange, UpstreamError
from theory.errors import InputError, RoutingError
from theory.routing import RoutedQuery

__all__ = ["Relay", "json_answer", "problem", "whole_answer"]

log = logging.getLogger("kvbounds.gateway")

_WHOLE = 2**20  # an answer of at most so many bytes is read whole before it is passed back


class _RefusedError(Exception):
    """The gateway does not take the request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.response = problem(status, message)


class _FailedError(Exception):
    """No worker has answered; with the answer that says so."""

    def __init__(self, response: web.StreamResponse) -> None:
        super().__init__()
        self.response = response


class _ClientGoneError(Exception):
    """The client has hung up."""


class _BrokenOffError(Exception):
    """The worker failed after a part of its answer had been passed back."""

    def __init__(self, stream: web.StreamResponse) -> None:
        super().__init__()
        self.stream = stream


class Relay:
    """Passes requests to workers and their answers back.

    Attributes
    ----------
    held : int
        Requests that have come and not ended.
    stopping : bool
        Whether new requests are refused.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        dispatcher: Dispatcher,
        health: Health,
        metrics: Metrics,
        options: GatewayOptions,
        clock: Callable[[], float],
    ) -> None:
        self.held = 0
        self.stopping = False
        self._workers = workers
        self._dispatcher = dispatcher
        self._health = health
        self._metrics = metrics
        self._options = options
        self._clock = clock
        self._ids = itertools.count()
        self._ended = asyncio.Event()
        self._most_symbols = max(info.capacity or 0 for info in dispatcher.router.workers)

    async def drained(self) -> None:
        """Wait until all requests have ended."""
        while self.held:
            self._ended.clear()
            await self._ended.wait()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve a request to one of the generating paths."""
        self._metrics.received.inc()
        start = self._clock()
        outcome = "cancelled"  # so it stays if the client hangs up, which cancels this task
        self.held += 1
        try:
            self._check_room()
            body = await self._read(request)
            response = await self._answer(request, body)
            outcome = "answered"
            self._metrics.latency.observe((self._clock() - start) / 1e3)
        except _RefusedError as refused:
            outcome, response = "refused", refused.response
        except _FailedError as failed:
            outcome, response = "failed", failed.response
        except _BrokenOffError as broken:
            outcome, response = "failed", broken.stream
            if request.transport is not None:
                request.transport.close()  # without the end of the stream, so that it shows
        except _ClientGoneError:
            raise ConnectionResetError from None
        except Exception as error:
            log.exception("a request failed")
            outcome = "failed"
            response = problem(500, f"the gateway failed: {type(error).__name__}: {error}")
        finally:
            self.held -= 1
            self._ended.set()
            self._metrics.outcome[outcome].inc()
        return response

    def _check_room(self) -> None:
        """Refuse what is beyond the places of all workers and the queue."""
        options = self._options
        if self.stopping:
            raise _RefusedError(503, "the gateway is stopping")
        room = options.max_in_flight * max(1, self._dispatcher.up) + options.max_queue
        if self.held > room:
            raise _RefusedError(429, "all workers and the queue are full; try again later")

    async def _read(self, request: web.BaseRequest) -> bytes:
        most = self._options.max_body
        if (request.content_length or 0) > most:
            raise _RefusedError(413, f"the request is larger than {most} bytes")
        try:
            if request.content.is_eof():  # a small one has come together with its head
                body = request.content.read_nowait()
            else:
                async with asyncio.timeout(self._options.silence):
                    body = await _read_all(request, most)
        except TimeoutError:
            raise _RefusedError(408, "the request does not come to an end") from None
        except web.RequestPayloadError:
            raise _RefusedError(
                400, "the request's body cannot be read as its headers say"
            ) from None
        except ConnectionError:
            raise _ClientGoneError from None
        if len(body) > most:
            raise _RefusedError(413, f"the request is larger than {most} bytes")
        return body

    def _query(self, body: bytes) -> RoutedQuery:
        size = self._options.symbol_tokens
        try:
            prompt = read_prompt(body, size)
        except InputError as error:
            raise _RefusedError(400, str(error)) from error
        return RoutedQuery(
            id=next(self._ids),
            # Whether a prompt is too long is for the worker to say: lengths of texts are guessed.
            prompt=prompt.symbols[: self._most_symbols],
            length=prompt.length,
            output_tokens=prompt.output_tokens,
            session=prompt.session,
            tokens_per_symbol=size,
        )

    async def _answer(self, request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        """Have one worker after the other try, until one answers."""
        start = self._clock()
        query = self._query(body)
        tried: frozenset[int] = frozenset()
        failed: _FailedError | None = None
        for attempt in range(self._options.retries + 1):
            try:
                index = await self._dispatcher.place(query, tried)
            except RoutingError:
                break
            if attempt:
                self._metrics.retries.inc()
            else:
                self._metrics.placing.observe((self._clock() - start) / 1e3)
            tried |= {index}
            try:
                return await self._try(request, body, query, index)
            except _FailedError as error:
                failed = error
        raise failed or _FailedError(problem(503, "no worker is up"))

    async def _try(
        self, request: web.BaseRequest, body: bytes, query: RoutedQuery, index: int
    ) -> web.StreamResponse:
        """Have the worker `index`, where `query` has a place, answer it."""
        worker = self._workers[index]
        completed = False
        try:
            data = request_bytes(
                "POST", request.path_qs, worker.upstream.authority, request.raw_headers, body
            )
            exchange = await worker.upstream.send(data)
            try:
                response = await self._pass_back(request, exchange)
            finally:
                worker.upstream.end(exchange)
            self._metrics.answer(worker.url, exchange.status)
            if exchange.status >= 500:
                if exchange.status != 503:  # 503 says that it is busy, not that it is broken
                    self._fault(index, f"it answers {exchange.status}")
                raise _FailedError(response)
            self._health.success(index)
            completed = exchange.status < 400
        except UpstreamError as error:
            self._fault(index, f"it {error}")
            status = 504 if error.silent else 502
            raise _FailedError(problem(status, f"worker {worker.url} {error}")) from error
        except _BrokenOffError:
            self._fault(index, "it breaks off its answers")
            raise
        finally:
            self._dispatcher.leave(query, completed=completed)
        return response

    def _fault(self, index: int, why: str) -> None:
        self._metrics.failure(self._workers[index].url)
        self._health.failure(index, why)

    async def _pass_back(self, request: web.BaseRequest, exchange: Exchange) -> web.StreamResponse:
        """Pass the answer back: a short one at the end as a whole, any other one as it comes.

        An answer with an error of the worker is kept whole: another worker may do better.
        """
        if exchange.status >= 500 or 0 <= exchange.length <= _WHOLE:
            return whole_answer(exchange, await exchange.read())
        headers = answer_headers(exchange.headers)
        stream = web.StreamResponse(status=exchange.status, headers=headers)
        if exchange.length >= 0:
            stream.content_length = exchange.length
        try:
            await stream.prepare(request)
            while True:
                try:
                    chunk = await exchange.chunk()
                except UpstreamError as error:
                    raise _BrokenOffError(stream) from error
                if not chunk:
                    break
                await stream.write(chunk)
            await stream.write_eof()
        except ConnectionError:
            raise _ClientGoneError from None
        return stream


async def _read_all(request: web.BaseRequest, most: int) -> bytes:
    """The body, or as much of it as shows that it has more than `most` bytes."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > most:
            break
    return bytes(body)


def whole_answer(exchange: Exchange, body: bytes) -> web.Response:
    """An answer of a worker that has been read to its end."""
    return web.Response(status=exchange.status, body=body, headers=answer_headers(exchange.headers))


def json_answer(status: int, value: Any) -> web.Response:
    """An answer of the gateway itself."""
    return web.Response(status=status, body=orjson.dumps(value), content_type="application/json")


def problem(status: int, message: str) -> web.Response:
    """An answer that says what is wrong, in the form of the OpenAI interface."""
    response = json_answer(
        status, {"error": {"message": message, "type": "gateway", "code": status}}
    )
    if status in (429, 503):
        response.headers["Retry-After"] = "1"
    return response
