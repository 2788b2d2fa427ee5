"""Directive ``claims``: rows of the ledger where their proof or their measurement stands.

A page shows each of its claims once, by id. Status, evidence, machine-checked theorems and the
command that shows a claim come from `theory.claims`, so that no page can promise more than the
ledger does. ``tests/docs/test_claims_have_pages.py`` holds pages and ledger to each other.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from theory.claims import CLAIMS, Claim

__all__ = ["setup"]


class Claims(SphinxDirective):
    """``{claims} id id ...``."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """The rows as a box."""
        ledger = {claim.id: claim for claim in CLAIMS}
        box = nodes.admonition(classes=["ledger"])
        box += nodes.title("", "In the ledger")
        for name in self.arguments[0].split():
            if name not in ledger:
                raise self.error(f"the ledger has no claim {name!r}")
            box += _row(ledger[name])
        return [box]


def _row(claim: Claim) -> list[nodes.Node]:
    first = nodes.paragraph(ids=[f"claim-{claim.id}"])
    first += [
        nodes.literal("", claim.id),
        nodes.Text(", "),
        nodes.strong("", claim.status),
        nodes.Text(f". {claim.statement} "),
        nodes.emphasis("", f"For {claim.assumptions}."),
    ]
    second = nodes.paragraph(classes=["evidence"])
    second += nodes.Text(f"{claim.evidence} ")
    if claim.theorems:
        second += nodes.Text("Coq: ")
        for place, theorem in enumerate(claim.theorems):
            second += [nodes.Text(", " * bool(place)), nodes.literal("", theorem)]
        second += nodes.Text(". ")
    second += [nodes.Text("Shown by "), nodes.literal("", claim.command), nodes.Text(".")]
    return [first, second]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("claims", Claims)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
