"""Faults in mid-run: nothing is lost, nothing is counted twice, and the load is released.

Every test runs a gateway that has to add up at its end (`fakes.Front.adds_up`).
"""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from tests.gateway.fakes import PATIENCE, FakeWorker, echo, front, hold, status, stream


def both_orders(test):
    """Run a coroutine test with the faulty worker first and second."""
    return pytest.mark.parametrize("first", [True, False], ids=["first", "second"])(test)


def pair(first: bool, faulty: FakeWorker, fine: FakeWorker) -> list[FakeWorker]:
    return [faulty, fine] if first else [fine, faulty]


class TestKilledWorker:
    @both_orders
    def test_its_requests_are_answered_by_the_other(self, first: bool) -> None:
        async def run() -> None:
            victim, other = FakeWorker(hold), FakeWorker()
            async with front(pair(first, victim, other), "lbgr") as here:
                asked = [here.start({"input_ids": [n]}) for n in range(6)]
                await victim.asked(3)
                await victim.kill()
                answers = await asyncio.gather(*asked)
                assert [code for code, _ in answers] == [200] * 6
                assert here.counts == {"answered": 6}
                assert here.gateway.metrics.value("kvbounds_retries_total") == 3
                assert len(other.bodies) == 6

        asyncio.run(run())

    def test_it_is_taken_out_and_comes_back(self) -> None:
        async def run() -> None:
            victim, other = FakeWorker(), FakeWorker()
            async with front([victim, other], failures=2) as here:
                await victim.kill()
                for _ in range(6):
                    assert (await here.ask())[0] == 200
                assert [state["up"] for state in here.gateway.states()] == [False, True]
                # Two failures took it out: nothing more was tried there.
                assert here.gateway.metrics.value("kvbounds_retries_total") == 2
                await victim.start()
                await here.gateway.look()
                assert [state["up"] for state in here.gateway.states()] == [True, True]
                for _ in range(4):
                    assert (await here.ask())[0] == 200
                assert len(victim.bodies) == 2
                assert here.counts == {"answered": 10}

        asyncio.run(run())

    def test_with_no_other_worker_the_client_is_told(self) -> None:
        async def run() -> None:
            victim = FakeWorker(hold)
            async with front([victim], failures=1) as here:
                asked = here.start()
                await victim.asked(1)
                await victim.kill()
                code, body = await asked
                assert code == 502
                assert victim.url.encode() in body
                async with here.post() as answer:  # it is out by now
                    assert answer.status == 503
                    assert answer.headers["Retry-After"] == "1"
                async with here.client.get(here.url + "/health") as answer:
                    assert answer.status == 503
                assert here.counts == {"failed": 2}

        asyncio.run(run())

    def test_what_waits_is_told_when_the_last_worker_goes(self) -> None:
        async def run() -> None:
            victim = FakeWorker(hold)
            async with front([victim], max_in_flight=1, failures=1) as here:
                asked = [here.start() for _ in range(3)]
                await victim.asked(1)
                await here.until(lambda: here.gateway.waiting == 2)
                await victim.kill()
                assert sorted([code for code, _ in await asyncio.gather(*asked)]) == [502, 503, 503]
                assert here.counts == {"failed": 3}

        asyncio.run(run())

    def test_what_waits_goes_to_the_worker_that_comes_back(self) -> None:
        async def run() -> None:
            busy, gone = FakeWorker(hold), FakeWorker()
            await gone.start()
            await gone.kill()
            async with front([busy, gone], max_in_flight=1) as here:
                asked = [here.start() for _ in range(2)]
                await busy.asked(1)
                await here.until(lambda: here.gateway.waiting == 1)
                await gone.start()
                await here.gateway.look()
                await gone.asked(1)
                busy.gate.set()
                assert [code for code, _ in await asyncio.gather(*asked)] == [200, 200]
                await gone.kill()

        asyncio.run(run())


class TestErrors:
    @both_orders
    def test_500_is_tried_elsewhere(self, first: bool) -> None:
        async def run() -> None:
            broken, fine = FakeWorker(status(500)), FakeWorker()
            async with front(pair(first, broken, fine), failures=3) as here:
                for _ in range(10):
                    assert (await here.ask())[0] == 200
                assert len(broken.bodies) == 3  # then it was out
                assert len(fine.bodies) == 10
                assert here.counts == {"answered": 10}
                # Its /health is fine, so it comes back, on probation: one failure and it is out.
                await here.gateway.look()
                for _ in range(4):
                    assert (await here.ask())[0] == 200
                assert len(broken.bodies) == 4

        asyncio.run(run())

    def test_an_answer_ends_the_probation(self) -> None:
        async def run() -> None:
            worker = FakeWorker(status(500))
            async with front([worker], failures=2) as here:
                assert [(await here.ask())[0] for _ in range(3)] == [500, 500, 503]
                await here.gateway.look()
                worker.behaviour = echo
                assert (await here.ask())[0] == 200
                worker.behaviour = status(500)
                assert (await here.ask())[0] == 500
                assert here.gateway.states()[0]["up"]

        asyncio.run(run())

    def test_500_everywhere_is_passed_back(self) -> None:
        async def run() -> None:
            workers = [FakeWorker(status(500)) for _ in range(3)]
            async with front(workers, retries=1) as here:
                assert await here.ask() == (500, b"status 500")
                assert sum(len(worker.bodies) for worker in workers) == 2
                assert here.counts == {"failed": 1}

        asyncio.run(run())

    def test_a_client_error_is_the_clients(self) -> None:
        async def run() -> None:
            worker = FakeWorker(status(422))
            async with front([worker, FakeWorker(status(422))], failures=1) as here:
                for _ in range(4):
                    assert await here.ask() == (422, b"status 422")
                assert all(state["up"] for state in here.gateway.states())
                assert here.counts == {"answered": 4}

        asyncio.run(run())

    def test_503_says_busy_not_broken(self) -> None:
        async def run() -> None:
            busy, fine = FakeWorker(status(503)), FakeWorker()
            async with front([busy, fine], failures=1) as here:
                for _ in range(4):
                    assert (await here.ask())[0] == 200
                assert all(state["up"] for state in here.gateway.states())

        asyncio.run(run())


class TestHanging:
    def test_a_silent_worker_is_given_up(self) -> None:
        async def run() -> None:
            silent, fine = FakeWorker(hold), FakeWorker()
            async with front([silent, fine], silence=0.05) as here:
                assert [(await here.ask())[0] for _ in range(2)] == [200, 200]
                await silent.gave_up(1)
                assert here.counts == {"answered": 2}

        asyncio.run(run())

    def test_alone_it_is_a_504(self) -> None:
        async def run() -> None:
            silent = FakeWorker(hold)
            async with front([silent], silence=0.05) as here:
                code, body = await here.ask()
                assert code == 504
                assert b"silent for 0.05 s" in body
                assert here.counts == {"failed": 1}

        asyncio.run(run())

    def test_a_worker_that_hangs_is_taken_out_and_its_requests_go_on(self) -> None:
        async def run() -> None:
            hung, fine = FakeWorker(hold), FakeWorker()
            async with front([hung, fine], failures=2, health_timeout=0.05) as here:
                asked = [here.start() for _ in range(2)]
                await hung.asked(1)
                hung.healthy = None
                await here.gateway.look()
                assert here.gateway.states()[0]["up"]
                await here.gateway.look()
                assert [code for code, _ in await asyncio.gather(*asked)] == [200, 200]
                await hung.gave_up(1)
                assert [state["up"] for state in here.gateway.states()] == [False, True]

        asyncio.run(run())

    def test_one_failed_look_now_and_then_takes_nothing_out(self) -> None:
        async def run() -> None:
            worker = FakeWorker()
            async with front([worker], failures=2) as here:
                for healthy in (False, True) * 4:
                    worker.healthy = healthy
                    await here.gateway.look()
                    assert here.gateway.states()[0]["up"]

        asyncio.run(run())

    def test_a_stream_that_falls_silent_is_cut(self) -> None:
        async def run() -> None:
            worker = FakeWorker(stream)
            async with front([worker], silence=0.05) as here:
                with pytest.raises(aiohttp.ClientError):
                    await here.ask()
                assert here.counts == {"failed": 1}

        asyncio.run(run())


class TestCutStream:
    def test_the_client_can_tell(self) -> None:
        async def run() -> None:
            victim, other = FakeWorker(stream), FakeWorker()
            async with front([victim, other]) as here:
                async with here.post() as answer:
                    assert await answer.content.readany() == b"data: 1\n\n"
                    await victim.kill()
                    with pytest.raises(aiohttp.ClientPayloadError):
                        await answer.read()
                await here.until(lambda: here.gateway.held == 0)
                assert here.counts == {"failed": 1}
                assert not other.bodies  # a part had gone to the client: no second try
                assert (await here.ask())[0] == 200

        asyncio.run(run())

    def test_a_whole_answer_that_is_cut_is_tried_elsewhere(self) -> None:
        async def cut(worker: FakeWorker, request: aiohttp.web.BaseRequest):
            answer = aiohttp.web.StreamResponse()
            answer.content_length = 100
            await answer.prepare(request)
            await answer.write(b"the first part")
            assert request.transport is not None
            request.transport.abort()
            return answer

        async def run() -> None:
            victim, other = FakeWorker(cut), FakeWorker()
            async with front([victim, other]) as here:
                assert (await here.ask())[0] == 200
                assert len(victim.bodies) == len(other.bodies) == 1
                assert here.counts == {"answered": 1}

        asyncio.run(run())


class TestClientThatHangsUp:
    @pytest.mark.parametrize("behaviour", [hold, stream])
    @pytest.mark.parametrize("router", ["lbgr", "lmetric", "preble"])
    def test_the_worker_is_told_and_the_load_released(self, behaviour, router: str) -> None:
        async def run() -> None:
            worker = FakeWorker(behaviour)
            async with front([worker], router) as here:
                asked = [here.start() for _ in range(3)]
                await worker.asked(3)
                for task in asked:
                    task.cancel()
                await asyncio.gather(*asked, return_exceptions=True)
                await worker.gave_up(3)
                await here.until(lambda: here.gateway.held == 0)
                assert here.counts == {"cancelled": 3}
                worker.behaviour = echo
                assert (await here.ask())[0] == 200

        asyncio.run(run())

    def test_its_place_in_the_queue_goes_to_the_next(self) -> None:
        async def run() -> None:
            worker = FakeWorker(hold)
            async with front([worker], max_in_flight=1) as here:
                running = here.start()
                await worker.asked(1)
                waiting = [here.start()]
                await here.until(lambda: here.gateway.waiting == 1)
                waiting.append(here.start())
                await here.until(lambda: here.gateway.waiting == 2)
                waiting[0].cancel()
                await here.until(lambda: here.gateway.waiting == 1)
                worker.gate.set()
                assert (await running)[0] == (await waiting[1])[0] == 200
                assert len(worker.bodies) == 2
                assert here.counts == {"answered": 2, "cancelled": 1}

        asyncio.run(run())

    def test_in_the_middle_of_its_request(self) -> None:
        async def run() -> None:
            worker = FakeWorker()
            async with front([worker]) as here:
                port = int(here.url.rpartition(":")[2])
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
                await here.until(lambda: here.gateway.held == 1)
                writer.close()
                await here.until(lambda: here.gateway.held == 0)
                assert here.counts == {"cancelled": 1}
                assert not worker.bodies

        asyncio.run(run())


class TestFullQueue:
    def test_one_more_is_refused_and_the_others_are_served(self) -> None:
        async def run() -> None:
            worker = FakeWorker(hold)
            async with front([worker], max_in_flight=2, max_queue=3) as here:
                asked = [here.start() for _ in range(5)]
                await worker.asked(2)
                await here.until(lambda: here.gateway.waiting == 3)
                async with here.post() as answer:
                    assert answer.status == 429
                    assert answer.headers["Retry-After"] == "1"
                    assert "full" in (await answer.json())["error"]["message"]
                worker.gate.set()
                assert [code for code, _ in await asyncio.gather(*asked)] == [200] * 5
                assert here.counts == {"answered": 5, "refused": 1}
                assert (await here.ask())[0] == 200

        asyncio.run(run())

    def test_without_a_queue(self) -> None:
        async def run() -> None:
            worker = FakeWorker(hold)
            async with front([worker], max_in_flight=1, max_queue=0) as here:
                asked = here.start()
                await worker.asked(1)
                assert (await here.ask())[0] == 429
                worker.gate.set()
                assert (await asked)[0] == 200

        asyncio.run(run())


class TestWrongUrls:
    def test_nobody_is_there(self) -> None:
        async def run() -> None:
            async with front(["http://127.0.0.1:9", "http://127.0.0.1:10"]) as here:
                assert (await here.ask())[0] == 503
                assert here.counts == {"failed": 1}

        asyncio.run(run())

    def test_one_is_there(self) -> None:
        async def run() -> None:
            fine = FakeWorker()
            async with front(["http://127.0.0.1:9", fine]) as here:
                assert [(await here.ask())[0] for _ in range(4)] == [200] * 4
                assert here.gateway.metrics.value("kvbounds_retries_total") == 0

        asyncio.run(run())

    def test_no_such_host(self) -> None:
        async def run() -> None:
            async with front(["http://no-such-host.invalid:80"]) as here:
                assert (await here.ask())[0] == 503

        asyncio.run(run())

    def test_something_else_listens_there(self) -> None:
        async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"220 mail.example ESMTP\r\n")
            writer.close()

        async def run() -> None:
            server = await asyncio.start_server(greet, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            async with front([f"http://127.0.0.1:{port}"]) as here:
                assert (await here.ask())[0] == 503
            server.close()

        asyncio.run(run())


class TestStopping:
    def test_running_requests_end_and_new_ones_are_refused(self) -> None:
        async def run() -> None:
            worker = FakeWorker(hold)
            async with front([worker]) as here:
                asked = here.start()
                await worker.asked(1)
                stopping = asyncio.create_task(here.gateway.stop())
                await here.until(lambda: here.gateway.stopping)
                with pytest.raises(aiohttp.ClientConnectionError):
                    await here.ask()
                worker.gate.set()
                assert (await asked)[0] == 200
                await stopping
                assert here.counts == {"answered": 1}

        asyncio.run(run())

    def test_what_outlasts_the_grace_is_broken_off(self) -> None:
        async def run() -> None:
            worker = FakeWorker(hold)
            async with front([worker], max_in_flight=1, grace=0.05) as here:
                asked = [here.start() for _ in range(2)]
                await worker.asked(1)
                async with asyncio.timeout(PATIENCE):
                    await here.gateway.stop()
                failed = await asyncio.gather(*asked, return_exceptions=True)
                assert all(isinstance(error, aiohttp.ClientError) for error in failed)
                await worker.gave_up(1)
                assert here.counts == {"cancelled": 2}

        asyncio.run(run())
