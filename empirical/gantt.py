"""A picture of who serves what when: a router's run above the best schedule known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mip.fixed_eviction import FixedEvictionOptimum
from mip.makespan import MakespanOptimum
from mip.schedule import step_hits
from theory.errors import InputError
from theory.load import LoadResult, Served, route, serve
from theory.routing.instance import RoutingInstance

__all__ = ["draw_gantt", "planned"]

SUFFIXES = (".png", ".pdf", ".svg")


def planned(instance: RoutingInstance, best: MakespanOptimum) -> list[Served]:
    """The queries as the schedule of an offline optimum serves them, back to back."""
    rows = []
    for index, worker in enumerate(instance.workers):
        part = instance.worker_instance(index, best.assignment)
        if part is None:
            continue
        mine = [j for j, chosen in enumerate(best.assignment) if chosen == index]
        now = 0.0
        for j, hits in zip(mine, step_hits(part, best.caches[index]), strict=True):
            misses = instance.trie.depth(instance.queries[j]) - hits
            cost = worker.cost(hits, misses, instance.outputs[j])
            rows.append(Served(j, index, hits, misses, cost, 0.0, now, now + float(cost)))
            now += float(cost)
    return rows


def draw_gantt(
    instance: RoutingInstance,
    router: str,
    eviction: str,
    best: MakespanOptimum | FixedEvictionOptimum,
    path: str | Path,
    *,
    seed: int = 0,
) -> None:
    """Draw a router's run and the best schedule, a row of bars a worker.

    A bar is a query, coloured by its first node (the same prefix, the same colour); its pale part
    is what it hit. Bars stand back to back, so that the end of a row is the worker's load.

    Raises
    ------
    InputError
        If the file cannot be written or its kind is unknown.
    """
    if Path(path).suffix not in SUFFIXES:
        raise InputError(
            f"{Path(path).name!r} is of no known kind",
            where="gantt",
            fix=f"end it with {', '.join(SUFFIXES)}",
        )
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    run = route(instance, router, eviction, seed=seed)
    if isinstance(best, MakespanOptimum):
        plan: Sequence[Served] = planned(instance, best)
    else:
        plan = serve(instance, best.assignment, eviction, seed=seed).served
    word = "optimum" if best.proven else "best schedule known"
    figure, axes = plt.subplots(
        2, 1, sharex=True, figsize=(9, 1.6 + 0.8 * len(instance.workers)), layout="constrained"
    )
    _panel(axes[0], instance, run.served, f"{router}, {eviction}: {_ms(run)}")
    _panel(axes[1], instance, plan, f"{word}: {float(best.makespan):,.6g} ms")
    axes[0].axvline(float(best.makespan), color="black", linewidth=0.8, linestyle=":")
    axes[1].set_xlabel("load in ms (one colour a prefix; pale: the share of the prompt that hit)")
    try:
        # No date in the file: equal input, equal bytes.
        metadata = {
            ".png": {"Software": None},
            ".pdf": {"CreationDate": None},
            ".svg": {"Date": None},
        }
        figure.savefig(path, dpi=150, metadata=metadata[Path(path).suffix])
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(path)) from error
    finally:
        plt.close(figure)


def _ms(run: LoadResult) -> str:
    return f"{float(run.makespan):,.6g} ms"


def _panel(axis: Any, instance: RoutingInstance, rows: Sequence[Served], title: str) -> None:
    import matplotlib as mpl

    colours = mpl.colormaps["tab20"]
    heads = {query: instance.trie.path(query)[0] for query in set(instance.queries)}
    number = {
        head: place for place, head in enumerate(dict.fromkeys(map(heads.get, instance.queries)))
    }
    ends = [0.0] * len(instance.workers)
    for row in sorted(rows, key=lambda row: row.query):
        colour = colours(number[heads[instance.queries[row.query]]] % 20)
        width = float(row.cost)
        saved = row.hits / max(1, row.hits + row.misses)
        axis.barh(row.worker, width, left=ends[row.worker], color=colour, edgecolor="white")
        axis.barh(
            row.worker,
            width * saved,
            left=ends[row.worker],
            height=0.3,
            color="white",
            alpha=0.5,
        )
        ends[row.worker] += width
    axis.set_yticks(range(len(instance.workers)), [f"worker {i}" for i in range(len(ends))])
    axis.invert_yaxis()
    axis.set_title(title, fontsize=10, loc="left")
