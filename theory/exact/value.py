"""The value of the game: the smallest ratio that any deterministic online policy can have.

The adversary names a step, the policy names the cache after it. What matters is the cache and the
work function, so both sides can play by these alone (a ratio game on a finite graph has positional
optimal strategies), and each side's strategy is a certificate: once it is fixed, the other side
plays alone, and its best ratio is a cycle ratio with a potential (`theory.exact.ratio`).

It is enough to let the policy keep as many tokens as it may, evicting leaves outside the step:
holding more never costs more, as the larger cache can follow the smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from theory.errors import InputError
from theory.exact.arena import Arena, Batch
from theory.exact.game import Automaton, optimum_automaton
from theory.exact.outcomes import ExhaustedError
from theory.exact.ratio import Edges, Extreme, largest_ratio
from theory.exact.work_function import WorkFunction
from theory.trie import ROOT

__all__ = ["Board", "GameValue", "Play", "game_value", "keepable"]

Integers = npt.NDArray[np.int64]

MOST_SWEEPS = 16_384


def keepable(cache: int, footprint: int, capacity: int, parents: list[int]) -> Iterator[int]:
    """All caches that a policy can hold after a step when it evicts no more leaves than it must.

    Parameters
    ----------
    cache, footprint : int
        The masks of the cache before the step, prefix-closed, and of U.
    capacity : int
        B.
    parents : list of int
        The parent of each token.

    Examples
    --------
    >>> sorted(keepable(0b011, 0b100, 2, [-1, -1, -1]))
    [5, 6]
    """
    level = {cache | footprint}
    for _ in range((cache | footprint).bit_count() - capacity):
        smaller = set()
        for held in level:
            inner = 0
            for token, parent in enumerate(parents):
                if held >> token & 1 and parent != ROOT:
                    inner |= 1 << parent
            leaves = held & ~inner & ~footprint
            while leaves:
                leaf = leaves & -leaves
                leaves ^= leaf
                smaller.add(held ^ leaf)
        level = smaller
    yield from sorted(level)


@dataclass(frozen=True)
class Board:
    """The graph that both sides move on.

    Attributes
    ----------
    arena : Arena
        The trie, the capacity and the queries.
    steps : list of Batch
        One step for each footprint.
    caches : list of int
        The masks of all caches that can occur; number 0 is empty.
    optima : Automaton
        The work functions.
    states : list of (int, int)
        The reachable pairs of a cache and a work function.
    cost, growth : ndarray of int64, shape (n, number of steps)
        The misses of a step, and the growth of the optimum.
    options : ndarray of int64
        The states that the policy can choose from, all choices of (state 0, step 0) first.
    first : ndarray of int64, shape (n * number of steps,)
        Where the choices of each (state, step) begin in `options`.
    """

    arena: Arena
    steps: list[Batch]
    caches: list[int]
    optima: Automaton[WorkFunction]
    states: list[tuple[int, int]]
    cost: Integers
    growth: Integers
    options: Integers
    first: Integers

    @cached_property
    def counts(self) -> Integers:
        """The number of choices of each (state, step)."""
        return np.diff(self.first, append=len(self.options))


@dataclass(frozen=True)
class Play:
    """One side has fixed its strategy, and the other side plays alone.

    Attributes
    ----------
    states : list of int
        The states of the board that can then be reached, the initial one first.
    moves : ndarray of int64, shape (len(states), number of moves)
        For a fixed policy: the chosen option of each step. For a fixed adversary: its step.
    ratio : Fraction or None
        The best that the other side can do; None if it can bring the game to a standstill.
    extreme : Extreme or None
        The cycle and the potential.
    """

    states: list[int]
    moves: Integers
    ratio: Fraction | None
    extreme: Extreme | None


@dataclass(frozen=True)
class GameValue:
    """The best deterministic ratio.

    Attributes
    ----------
    board : Board
        The graph of the game.
    policy : Play
        An optimal policy, if `complete`, and the adversary's best against it: an upper bound.
    adversary : Play
        An optimal adversary, if `complete`, and the policy's best against it: a lower bound.
    """

    board: Board
    policy: Play
    adversary: Play

    @property
    def upper(self) -> Fraction:
        """The ratio that the policy has."""
        assert self.policy.ratio is not None
        return self.policy.ratio

    @property
    def lower(self) -> Fraction:
        """The ratio that no deterministic policy is below."""
        return self.adversary.ratio or Fraction(0)

    @property
    def complete(self) -> bool:
        """Whether the bounds meet: the value is exact."""
        return self.upper == self.lower


def set_up(arena: Arena, most_states: int) -> Board:
    """Build the board.

    Raises
    ------
    InputError
        If it has more than `most_states` states.
    """
    steps = arena.batches("footprint")
    footprints = [arena.footprint(step) for step in steps]
    parents = arena.trie.parents()
    optima = optimum_automaton(arena, steps, most_states)
    number_of_cache = {0: 0}
    caches = [0]
    keep: dict[tuple[int, int], list[int]] = {}
    number = {(0, 0): 0}
    states = [(0, 0)]
    options: list[int] = []
    first: list[int] = []
    for cache, function in states:
        try:
            optima.expand([function])
        except ExhaustedError:
            raise _too_large(most_states) from None
        for step, footprint in enumerate(footprints):
            if (cache, step) not in keep:
                choices = []
                for held in keepable(caches[cache], footprint, arena.capacity, parents):
                    choices.append(number_of_cache.setdefault(held, len(caches)))
                    if choices[-1] == len(caches):
                        caches.append(held)
                keep[cache, step] = choices
            first.append(len(options))
            then = optima.targets[function][step]
            for choice in keep[cache, step]:
                state = number.setdefault((choice, then), len(states))
                if state == len(states):
                    states.append((choice, then))
                options.append(state)
        if len(states) > most_states:
            raise _too_large(most_states)
    misses = [[(u & ~caches[c]).bit_count() for u in footprints] for c, _ in states]
    growth = [optima.costs[function] for _, function in states]
    return Board(
        arena,
        steps,
        caches,
        optima,
        states,
        np.array(misses, dtype=np.int64),
        np.array(growth, dtype=np.int64),
        np.array(options, dtype=np.int64),
        np.array(first, dtype=np.int64),
    )


def _too_large(most_states: int) -> InputError:
    return InputError(
        f"the game has more than {most_states:,} states",
        where="max-states",
        fix="raise the cap, or give fewer queries or a smaller trie",
    )


def game_value(arena: Arena, *, most_states: int = 50_000) -> GameValue:
    """The smallest ratio of any deterministic policy on a finite trie, with both strategies.

    Parameters
    ----------
    arena : Arena
        The trie, the capacity and the queries.
    most_states : int
        A cap on the pairs of cache and work function.

    Raises
    ------
    InputError
        If the cap is exceeded, or the cache holds all tokens that any step uses.

    Notes
    -----
    At a threshold just below the best ratio known for the policy, value iteration on the weights
    cost - threshold * growth shows both sides good moves; both strategies are then evaluated
    exactly, until the two ratios meet.

    Examples
    --------
    Theorem 2 on three single tokens: nobody does better than B = 2.

    >>> from theory.trie import TokenTrie
    >>> found = game_value(Arena(TokenTrie.from_parents([-1, -1, -1]), 2))
    >>> found.upper, found.lower
    (Fraction(2, 1), Fraction(2, 1))
    """
    if arena.trivial:
        raise InputError(
            f"{arena.capacity} tokens hold all tokens of the admissible steps",
            where="capacity",
            fix=f"give less than {arena.universe.bit_count()}",
        )
    board = set_up(arena, most_states)
    policy = adversary = Play([0], np.zeros((1, 1), dtype=np.int64), None, None)
    best = Fraction(arena.k)  # Theorem 1: Leaf-LRU has no larger ratio
    sweeps = 64
    while sweeps <= MOST_SWEEPS and (adversary.ratio is None or adversary.ratio != policy.ratio):
        # Just below the value the adversary gains on average, so it does not stand still.
        weights = board.cost - float(best) * (1 - 16 / sweeps) * board.growth
        values = np.zeros(len(board.states))
        for _ in range(sweeps):
            least = np.minimum.reduceat(values[board.options], board.first)
            gains = weights + least.reshape(weights.shape)
            # Halfway only: the values of a game with a period would never settle.
            values = (values + gains.max(axis=1)) / 2
        candidate = _fix_policy(board, _argmin(board, values))
        rival = _fix_adversary(board, gains.argmax(axis=1))
        if rival.ratio is not None and rival.ratio > (adversary.ratio or 0):
            adversary = rival
        if candidate.ratio is not None and (policy.ratio or best) >= candidate.ratio:
            policy, best = candidate, candidate.ratio
        sweeps *= 2
    return GameValue(board, policy, adversary)


def _argmin(board: Board, values: npt.NDArray[np.float64]) -> Integers:
    """For each (state, step) the place in `options` of the choice of least value."""
    offered = values[board.options]
    least = np.repeat(np.minimum.reduceat(offered, board.first), board.counts)
    places = np.where(offered == least, np.arange(len(offered)), len(offered))
    found: Integers = np.minimum.reduceat(places, board.first)
    return found


def _fix_policy(board: Board, chosen: Integers) -> Play:
    """The adversary's best ratio against a policy, given by places in `options`."""
    targets = board.options[chosen].reshape(board.cost.shape)
    reached, targets = _reachable(targets)
    extreme = largest_ratio(
        Edges(targets, board.cost[reached], board.growth[reached], 1, len(reached))
    )
    ratio = None if extreme is None else extreme.ratio
    return Play(
        reached.tolist(),
        board.options[chosen].reshape(-1, len(board.steps))[reached],
        ratio,
        extreme,
    )


def _fix_adversary(board: Board, steps: Integers) -> Play:
    """The policy's best ratio against an adversary: its step in every state."""
    rows = np.arange(len(steps)) * len(board.steps) + steps
    counts = board.counts[rows]
    widest = int(counts.max())
    # Every state gets as many edges as the state with most choices; the last choice is repeated.
    places = board.first[rows][:, None] + np.minimum(np.arange(widest), counts[:, None] - 1)
    reached, targets = _reachable(board.options[places])
    cost = np.repeat(board.cost[reached, steps[reached]][:, None], widest, axis=1)
    growth = np.repeat(board.growth[reached, steps[reached]][:, None], widest, axis=1)
    moves = steps[reached][:, None]
    if _stands_still(targets, (cost == 0) & (growth == 0)):
        return Play(reached.tolist(), moves, None, None)
    # The least cost / growth is the inverse of the largest growth / cost.
    extreme = largest_ratio(Edges(targets, growth, cost, 1, len(reached)))
    if extreme is None or not extreme.ratio:
        return Play(reached.tolist(), moves, None, None)
    return Play(reached.tolist(), moves, 1 / extreme.ratio, extreme)


def _reachable(targets: Integers) -> tuple[Integers, Integers]:
    """The states reachable from 0, and the targets renumbered among them."""
    size, width = targets.shape
    source = np.repeat(np.arange(size), width)
    ones = np.ones(size * width, dtype=np.int8)
    graph = csr_array((ones, (source, targets.ravel())), shape=(size, size))
    order = breadth_first_order(graph, 0, directed=True, return_predecessors=False)
    place = np.full(size, -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    return order.astype(np.int64), place[targets[order]]


def _stands_still(targets: Integers, idle: npt.NDArray[Any]) -> bool:
    """Whether a cycle consists of idle edges only."""
    source, edge = np.nonzero(idle)
    target = targets[source, edge]
    if (source == target).any():
        return True
    size = len(targets)
    graph = csr_array((np.ones(len(source), dtype=np.int8), (source, target)), shape=(size, size))
    count, _ = connected_components(graph, directed=True, connection="strong")
    return bool(count < size)
