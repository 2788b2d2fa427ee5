"""The gateway against sglang-router and a plain proxy: same fake workers, same client.

The peer is looked for in this interpreter or in the one that ``KVBOUNDS_PEER_PYTHON`` names.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.benchmarks.race import Table

pytest.importorskip("aiohttp", reason='needs pip install "kvbounds[gateway]"')

PEER = os.environ.get("KVBOUNDS_PEER_PYTHON", sys.executable)
ROOT = Path(__file__).parents[2]


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def server(port: int, *command: object) -> Iterator[None]:
    """Run a server until the end of the block; wait first until it answers."""
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
                break
            except urllib.error.HTTPError:
                pass
            except OSError:
                assert process.poll() is None, f"{command} ended with {process.returncode}"
            assert time.monotonic() < deadline, f"{command} does not answer"
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(10)


def ours(role: str, *arguments: object) -> list[object]:
    return [sys.executable, "-m", "tests.benchmarks.gateway_peers", role, *arguments]


def client(ports: dict[str, int], turns: int, *how: int) -> dict[str, dict[str, float]]:
    command = [str(word) for word in ours("client", turns, *how, *ports.values())]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(zip(ports, json.loads(done.stdout), strict=True))


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    """What listens where: a worker, the gateway, a plain proxy, and the peer if there is one."""
    first, second, gateway, proxy, peer, spare = free_ports(6)
    urls = [f"http://127.0.0.1:{port}" for port in (first, second)]
    found = {"direct": first, "kvbounds": gateway, "proxy": proxy}
    with ExitStack() as stack:
        stack.enter_context(server(first, *ours("workers", first, second)))
        named = [word for url in urls for word in ("--worker", url)]
        serve = [sys.executable, "-m", "kvbounds", "serve", "--port", gateway, *named]
        stack.enter_context(server(gateway, *serve))
        stack.enter_context(server(proxy, *ours("proxy", proxy, first, second)))
        known = subprocess.run(
            [PEER, "-c", "import sglang_router"], check=False, capture_output=True
        )
        if known.returncode == 0:
            launch = [PEER, "-m", "sglang_router.launch_router", "--host", "127.0.0.1"]
            launch += ["--port", str(peer), "--prometheus-port", str(spare), "--worker-urls", *urls]
            stack.enter_context(server(peer, *launch))
            found["sglang-router"] = peer
        yield found


def test_requests_a_second(ports: dict[str, int], table: Table) -> None:
    if "sglang-router" not in ports:
        pytest.skip(f"{PEER} has no sglang-router; pip install sglang-router==0.3.2")
    found = client(ports, 25, 400, 16)
    best = {name: result["rps"] for name, result in found.items()}
    for name in ("sglang-router", "proxy"):
        ratio = best["kvbounds"] / best[name]
        table.add(
            f"requests/s against {name}",
            f"{best['kvbounds']:.0f}",
            f"{best[name]:.0f}",
            f"{ratio:.2f}",
            ">= 0.8" if name == "sglang-router" else "",
        )
    assert best["kvbounds"] >= 0.8 * best["sglang-router"], best


def test_overhead_of_one_request(ports: dict[str, int], table: Table) -> None:
    found = client(ports, 15, 100, 1)
    least = {name: result["median"] for name, result in found.items()}
    overhead = {name: least[name] - least["direct"] for name in ports}
    for name in sorted(set(overhead) - {"direct", "kvbounds"}):
        table.add(
            f"overhead of a request, ms, against {name}",
            f"{overhead['kvbounds']:.2f}",
            f"{overhead[name]:.2f}",
            f"{overhead['kvbounds'] / overhead[name]:.2f}",
            "<= 2 ms",
        )
    assert overhead["kvbounds"] <= 2.0, overhead
