r"""A lower bound for every randomised policy on a finite trie, by linear programming.

Yao's principle: no randomised policy beats, on average, the best deterministic policy against a
known random sequence. The adversary here is a random walk over *forced* work functions.

Forced. Let F be the union of the footprints of all steps inside the last layer of the work function
w (`theory.exact.work_function`). Serving such a step leaves w and the optimum unchanged, so the
adversary can repeat them for nothing, N rounds and stop after a uniformly random one: a policy pays
at least 1 in every round that it begins without F, so unless it pays without bound it holds F at
the end with probability close to 1 (N large), and has paid for the tokens of F that it lacked.
Hence, up to an arbitrarily small loss, after every step the cache holds F of the new work function,
and the step costs |F \ S|.

Episodes. If the last layer is the only one and F is all of it, the work function is *pinned* to
A = F: every policy holds A, which is its whole cache when |A| = B. (When |A| < B the policy may
choose the rest of its cache afresh: that only helps it.) An episode starts pinned and ends when the
work function is pinned again, so episodes are independent given their ends.

Program. The adversary's plan gives to each history h of an episode its probability x(h), a flow
down the tree that returns from the ends to the starts. The policy's best answer is dynamic
programming on (history, cache), and its dual turns "largest cost that the best answer pays, for
optimum 1" into a linear program. Its solution is rounded to fractions and evaluated again in exact
arithmetic, so the bound that is returned does not rest on the solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from theory.errors import InputError
from theory.exact.arena import Arena
from theory.exact.cycle import average_reward
from theory.exact.value import keepable
from theory.exact.work_function import EMPTY, WorkFunction, serve
from theory.harmonic import harmonic
from theory.trie import ROOT

__all__ = ["RandomisedBound", "randomised_bound"]

DENOMINATORS = (12, 60, 2520, 10**6)
MOST_NODES = 20_000
MOST_DEPTH = 16
IDLE = 4  # give up after as many longer episodes without a better bound
MOST_FUNCTIONS = 20_000


@dataclass(frozen=True)
class Node:
    """A history of an episode.

    Attributes
    ----------
    function : WorkFunction
        The work function after it.
    forced : int
        The mask of F: what every policy holds then.
    growth : int
        By how much the optimum rose in its last step.
    parent : int
        The history without its last step; -1 for a start.
    ends : bool
        Whether the episode ends with it.
    """

    function: WorkFunction
    forced: int
    growth: int
    parent: int
    ends: bool


@dataclass(frozen=True)
class RandomisedBound:
    """No randomised policy has a smaller ratio.

    Attributes
    ----------
    ratio : Fraction
        The bound, in exact arithmetic; 1 if no work function can be pinned.
    program : float
        The optimum of the linear program: what exact arithmetic approaches from below.
    depth : int
        The most steps of an episode (those that leave the work function unchanged not counted).
    histories : int
        The number of histories of all episodes.
    """

    ratio: Fraction
    program: float
    depth: int
    histories: int


class _Game:
    """The moves of both sides, with forcing."""

    def __init__(self, arena: Arena) -> None:
        self.capacity = arena.capacity
        self.parents = arena.trie.parents()
        self.footprints = [arena.footprint(batch) for batch in arena.batches("footprint")]
        self.keep = cache(self._keep)
        self.forced = cache(self._forced)
        self.pinned = self._pinned()

    def _forced(self, function: WorkFunction) -> int:
        """The mask of F."""
        last = function[-1][0] if function else 0
        found = 0
        for footprint in self.footprints:
            if footprint & ~last == 0:
                found |= footprint
        return found

    def _keep(self, held: int, forced: int) -> tuple[int, ...]:
        """The caches that a policy can hold after a step that forces `forced`."""
        return tuple(keepable(held, forced, self.capacity, self.parents))

    def _pinned(self) -> list[WorkFunction]:
        """The pinned work functions; only those that fill the cache, if there are any."""
        seen = {EMPTY}
        queue = [EMPTY]
        for function in queue:
            for footprint in self.footprints:
                then, _ = serve(function, footprint, self.capacity)
                if then not in seen:
                    seen.add(then)
                    queue.append(then)
            if len(seen) > MOST_FUNCTIONS:
                raise InputError(
                    f"there are more than {MOST_FUNCTIONS:,} work functions",
                    where="the linear program",
                    fix="give fewer queries or a smaller trie",
                )
        pinned = [f for f in queue if len(f[:2]) == 1 and self.forced(f) == f[-1][0]]
        return [f for f in pinned if f[-1][1] == self.capacity] or pinned

    def starts(self, forced: int) -> list[int]:
        """The largest caches that a policy can begin an episode with."""
        level = {forced}
        for _ in range(self.capacity - forced.bit_count()):
            level = {held | token for held in level for token in self._addable(held)}
        return sorted(level)

    def _addable(self, held: int) -> Iterator[int]:
        """The tokens, as masks, that keep a cache prefix-closed when they are added."""
        for token, parent in enumerate(self.parents):
            if not held >> token & 1 and (parent == ROOT or held >> parent & 1):
                yield 1 << token

    def histories(self, depth: int) -> list[Node] | None:
        """All histories of at most `depth` steps that lead to an end; None if too many."""
        goal = set(self.pinned)
        nodes = [Node(f, self.forced(f), 0, -1, False) for f in self.pinned]
        level = range(len(nodes))
        for _ in range(depth):
            begin = len(nodes)
            for number in level:
                if nodes[number].ends:
                    continue
                for footprint in self.footprints:
                    function, growth = serve(nodes[number].function, footprint, self.capacity)
                    if function != nodes[number].function:
                        ends = function in goal
                        nodes.append(Node(function, self.forced(function), growth, number, ends))
            if len(nodes) > MOST_NODES:
                return None
            level = range(begin, len(nodes))
        return _pruned(nodes)


def _pruned(nodes: list[Node]) -> list[Node]:
    """The histories that lead to an end from which the next episode can go on."""
    while True:
        alive = [node.ends for node in nodes]
        for number in range(len(nodes) - 1, -1, -1):
            if alive[number] and nodes[number].parent >= 0:
                alive[nodes[number].parent] = True
        starts = {n.function for n, on in zip(nodes, alive, strict=True) if n.parent < 0 and on}
        place: dict[int, int] = {-1: -1}
        kept: list[Node] = []
        for number, node in enumerate(nodes):
            if alive[number] and not (node.ends and node.function not in starts):
                place[number] = len(kept)
                parent = place[node.parent]
                kept.append(Node(node.function, node.forced, node.growth, parent, node.ends))
        if len(kept) == len(nodes):
            return kept
        nodes = kept


class _Program:
    """The linear program, and what its solution is worth.

    Variables: x(h) of every history; V(h, S), the least cost that a policy still pays in the
    episode from history h and cache S, times x(h); Z(h, S) = min over its choices after h; and for
    every start the least V over the caches it may begin with.
    """

    def __init__(self, game: _Game, nodes: list[Node]) -> None:
        self.game, self.nodes = game, nodes
        self.children: list[list[int]] = [[] for _ in nodes]
        self.held: list[list[int]] = []
        for number, node in enumerate(nodes):
            if node.parent < 0:
                self.held.append(game.starts(node.forced))
            else:
                self.children[node.parent].append(number)
                before = self.held[node.parent]
                self.held.append(sorted({k for s in before for k in game.keep(s, node.forced)}))
        self.start_of = {n.function: i for i, n in enumerate(nodes) if n.parent < 0}

    def solve(self) -> tuple[float, list[float]]:
        """The optimum and the plan x."""
        count = len(self.nodes)
        names: dict[tuple[str, int, int], int] = {}
        less: list[tuple[int, int, float]] = []  # row, column, value of A x <= 0
        equal: list[tuple[int, int, float]] = []
        rows = rights = 0

        def variable(kind: str, number: int, held: int = 0) -> int:
            return names.setdefault((kind, number, held), count + len(names))

        def at_most(terms: list[tuple[int, float]]) -> None:
            nonlocal rows
            less.extend((rows, column, value) for column, value in terms)
            rows += 1

        def exactly(terms: list[tuple[int, float]]) -> None:
            nonlocal rights
            equal.extend((rights, column, value) for column, value in terms)
            rights += 1

        ends: dict[int, list[int]] = {start: [] for start in self.start_of.values()}
        for number, node in enumerate(self.nodes):
            if node.ends:
                ends[self.start_of[node.function]].append(number)
                continue
            exactly([(number, -1), *((child, 1) for child in self.children[number])])
            for held in self.held[number]:
                terms: list[tuple[int, float]] = [(variable("V", number, held), 1)]
                for child in self.children[number]:
                    forced = self.nodes[child].forced
                    terms.append((child, -(forced & ~held).bit_count()))
                    if not self.nodes[child].ends:
                        least = variable("Z", child, held)
                        terms.append((least, -1))
                        for choice in self.game.keep(held, forced):
                            at_most([(least, 1), (variable("V", child, choice), -1)])
                at_most(terms)
        for start, finals in ends.items():
            exactly([(start, 1), *((final, -1) for final in finals)])
            for held in self.held[start]:
                at_most([(variable("start", start), 1), (variable("V", start, held), -1)])
        exactly([(n, node.growth) for n, node in enumerate(self.nodes)])
        size = count + len(names)
        objective = np.zeros(size)
        for (kind, _, _), column in names.items():
            if kind == "start":
                objective[column] = -1
        right = np.zeros(rights)
        right[-1] = 1
        bounds: Any = [(0, None)] * count + [(None, None)] * len(names)
        found: Any = linprog(
            objective,
            A_ub=_matrix(less, rows, size),
            b_ub=np.zeros(rows),
            A_eq=_matrix(equal, rights, size),
            b_eq=right,
            bounds=bounds,
            method="highs",
        )
        if not found.success:
            return 0.0, [0.0] * count
        return -float(found.fun), found.x[:count].tolist()

    def evaluate(self, plan: list[float], denominator: int) -> Fraction:
        """The exact ratio that the plan forces, its probabilities rounded to small fractions."""
        shares = [Fraction(0)] * len(self.nodes)
        for below in self.children:
            total = sum(max(plan[child], 0.0) for child in below)
            rest = Fraction(1)
            for child in below[1:]:
                share = max(plan[child], 0.0) / total if total > 1e-9 else 1 / len(below)
                shares[child] = min(Fraction(share).limit_denominator(denominator), rest)
                rest -= shares[child]
            if below:
                shares[below[0]] = rest
        worth: list[dict[int, Fraction]] = [{} for _ in self.nodes]
        for number in range(len(self.nodes) - 1, -1, -1):
            for held in self.held[number]:
                worth[number][held] = sum(
                    (
                        shares[child] * self._least(child, held, worth)
                        for child in self.children[number]
                    ),
                    Fraction(0),
                )
        return self._long_run(shares, worth)

    def _least(self, child: int, held: int, worth: list[dict[int, Fraction]]) -> Fraction:
        """The least cost of going on to `child` from the cache `held`."""
        node = self.nodes[child]
        paid = Fraction((node.forced & ~held).bit_count())
        if node.ends:
            return paid
        return paid + min(worth[child][choice] for choice in self.game.keep(held, node.forced))

    def _long_run(self, shares: list[Fraction], worth: list[dict[int, Fraction]]) -> Fraction:
        """Cost over growth in the chain of episodes, from the best start."""
        starts = list(self.start_of.values())
        place = {start: index for index, start in enumerate(starts)}
        reach = list(shares)
        rows: list[dict[int, Fraction]] = [{} for _ in starts]
        growth = [Fraction(0)] * len(starts)
        origin = list(range(len(self.nodes)))
        for number, node in enumerate(self.nodes):
            if node.parent < 0:
                reach[number] = Fraction(1)
                continue
            origin[number] = origin[node.parent]
            reach[number] = reach[node.parent] * shares[number]
            begin = place[origin[number]]
            growth[begin] += reach[number] * node.growth
            if node.ends and reach[number]:
                then = place[self.start_of[node.function]]
                rows[begin][then] = rows[begin].get(then, Fraction(0)) + reach[number]
        cost = [min(worth[start].values()) for start in starts]
        best = Fraction(1)
        for index in range(len(starts)):
            law = {index: Fraction(1)}
            owed = average_reward(law, rows, growth)
            if owed:
                best = max(best, average_reward(law, rows, cost) / owed)
        return best


def _matrix(entries: list[tuple[int, int, float]], rows: int, columns: int) -> Any:
    """A sparse matrix from its entries (row, column, value)."""
    row, column, value = zip(*entries, strict=True) if entries else ((), (), ())
    return coo_array((np.array(value, dtype=float), (row, column)), shape=(rows, columns))


def randomised_bound(arena: Arena, *, depth: int | None = None) -> RandomisedBound:
    """A ratio that no randomised policy is below on a finite trie.

    Parameters
    ----------
    arena : Arena
        The trie, the capacity and the queries.
    depth : int, optional
        The most steps of an episode. Without it, as long as the bound still grows, is below H_k (no
        trie has a larger value, Theorem 4) and the program stays small.

    Raises
    ------
    InputError
        If there are too many work functions.

    Examples
    --------
    Theorem 3 on three single tokens, B = 2: H_2.

    >>> from theory.trie import TokenTrie
    >>> randomised_bound(Arena(TokenTrie.from_parents([-1, -1, -1]), 2)).ratio
    Fraction(3, 2)
    """
    game = _Game(arena)
    best = RandomisedBound(Fraction(1), 1.0, 0, 0)
    if arena.trivial or not game.pinned:
        return best
    idle = 0
    for steps in range(1, MOST_DEPTH + 1) if depth is None else (depth,):
        nodes = game.histories(steps)
        if nodes is None:
            break
        if not nodes or len(nodes) == best.histories:
            continue
        program = _Program(game, nodes)
        optimum, plan = program.solve()
        ratio = max(program.evaluate(plan, bound) for bound in DENOMINATORS)
        idle = 0 if ratio > best.ratio else idle + 1
        best = RandomisedBound(
            max(ratio, best.ratio), max(optimum, best.program), steps, len(nodes)
        )
        if best.ratio == harmonic(arena.k) or (idle == IDLE and best.ratio > 1):
            break
    return best
