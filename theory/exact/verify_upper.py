"""Check the upper bound of a certificate: every edge, every inequality, exactly.

The optimum's work function is kept in full: for every prefix-closed cache Z the least cost of
serving the steps so far and ending in Z, where a token costs 1 to load and nothing to evict.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations
from math import comb, lcm
from typing import TypeVar

import numpy as np

from theory.errors import InputError
from theory.eviction import make_policy
from theory.eviction.base import Sees
from theory.exact.entry import Entry, reject
from theory.exact.replay import Player
from theory.model import Instance
from theory.trie import ROOT, TokenTrie

__all__ = [
    "WorkFunctions",
    "check_automaton",
    "check_pairs",
    "check_potential",
    "check_steps",
    "verify_upper",
]

State = TypeVar("State")

MOST_CACHES = 20_000
MOST_BATCHES = 2_000_000


class WorkFunctions:
    """Work functions as vectors over all prefix-closed caches of at most B tokens.

    Examples
    --------
    >>> functions = WorkFunctions(TokenTrie.from_parents([-1, -1]), 1)
    >>> functions.caches
    [frozenset(), frozenset({0}), frozenset({1})]
    >>> after, increase = functions.serve(functions.start, (0,))
    >>> np.frombuffer(after, dtype=np.int32).tolist(), increase
    ([0, 0, 1], 1)
    """

    def __init__(self, trie: TokenTrie, capacity: int) -> None:
        self.trie = trie
        self.capacity = capacity
        found: list[frozenset[int]] = [frozenset()]
        parents = trie.parents()
        for token, parent in enumerate(parents):  # ancestors first: extend all sets so far
            for cache in list(found):
                if len(cache) < capacity and (parent == ROOT or parent in cache):
                    found.append(cache | {token})
            if len(found) > MOST_CACHES:
                raise InputError(
                    f"more than {MOST_CACHES:,} prefix-closed caches",
                    where="the upper bound",
                    fix="it can be checked on smaller tries only",
                )
        self.caches = found
        member = np.zeros((len(found), len(trie)), dtype=np.float32)
        for row, cache in enumerate(found):
            member[row, list(cache)] = 1
        size = member.sum(axis=1)
        # loads[Y, Z]: the tokens of Z that are not in Y.
        self._loads = (size[None, :] - member @ member.T).astype(np.int32)
        self._member = member.astype(bool)
        self.start: bytes = size.astype(np.int32).tobytes()

    def serve(self, function: bytes, tokens: tuple[int, ...]) -> tuple[bytes, int]:
        """The work function after a step with this footprint, less its minimum; the minimum.

        A step forces a cache that holds the footprint; from there the cache may still change.
        """
        values = np.frombuffer(function, dtype=np.int32)
        holds = self._member[:, list(tokens)].all(axis=1)
        after = (values[holds, None] + self._loads[holds]).min(axis=0)
        least = int(after.min())
        return (after - least).astype(np.int32).tobytes(), least

    def largest(self, tokens: frozenset[int], locked: frozenset[int]) -> list[frozenset[int]]:
        """The largest prefix-closed caches among `tokens` that hold all `locked` ones."""
        size = min(len(tokens), self.capacity)
        return [c for c in self.caches if len(c) == size and locked <= c <= tokens]


def _admissible_batches(
    trie: TokenTrie, capacity: int, beta: int, queries: list[int]
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """The admissible batches of exactly `beta` of the queries, and their footprints."""
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for batch in combinations(queries, beta):
        footprint = trie.footprint(batch)
        if len(footprint) <= capacity:
            found[batch] = footprint
    return found


def check_steps(upper: Entry, trie: TokenTrie, capacity: int, sees: Sees) -> list[list[int]]:
    """The steps of the certificate: all that can be told apart, each exactly once.

    Parameters
    ----------
    upper : Entry
        An object with ``beta``, ``queries`` and ``steps``.
    trie, capacity : TokenTrie, int
        The tokens, and B.
    sees : {"footprint", "queries", "order"}
        What makes two batches different.
    """
    beta = upper.at("beta").integer(1, len(trie))
    queries = upper.at("queries").integers(0, len(trie) - 1)
    if queries != sorted(set(queries)) or len(queries) < beta:
        reject(upper.at("queries"), f"is not an increasing list of at least {beta} queries")
    if comb(len(queries), beta) > MOST_BATCHES:
        reject(upper.at("beta"), "gives too many batches to check")
    batches = _admissible_batches(trie, capacity, beta, queries)
    for index, query in enumerate(queries):
        if not any(query in batch for batch in batches):
            reject(upper.at("queries").at(index), f"{query} is in no admissible batch")

    def told_apart(order: tuple[int, ...]) -> tuple[int, ...]:
        if sees == "footprint":
            return batches[tuple(sorted(order))]
        return order if sees == "order" else tuple(sorted(order))

    wanted = {told_apart(order) for batch in batches for order in permutations(batch)}
    steps: list[list[int]] = []
    for entry in upper.at("steps").items():
        step = entry.integers(0, len(trie) - 1)
        if tuple(sorted(step)) not in batches:
            reject(entry, f"{step} is no admissible batch of {beta} of the queries")
        if told_apart(tuple(step)) not in wanted:
            reject(entry, f"{step} is in the list before, as far as it can be told apart")
        wanted.remove(told_apart(tuple(step)))
        steps.append(step)
    if wanted:
        reject(upper.at("steps"), f"{len(wanted)} admissible steps are missing")
    return steps


def check_automaton(
    entry: Entry,
    start: State,
    serve: Callable[[State, int], tuple[State, Fraction | int]],
    width: int,
) -> tuple[list[list[int]], list[list[Fraction]]]:
    """Derive every edge of an automaton again; its targets and costs.

    Parameters
    ----------
    entry : Entry
        An object with ``targets`` and ``costs``, a row of each state, an entry of each step.
    start : State
        What the state number 0 stands for.
    serve : callable
        The next state and the cost, from a state and the number of a step.
    width : int
        The number of steps.
    """
    entry.only("targets", "costs")
    size = len(list(entry.at("targets").items()))
    targets = [
        [cell.integer(0, size - 1) for cell in row.items(width)]
        for row in entry.at("targets").items()
    ]
    costs = [
        [cell.fraction() for cell in row.items(width)] for row in entry.at("costs").items(size)
    ]
    if not size:
        reject(entry.at("targets"), "is empty")
    meaning: dict[int, State] = {0: start}
    queue = [0]
    for state in queue:
        for step in range(width):
            then, cost = serve(meaning[state], step)
            target = targets[state][step]
            if target not in meaning:
                meaning[target] = then
                queue.append(target)
            elif meaning[target] != then:
                reject(
                    entry.at("targets").at(state).at(step),
                    f"state {target} is not the one that this step leads to",
                )
            if costs[state][step] != cost:
                entry.at("costs").at(state).at(step).expect(str(cost))
    for state in range(size):
        if state not in meaning:
            reject(entry.at("targets").at(state), "no walk leads to this state")
    return targets, costs


def verify_upper(upper: Entry, instance: Instance, policy: str, ratio: Fraction) -> Fraction:
    """Check that ALG <= ratio * OPT + additive for every sequence; the additive constant.

    Raises
    ------
    ClaimError
        With the JSON pointer of the first entry that fails.
    """
    upper.only("beta", "queries", "steps", "additive", "policy", "optimum", "states", "potential")
    trie, capacity = instance.trie, instance.capacity
    made = make_policy(policy)
    # A node-granular cache remembers where queries end.
    by_queries = made.granularity == "node" and made.sees == "footprint"
    steps = check_steps(upper, trie, capacity, "queries" if by_queries else made.sees)
    for number, batch in enumerate(instance.steps):
        if not any(sorted(trie.footprint(step)) == sorted(trie.footprint(batch)) for step in steps):
            reject(upper.at("steps"), f"step {number} of the instance is none of these")
    footprints = [trie.footprint(step) for step in steps]
    functions = WorkFunctions(trie, capacity)
    optimum = check_automaton(
        upper.at("optimum"),
        functions.start,
        lambda function, step: functions.serve(function, footprints[step]),
        len(steps),
    )
    player = Player(trie, capacity, policy)
    played = check_automaton(
        upper.at("policy"),
        player.start,
        lambda law, step: player.serve(law, steps[step]),
        len(steps),
    )
    return _check_potential(upper, played, optimum, ratio)


def _check_potential(
    upper: Entry,
    policy: tuple[list[list[int]], list[list[Fraction]]],
    optimum: tuple[list[list[int]], list[list[Fraction]]],
    ratio: Fraction,
) -> Fraction:
    """Check the product: closed, and the least potential on it."""
    pairs, number = check_pairs(upper.at("states"), len(policy[0]), len(optimum[0]))
    edges: list[list[tuple[int, Fraction]]] = []
    for state, (left, right) in enumerate(pairs):
        row = []
        for step, paid in enumerate(policy[1][left]):
            then = number.get((policy[0][left][step], optimum[0][right][step]))
            if then is None:
                reject(upper.at("states").at(state), f"step {step} leads to a missing state")
            row.append((then, paid - ratio * optimum[1][right][step]))
        edges.append(row)
    least = check_potential(upper, edges)
    upper.at("additive").expect(str(least))
    return least


def check_pairs(
    entry: Entry, left: int, right: int
) -> tuple[list[tuple[int, int]], dict[tuple[int, int], int]]:
    """The pairs of a list of states, all different, (0, 0) first; and the number of each."""
    number: dict[tuple[int, int], int] = {}
    for pair_entry in entry.items():
        list(pair_entry.items(2))
        pair = pair_entry.at(0).integer(0, left - 1), pair_entry.at(1).integer(0, right - 1)
        if pair in number:
            reject(pair_entry, f"is the same as state {number[pair]}")
        number[pair] = len(number)
    if not number or next(iter(number)) != (0, 0):
        reject(entry, "does not begin with [0, 0]")
    return list(number), number


def check_potential(entry: Entry, edges: list[list[tuple[int, Fraction]]]) -> Fraction:
    """Check that ``potential`` is the most that a walk from each state gains; that of state 0.

    Parameters
    ----------
    entry : Entry
        An object with the lists ``states`` and ``potential``.
    edges : list of list of (int, Fraction)
        Target and gain of every edge, for each state.

    Notes
    -----
    No walk gains more: potential >= gain + potential of the target, and >= 0. Some walk gains as
    much: along edges on which equality holds a state of potential 0 can be reached.
    """
    values = [value.fraction() for value in entry.at("potential").items(len(edges))]
    scale = lcm(
        *{value.denominator for value in values},
        *{gain.denominator for row in edges for _, gain in row},
    )
    potential = [int(value * scale) for value in values]
    tight: list[list[int]] = [[] for _ in edges]
    for state, row in enumerate(edges):
        if potential[state] < 0:
            reject(entry.at("potential").at(state), "is negative")
        for step, (then, gain) in enumerate(row):
            slack = potential[state] - potential[then] - int(gain * scale)
            if slack < 0:
                reject(
                    entry.at("potential").at(state),
                    f"edge {step} gains {Fraction(-slack, scale)} more than it allows",
                )
            if slack == 0:
                tight[then].append(state)
    attained = _spread([s for s, value in enumerate(potential) if value == 0], tight)
    reached = _spread([0], [[then for then, _ in row] for row in edges])
    for state in range(len(edges)):
        if state not in attained:
            reject(entry.at("potential").at(state), "is not the least: no walk gains as much")
        if state not in reached:
            reject(entry.at("states").at(state), "no walk leads to this state")
    return values[0]


def _spread(start: list[int], targets: list[list[int]]) -> set[int]:
    """All states that can be reached from those in `start`."""
    reached = set(start)
    queue = list(start)
    for state in queue:
        for then in targets[state]:
            if then not in reached:
                reached.add(then)
                queue.append(then)
    return reached
