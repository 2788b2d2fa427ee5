"""The simulated cluster: how long a run takes, how that grows, and what a second process brings."""

from __future__ import annotations

import os
import time
from functools import partial

import pytest

from empirical.experiments.paper import FOUR, FULL
from empirical.experiments.setting import Setting
from empirical.experiments.sweep import Sweep
from tests.benchmarks.race import Table, race

BEST = FOUR[3]
LARGE = FULL.but(router=BEST.router, eviction=BEST.eviction, workers=64)


def run(settings: list[Setting], jobs: int) -> None:
    """All of them anew: a sweep of its own keeps nothing."""
    Sweep(jobs=jobs).run(settings)


def processor(setting: Setting) -> float:
    """The processor time of a run without its trace: other programs do not count."""
    setting.trace()
    began = time.process_time()
    setting.simulate()
    return time.process_time() - began


@pytest.mark.parametrize("method", FOUR, ids=lambda method: method.label)
def test_the_papers_setting(table: Table, method: tuple[str, str, str]) -> None:
    label, router, eviction = method
    seconds = processor(FULL.but(router=router, eviction=eviction))
    table.add(f"4,096 queries, 4 workers: {label}", f"{seconds:.2f} s", "", "", "<= 10 s")
    assert seconds < 10


def test_it_is_linear_in_the_queries(table: Table) -> None:
    """The load of each of 64 workers is that of four at 12 requests/s."""
    seconds = {
        count: processor(
            LARGE.but(
                workload=f"gsp:groups=2048,prompts=49,requests={count}",
                arrivals="poisson:rate=192",
            )
        )
        for count in (25_000, 50_000, 100_000)
    }
    for count, took in seconds.items():
        table.add(
            f"{count:,} queries, 64 workers: {BEST.label}",
            f"{took:.1f} s",
            "",
            f"{1e6 * took / count:.0f} us a query",
            "<= 300 s at 100,000" if count == 100_000 else "",
        )
    assert seconds[100_000] < 300
    assert seconds[100_000] < 1.5 * 4 * seconds[25_000]


def test_a_sweep_uses_both_processors(table: Table) -> None:
    if (os.cpu_count() or 1) < 2:
        pytest.skip("this machine has one processor")
    load = os.getloadavg()[0]
    settings = [FULL.but(seed=seed) for seed in range(16)]
    Sweep(jobs=2).run(settings[:2])  # starts the processes
    one, two = race([partial(run, settings, jobs) for jobs in (1, 2)], turns=2)
    table.add(
        f"16 settings of 4,096 queries, with 2 processes and with 1, load before {load:.1f}",
        f"{two:.1f} s",
        f"{one:.1f} s",
        f"{one / two:.2f}x",
        ">= 1.6x on idle processors",
    )
    assert load > 0.5 or one / two >= 1.6
