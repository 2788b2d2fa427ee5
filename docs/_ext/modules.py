"""Directive ``modules``: one line a module, the first line of its docstring."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["one_line", "setup"]

ROOT = Path(__file__).resolve().parent.parent.parent


def one_line(path: Path) -> str:
    """What the first line of a module's docstring says; empty if it has none."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return text.splitlines()[0] if text else ""


class Modules(SphinxDirective):
    """``{modules} folder``: a list of the folder's modules, tests left out."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The list; a module without a docstring is an error."""
        rows = nodes.definition_list()
        for path in sorted((ROOT / self.arguments[0]).rglob("*.py")):
            name = path.relative_to(ROOT)
            if path.name.startswith("test_") or "cpu_shims" in name.parts:
                continue
            if not path.stat().st_size:  # an empty __init__.py
                continue
            line = one_line(path)
            if not line:
                raise self.error(f"{name} has no docstring")
            self.env.note_dependency(str(path))
            item = nodes.definition_list_item()
            item += nodes.term("", "", nodes.literal("", str(name)))
            item += nodes.definition("", nodes.paragraph("", line))
            rows += item
        return [rows]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("modules", Modules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
