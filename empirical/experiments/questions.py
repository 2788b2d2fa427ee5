"""Ten questions that reviewers asked, each answered by a computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from empirical.experiments import cluster_questions as cluster
from empirical.experiments import model_questions as model
from empirical.experiments.answer import Answer, Part
from empirical.experiments.panel import Panel
from empirical.experiments.question_panels import SEEDS
from empirical.experiments.routing_question import makespans
from empirical.experiments.sweep import Row, Sweep
from theory.jsonfile import write_json, write_text

__all__ = ["answer_all"]

SCHEMA = "kvbounds/questions/1"


def answer_all(
    sweep: Sweep,
    seeds: Sequence[int],
    *,
    queries: int | None = None,
    folder: Path | None = None,
    only: Sequence[int] = tuple(range(1, 11)),
) -> list[dict[str, Any]]:
    """Answer the questions `only`; with a folder, also write ``questions.json``, ``.md``, figures.

    Parameters
    ----------
    sweep : Sweep
        Runs the cluster; what it has finished is not run again.
    seeds : sequence of int
        Of every setting of the cluster.
    queries : int, optional
        Only the first so many queries of every run of the cluster.
    folder : Path, optional
        Where to write.
    only : sequence of int
        Which questions.
    """

    def run(panel: Panel) -> list[Row]:
        return panel.run(sweep, seeds, queries=queries)

    def coins() -> Answer:
        found = model.seeds()
        return Answer(
            found.number,
            found.question,
            found.answer,
            found.status,
            found.tables,
            [Part(SEEDS, run(SEEDS))],
        )

    questions: dict[int, Callable[[], Answer]] = {
        1: model.overflow,
        2: model.duplicates,
        3: coins,
        4: lambda: cluster.distributions(run),
        5: lambda: cluster.scaling(run),
        6: lambda: cluster.parameters(run),
        7: lambda: cluster.absolute(run),
        8: lambda: cluster.times(seeds, queries),
        9: lambda: cluster.baseline(run),
        10: makespans,
    }
    answers = [questions[number]() for number in only]
    if folder is not None:
        write_json(
            folder / "questions.json",
            {"schema": SCHEMA, "answers": [answer.to_json() for answer in answers]},
        )
        text = "\n".join(answer.to_markdown(folder) for answer in answers)
        write_text(folder / "questions.md", f"# Ten questions\n\n{text}")
    return [answer.to_json() for answer in answers]
