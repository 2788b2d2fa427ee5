"""Every claim of the ledger stands on one page, and every claim of a page is in the ledger."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from theory.claims import CLAIMS

DOCS = Path(__file__).resolve().parents[2] / "docs"
DIRECTIVE = re.compile(r"^```\{claims\} (.+)$", re.MULTILINE)


def shown() -> Counter[str]:
    pages = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
    return Counter(
        name
        for page in pages
        for row in DIRECTIVE.findall(page.read_text(encoding="utf-8"))
        for name in row.split()
    )


def test_every_claim_has_a_page() -> None:
    missing = {claim.id for claim in CLAIMS} - set(shown())
    assert not missing, f"add {{claims}} {' '.join(sorted(missing))} to a page of docs/"


def test_every_claim_of_a_page_is_in_the_ledger() -> None:
    unknown = set(shown()) - {claim.id for claim in CLAIMS}
    assert not unknown, f"no such claim in theory/claims: {sorted(unknown)}"


def test_no_claim_is_shown_twice() -> None:
    twice = {name for name, count in shown().items() if count > 1}
    assert not twice, f"shown on more than one page: {sorted(twice)}"
