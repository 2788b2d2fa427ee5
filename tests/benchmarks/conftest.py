"""Benchmarks run only when they are asked for: ``pytest tests/benchmarks``.

They print a table of ratios at the end. Peers that are not installed are skipped with a reason;
``pip install kvbounds[bench]`` brings two of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.race import Table

_table = pytest.StashKey[Table]()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave this folder alone unless the command line names it."""
    named = any("benchmarks" in str(word) for word in config.invocation_params.args)
    return None if named else True


@pytest.fixture
def table(request: pytest.FixtureRequest) -> Table:
    """Where results are written down."""
    return request.config.stash.setdefault(_table, Table())


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the table."""
    table = config.stash.get(_table, None)
    if table is not None and table.rows:
        terminalreporter.section("benchmarks")
        for line in table.lines():
            terminalreporter.write_line(line)
