"""What the gateway is measured with: fake workers, a plain proxy and a client, as processes.

``python -m tests.benchmarks.gateway_peers workers PORT...``, ``proxy PORT WORKER_PORT...`` and
``client TURNS REQUESTS CONCURRENCY PORT...``. The client turns from server to server, so that all
see the same machine, and prints for each its most requests a second and its least median latency.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import statistics
import sys
import time

import aiohttp
import orjson
from aiohttp import web

PROMPT = 320
"""Tokens of a prompt, half of them shared with a thirty-second of the other prompts."""

ANSWER = orjson.dumps(
    {
        "text": "",
        "output_ids": list(range(8)),
        "meta_info": {"cached_tokens": 160, "prompt_tokens": PROMPT, "completion_tokens": 8},
    }
)
FACTS = orjson.dumps({"max_total_num_tokens": 100_000, "model_path": "m", "is_generation": True})
MODELS = orjson.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]})


async def serve(port: int, handle: web.RequestHandler) -> None:
    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()


async def workers(*ports: int) -> None:
    """Answer at once, as a SGLang server does."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST":
            await request.read()
            body = ANSWER
        else:
            body = MODELS if request.path == "/v1/models" else FACTS
        return web.Response(body=body, content_type="application/json")

    for port in ports:
        await serve(port, handle)
    await asyncio.Event().wait()


async def proxy(port: int, *ports: int) -> None:
    """Pass requests on in turn, with nothing but aiohttp."""
    turn = itertools.cycle(ports)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            if request.method == "GET":
                return web.Response(text="ok")
            url = f"http://127.0.0.1:{next(turn)}{request.path}"
            headers = {"Content-Type": "application/json"}
            async with session.post(url, data=await request.read(), headers=headers) as answer:
                return web.Response(
                    status=answer.status,
                    body=await answer.read(),
                    content_type=answer.content_type,
                )

        await serve(port, handle)
        await asyncio.Event().wait()


async def client(turns: int, requests: int, concurrency: int, *ports: int) -> None:
    """Ask each server `requests` times in each turn, `concurrency` at a time."""
    draw = random.Random(0)

    def tokens() -> list[int]:
        return [draw.randrange(32000) for _ in range(PROMPT // 2)]

    groups = [tokens() for _ in range(32)]
    bodies = [
        orjson.dumps(
            {"input_ids": draw.choice(groups) + tokens(), "sampling_params": {"max_new_tokens": 8}}
        )
        for _ in range(256)
    ]
    headers = {"Content-Type": "application/json"}
    best = {port: {"rps": 0.0, "median": float("inf")} for port in ports}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(port: int, numbers: range, took: list[float]) -> None:
            url = f"http://127.0.0.1:{port}/generate"
            for number in numbers:
                began = time.perf_counter()
                async with session.post(url, data=bodies[number % 256], headers=headers) as answer:
                    body = await answer.read()
                    assert (answer.status, body) == (200, ANSWER), (answer.status, body)
                took.append((time.perf_counter() - began) * 1e3)

        for turn, port in itertools.product(range(turns + 1), ports):
            took: list[float] = []
            parts = [range(k, requests, concurrency) for k in range(concurrency)]
            began = time.perf_counter()
            await asyncio.gather(*(ask(port, part, took) for part in parts))
            seconds = time.perf_counter() - began
            if turn:  # the first one warms everything up
                found = best[port]
                found["rps"] = max(found["rps"], requests / seconds)
                found["median"] = min(found["median"], statistics.median(took))
    print(orjson.dumps([best[port] for port in ports]).decode())


if __name__ == "__main__":
    role = {"workers": workers, "proxy": proxy, "client": client}[sys.argv[1]]
    asyncio.run(role(*map(int, sys.argv[2:])))
