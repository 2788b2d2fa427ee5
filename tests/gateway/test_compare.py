"""Routers side by side, on fake SGLang servers whose caches are real."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import tests.gateway.fakes  # noqa: F401 - skips without the extra
from empirical.compare import DIRECT, Comparison, median_interval, milliseconds_per_miss
from empirical.contenders import Contender, ContenderError, kvbounds_router, peer_router
from empirical.sglang.plan import Plan, of_trace
from empirical.sglang.target import Target
from empirical.traces.workload import parse
from kvbounds.cli import main
from tests.docs.test_formats import conforms
from theory.errors import InputError
from theory.routing.index import PrefixIndex

WORKLOAD = "gsp:groups=3,prompts=4,lengths=64,ratio=1/2,block=1,order=round-robin"
"""Twelve prompts of 64 tokens, a group's first 32 shared; one prompt of every group in turn."""


class FakeSglang:
    """A server that streams answers and has a prefix cache without a limit."""

    def __init__(self) -> None:
        self.url = ""
        self.flushed = 0
        self.fails = 0
        self._cache = PrefixIndex(1)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    async def _run(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._ready.set()
        await self._end.wait()
        await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/flush_cache":
            self._cache = PrefixIndex(1)
            self.flushed += 1
        elif request.path == "/server_info":
            return web.json_response(
                {
                    "max_total_num_tokens": 4096,
                    "page_size": 1,
                    "chunked_prefill_size": 8192,
                    "version": "fake",
                    "device": "cpu",
                    "radix_eviction_policy": "lru",
                    "disable_overlap_schedule": False,
                }
            )
        elif request.path == "/generate":
            return await self._generate(request, json.loads(await request.read()))
        return web.Response()

    async def _generate(self, request: web.BaseRequest, asked: Any) -> web.StreamResponse:
        if self.fails:
            self.fails -= 1
            return web.Response(status=400, text="told to fail")
        prompt = tuple(asked["input_ids"])
        facts = {
            "prompt_tokens": len(prompt),
            "cached_tokens": min(self._cache.match(prompt)[0], len(prompt) - 1),
        }
        self._cache.insert(0, prompt)
        await asyncio.sleep(1e-5 * (len(prompt) - facts["cached_tokens"]))
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        output: list[int] = []
        for token in range(asked["sampling_params"]["max_new_tokens"]):
            output.append(token)
            event = {"output_ids": output, "meta_info": facts | {"completion_tokens": len(output)}}
            await answer.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        await answer.write(b"data: [DONE]\n\n")
        return answer


@pytest.fixture
def servers() -> Iterator[list[FakeSglang]]:
    found = [FakeSglang(), FakeSglang()]
    yield found
    for server in found:
        server.stop()


def plan() -> Plan:
    return of_trace(parse(WORKLOAD), longest_output=2)


def targets(servers: list[FakeSglang]) -> list[Target]:
    return [Target.ask(server.url) for server in servers]


def test_hit_rates_are_those_worked_out_by_hand(servers: list[FakeSglang]) -> None:
    routers = ["round-robin", "lbgr:features=none"]
    run = Comparison(
        plan(),
        targets(servers),
        [kvbounds_router(name, "--quiet") for name in routers],
        concurrency=1,
        probes=5,
    )
    run.run()
    rows = {row["method"]: row for row in run.report()["rows"]}
    assert list(rows) == [DIRECT, *(f"kvbounds {name}" for name in routers)]
    # In turn, each of the 3 groups meets each of the 2 workers twice: 6 second meetings.
    # Kept together, a group misses its shared tokens once: 9 of the 12 queries hit.
    hits = {DIRECT: 6 * 32, "kvbounds round-robin": 6 * 32, "kvbounds lbgr:features=none": 9 * 32}
    assert {name: row["cached_tokens"] for name, row in rows.items()} == hits
    for name, row in rows.items():
        assert row["answered"] == 12
        assert row["failed"] == 0
        assert row["load_per_core"] >= 0
        assert row["prompt_tokens"] == 12 * 64
        assert row["hit_rate"] == hits[name] / (12 * 64)
        assert 0 < row["p50_ttft_ms"] <= row["p95_ttft_ms"]
        assert row["p50_ttft_ms"] <= row["p50_latency_ms"] <= row["p95_latency_ms"]
        assert row["throughput_tok_s"] == pytest.approx(row["requests_s"] * (64 + 2), rel=1e-4)
    assert rows[DIRECT]["overhead_ms"] is None
    row = rows["kvbounds round-robin"]
    assert row["overhead_low_ms"] <= row["overhead_ms"] <= row["overhead_high_ms"]
    assert [server.flushed for server in servers] == [3, 3]


def test_what_fails_is_counted_and_told(servers: list[FakeSglang]) -> None:
    run = Comparison(plan(), targets(servers), [], concurrency=1)
    asked = run._ask

    def ask(query: int, url: str) -> Any:
        servers[0].fails = int(query == 4)  # which goes to the first server
        return asked(query, url)

    run._ask = ask  # type: ignore[method-assign]
    run.run()
    row = run.report()["rows"][-1]
    assert (row["answered"], row["failed"]) == (11, 1)
    assert "400" in row["first_failure"]


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("raise SystemExit('boom')", "is broken has ended: boom"),
        ("import time; print('hm', flush=True); time.sleep(60)", "is broken is not ready: hm"),
    ],
)
def test_a_router_that_does_not_start_is_left_out(
    servers: list[FakeSglang], script: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Contender("is broken", (sys.executable, "-c", script), "--worker")
    with pytest.raises(ContenderError, match=what), broken.running(["http://127.0.0.1:9"], 1.0):
        pass
    run = Comparison(plan(), targets(servers), [broken], concurrency=4, repeats=2)
    monkeypatch.setattr(
        Contender, "running", lambda self, workers: (_ for _ in ()).throw(ContenderError(what))
    )
    run.run()
    report = run.report()
    assert report["left_out"] == [{"method": "is broken", "reason": what}]
    assert [row["method"] for row in report["rows"]] == [DIRECT]
    assert report["rows"][0]["answered"] == 24


def test_peers() -> None:
    with pytest.raises(InputError, match="unknown peer 'nginx'; choose from sglang-router, smg"):
        peer_router("nginx")
    with pytest.raises(InputError, match="cannot run '/no/such/python'"):
        peer_router("smg", "/no/such/python")


def test_a_peer_that_is_not_installed_says_how_to_install_it(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(ContenderError, match="not installed: pip install sglang-router=="):
        peer_router("sglang-router", str(python))


def test_a_peer_takes_its_policies(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 0\n")
    python.chmod(0o755)
    both = peer_router("smg", str(python))
    assert [each.name for each in both] == ["smg cache_aware", "smg round_robin"]
    (one,) = peer_router("sglang-router:power_of_two", str(python))
    assert one.command[1:3] == ("-m", "sglang_router.launch_router")
    assert one.command[-2:] == ("--policy", "power_of_two")


def test_the_cost_of_a_miss_is_found(servers: list[FakeSglang]) -> None:
    lengths = of_trace(parse("gsp:groups=12,prompts=1,lengths=100+1000+3000,block=1"))
    found = milliseconds_per_miss(lengths, targets(servers)[0])
    assert found is not None
    assert 0.005 < found < 0.1  # the server sleeps 0.01 ms a token


def test_the_interval_of_a_median() -> None:
    assert median_interval([5.0]) == (5.0, 5.0, 5.0)
    assert median_interval([3.0, 1.0, 2.0]) == (1.0, 2.0, 3.0)
    assert median_interval(range(101)) == (40, 50, 60)


class TestCommand:
    def run(self, *arguments: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main(["compare", *arguments])
        assert isinstance(ended.value.code, int)
        return ended.value.code

    def test_one_command_prints_the_table_and_writes_the_report(
        self, servers: list[FakeSglang], capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        named = [word for server in servers for word in ("--worker", server.url)]
        path = tmp_path / "report.json"
        options = ["--workload", WORKLOAD, "--router", "round-robin", "--peer", "none"]
        options += ["--concurrency", "2", "--probes", "2", "--out", str(path)]
        assert self.run(*named, *options) == 0
        out, err = capsys.readouterr()
        assert err.splitlines() == [DIRECT, "kvbounds round-robin"]
        rows = [line.split("  ")[0] for line in out.splitlines()]
        assert DIRECT in rows
        assert "kvbounds round-robin" in rows
        report = json.loads(path.read_text())
        conforms(report, "compare")
        assert [row["answered"] for row in report["rows"]] == [12, 12]
        assert "127.0.0.1" not in path.read_text()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "give exactly one source of requests"),
            (["--workload", "gsp", "--trace", "x"], "give exactly one source of requests"),
            (["--workload", WORKLOAD], "give running workers or start some"),
            (["--workload", WORKLOAD, "--worker", "nonsense", "--peer", "none"], "is no URL"),
            (["--workload", WORKLOAD, "--worker", "http://127.0.0.1:9"], "127.0.0.1:9 failed"),
            (["--workload", WORKLOAD, "--worker", "x", "--router", "lgbr"], "unknown router"),
            (["--workload", WORKLOAD, "--worker", "x", "--peer", "nginx"], "unknown peer"),
        ],
    )
    def test_bad_options_are_one_line(
        self, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.run(*arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert message in err
        assert err.count("\n") == 1

    def test_without_the_extra(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("kvbounds.cli.compare.find_spec", lambda name: None)
        assert self.run("--workload", WORKLOAD, "--worker", "http://127.0.0.1:9") == 2
        assert 'pip install "kvbounds[gateway]"' in capsys.readouterr().err
