"""A search for short sequences on which a router is far from the least makespan."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from adversary.routing import RoutingWitness, witness
from theory.errors import InputError
from theory.routing.instance import RoutingInstance, Worker
from theory.trie import TokenTrie

__all__ = ["search_routing"]


def search_routing(
    router: str,
    eviction: str = "leaf-lru",
    *,
    workers: int = 2,
    queries: int = 8,
    groups: int = 3,
    longest: int = 6,
    steps: int = 400,
    seed: int = 0,
) -> RoutingWitness:
    """Climb towards a sequence that is bad for a router, then drop what is not needed.

    A candidate is a list of (group, shared length, own length, gap): the prompt is the first part
    of the group's prefix and a tail of its own. One query is changed, moved or exchanged at a time,
    and the change is kept unless the ratio gets smaller.

    Parameters
    ----------
    router, eviction : str
        Who serves it.
    workers, queries, groups, longest : int
        The size of the instance; lengths are at most `longest`, and that twice is the capacity.
    steps : int
        Candidates that are tried; each takes a proof of the optimum.
    seed : int
        Of the search; the router is run with seed 0.

    Examples
    --------
    >>> found = search_routing("round-robin", steps=60, queries=5)
    >>> found.ratio > 1
    True
    """
    sizes = {"workers": workers, "queries": queries, "groups": groups, "longest": longest}
    for field, value in {**sizes, "steps": steps}.items():
        if value < 1:
            raise InputError(f"{value!r} is not a positive whole number", where=field)
    draws = random.Random(seed)
    origin = f"search with {steps} steps, seed {seed}"

    def anew() -> _Query:
        gap = draws.choice((0, 0, longest, 4 * longest))
        return _Query(
            draws.randrange(groups), draws.randint(0, longest), draws.randint(0, longest), gap
        )

    def judge(candidate: list[_Query]) -> RoutingWitness:
        instance = _build(candidate, workers, longest, f"search-{router.partition(':')[0]}")
        return witness(instance, router, eviction, origin=origin)

    current = [anew() for _ in range(queries)]
    best = judge(current)
    for _ in range(steps):
        candidate = list(current)
        place, other = draws.randrange(len(candidate)), draws.randrange(len(candidate))
        move = draws.randrange(3)
        if move == 0:
            candidate[place] = anew()
        elif move == 1:
            candidate[place] = candidate[other]
        else:
            candidate[place], candidate[other] = candidate[other], candidate[place]
        tried = judge(candidate)
        if tried.ratio >= best.ratio:
            current, best = candidate, tried
    place = 0
    while place < len(current) and len(current) > 1:
        tried = judge(current[:place] + current[place + 1 :])
        if tried.ratio >= best.ratio:
            current, best = current[:place] + current[place + 1 :], tried
        else:
            place += 1
    return best


@dataclass(frozen=True)
class _Query:
    """`shared` tokens of the prefix of a group, `own` further ones, `gap` ms after the last."""

    group: int
    shared: int
    own: int
    gap: int


def _build(queries: Sequence[_Query], workers: int, longest: int, name: str) -> RoutingInstance:
    prompts = []
    for place, query in enumerate(queries):
        shared = [(query.group, depth) for depth in range(query.shared)]
        own = [(query.group, place, depth) for depth in range(query.own or not query.shared)]
        prompts.append([*shared, *own])
    trie, ends = TokenTrie.from_sequences(prompts)
    arrivals, now = [], 0.0
    for query in queries:
        now += query.gap
        arrivals.append(now)
    return RoutingInstance(
        trie, [Worker(2 * longest)] * workers, ends, arrivals=arrivals, name=name
    )
