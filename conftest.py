"""Settings for every test: hypothesis without deadline and seeded, the folder of real traces."""

from __future__ import annotations

import os
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hypothesis
import pytest

collect_ignore = [
    "empirical/sglang/cpu_shims",
    "empirical/sglang/radix.py",
    "tests/sglang/trees.py",
]
"""What imports SGLang: only its own tests do, when they run."""

hypothesis.settings.register_profile(
    "kvbounds",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("kvbounds")


# Modules that need what an extra installs have no doctests to collect without it.
collect_ignore_glob = ["empirical/sglang/cpu_shims/*"]
if find_spec("sglang") is None:
    collect_ignore_glob += ["empirical/sglang/radix.py"]
if find_spec("aiohttp") is None or find_spec("httptools") is None:
    collect_ignore_glob += ["empirical/gateway*"]


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of the public traces, named by ``KVBOUNDS_TRACES``; the test skips without it."""
    folder = os.environ.get("KVBOUNDS_TRACES")
    if not folder:
        pytest.skip("KVBOUNDS_TRACES names no folder of real traces")
    return Path(folder)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
    """Where traces are promised (KVBOUNDS_REQUIRE_TRACES=1), a skipped trace test has failed."""
    report = yield
    if report.skipped and os.environ.get("KVBOUNDS_REQUIRE_TRACES"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if "KVBOUNDS_TRACES" in reason:
            report.outcome = "failed"
            report.longrepr = f"a trace test was skipped although traces are at hand: {reason}"
    return report
