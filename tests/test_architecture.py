"""The house rules that a machine can see: arrows point down, and no two files import each other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ["theory", "mip", "adversary", "empirical", "kvbounds"]
"""From the bottom up: a room imports from itself and from the rooms before it."""

FILES = [
    path
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
    if not path.name.startswith("test_") and "cpu_shims" not in path.parts
]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def imports(path: Path) -> set[str]:
    """The project's modules that a file imports, inside functions too; types alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else node.module for name in inside]
        else:
            continue
        found.update(name for name in names if name in MODULES)
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_point_down(room: str) -> None:
    below = ROOMS[: ROOMS.index(room) + 1]
    for path in FILES:
        if path.relative_to(ROOT).parts[0] == room:
            for name in imports(path):
                assert name.split(".")[0] in below, f"{path.relative_to(ROOT)} imports {name}"


def test_no_two_files_import_each_other() -> None:
    graph = {name: imports(path) - {name} for name, path in MODULES.items()}
    for name, targets in graph.items():
        for target in targets:
            assert name not in graph[target], f"{name} and {target} import each other"


def test_no_file_is_crowded() -> None:
    for path in FILES:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 450, f"{path.relative_to(ROOT)} has {lines} lines"


def test_the_core_reads_no_clock() -> None:
    """Time is a logical counter: theory, mip and adversary ask no clock but the solver's limit."""
    clocks = ("time.time(", "time.monotonic(", "time.perf_counter(", "datetime.now(")
    for path in FILES:
        if path.relative_to(ROOT).parts[0] in ("theory", "adversary"):
            text = path.read_text(encoding="utf-8")
            assert not any(clock in text for clock in clocks), path.relative_to(ROOT)
