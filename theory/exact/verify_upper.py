"""Check the upper bound of a certificate: every edge, every inequality, exactly.

The optimum's work function is kept in full: for every prefix-closed cache Z the least cost of
serving the steps so far and ending in Z, where a token costs 1 to load and nothing to evict.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import combinations, permutations
from math import comb, lcm
from typing import TypeVar

import numpy as np

from theory.errors import InputError
from theory.eviction import make_policy
from theory.exact.entry import Entry, reject
from theory.exact.replay import Player
from theory.model import Instance
from theory.trie import ROOT, TokenTrie

__all__ = ["WorkFunctions", "admissible_steps", "check_automaton", "verify_upper"]

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


def admissible_steps(
    trie: TokenTrie, capacity: int, beta: int, queries: list[int]
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """The admissible batches of exactly `beta` of the queries, and their footprints."""
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for batch in combinations(queries, beta):
        footprint = trie.footprint(batch)
        if len(footprint) <= capacity:
            found[batch] = footprint
    return found


def _check_steps(upper: Entry, trie: TokenTrie, capacity: int, policy: str) -> list[list[int]]:
    """The steps of the certificate: all that the policy can tell apart, each exactly once."""
    beta = upper.at("beta").integer(1, len(trie))
    queries = upper.at("queries").integers(0, len(trie) - 1)
    if queries != sorted(set(queries)) or len(queries) < beta:
        reject(upper.at("queries"), f"is not an increasing list of at least {beta} queries")
    if comb(len(queries), beta) > MOST_BATCHES:
        reject(upper.at("beta"), "gives too many batches to check")
    batches = admissible_steps(trie, capacity, beta, queries)
    for index, query in enumerate(queries):
        if not any(query in batch for batch in batches):
            reject(upper.at("queries").at(index), f"{query} is in no admissible batch")
    made = make_policy(policy)
    by_footprint = made.sees == "footprint" and made.granularity == "token"
    wanted: set[Hashable]
    if by_footprint:
        wanted = set(batches.values())
    elif made.sees == "order":
        wanted = {order for batch in batches for order in permutations(batch)}
    else:
        wanted = set(batches)
    steps: list[list[int]] = []
    for entry in upper.at("steps").items():
        step = entry.integers(0, len(trie) - 1)
        batch = tuple(sorted(step))
        if batch not in batches:
            reject(entry, f"{step} is no admissible batch of {beta} of the queries")
        shown: Hashable = batches[batch] if by_footprint else batch
        if made.sees == "order":
            shown = tuple(step)
        if shown not in wanted:
            reject(entry, f"{step} is in the list before, as far as {policy} can tell")
        wanted.remove(shown)
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
    steps = _check_steps(upper, trie, capacity, policy)
    for number, batch in enumerate(instance.steps):
        if not any(sorted(trie.footprint(step)) == sorted(trie.footprint(batch)) for step in steps):
            raise_at = f"step {number} of the instance is none of these steps"
            reject(upper.at("steps"), raise_at)
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
    number: dict[tuple[int, int], int] = {}
    pairs: list[tuple[int, int]] = []
    for entry in upper.at("states").items():
        if len(list(entry.items(2))) == 2:
            pair = (
                entry.at(0).integer(0, len(policy[0]) - 1),
                entry.at(1).integer(0, len(optimum[0]) - 1),
            )
        if pair in number:
            reject(entry, f"is the same as state {number[pair]}")
        number[pair] = len(pairs)
        pairs.append(pair)
    if not pairs or pairs[0] != (0, 0):
        reject(upper.at("states"), "does not begin with [0, 0]")
    values = [entry.fraction() for entry in upper.at("potential").items(len(pairs))]
    scale = lcm(
        ratio.denominator,
        *{value.denominator for value in values},
        *{cost.denominator for row in policy[1] for cost in row},
    )
    potential = [int(value * scale) for value in values]
    paid = [[int(cost * scale) for cost in row] for row in policy[1]]
    owed = [[int(cost * ratio * scale) for cost in row] for row in optimum[1]]
    width = len(paid[0])
    tight: list[list[int]] = [[] for _ in pairs]  # the states that each state is pinned by
    for state, (left, right) in enumerate(pairs):
        here = potential[state]
        if here < 0:
            reject(upper.at("potential").at(state), "is negative")
        for step in range(width):
            then = number.get((policy[0][left][step], optimum[0][right][step]))
            if then is None:
                reject(
                    upper.at("states").at(state), f"step {step} leads to a state that is missing"
                )
            surplus = here - potential[then] - paid[left][step] + owed[right][step]
            if surplus < 0:
                reject(
                    upper.at("potential").at(state),
                    f"step {step} gains {Fraction(-surplus, scale)} more than it allows",
                )
            if surplus == 0:
                tight[then].append(state)
    reached = [False] * len(pairs)
    queue = [state for state in range(len(pairs)) if potential[state] == 0]
    for state in queue:
        reached[state] = True
    for state in queue:
        for before in tight[state]:
            if not reached[before]:
                reached[before] = True
                queue.append(before)
    for state, found in enumerate(reached):
        if not found:
            reject(upper.at("potential").at(state), "no walk gains as much: it is not the least")
    _check_reachable(upper, pairs, number, policy[0], optimum[0])
    if upper.at("additive").fraction() != values[0]:
        upper.at("additive").expect(str(values[0]))
    return values[0]


def _check_reachable(
    upper: Entry,
    pairs: list[tuple[int, int]],
    number: dict[tuple[int, int], int],
    left: list[list[int]],
    right: list[list[int]],
) -> None:
    reached = {0}
    queue = [0]
    for state in queue:
        a, b = pairs[state]
        for pair in zip(left[a], right[b], strict=True):
            if number[pair] not in reached:
                reached.add(number[pair])
                queue.append(number[pair])
    for state in range(len(pairs)):
        if state not in reached:
            reject(upper.at("states").at(state), "no walk leads to this pair")
