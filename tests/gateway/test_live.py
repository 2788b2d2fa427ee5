"""The gateway in front of two real SGLang servers on the CPU; one of them is killed in mid-run."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator

import pytest

from empirical.sglang.client import flush
from empirical.sglang.workers import Worker, WorkerOptions, fleet
from tests.gateway.fakes import front
from tests.sglang.processes import free_ports

pytestmark = pytest.mark.sglang

LENGTH, GROUPS, EACH = 96, 4, 4


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Worker]]:
    pytest.importorskip("sglang")
    port = free_ports(2)
    with fleet([WorkerOptions(capacity=4096)] * 2, range(port, port + 2)) as found:
        yield found


def request(group: int, number: int, *, stream: bool = False, tokens: int = 2) -> dict[str, object]:
    """A prompt whose first two thirds are its group's."""
    shared = [10 + group] * (2 * LENGTH // 3)
    return {
        "input_ids": shared + [100 + 50 * group + number] * (LENGTH - len(shared)),
        "sampling_params": {"max_new_tokens": tokens, "temperature": 0, "ignore_eos": True},
        "stream": stream,
    }


def test_prefixes_stay_together_and_a_killed_worker_loses_nothing(workers: list[Worker]) -> None:
    async def run() -> None:
        for worker in workers:
            flush(worker.url)
        urls = [worker.url for worker in workers]
        async with front(urls, "lbgr:features=none", patience=120.0, failures=1) as here:
            assert all(info.capacity for info in here.gateway.router.workers)
            cached = 0
            for number in range(EACH):
                for group in range(GROUPS):
                    status, body = await here.ask(request(group, number))
                    assert status == 200, body
                    cached += json.loads(body)["meta_info"]["cached_tokens"]
            # All but the first of each group find its shared tokens.
            assert cached == GROUPS * (EACH - 1) * (2 * LENGTH // 3)

            async with here.post(request(0, 9, stream=True, tokens=4)) as answer:
                events = [line async for line in answer.content if line.startswith(b"data: ")]
            assert events[-1].strip() == b"data: [DONE]"
            assert len(events) > 1

            long = [here.start(request(group, 20, tokens=200)) for group in range(GROUPS)]
            await here.until(lambda: all(s["in_flight"] for s in here.gateway.states()))
            process = workers[1].process
            assert process is not None
            os.killpg(process.pid, signal.SIGKILL)
            answers = await asyncio.gather(*long)
            assert [status for status, _ in answers] == [200] * GROUPS
            assert [state["up"] for state in here.gateway.states()] == [True, False]
            assert here.counts == {"answered": GROUPS * EACH + 1 + GROUPS}

    asyncio.run(run())
