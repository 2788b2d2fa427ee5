"""``kvbounds attack``: the worst case of any eviction policy, and how it grows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kvbounds.cli.output import (
    Format,
    FormatOption,
    QuietOption,
    SeedOption,
    note,
    print_json,
    print_table,
)
from theory.errors import InputError

if TYPE_CHECKING:
    from adversary.context import Known
    from adversary.deadline import Deadline
    from adversary.growth import Growth
    from adversary.marking import Marking
    from adversary.search import Candidate, Search

__all__ = ["register"]

QUICK = 32
"""Up to this capacity a round of the search takes less than a minute."""

SEARCH, CERTIFY, MARKING, GROWTH, SHRINK = 0.5, 0.6, 0.7, 0.9, 1.0
"""By which part of a budget in seconds each of them has to come to its end."""

LINE_EVERY = 5.0
"""Seconds from one line of progress to the next, where stderr is no terminal."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("attack", help="Find the worst case of any eviction policy.")(attack)


def attack(
    policy: Annotated[str, typer.Option(help="A policy's name, or your own as module:Class.")],
    capacity: Annotated[int, typer.Option(max=1000, help="B, in tokens; up to 32 is quick.")] = 8,
    beta: Annotated[
        str, typer.Option(help="Distinct queries a batch; 'grow': about half of what fits.")
    ] = "1",
    min_length: Annotated[int, typer.Option(help="L, the least length of a query.")] = 1,
    evaluations: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many evaluations (default 640).")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Stop after so many seconds instead, e.g. 60s or 2m.")
    ] = None,
    out: Annotated[str | None, typer.Option(help="Write the witness to this file.")] = None,
    resume: Annotated[
        str | None,
        typer.Option(help="Keep the state of the search in this file, and go on from it."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 2,
    seed: SeedOption = 0,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Search, certify, shrink, and judge the growth."""
    from adversary.context import known_bounds
    from adversary.deadline import Deadline
    from adversary.growth import growing_beta, growth
    from adversary.marking import look_for_violation
    from adversary.shrink import shrink
    from adversary.target import Target
    from theory.jsonfile import check_writable

    check_writable(out, resume)
    if evaluations is not None and budget is not None:
        raise InputError("give either --evaluations or --budget", where="--budget")
    grow = beta == "grow"
    target = Target(
        policy, capacity, growing_beta(capacity, min_length) if grow else _beta(beta), min_length
    )
    seconds = None if budget is None else _seconds(budget)
    if capacity > QUICK and seconds is None:
        note(
            f"a round at a capacity of {capacity} takes minutes (--budget 60s ends in time); "
            "the growth with k is judged up to k = 24 at any capacity",
            quiet,
        )
    started = time.monotonic()

    def until(share: float) -> Deadline | None:
        """When this share of a budget in seconds is spent."""
        return None if seconds is None else Deadline(started + share * seconds)

    def tell(stage: str) -> None:
        """Say what is being done, if it has not been quick."""
        if time.monotonic() - started > LINE_EVERY:
            note(f"{policy}: {stage}", quiet)

    search = _search(target, seed, resume)
    _advance(search, evaluations or 640, until(SEARCH), jobs, resume, quiet)
    tell("certifying the worst case and looking for a violation of marking")
    best = search.result(until(CERTIFY))
    target.check_repeats(best.instance)
    marking = look_for_violation(target, seed, [best.instance], stop=until(MARKING))
    tell("measuring how the ratio grows")
    verdict = growth(target, best, search.pool, grow=grow, stop=until(GROWTH))
    tell("making the witness small")
    known = best.score if seconds is not None else None
    instance, score = shrink(best.instance, target, stop=until(SHRINK), score=known)
    instance = instance.renamed(
        f"attack-{policy}",
        {"policy": policy, "shows": f"{policy} has ratio {score.text}", "seed": seed},
    )
    if out is not None:
        instance.save(out)
        note(f"witness written to {out}", quiet)
    best = replace(best, instance=instance, score=score)
    bounds = known_bounds(target, marking.violation is None)
    spent = f"{search.evaluations} evaluations" if seconds is None else f"{budget} of wall time"
    made = _Attack(search, best, marking, verdict, bounds, spent, grow)
    if output is Format.json:
        print_json(_as_json(made))
    else:
        _print(made)


class _Attack(NamedTuple):
    """All that an attack has found."""

    search: Search
    best: Candidate
    marking: Marking
    verdict: Growth
    bounds: list[Known]
    spent: str
    grow: bool


def _beta(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{text!r} is neither an integer nor 'grow'", where="--beta") from None


def _seconds(text: str) -> float:
    """Read ``60s``, ``60`` or ``2m``.

    Examples
    --------
    >>> _seconds("60s"), _seconds("1.5m")
    (60.0, 90.0)
    """
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)?", text.strip())
    if matched is None or not float(matched[1]) > 0:
        raise InputError(
            f"{text!r} is no time", where="--budget", fix="write for example 60s or 2m"
        )
    return float(matched[1]) * {"s": 1, "m": 60, "h": 3600}[matched[2] or "s"]


def _search(target: Any, seed: int, resume: str | None) -> Search:
    from pathlib import Path

    from adversary.search import Search
    from theory.jsonfile import read_json

    if resume is None or not Path(resume).exists():
        return Search(target, seed)
    search = Search.from_json(read_json(resume, "kvbounds/search/1"), resume)
    if (search.target, search.seed) != (target, seed):
        raise InputError(
            "is the state of another search",
            where=resume,
            fix="give the same policy, capacity, beta, min-length and seed, or another file",
        )
    return search


def _advance(
    search: Search,
    evaluations: int,
    stop: Deadline | None,
    jobs: int,
    resume: str | None,
    quiet: bool,
) -> None:
    """Make rounds until the budget is spent or nothing worse can be found."""
    from theory.jsonfile import write_json

    began = time.monotonic()
    total, unit = (evaluations, "evaluations") if stop is None else (stop.at - began, "s")
    made = search.evaluations

    def each(count: int) -> None:
        nonlocal made
        made += count
        best = search.pool[0].score.text if search.pool else "-"
        show(made if stop is None else time.monotonic() - began, best)

    with _bar(total, unit, search.target.policy, quiet) as show:
        while not search.finished:
            if stop() if stop else search.evaluations >= evaluations:
                break
            search.advance(jobs, stop, each)
            if resume is not None:
                write_json(resume, search.to_json())
            each(0)


@contextmanager
def _bar(
    total: float,
    unit: str,
    label: str,
    quiet: bool,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[float, str], None]]:
    """Progress on stderr, with the best ratio: a bar, or a line now and then for no terminal."""
    import sys

    if quiet:
        yield lambda done, best: None
        return
    if not sys.stderr.isatty():
        told = clock()

        def line(done: float, best: str) -> None:
            nonlocal told
            if clock() - told >= LINE_EVERY:
                told = clock()
                note(f"{label}: {done:.0f} of {total:.0f} {unit}, ratio {best}", quiet)

        yield line
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=total)
        yield lambda done, best: bars.update(
            task, completed=done, description=f"{label}: ratio {best}"
        )


def _as_json(attack: _Attack) -> dict[str, Any]:
    from adversary.drawing import draw_trie, sequence_text

    search, best, marking, verdict, bounds, spent, grow = attack

    target, score = search.target, best.score
    violation = marking.violation
    return {
        "schema": "kvbounds/attack/1",
        "policy": target.policy,
        "capacity": target.capacity,
        "beta": target.beta,
        "beta_grows": grow,
        "min_length": target.min_length,
        "seed": search.seed,
        "budget": spent,
        "evaluations": search.evaluations,
        "ratio": "unbounded" if score.ratio is None else _number(score),
        "exact": score.exact,
        "half_width": score.half_width,
        "policy_cost": _number(score, score.policy_cost),
        "optimum_cost": _number(score, score.optimum_cost),
        "found_by": best.found_by,
        "k": target.k,
        "bounds": [known.to_json() for known in bounds],
        "growth": verdict.verdict,
        "growth_evidence": verdict.evidence,
        "growth_reason": verdict.reason,
        "points": [
            {
                "slots": point.slots,
                "capacity": point.capacity,
                "beta": point.beta,
                "ratio": "unbounded" if point.score.ratio is None else _number(point.score),
                "half_width": point.score.half_width,
                "found_by": point.found_by,
            }
            for point in verdict.points
        ],
        "fits": [
            {
                "order": fit.order,
                "intercept": round(fit.intercept, 6),
                "slope": round(fit.slope, 6),
                "half_width": round(fit.uncertainty, 6),
                "aicc": round(fit.aicc, 4),
            }
            for fit in verdict.fits
        ],
        "marking": violation is None,
        "marking_steps": marking.steps,
        "violation": None
        if violation is None
        else {
            "step": violation.step,
            "token": violation.token,
            "phase_start": violation.phase_start,
            "instance": violation.instance.to_json(),
        },
        "trie": draw_trie(best.instance.trie).splitlines(),
        "sequence": sequence_text(best.instance),
        "witness": best.instance.to_json(),
    }


def _number(score: Any, value: Any = None) -> str:
    """An exact number as a fraction, a measured one as a decimal."""
    value = score.ratio if value is None else value
    return str(value) if score.exact else f"{float(value):.6g}"


def _print(attack: _Attack) -> None:
    from adversary.drawing import draw_trie, sequence_text, token_name

    search, best, marking, verdict, bounds, spent, grow = attack

    target, score, instance = search.target, best.score, best.instance
    print_table(
        [
            ["ratio", score.text + ("" if score.exact else " (measured)")],
            [f"bounds, k = {target.k}", _bounds_text(target, bounds)],
            ["cost a cycle", f"{_number(score, score.policy_cost)}, optimum "
             f"{_number(score, score.optimum_cost)}"],
            ["capacity, beta, L", f"{target.capacity}, {target.beta}"
             f"{' (grows)' if grow else ''}, {target.min_length}"],
            ["found by", f"{best.found_by}, {spent}"],
            ["growth", f"{verdict.verdict} ({verdict.evidence}: {verdict.reason})"],
            ["marking", _marking_text(marking)],
        ],
        ["", target.policy],
        left=2,
    )  # fmt: skip
    print(f"\nwitness (B = {instance.capacity}, {len(instance.trie)} tokens)")
    print(draw_trie(instance.trie))
    print(sequence_text(instance))
    if marking.violation is not None:
        shown = marking.violation
        print(
            f"\nnot marking (B = {shown.instance.capacity}): step {shown.step} evicts "
            f"{token_name(shown.token)}, used in the phase that began with step "
            f"{shown.phase_start}"
        )
        print(draw_trie(shown.instance.trie))
        print(sequence_text(replace(shown.instance, cycle_start=None)))
    if verdict.points:
        print()
        print_table(
            [
                [point.slots, point.capacity, point.beta, point.score.text, point.found_by]
                for point in verdict.points
            ],
            ["k", "B", "beta", "best ratio", "found by"],
            left=0,
        )


def _bounds_text(target: Any, bounds: list[Known]) -> str:
    """Between which bounds the ratio stands."""
    about = {
        "class": f"any {'randomised' if target.randomised else 'deterministic'} policy",
        "marking": "any marking policy",
        "policy": target.policy,
    }
    return "; ".join(
        f"{'at least' if known.kind == 'lower' else 'at most'} {known.text} for "
        f"{about[known.about]} ({known.name})"
        for known in bounds
    )


def _marking_text(marking: Marking) -> str:
    if marking.violation is None:
        return f"no violation in {marking.steps} steps"
    return f"no: step {marking.violation.step} of the sequence below"
