"""Check the value of a game: an optimal policy from above, an optimal adversary from below."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx

from theory.errors import ClaimError, InputError
from theory.exact.entry import Entry, reject
from theory.exact.verify_upper import (
    WorkFunctions,
    check_automaton,
    check_pairs,
    check_potential,
    check_steps,
)
from theory.trie import ROOT, TokenTrie

__all__ = ["verify_value"]

Automaton = tuple[list[list[int]], list[list[Fraction]]]
Footprints = list[tuple[int, ...]]


def verify_value(root: Entry) -> tuple[Fraction, str]:
    """The upper bound of a valid certificate, and what it establishes.

    Raises
    ------
    ClaimError
        With the JSON pointer of the first entry that fails.
    """
    shape = "segments" if "segments" in root.value else "parents"
    root.only(
        *("schema", "kind", "ratio", "complete", "capacity", shape, "beta", "queries", "steps"),
        *("caches", "optimum", "upper", "lower", "digest"),
    )
    capacity = root.at("capacity").integer(1)
    try:
        trie = TokenTrie.from_json({shape: root.at(shape).value}, root.where.removesuffix("#"))
        functions = WorkFunctions(trie, capacity)
    except InputError as error:
        raise ClaimError(str(error)) from None
    root.at(shape).expect(trie.to_json().get(shape))
    steps = check_steps(root, trie, capacity, "footprint")
    footprints = [trie.footprint(step) for step in steps]
    optimum = check_automaton(
        root.at("optimum"),
        functions.start,
        lambda function, step: functions.serve(function, footprints[step]),
        len(steps),
    )
    caches = _check_caches(root.at("caches"), trie, capacity)
    ratio, additive = _verify_policy(root.at("upper"), caches, footprints, optimum)
    root.at("ratio").expect(str(ratio))
    told = f"a policy pays at most {ratio} OPT + {additive} on every sequence of these steps"
    below = None
    if root.at("lower").value is not None:
        below = _verify_adversary(root.at("lower"), caches, footprints, optimum, functions)
        told += f", and no deterministic policy has a ratio below {below}"
    root.at("complete").expect(below == ratio)
    sides = [root.at(side) for side in ("upper", "lower") if root.at(side).value is not None]
    used = {pair.at(0).integer() for side in sides for pair in side.at("states").items()}
    for index in range(len(caches)):
        if index not in used:
            reject(root.at("caches").at(index), "is in no state")
    return ratio, told


def _check_caches(entry: Entry, trie: TokenTrie, capacity: int) -> list[frozenset[int]]:
    """The caches: prefix-closed, not too large, all different, the empty one first."""
    caches: list[frozenset[int]] = []
    for cache_entry in entry.items():
        tokens = cache_entry.integers(0, len(trie) - 1)
        if tokens != sorted(set(tokens)) or len(tokens) > capacity:
            reject(cache_entry, f"is not an increasing list of at most {capacity} tokens")
        cache = frozenset(tokens)
        if any(trie.parent(token) not in cache | {ROOT} for token in tokens):
            reject(cache_entry, "is not prefix-closed")
        if cache in caches:
            reject(cache_entry, f"is the same as cache {caches.index(cache)}")
        caches.append(cache)
    if not caches or caches[0]:
        reject(entry, "does not begin with the empty cache")
    return caches


def _verify_policy(
    upper: Entry, caches: list[frozenset[int]], footprints: Footprints, optimum: Automaton
) -> tuple[Fraction, Fraction]:
    """The ratio and the additive constant of the policy."""
    upper.only("ratio", "additive", "states", "choices", "potential")
    ratio = upper.at("ratio").fraction()
    pairs, number = check_pairs(upper.at("states"), len(caches), len(optimum[0]))
    edges: list[list[tuple[int, Fraction]]] = []
    rows = upper.at("choices").items(len(pairs))
    for (cache, function), row in zip(pairs, rows, strict=True):
        edges.append([])
        for step, choice in enumerate(row.items(len(footprints))):
            held, tokens = caches[choice.integer(0, len(caches) - 1)], set(footprints[step])
            if not tokens <= held <= caches[cache] | tokens:
                reject(choice, f"no cache after step {step}: it lacks tokens, or has new ones")
            then = number.get((choice.integer(), optimum[0][function][step]))
            if then is None:
                reject(choice, "leads to a missing state")
            gain = len(tokens - caches[cache]) - ratio * optimum[1][function][step]
            edges[-1].append((then, gain))
    additive = check_potential(upper, edges)
    upper.at("additive").expect(str(additive))
    return ratio, additive


def _verify_adversary(
    lower: Entry,
    caches: list[frozenset[int]],
    footprints: Footprints,
    optimum: Automaton,
    functions: WorkFunctions,
) -> Fraction:
    """The ratio that the adversary forces.

    It is enough to let the policy hold as many tokens as it may: a cache that holds more never has
    more misses later on, as it can follow the smaller one.
    """
    lower.only("ratio", "states", "asked", "potential")
    ratio = lower.at("ratio").fraction()
    pairs, number = check_pairs(lower.at("states"), len(caches), len(optimum[0]))
    edges: list[list[tuple[int, Fraction]]] = []
    idle: nx.DiGraph[int] = nx.DiGraph()
    place = {cache: index for index, cache in enumerate(caches)}
    asked = lower.at("asked").items(len(pairs))
    for (cache, function), entry in zip(pairs, asked, strict=True):
        step = entry.integer(0, len(footprints) - 1)
        tokens = frozenset(footprints[step])
        growth, cost = optimum[1][function][step], len(tokens - caches[cache])
        edges.append([])
        for held in functions.largest(caches[cache] | tokens, tokens):
            target = place.get(held, -1), optimum[0][function][step]
            if target not in number:
                reject(entry, f"the policy can answer step {step} with a state that is missing")
            edges[-1].append((number[target], ratio * growth - cost))
            if not growth and not cost:
                idle.add_edge(len(edges) - 1, number[target])
    if not nx.is_directed_acyclic_graph(idle):
        reject(lower.at("asked"), "the game can stand still: on some cycle nobody pays")
    check_potential(lower, edges)
    return ratio
