"""Directive ``commands``: the help of every command, asked of the commands themselves."""

from __future__ import annotations

from typing import Any

import click
import typer.main
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from kvbounds.cli import COMMANDS, build_app

__all__ = ["setup"]

WIDTH = 88


class Commands(SphinxDirective):
    """One section a command, with its help as a reader of a terminal sees it."""

    def run(self) -> list[nodes.Node]:
        """The sections, in the order of ``kvbounds --help``."""
        sections: list[nodes.Node] = []
        for name in COMMANDS:
            root = click.Context(_command(name), info_name="kvbounds", max_content_width=WIDTH)
            command = root.command.commands[name]  # type: ignore[attr-defined]
            section = nodes.section(ids=[f"kvbounds-{name}"], names=[f"kvbounds {name}"])
            section += nodes.title("", f"kvbounds {name}")
            section += [_help(root, name, command)]
            for inner, sub in getattr(command, "commands", {}).items():
                parent = click.Context(
                    command, info_name=name, parent=root, max_content_width=WIDTH
                )
                section += _help(parent, inner, sub)
            sections.append(section)
        return sections


def _command(name: str) -> Any:
    return typer.main.get_command(build_app(name))


def _help(parent: click.Context, name: str, command: click.Command) -> nodes.literal_block:
    context = click.Context(
        command, info_name=name, parent=parent, max_content_width=WIDTH, terminal_width=WIDTH
    )
    return nodes.literal_block("", command.get_help(context), language="none")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
