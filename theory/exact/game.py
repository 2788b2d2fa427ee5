"""The game: the reachable product of a policy's states and the work functions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from theory.eviction import make_policy
from theory.exact.arena import Arena, Batch, sees
from theory.exact.outcomes import Distribution, ExhaustedError, Outcomes, mix
from theory.exact.ratio import Edges
from theory.exact.work_function import EMPTY, WorkFunction, serve

__all__ = ["Automaton", "Game", "Progress", "explore", "optimum_automaton", "policy_automaton"]

ENTRIES = 20
MOST_EDGES = 2**24
PORTION = 2**15

State = TypeVar("State", bound=Hashable)
Integers = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]
"""Called with the number of product states found, and of those expanded, so far."""


class Automaton(Generic[State]):
    """States numbered as they are found, with a target and a cost for every step.

    Parameters
    ----------
    start : State
        The initial state, number 0.
    row : callable
        The next state and the cost of every step, from a state.
    most : int, optional
        Raise `ExhaustedError` rather than find more states than this.

    Attributes
    ----------
    states : list of State
        All states found.
    targets, costs : list of list
        A row of each state: the numbers of the next states, the costs. Empty until expanded.

    Examples
    --------
    >>> modulo = Automaton(0, lambda state: [((state + 1) % 3, 1), (state, 0)])
    >>> modulo.expand([0])
    >>> modulo.states, modulo.targets, modulo.costs
    ([0, 1], [[1, 0], []], [[1, 0], []])
    """

    def __init__(
        self,
        start: State,
        row: Callable[[State], Iterable[tuple[State, Any]]],
        most: int | None = None,
    ) -> None:
        self.states = [start]
        self.targets: list[list[int]] = [[]]
        self.costs: list[list[Any]] = [[]]
        self._row = row
        self._most = most
        self._number = {start: 0}

    def expand(self, numbers: Iterable[int]) -> None:
        """Fill in the rows of these states, unless they are there."""
        for number in numbers:
            if self.targets[number]:
                continue
            if self._most is not None and len(self.states) > self._most:
                raise ExhaustedError
            for then, cost in list(self._row(self.states[number])):
                target = self._number.setdefault(then, len(self.states))
                if target == len(self.states):
                    self.states.append(then)
                    self.targets.append([])
                    self.costs.append([])
                self.targets[number].append(target)
                self.costs[number].append(cost)


def optimum_automaton(
    arena: Arena, steps: list[Batch], most_states: int
) -> Automaton[WorkFunction]:
    """The work functions; the costs are the growth of the optimum."""
    footprints = [arena.footprint(step) for step in steps]

    def row(layers: WorkFunction) -> list[tuple[WorkFunction, int]]:
        return [serve(layers, footprint, arena.capacity) for footprint in footprints]

    return Automaton(EMPTY, row, most_states)


def policy_automaton(
    arena: Arena, policy: str, steps: list[Batch], most_states: int
) -> Automaton[Any]:
    """The states of a policy, or the exact distributions over them; the costs are expected.

    A row raises `ExhaustedError` once there are more than `most_states` states of cache and policy,
    or the weights of all distributions fill more than `ENTRIES` times as many words: there can be
    an endless line of distributions whose denominators only grow.
    """
    outcomes = Outcomes(arena.trie, arena.capacity, policy, steps, most_states)
    if not outcomes.randomised:
        return Automaton(
            0, lambda s: [(m.outcomes[0][0], m.cost) for m in outcomes.row(s)], most_states
        )
    entries = 0

    def row(law: Distribution) -> list[tuple[Distribution, Fraction]]:
        nonlocal entries
        entries += sum(1 + weight.bit_length() // 64 for weight in law.weights)
        if entries > ENTRIES * most_states:
            raise ExhaustedError
        rows = [outcomes.row(state) for state in law.states]
        return [mix(law, moves) for moves in zip(*rows, strict=True)]

    return Automaton(Distribution((0,), (1,)), row, most_states)


@dataclass(frozen=True)
class Game:
    """The product states that were reached, in the order in which they were found.

    Attributes
    ----------
    arena : Arena
        The trie, the capacity and the queries.
    policy : str
        The policy's name.
    steps : list of Batch
        The steps that the policy can tell apart.
    policies, optima : Automaton
        The two factors.
    pairs : ndarray of int64, shape (n, 2)
        The number of the policy's state and of the work function, for every product state.
    targets : ndarray of int64, shape (m, number of steps)
        The next product states from the first m, which are expanded.
    """

    arena: Arena
    policy: str
    steps: list[Batch]
    policies: Automaton[Any]
    optima: Automaton[WorkFunction]
    pairs: Integers
    targets: Integers

    @property
    def complete(self) -> bool:
        """Whether every reachable state is expanded."""
        return len(self.targets) == len(self.pairs)

    def edges(self) -> Edges:
        """The graph of the product states, for `theory.exact.ratio`.

        In whole numbers if the game is complete. Otherwise in floats, as there may be so many
        distributions that a common denominator of their costs has thousands of digits.
        """
        left, right = self.pairs[: len(self.targets)].T
        used, place = np.unique(left, return_inverse=True)
        costs = [self.policies.costs[state] for state in used.tolist()]
        if not self.complete:
            table = np.array([[float(cost) for cost in row] for row in costs])
            unit, exact = 1, self._cost
        else:
            unit = lcm(*{Fraction(cost).denominator for row in costs for cost in row})
            rows = [[int(cost * unit) for cost in row] for row in costs]
            narrow = max(max(row) for row in rows) < 2**62
            table, exact = np.array(rows, dtype=np.int64 if narrow else object), None
        grown, where = np.unique(right, return_inverse=True)
        growth = np.array([self.optima.costs[state] for state in grown.tolist()], dtype=np.int64)
        shape = self.targets.shape  # also where nothing is expanded
        return Edges(
            self.targets,
            table[place].reshape(shape),
            growth[where].reshape(shape),
            unit,
            len(self.pairs),
            exact,
        )

    def _cost(self, state: int, step: int) -> Fraction:
        """The exact cost of an edge."""
        return Fraction(self.policies.costs[self.pairs[state, 0]][step])

    def walk_to(self, state: int) -> list[int]:
        """A shortest sequence of steps from the start to a product state."""
        # States are numbered level by level, so the first edge into a state is on a shortest way.
        states, places = np.unique(self.targets.ravel(), return_index=True)
        first = dict(zip(states.tolist(), places.tolist(), strict=True))
        steps: list[int] = []
        while state:
            state, step = divmod(first[state], len(self.steps))
            steps.append(step)
        return steps[::-1]


def explore(
    arena: Arena,
    policy: str,
    most_states: int,
    *,
    progress: Progress | None = None,
    enough: Callable[[Game], bool] | None = None,
) -> Game:
    """Reach all product states from the empty cache, breadth first.

    Parameters
    ----------
    arena : Arena
        The trie, the capacity and the queries.
    policy : str
        A policy (see `theory.eviction.make_policy`).
    most_states : int
        Stop once there are more states than this, or the policy or the work functions alone have
        as many, or there are more than `MOST_EDGES` edges: the game is then not complete.
    progress : callable, optional
        Called now and then.
    enough : callable, optional
        Asked whenever the number of states has doubled (from 1,000); true ends the search.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> game = explore(Arena(TokenTrie.from_parents([-1, -1, -1]), 2), "leaf-lru", 1000)
    >>> len(game.pairs), game.complete
    (16, True)
    """
    steps = arena.batches(sees(make_policy(policy)))
    policies = policy_automaton(arena, policy, steps, most_states)
    optima = optimum_automaton(arena, steps, most_states)
    number = {0: 0}
    keys = [0]  # policy state * 2**32 + work function
    rows: list[Integers] = []
    expanded, asked = 0, 1000

    def game() -> Game:
        flat = np.array(keys, dtype=np.int64)
        pairs = np.stack([flat >> 32, flat & (2**32 - 1)], axis=1)
        targets = np.concatenate(rows) if rows else np.empty((0, len(steps)), dtype=np.int64)
        return Game(arena, policy, steps, policies, optima, pairs, targets)

    portion = max(1, PORTION // len(steps))  # at most so many states are expanded at a time
    while expanded < len(keys) <= most_states and expanded * len(steps) <= MOST_EDGES:
        level = np.array(keys[expanded : expanded + portion], dtype=np.int64)
        try:
            found = _next(policies, level >> 32) << 32 | _next(optima, level & (2**32 - 1))
        except ExhaustedError:
            break
        expanded += len(level)
        for key in found.ravel().tolist():
            if key not in number:
                number[key] = len(keys)
                keys.append(key)
        rows.append(np.array([number[key] for key in found.ravel().tolist()]).reshape(found.shape))
        if progress is not None:
            progress(len(keys), expanded)
        if enough is not None and len(keys) > asked:
            asked = 2 * len(keys)
            if enough(game()):
                break
    return game()


def _next(automaton: Automaton[Any], states: Integers) -> Integers:
    """The targets of all steps from the given states."""
    distinct, place = np.unique(states, return_inverse=True)
    automaton.expand(distinct.tolist())
    rows = [automaton.targets[state] for state in distinct.tolist()]
    return np.array(rows, dtype=np.int64)[place]
