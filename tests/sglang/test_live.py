"""Two real SGLang servers on the CPU: the model predicts every query's cached tokens.

The worst cases of the theorems are sent to them one by one. Each class of tests has a pair of
servers of its own, so that no more than two run at a time.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from adversary import families
from empirical.replay import Replay
from empirical.sglang.client import ServerError, flush, generate
from empirical.sglang.plan import Plan, of_instance
from empirical.sglang.target import Target
from empirical.sglang.workers import WorkerOptions, fleet
from tests.sglang.processes import alive, free_ports, kvbounds, listening, until
from tests.sglang.workloads import requests

pytestmark = pytest.mark.sglang

CAPACITY, LENGTH, STRETCH = 12, 5, 8
SEED = 5
PATIENCE = 900  # seconds: a machine may have other work


def pair(*options: WorkerOptions) -> Iterator[list[Target]]:
    pytest.importorskip("sglang")
    port = free_ports(2)
    with fleet(options, range(port, port + 2), timeout=PATIENCE) as workers:
        yield [
            Target.ask(worker.url, option.seed)
            for worker, option in zip(workers, options, strict=True)
        ]


@pytest.fixture(scope="class")
def deterministic() -> Iterator[list[Target]]:
    """SGLang's own LRU and token-granular Leaf-LRU."""
    capacity = CAPACITY * STRETCH
    yield from pair(
        WorkerOptions(eviction="lru", capacity=capacity),
        WorkerOptions(eviction="kvbounds-leaf-lru", capacity=capacity),
    )


@pytest.fixture(scope="class")
def randomised() -> Iterator[list[Target]]:
    """RLT with pages of one token, and with pages of 16 and chunked prefill."""
    yield from pair(
        WorkerOptions(eviction="kvbounds-rlt", capacity=CAPACITY * STRETCH, seed=SEED),
        WorkerOptions(eviction="kvbounds-rlt", capacity=16 * 24, page_size=16, seed=SEED, chunk=64),
    )


def cyclic() -> Plan:
    """Theorem 2's worst case: one leaf more than the cache holds, in a cycle."""
    instance = families.cyclic(capacity=CAPACITY, length=LENGTH)
    return of_instance(instance, cycles=8, stretch=STRETCH)


def replayed(plan: Plan, targets: Sequence[Target], **options: Any) -> dict[str, Any]:
    replay = Replay(plan, targets, **options)
    replay.run()
    report = replay.report()
    assert report["complete"]
    assert report["failures"] == []
    return report


def assert_exact(report: dict[str, Any]) -> None:
    wrong = [row for row in report["rows"] if row["predicted_hits"] != row["measured_hits"]]
    assert not wrong, (len(wrong), wrong[:3])


def random_plan(page_size: int) -> Plan:
    """Prompts that repeat, share and extend each other; outputs of up to three tokens."""
    sequence = requests(SEED, page_size, 3, 80)
    prompts = [tuple(request.prompt) for request in sequence]
    outputs = [len(request.output) for request in sequence]
    count = len(prompts)
    return Plan("random", prompts, outputs, [0.0] * count, list(range(count)))


class TestDeterministic:
    """SGLang's LRU and the plugin's Leaf-LRU."""

    def test_lru_misses_every_leaf_of_the_cycle(self, deterministic: list[Target]) -> None:
        """Both LRUs find the handle and never the leaf, query by query as the model says."""
        for target in deterministic:
            report = replayed(cyclic(), [target])
            assert_exact(report)
            warm = [row["measured_hits"] for row in report["rows"][1:]]
            assert warm == [(LENGTH - 1) * STRETCH] * len(warm)
            assert report["summary"]["ratio_at_least"] > 2.5

    @pytest.mark.parametrize("number", [0, 1])
    def test_random_requests_with_answers(self, deterministic: list[Target], number: int) -> None:
        assert_exact(replayed(random_plan(4), [deterministic[number]]))

    def test_two_workers_behind_a_router(self, deterministic: list[Target]) -> None:
        """The same requests over both workers by load-aware routing: still exact."""
        report = replayed(random_plan(4), deterministic, router="lbgr")
        assert_exact(report)
        assert {row["worker"] for row in report["rows"]} == {0, 1}

    def test_a_client_that_hangs_up_blocks_nothing(self, deterministic: list[Target]) -> None:
        """An answer that nobody reads to its end is aborted, and its memory comes back."""
        import http.client
        import json
        from urllib.parse import urlsplit

        target = deterministic[0]
        parts = urlsplit(target.url)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port or 80, timeout=60)
        body = {
            "input_ids": [7, 8, 9],
            "sampling_params": {"max_new_tokens": 60, "ignore_eos": True},
            "stream": True,
        }
        connection.request(
            "POST", "/generate", json.dumps(body), {"Content-Type": "application/json"}
        )
        connection.getresponse().readline()
        connection.close()
        flush(target.url)  # refused as long as a request runs
        whole = target.capacity - 7
        assert generate(target.url, range(100, 100 + whole), 1).cached_tokens == 0
        flush(target.url)
        assert_exact(replayed(cyclic(), [target]))

    def test_a_prompt_that_is_too_long(self, deterministic: list[Target]) -> None:
        """The server refuses it in one line, and goes on."""
        target = deterministic[1]
        with pytest.raises(ServerError, match="exceeds the maximum allowed length"):
            generate(target.url, range(10, 10 + target.capacity), 1)
        assert generate(target.url, [5, 6, 7], 1).prompt_tokens == 3


class TestRandomised:
    """RLT, its draws known."""

    def test_rlt_on_the_same_cycle(self, randomised: list[Target]) -> None:
        """Given the seed every draw of the real server is predicted, and most leaves are found."""
        target = randomised[0]
        report = replayed(cyclic(), [target])
        assert_exact(report)
        found = [row for row in report["rows"][1:] if row["measured_hits"] > (LENGTH - 1) * STRETCH]
        assert len(found) > len(report["rows"]) // 2
        assert report["summary"]["ratio_at_least"] < 1.5
        again = replayed(cyclic(), [target])  # a flushed cache draws the same again
        assert [r["measured_hits"] for r in again["rows"]] == [
            r["measured_hits"] for r in report["rows"]
        ]

    @pytest.mark.parametrize("number", [0, 1])
    def test_random_requests_under_rlt(self, randomised: list[Target], number: int) -> None:
        assert_exact(replayed(random_plan((4, 16)[number]), [randomised[number]]))


def test_no_process_survives(tmp_path: Path) -> None:
    """``kill -9`` on ``kvbounds workers start`` ends the real server and its children."""
    pytest.importorskip("sglang")
    port = free_ports(1)
    options = ("--port", port, "--log-dir", tmp_path, "--wait", PATIENCE)
    process = kvbounds("workers", "start", *options)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert url == f"http://127.0.0.1:{port}", process.communicate(timeout=30)
    launcher = int(children(process.pid)[0])
    family = [launcher, *(int(pid) for pid in children(launcher))]
    assert len(family) >= 3  # the launcher, a scheduler, a detokenizer
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    assert until(lambda: not any(alive(pid) for pid in family), 30)
    assert not listening(port)


def children(pid: int) -> list[str]:
    return subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=True
    ).stdout.split()
