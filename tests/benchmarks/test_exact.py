"""Exact ratios: product states a minute, the sweep over 868 instances, peak memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

from adversary.tries import forests
from tests.benchmarks.race import Table, best
from theory.exact import Arena, ExactRatio, exact_ratio
from theory.exact.sweep import solve, tasks
from theory.trie import TokenTrie

GIB = 2**20  # ru_maxrss counts KiB


def processor_time(work: Callable[[], object]) -> float:
    """Seconds of one core, whatever else the machine does."""
    began = time.process_time()
    work()
    return time.process_time() - began


def test_the_large_broom(table: Table) -> None:
    arena = Arena(TokenTrie.from_parents([-1] * 6), 4)
    seconds = best(lambda: exact_ratio(arena, "rlt"), 3)
    states = exact_ratio(arena, "rlt").states
    table.add(
        f"exact: rlt, B = 4, 6 leaves, {states:,} states", f"{seconds:.2f} s", "", "", "< 1 s"
    )
    assert seconds < 1


def test_states_a_minute(table: Table) -> None:
    chains = TokenTrie.from_parents([-1, -1, -1, -1, 0, 1, 2, 3])
    for policy in ("leaf-lru", "sglang-lru", "clock"):
        found: list[ExactRatio] = []
        arena = Arena(chains, 6)
        seconds = processor_time(
            lambda: found.append(exact_ratio(arena, policy, most_states=100_000))  # noqa: B023
        )
        rate = 60 * found[0].states / seconds
        table.add(
            f"exact: {policy}, product states a minute on one core", f"{rate:,.0f}", "",
            f"{found[0].states:,} states", ">= 200,000",
        )  # fmt: skip
        assert rate >= 200_000


def test_the_sweep(table: Table) -> None:
    wanted = tasks([p for n in (5, 6, 7) for p in forests(n)], [2, 3, 4], [1], range(1, 8), ["rlt"])
    seconds = processor_time(lambda: [solve(task, 100_000) for task in wanted])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIB
    table.add(
        f"exact: rlt, all single queries, {len(wanted)} instances", f"{seconds:.0f} s", "",
        f"peak {peak:.2f} GiB", "< 15 min on 2 cores, 4 GiB",
    )  # fmt: skip
    assert seconds < 2 * 15 * 60
    assert peak < 4
