"""``kvbounds exact``: exact competitive ratios on finite tries, with certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbounds.cli.output import (
    Format,
    FormatOption,
    QuietOption,
    integers,
    note,
    print_json,
    print_table,
    words,
)
from theory.errors import InputError
from theory.jsonfile import check_writable, write_json

if TYPE_CHECKING:
    from theory.exact import Arena
    from theory.model import Instance

__all__ = ["register"]

SHOW_EVERY = 20_000
FAMILY_ALIASES = {"L": "length", "B": "capacity"}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("exact", help="Exact competitive ratios on finite tries.")(exact)


def exact(  # noqa: PLR0917 - typer calls it by keyword
    family: Annotated[str | None, typer.Option(help="The trie of a worst-case family.")] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--set", help="Parameters of the family: key=value,key=value."),
    ] = None,
    parents: Annotated[
        str | None, typer.Option(help="A trie by the parent of each token; -1 is the root.")
    ] = None,
    instance: Annotated[
        str | None, typer.Option(help="The trie and the queries of an instance file.")
    ] = None,
    cycle: Annotated[
        str | None, typer.Option(help="Evaluate the prefix and the cycle of an instance file.")
    ] = None,
    all_forests: Annotated[
        str | None,
        typer.Option(help="All forests with at most N nodes, or with M-N nodes."),
    ] = None,
    queries: Annotated[
        str | None, typer.Option(help="Allow these queries only, by their last tokens.")
    ] = None,
    capacity: Annotated[str | None, typer.Option(help="B, in tokens; a range in a sweep.")] = None,
    beta: Annotated[str, typer.Option(help="Distinct queries a batch; a range in a sweep.")] = "1",
    min_length: Annotated[
        str, typer.Option(help="L, the shortest query allowed; a range in a sweep.")
    ] = "1",
    policy: Annotated[
        str, typer.Option(help="The eviction policy; several in a sweep.")
    ] = "leaf-lru",
    certificate: Annotated[
        str | None, typer.Option(help="Write the certificate to this file.")
    ] = None,
    value: Annotated[
        bool,
        typer.Option(
            "--value",
            help="Also the best deterministic ratio, and a lower bound for randomised policies.",
        ),
    ] = False,
    value_certificate: Annotated[
        str | None, typer.Option(help="Write the certificate of the best deterministic ratio.")
    ] = None,
    max_states: Annotated[
        int, typer.Option(min=1, help="Cap on the states; beyond it, a lower bound only.")
    ] = 200_000,
    out: Annotated[
        str | None, typer.Option(help="The file that a sweep writes, and resumes from.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes of a sweep.")] = 2,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Compute the exact ratio of a policy over all sequences on a trie, or over all small tries."""
    sources = [family, parents, instance, cycle, all_forests]
    if sum(source is not None for source in sources) != 1:
        raise InputError(
            "give exactly one of --family, --parents, --instance, --cycle and --all-forests",
            where="usage",
        )
    check_writable(certificate, value_certificate, out)
    if all_forests is not None:
        from kvbounds.cli.sweep import sweep

        sweep(
            all_forests,
            capacities=integers(capacity or "2-4", "--capacity"),
            betas=integers(beta, "--beta"),
            lengths=integers(min_length, "--min-length"),
            policies=words(policy, "--policy"),
            most_states=max_states,
            out=out,
            jobs=jobs,
            output=output,
            quiet=quiet,
        )
    elif cycle is not None:
        bound = None if capacity is None else _one(capacity, "--capacity")
        _cycle(cycle, bound, policy, certificate, output, quiet)
    else:
        arena = _arena(
            family,
            more or [],
            parents,
            instance,
            None if queries is None else integers(queries, "--queries"),
            None if capacity is None else _one(capacity, "--capacity"),
            _one(beta, "--beta"),
            _one(min_length, "--min-length"),
        )
        summary = _exact(arena, policy, max_states, certificate, quiet)
        if value or value_certificate is not None:
            summary.update(_value(arena, max_states, value_certificate, quiet))
        _show(summary, output)


def _one(text: str, option: str) -> int:
    found = integers(text, option)
    if len(found) != 1:
        raise InputError(
            f"{text!r} is several numbers", where=option, fix="ranges are for --all-forests"
        )
    return found[0]


def _arena(
    family: str | None,
    more: list[str],
    parents: str | None,
    instance: str | None,
    queries: list[int] | None,
    capacity: int | None,
    beta: int,
    min_length: int,
) -> Arena:
    """The trie, the capacity and the queries that the options name."""
    from theory.exact import Arena
    from theory.model import Instance
    from theory.trie import TokenTrie

    found: Instance | None = None
    if parents is not None:
        trie = TokenTrie.from_parents(integers(parents.strip("[] "), "--parents"))
    else:
        found = _of_family(family, more, capacity) if family else Instance.load(str(instance))
        trie = found.trie
    if capacity is None:
        if found is None:
            raise InputError("is missing", where="--capacity", fix="give B, in tokens")
        capacity = found.capacity
    if queries is None and found is not None:
        queries = sorted({query for step in found.steps for query in step})
    return Arena(trie, capacity, beta, queries, min_length)


def _of_family(family: str, more: list[str], capacity: int | None) -> Instance:
    from adversary.families import make_instance, parameters
    from kvbounds.cli.adversary import settings

    defaults = parameters(family)
    given: dict[str, Any] = {}
    for text in more:
        for key, value in settings(text, defaults).items():
            given[FAMILY_ALIASES.get(key, key)] = value
    if capacity is not None and "capacity" in defaults:
        given["capacity"] = capacity
    return make_instance(family, given)


def _exact(
    arena: Arena,
    policy: str,
    most_states: int,
    certificate: str | None,
    quiet: bool,
) -> dict[str, Any]:
    from theory.exact import certificate as certify
    from theory.exact import exact_ratio
    from theory.exact.growing import state_grows
    from theory.exact.solver import GROWS

    shown = 0

    def tell_if_states_grow() -> None:
        if not quiet and state_grows(arena, policy):
            note(GROWS.format(policy=policy), quiet)

    def progress(states: int, expanded: int) -> None:
        nonlocal shown
        if states < shown + SHOW_EVERY:
            return
        if not shown:
            note(
                f"{arena.caches:,} prefix-closed caches of at most {arena.capacity} tokens, "
                f"{len(arena.batches('footprint')):,} footprints; cap: {most_states:,} states",
                quiet,
            )
            tell_if_states_grow()
        shown = states
        note(f"{states:,} states found, {expanded:,} expanded", quiet)

    found = exact_ratio(arena, policy, most_states=most_states, progress=progress)
    if not found.complete:
        note(f"the cap of {most_states:,} states was reached: a lower bound only", quiet)
        if not shown:
            tell_if_states_grow()
    if certificate is not None:
        write_json(certificate, certify(found))
        note(f"certificate written to {certificate}", quiet)
    return {
        "policy": policy,
        "B": arena.capacity,
        "u": arena.u,
        "k": arena.k,
        "beta": arena.beta,
        "ratio": found.text,
        "complete": found.complete,
        "states": found.states,
        "additive": None if found.additive is None else str(found.additive),
        "policy_cost": str(found.policy_cost),
        "optimum_cost": str(found.optimum_cost),
        "prefix": [list(step) for step in found.witness.prefix],
        "cycle": [list(step) for step in found.witness.cycle],
    }


def _value(arena: Arena, most_states: int, certificate: str | None, quiet: bool) -> dict[str, Any]:
    """The best deterministic ratio, and a lower bound for randomised policies."""
    from mip.minimax import randomised_bound
    from theory.exact import certificate as certify
    from theory.exact import game_value

    best = game_value(arena, most_states=most_states)
    if not best.complete:
        note(f"best deterministic ratio: from {best.lower} to {best.upper}", quiet)
    if certificate is not None:
        write_json(certificate, certify(best))
        note(f"certificate written to {certificate}", quiet)
    return {
        "deterministic": str(best.upper),
        "deterministic_lower": str(best.lower),
        "randomised_lower": str(randomised_bound(arena).ratio),
    }


def _cycle(
    path: str,
    capacity: int | None,
    policy: str,
    certificate: str | None,
    output: Format,
    quiet: bool,
) -> None:
    from theory.exact import certificate as certify
    from theory.exact import cycle_ratio
    from theory.model import Instance

    given = Instance.load(path)
    if capacity is not None:
        given = given.with_capacity(capacity)
    found = cycle_ratio(given, policy)
    if certificate is not None:
        write_json(certificate, certify(found))
        note(f"certificate written to {certificate}", quiet)
    note("the ratio of this cycle, exact: a lower bound for the policy", quiet)
    summary: dict[str, Any] = {
        "policy": policy,
        "B": given.capacity,
        "u": given.u,
        "k": given.k,
        "beta": given.beta,
        "ratio": found.text,
        "complete": found.ratio is None,
        "states": 0,
        "policy_cost": str(found.policy_cost),
        "optimum_cost": str(found.optimum_cost),
        "prefix": [list(step) for step in given.prefix],
        "cycle": [list(step) for step in given.cycle],
    }
    _show(summary, output)


def _show(summary: dict[str, Any], output: Format) -> None:
    if output is Format.json:
        print_json(summary)
        return
    columns = [key for key in summary if key not in ("prefix", "cycle")]
    print_table([[summary[key] for key in columns]], columns)
    for name in ("prefix", "cycle"):
        steps = [",".join(map(str, step)) for step in summary[name]]
        shown = " ".join(steps[:60]) + (f" ... ({len(steps)} steps)" if len(steps) > 60 else "")
        print(f"{name}: {shown or '-'}")
