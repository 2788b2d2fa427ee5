"""What passes through: bodies, headers and streams as they are; and what does not."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import orjson
import pytest
from aiohttp import web

from empirical.gateway import Gateway, GatewayOptions
from empirical.gateway.server import ASKED, GENERATING
from tests.gateway.fakes import FakeWorker, front, stream
from theory.errors import InputError
from theory.routing import ROUTERS, RoutedQuery, Router, make_router


@pytest.mark.parametrize("path", GENERATING)
def test_bodies_and_headers_pass_as_they_are(path: str) -> None:
    async def run() -> None:
        worker = FakeWorker()
        async with front([worker]) as here:
            body = b'{ "text": "caf\xc3\xa9",\n "input_ids":null, "x": 1e2 }'
            headers = {
                "Authorization": "Bearer secret",
                "Content-Type": "application/json; charset=utf-8",
                "X-Trace": "7",
                "Connection": "X-Hop",
                "X-Hop": "not for the worker",
            }
            assert await here.ask(body, path=path + "?a=b%20c", headers=headers) == (200, body)
            (seen,) = worker.headers
            for name in ("Authorization", "Content-Type", "X-Trace"):
                assert seen[name] == headers[name]
            assert "X-Hop" not in seen
            assert seen["Host"] == worker.url.removeprefix("http://")

    asyncio.run(run())


def test_headers_of_the_answer_pass_even_twice() -> None:
    async def behave(worker: FakeWorker, request: web.BaseRequest) -> web.StreamResponse:
        answer = web.Response(body=gzip.compress(b"packed"), headers={"Content-Encoding": "gzip"})
        answer.headers.add("X-Twice", "1")
        answer.headers.add("X-Twice", "2")
        answer.headers["Keep-Alive"] = "timeout=5"
        answer.headers["Retry-After"] = "7"
        answer.set_status(429)
        return answer

    async def run() -> None:
        async with front([FakeWorker(behave)]) as here, here.post() as answer:
            assert answer.status == 429
            assert answer.headers.getall("X-Twice") == ["1", "2"]
            assert answer.headers["Retry-After"] == "7"
            assert "Keep-Alive" not in answer.headers
            assert await answer.read() == b"packed"  # which the client unpacks, not the gateway
            assert answer.headers["Content-Encoding"] == "gzip"
            assert len(answer.headers.getall("Date")) == 1

    asyncio.run(run())


def test_a_packed_request_is_unpacked_once() -> None:
    async def run() -> None:
        worker = FakeWorker()
        async with front([worker]) as here:
            body = orjson.dumps({"input_ids": list(range(5000))})
            packed = gzip.compress(body)
            assert await here.ask(packed, headers={"Content-Encoding": "gzip"}) == (200, body)
            assert "Content-Encoding" not in worker.headers[0]

    asyncio.run(run())


def test_a_stream_comes_as_it_is_made() -> None:
    async def run() -> None:
        worker = FakeWorker(stream)
        async with front([worker]) as here:
            async with here.post() as answer:
                assert answer.content_type == "text/event-stream"
                assert await answer.content.readany() == b"data: 1\n\n"  # the gate is still shut
                assert here.gateway.states()[0]["in_flight"] == 1
                worker.gate.set()
                assert await answer.read() == b"data: [DONE]\n\n"
            await here.until(lambda: here.gateway.held == 0)
            assert here.counts == {"answered": 1}

    asyncio.run(run())


@pytest.mark.parametrize("size", [0, 1, 2**20, 2**20 + 1, 5 * 2**20])
def test_answers_of_any_size(size: int) -> None:
    async def behave(worker: FakeWorker, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"x" * size)

    async def run() -> None:
        async with front([FakeWorker(behave)]) as here:
            code, body = await here.ask()
            assert (code, len(body)) == (200, size)

    asyncio.run(run())


def test_a_client_of_http_1_0_and_one_that_asks_before_it_sends() -> None:
    async def talk(port: int, head: bytes, body: bytes) -> tuple[bytes, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head)
        interim = b""
        if b"Expect" in head:
            interim = await reader.readuntil(b"\r\n\r\n")
        writer.write(body)
        answer = await reader.read()
        writer.close()
        return interim, answer

    async def run() -> None:
        worker = FakeWorker(stream)
        worker.gate.set()
        async with front([worker]) as here:
            port = int(here.url.rpartition(":")[2])
            body = b'{"text": "x"}'
            size = b"Content-Length: %d\r\n" % len(body)
            _, old = await talk(port, b"POST /generate HTTP/1.0\r\n" + size + b"\r\n", body)
            assert old.startswith(b"HTTP/1.0 200")
            assert old.endswith(b"\r\n\r\ndata: 1\n\ndata: [DONE]\n\n")
            polite = b"POST /generate HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + size
            interim, answer = await talk(port, polite + b"Expect: 100-continue\r\n\r\n", body)
            assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
            assert answer.startswith(b"HTTP/1.1 200")
            assert worker.bodies == [body, body]
            assert "Expect" not in worker.headers[1]

    asyncio.run(run())


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [1001, 200_000])
def test_too_large(chunked: bool, size: int) -> None:
    async def parts():
        for at in range(0, size, 500):
            yield b"x" * min(500, size - at)

    async def run() -> None:
        worker = FakeWorker()
        async with front([worker], max_body=1000) as here:
            data: Any = parts() if chunked else b"x" * size
            async with here.client.post(here.url + "/generate", data=data) as answer:
                assert answer.status == 413
            assert not worker.bodies
            assert here.counts == {"refused": 1}

    asyncio.run(run())


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    async def run() -> None:
        worker = FakeWorker()
        async with front([worker]) as here:
            async with (
                here.post(body) if body else here.client.post(here.url + "/generate") as answer
            ):
                assert answer.status == 400
                assert (await answer.json())["error"]["message"].startswith("the request: ")
            assert not worker.bodies
            assert here.counts == {"refused": 1}

    asyncio.run(run())


@pytest.mark.parametrize("size", [10, 300_000])
def test_a_body_that_is_not_what_its_headers_say(size: int, caplog) -> None:
    async def run() -> None:
        worker = FakeWorker()
        async with front([worker]) as here:
            body = b"x" * size
            code, text = await here.ask(body, headers={"Content-Encoding": "gzip"})
            assert code == 400
            assert b"error" in text or not text
            assert not worker.bodies

    asyncio.run(run())
    assert "Traceback" not in caplog.text


def test_a_prompt_longer_than_the_cache_is_the_workers_business() -> None:
    async def run() -> None:
        worker = FakeWorker(capacity=100)
        async with front([worker], "lbgr") as here:
            for _ in range(3):
                assert (await here.ask({"input_ids": list(range(1000))}))[0] == 200

    asyncio.run(run())


class TestQuestions:
    def test_of_the_gateway_itself(self) -> None:
        async def run() -> None:
            worker, gone = FakeWorker(), "http://127.0.0.1:9"
            async with front([worker, gone]) as here:
                await here.ask()
                async with here.client.get(here.url + "/workers") as answer:
                    rows = (await answer.json())["workers"]
                assert rows == [
                    {"url": worker.url, "up": True, "in_flight": 0},
                    {"url": gone, "up": False, "in_flight": 0},
                ]
                async with here.client.get(here.url + "/health") as answer:
                    assert (answer.status, await answer.text()) == (200, "1 of 2 workers\n")
                async with here.client.get(here.url + "/metrics") as answer:
                    assert answer.content_type == "text/plain"
                    text = await answer.text()
                for line in (
                    "kvbounds_requests_total 1.0",
                    'kvbounds_outcomes_total{outcome="answered"} 1.0',
                    f'kvbounds_worker_up{{worker="{worker.url}"}} 1.0',
                    f'kvbounds_worker_up{{worker="{gone}"}} 0.0',
                    f'kvbounds_worker_answers_total{{status="200",worker="{worker.url}"}} 1.0',
                    "kvbounds_placing_seconds_count 1.0",
                    "kvbounds_request_seconds_count 1.0",
                ):
                    assert line in text.splitlines()

        asyncio.run(run())

    @pytest.mark.parametrize("path", [p for p in ASKED if p != "/server_info"])
    def test_of_the_workers_go_to_one_that_is_up(self, path: str) -> None:
        async def run() -> None:
            worker = FakeWorker()
            async with (
                front(["http://127.0.0.1:9", worker]) as here,
                here.client.get(here.url + path) as answer,
            ):
                assert await answer.text() == f"{path} of {worker.port}"

        asyncio.run(run())

    @pytest.mark.parametrize(
        ("method", "path"),
        [("GET", "/generate"), ("POST", "/flush_cache"), ("GET", "/flush_cache"), ("PUT", "/")],
    )
    def test_anything_else_is_not_served(self, method: str, path: str) -> None:
        async def run() -> None:
            worker = FakeWorker()
            async with (
                front([worker]) as here,
                here.client.request(method, here.url + path) as answer,
            ):
                assert answer.status == 404
                assert not worker.bodies

        asyncio.run(run())


@pytest.mark.parametrize("router", sorted(ROUTERS))
def test_every_router_serves(router: str) -> None:
    async def run() -> None:
        workers = [FakeWorker() for _ in range(3)]
        async with front(workers, router) as here:
            bodies = [
                {"input_ids": [group] * 40 + [n], "user": f"u{group}", "max_tokens": 4}
                for n in range(6)
                for group in range(4)
            ]
            answers = await asyncio.gather(*(here.ask(body) for body in bodies))
            assert [orjson.loads(body) for _, body in answers] == bodies
            assert here.counts == {"answered": len(bodies)}
            assert sum(len(worker.bodies) for worker in workers) == len(bodies)

    asyncio.run(run())


def test_the_costs_of_a_worker_reach_the_router() -> None:
    async def run() -> None:
        options = {"alpha_miss": 0.5, "alpha_cached": 0.25, "alpha_output": 2.0}
        async with front([FakeWorker(capacity=100)], symbol_tokens=10, **options) as here:
            (info,) = here.gateway.router.workers
            assert info == (10, 0.5, 0.25, 2.0)

    asyncio.run(run())


def test_lbgr_keeps_a_prefix_where_it_is_cached() -> None:
    async def run() -> None:
        workers = [FakeWorker(), FakeWorker()]
        async with front(workers, "lbgr:features=none") as here:
            for n in range(20):
                assert (await here.ask({"input_ids": [n % 2] * 320 + [n]}))[0] == 200
        for worker in workers:
            groups = {orjson.loads(body)["input_ids"][0] for body in worker.bodies}
            assert len(groups) == 1

    asyncio.run(run())


@pytest.mark.parametrize("router", ["lbgr:preset=paper", "cache-aware", "lbgr"])
def test_the_index_is_bounded(router: str) -> None:
    async def run() -> None:
        worker = FakeWorker(capacity=320)  # 20 symbols of 16 tokens
        async with front([worker], router) as here:
            for n in range(30):
                assert (await here.ask({"input_ids": [n] * 160}))[0] == 200
            assert here.gateway.router.index.sizes == [20]

    asyncio.run(run())


class Broken(Router):
    """A user's router with a mistake."""

    def choose(self, query: RoutedQuery, now: float) -> int:
        raise ZeroDivisionError("oops")


def test_a_router_that_fails_fails_the_request_alone() -> None:
    async def run() -> None:
        async with front([FakeWorker()], "tests.gateway.test_relay:Broken") as here:
            code, body = await here.ask()
            assert code == 500
            assert b"ZeroDivisionError: oops" in body
            assert here.counts == {"failed": 1}

    asyncio.run(run())


def test_what_is_no_http_gets_a_400_and_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with front([FakeWorker()]) as here:
            port = int(here.url.rpartition(":")[2])
            for junk in (b"\x16\x03\x01hello\r\n\r\n", b"GET / HTTP/9\r\n\r\n"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(junk)
                assert (await reader.read()).startswith(b"HTTP/1.0 400")
                writer.close()
            head = b"POST /generate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head + b"zz\r\n")
            await reader.read()
            writer.close()

    asyncio.run(run())
    assert "Traceback" not in caplog.text


class Fragile(Router):
    """A user's router that cannot bear an outage."""

    def choose(self, query: RoutedQuery, now: float) -> int:
        return self.eligible(query)[0]

    def forget(self, worker: int) -> None:
        raise KeyError(worker)


def test_the_watch_outlives_a_router_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        worker = FakeWorker()
        options = {"health_interval": 0.01, "failures": 1}
        async with front([worker], "tests.gateway.test_relay:Fragile", **options) as here:
            worker.healthy = False
            await here.until(lambda: not here.gateway.states()[0]["up"])
            worker.healthy = True
            await here.until(lambda: here.gateway.states()[0]["up"])

    asyncio.run(run())
    assert "a look at the workers failed" in caplog.text


def test_the_watch_finds_out_by_itself() -> None:
    async def run() -> None:
        worker = FakeWorker()
        async with front([worker], health_interval=0.01, failures=2) as here:
            worker.healthy = False
            await here.until(lambda: not here.gateway.states()[0]["up"])
            worker.healthy = True
            await here.until(lambda: here.gateway.states()[0]["up"])

    asyncio.run(run())


class TestOptions:
    @pytest.mark.parametrize(
        ("urls", "what"),
        [
            ([], "there is no worker"),
            (["127.0.0.1:30001"], "is no URL"),
            (["ftp://127.0.0.1:30001"], "is no URL"),
            (["http://"], "is no URL"),
            (["http://127.0.0.1:port"], "is no URL"),
            (["http://127.0.0.1:99999"], "is no URL"),
            (["http://127.0.0.1:1/v1"], "is no URL"),
            (["http://127.0.0.1:1 "], "is no URL"),
            (["http://a:b@127.0.0.1:1"], "is no URL"),
            (["http://127.0.0.1:1\r\nX: y"], "is no URL"),
            (["http://127.0.0.1:1", "http://127.0.0.1:1/"], "named twice"),
        ],
    )
    def test_urls(self, urls: list[str], what: str) -> None:
        with pytest.raises(InputError, match=what) as caught:
            Gateway(urls, make_router("lbgr"))
        assert caught.value.where == "--worker"

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("max_in_flight", 0),
            ("max_queue", -1),
            ("max_body", 0),
            ("retries", -1),
            ("silence", 0.0),
            ("connect", float("nan")),
            ("health_interval", float("inf")),
            ("health_timeout", -1.0),
            ("failures", 0),
            ("grace", -0.1),
            ("symbol_tokens", 0),
            ("capacity", 0),
            ("alpha_miss", -1.0),
            ("alpha_cached", float("nan")),
        ],
    )
    def test_limits(self, name: str, value: float) -> None:
        with pytest.raises(InputError) as caught:
            GatewayOptions(**{name: value})
        assert caught.value.where == "--" + name.replace("_", "-")

    def test_a_busy_port(self) -> None:
        async def run() -> None:
            async with front([FakeWorker()]) as here:
                port = int(here.url.rpartition(":")[2])
                second = Gateway(["http://127.0.0.1:9"], make_router("lbgr"))
                with pytest.raises(InputError, match="cannot listen"):
                    await second.start("127.0.0.1", port)

        asyncio.run(run())
