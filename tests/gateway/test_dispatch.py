"""Places and the queue before them, without HTTP."""

from __future__ import annotations

import asyncio
import itertools
import random

import pytest

import tests.gateway.fakes  # noqa: F401 - skips without the extra
from empirical.gateway.dispatch import Dispatcher
from theory.errors import RoutingError
from theory.routing import ROUTERS, RoutedQuery, Router, WorkerInfo, make_router


def dispatcher(workers: int, places: int, router: str = "round-robin") -> Dispatcher:
    made = make_router(router)
    made.bind([WorkerInfo(capacity=1000)] * workers, seed=0)
    ticks = itertools.count()
    return Dispatcher(made, places, lambda: float(next(ticks)))


def query(number: int) -> RoutedQuery:
    return RoutedQuery(id=number, prompt=(number % 5, number), length=2)


async def turn() -> None:
    """Let every task run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_first_come_first_served() -> None:
    async def run() -> list[int]:
        here = dispatcher(workers=2, places=1)
        served: list[int] = []

        async def one(number: int) -> None:
            await here.place(query(number))
            served.append(number)

        tasks = [asyncio.create_task(one(number)) for number in range(8)]
        await turn()
        assert served == [0, 1]
        assert here.waiting == 6
        for number in range(6):
            here.leave(query(number), completed=True)
            late = asyncio.create_task(here.place(query(100 + number)))  # must not overtake
            await turn()
            late.cancel()
        await asyncio.gather(*tasks)
        return served

    assert asyncio.run(run()) == list(range(8))


def test_a_place_given_to_a_task_that_is_cancelled_at_that_moment_is_not_lost() -> None:
    async def run() -> None:
        here = dispatcher(workers=1, places=1)
        await here.place(query(0))
        waiting = [asyncio.create_task(here.place(query(n))) for n in (1, 2)]
        await turn()
        here.leave(query(0), completed=True)  # the place is the first one's
        waiting[0].cancel()  # who does not know it yet
        await turn()
        assert waiting[0].cancelled()
        assert waiting[1].result() == 0
        here.leave(query(2), completed=True)
        assert here.in_flight == [0]
        assert not here.router.in_flight

    asyncio.run(run())


def test_a_place_left_skips_who_has_tried_that_worker() -> None:
    async def run() -> None:
        here = dispatcher(workers=2, places=1)
        held = {await here.place(query(0)): 0, await here.place(query(1)): 1}
        picky = asyncio.create_task(here.place(query(2), frozenset({0})))
        await turn()
        easy = asyncio.create_task(here.place(query(3)))
        await turn()
        here.leave(query(held[0]), completed=True)
        await turn()
        assert easy.result() == 0
        assert not picky.done()
        here.leave(query(held[1]), completed=True)
        assert await picky == 1

    asyncio.run(run())


def test_who_has_tried_all_that_are_up_is_told() -> None:
    async def run() -> None:
        here = dispatcher(workers=2, places=1)
        with pytest.raises(RoutingError, match="has failed it"):
            await here.place(query(0), frozenset({0, 1}))
        await here.place(query(1), frozenset({1}))
        await here.place(query(2), frozenset({0}))
        waiting = asyncio.create_task(here.place(query(3), frozenset({0})))
        await turn()
        here.down(1)
        with pytest.raises(RoutingError, match="has failed it"):
            await waiting

    asyncio.run(run())


class Stubborn(Router):
    """Names worker 0, or something that is no worker at all."""

    def choose(self, query: RoutedQuery, now: float) -> int:
        return 0 if int(str(query.id)) % 2 else 99


def test_a_full_or_impossible_choice_goes_to_the_emptiest() -> None:
    async def run() -> None:
        router = Stubborn()
        router.bind([WorkerInfo()] * 3, seed=0)
        here = Dispatcher(router, 2, lambda: 0.0)
        places = [await here.place(query(number)) for number in (1, 3, 5, 2, 4, 6)]
        assert places[:2] == [0, 0]
        assert sorted(places) == [0, 0, 1, 1, 2, 2]

    asyncio.run(run())


@pytest.mark.parametrize("router", sorted(ROUTERS))
@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_the_counts_add_up(router: str, seed: int) -> None:
    """Placements, completions, cancellations and outages in random order."""

    async def run() -> None:
        draw = random.Random(seed)
        here = dispatcher(workers=3, places=2, router=router)
        numbers = itertools.count()
        tasks: dict[int, asyncio.Task[int]] = {}
        up = {0, 1, 2}
        for _ in range(400):
            step = draw.random()
            if step < 0.45:
                number = next(numbers)
                tried = frozenset(draw.sample(range(3), draw.choice([0, 0, 0, 1])))
                tasks[number] = asyncio.create_task(here.place(query(number), tried))
            elif step < 0.75 and tasks:
                number = draw.choice(list(tasks))
                if tasks[number].done():
                    task = tasks.pop(number)
                    if not task.cancelled() and task.exception() is None:
                        here.leave(query(number), completed=draw.random() < 0.7)
            elif step < 0.9 and tasks:
                tasks[draw.choice(list(tasks))].cancel()  # waiting, or just given a place
            elif step < 0.95 and up:
                index = draw.choice(sorted(up))
                up.discard(index)
                here.down(index)
            else:
                index = draw.randrange(3)
                if index not in up:
                    up.add(index)
                    here.back(index)
            if draw.random() < 0.7:
                await turn()
                # Whoever waits could not be served: no worker that is up has a place for it.
                placed = [n for n, t in tasks.items() if t.done() and not t.cancelled()]
                with_place = [n for n in placed if tasks[n].exception() is None]
                assert sum(here.in_flight) == len(with_place)
                assert max(here.in_flight) <= 2
        await turn()
        for number, task in tasks.items():
            if not task.done():
                task.cancel()
                await turn()
            if not task.cancelled() and task.exception() is None:
                here.leave(query(number), completed=True)
        await turn()
        for number, task in tasks.items():  # those that were served while we cleaned up
            if number in here.router.in_flight and task.done() and not task.cancelled():
                here.leave(query(number), completed=True)
        assert here.waiting == 0
        assert here.in_flight == [0, 0, 0]
        assert here.router.requests == [0, 0, 0]
        assert not here.router.in_flight

    asyncio.run(run())
