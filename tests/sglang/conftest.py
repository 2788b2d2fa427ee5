"""Fixtures of the tests against the real SGLang."""

from __future__ import annotations

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def trees() -> ModuleType:
    """`tests.sglang.trees`, imported when a test runs: SGLang takes seconds to import."""
    pytest.importorskip("sglang")
    from tests.sglang import trees as module

    return module
