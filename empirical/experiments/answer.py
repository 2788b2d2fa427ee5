"""An answer to a question: a sentence that follows from tables, and the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from empirical.experiments.panel import Panel
from empirical.experiments.report import draw, markdown, panel_markdown
from empirical.experiments.sweep import Row

__all__ = ["Answer", "Part", "Table"]


@dataclass(frozen=True)
class Table:
    """A table of an answer.

    Attributes
    ----------
    title : str
        Above it.
    header : sequence of str
        With units.
    rows : sequence of sequences
        JSON values; floats are shown with four digits.
    note : str
        Denominators, seeds.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """One object a row."""
        rows = [dict(zip(self.header, row, strict=True)) for row in self.rows]
        return {"title": self.title, "note": self.note, "rows": rows}

    def to_markdown(self) -> str:
        """Title, note and table."""
        cells = [[_shown(value) for value in row] for row in self.rows]
        note = f"{self.note}\n\n" if self.note else ""
        return f"**{self.title}**\n\n{note}{markdown(cells, self.header)}"


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)


@dataclass(frozen=True)
class Part:
    """A panel of an answer with its rows."""

    panel: Panel
    rows: Sequence[Row]


@dataclass(frozen=True)
class Answer:
    """An answer.

    Attributes
    ----------
    number : int
        Of the question, 1 to 10.
    question : str
        In full.
    answer : str
        What follows from the tables.
    status : str
        ``measured`` with seeds and intervals, or ``proved`` and checked on these instances.
    tables, parts : sequence
        The evidence.
    """

    number: int
    question: str
    answer: str
    status: str
    tables: Sequence[Table] = ()
    parts: Sequence[Part] = field(default_factory=tuple)

    def to_json(self) -> dict[str, Any]:
        """Everything but the figures."""
        return {
            "number": self.number,
            "question": self.question,
            "answer": self.answer,
            "status": self.status,
            "tables": [table.to_json() for table in self.tables],
            "panels": [
                {"name": part.panel.name, "title": part.panel.title, "rows": list(part.rows)}
                for part in self.parts
            ],
        }

    def to_markdown(self, folder: Path | None = None) -> str:
        """A section; figures go into `folder`."""
        text = [f"## {self.number}. {self.question}", self.answer, f"*Status: {self.status}.*"]
        text += [table.to_markdown() for table in self.tables]
        for part in self.parts:
            text.append(f"**{part.panel.title}**")
            text.append(panel_markdown(part.panel, part.rows))
            if folder is not None and len(part.panel.points) > 1:
                name = f"question-{self.number}-{part.panel.name}.png"
                draw(part.panel, part.rows, folder / name)
                text.append(f"![{part.panel.title}]({name})")
        return "\n\n".join(text) + "\n"
