"""The notebooks are committed without outputs and are part of the site.

They are run twice: by the build of the site, and by ``pytest --nbmake docs/notebooks``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param.stem, json.loads(request.param.read_text(encoding="utf-8"))


def test_no_output_is_committed(notebook: tuple[str, dict[str, Any]]) -> None:
    for cell in notebook[1]["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


def test_every_notebook_is_in_the_site(notebook: tuple[str, dict[str, Any]]) -> None:
    assert f"\nnotebooks/{notebook[0]}\n" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_every_notebook_says_what_it_shows(notebook: tuple[str, dict[str, Any]]) -> None:
    first = notebook[1]["cells"][0]
    assert first["cell_type"] == "markdown"
    assert first["source"][0].startswith("# ")
