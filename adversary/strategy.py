"""Adaptive play by short rules: which query to ask for, seen from what the policy has done.

A strategy is a word of letters, one a step: a warm-up and a pattern that is repeated. Each letter
orders the queries; a batch takes the first ones that fit.

====== ====================================================================
letter asks for
====== ====================================================================
``m``  a missing query: the one that went missing last
``o``  a missing query: the one that went missing longest ago
``n``  a query that was never asked for, then as ``m``
``h``  a cached query: the one asked for last
``c``  a cached query: the one asked for longest ago
====== ====================================================================

"Ask for what was evicted" is the word ``m``. A randomised policy is played against a *panel* of
independent runs: a query is the more missing, the more runs miss it. The steps that come out are an
ordinary sequence, fixed before any other run sees it: the adversary stays oblivious.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from random import Random

from adversary.target import Target
from adversary.tries import broom
from theory.cache import PrefixCache
from theory.model import Instance
from theory.trie import TokenTrie

__all__ = ["LETTERS", "Board", "Strategy", "brooms", "play", "random_board", "random_strategy"]

LETTERS = "monhc"
PANEL = 6
"""Runs of a randomised policy that the adversary watches."""
PANEL_SEEDS = 10**6
"""Their seeds begin here: other coins than those of any measurement."""


@dataclass(frozen=True)
class Board:
    """A trie, the queries that may be asked for, and those that every batch asks for."""

    trie: TokenTrie
    queries: tuple[int, ...]
    fixed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Strategy:
    """A warm-up and a pattern, words over `LETTERS`."""

    warm: str
    pattern: str


def brooms(target: Target) -> list[Board]:
    """The brooms with k + 1 to k + 3 free leaves, with and without fixed leaves."""
    boards = []
    for extra in (1, 2, 3):
        trie, leaves = broom(target.min_length, target.beta - 1 + target.k + extra)
        boards.append(Board(trie, leaves[target.beta - 1 :], leaves[: target.beta - 1]))
        if target.beta > 1:
            boards.append(Board(trie, leaves))
    return boards


def random_board(target: Target, draw: Random) -> Board:
    """A random forest below a handle of L - 1 tokens (or less), with more tokens than fit."""
    handle = draw.choice((target.min_length - 1, draw.randrange(target.min_length)))
    size = target.capacity + draw.randint(1, 1 + target.capacity // 2)
    depth_first = draw.random()
    parents = list(range(-1, handle - 1))
    for token in range(handle, max(size, handle + 2)):
        deep = token > handle and draw.random() < depth_first * 0.8
        parents.append(draw.randrange(handle, token) if deep else handle - 1)
    trie = TokenTrie.from_parents(parents)
    depths = [trie.depth(token) for token in range(len(trie))]
    queries = tuple(
        token for token in range(len(trie)) if target.min_length <= depths[token] <= target.capacity
    )
    if draw.random() < 0.5:
        inner = set(parents)
        queries = tuple(query for query in queries if query not in inner) or queries
    fits = len(queries) > target.beta and target.allows(trie, queries[: target.beta])
    return Board(trie, queries) if fits else brooms(target)[0]


def random_strategy(draw: Random, slots: int) -> Strategy:
    """A random word: a few runs of letters."""
    runs = [
        draw.choice(LETTERS + "mm") * draw.choice((1, 1, 1, 2, slots, 2 * slots - 1))
        for _ in range(draw.randint(1, 3))
    ]
    warm = "".join(draw.choice(LETTERS) for _ in range(draw.choice((0, 0, slots, 2 * slots))))
    return Strategy(warm, "".join(runs)[: 4 * slots + 4])


class _Game:
    """What the adversary sees while it plays."""

    def __init__(self, target: Target, board: Board, seed: int) -> None:
        self.target, self.board = target, board
        members = PANEL if target.randomised else 1
        self.panel = [
            PrefixCache(board.trie, target.capacity, target.policy, seed=PANEL_SEEDS + seed + i)
            for i in range(members)
        ]
        self.clock = 0
        # Before anything happens the first query counts as the latest.
        self.asked = {query: -place for place, query in enumerate(board.queries)}
        self.gone = dict(self.asked)
        self.steps: list[tuple[int, ...]] = []
        self.free = target.beta - len(board.fixed)

    def step(self, letter: str) -> None:
        """Ask as the letter says."""
        missing = {
            query: sum(query not in cache.cached for cache in self.panel)
            for query in self.board.queries
        }
        order = sorted(self.board.queries, key=lambda query: self._key(letter, query, missing))
        step = list(self.board.fixed)
        for query in order:
            if len(step) == self.target.beta:
                break
            single = self.target.beta == 1
            fits = single or self.board.trie.footprint_size([*step, query]) <= self.target.capacity
            if fits and query not in step:
                step.append(query)
        if len(step) < self.target.beta:  # a greedy choice can end too wide
            step = [*self.board.fixed, *self.board.queries[: self.free]]
        self.clock += 1
        for cache in self.panel:
            for token in cache.serve(step).evicted:
                if token in self.gone:
                    self.gone[token] = self.clock
        for query in step:
            if query in self.asked:
                self.asked[query] = self.clock
        self.steps.append(tuple(step))

    def _key(self, letter: str, query: int, missing: dict[int, int]) -> tuple[int, ...]:
        if letter == "m":
            return -missing[query], -self.gone[query]
        if letter == "o":
            return -missing[query], self.gone[query]
        if letter == "n":
            return int(self.asked[query] > 0), -missing[query], -self.gone[query]
        if letter == "h":
            return missing[query], -self.asked[query]
        return missing[query], self.asked[query]

    def state(self) -> Hashable:
        """Equal states have equal futures (of a deterministic policy)."""
        queries = self.board.queries
        never = tuple(query for query in queries if self.asked[query] <= 0)
        return (
            self.panel[0].state(),
            tuple(sorted(queries, key=lambda query: (self.asked[query], query))),
            tuple(sorted(queries, key=lambda query: (self.gone[query], query))),
            never,
        )


def play(
    target: Target,
    board: Board,
    strategy: Strategy,
    seed: int = 0,
    limit: int = 0,
    stop: Callable[[], bool] | None = None,
) -> Instance | None:
    """Play a strategy until the game repeats, and return its prefix and cycle.

    Parameters
    ----------
    target : Target
        The policy and its constraints.
    board : Board
        Where to play.
    strategy : Strategy
        What to ask for.
    seed : int
        Seeds the panel of a randomised policy.
    limit : int
        The most steps; 0 for 40 times the free slots (16 against a panel). If the game does not
        repeat, the cycle is the shortest period that ends the sequence, else its second half.
    stop : callable, optional
        Asked before every step; True ends the game.

    Returns
    -------
    Instance or None
        None if everything on the board fits into the cache, or the game was stopped.

    Examples
    --------
    >>> target = Target("clock-clear", 3)
    >>> game = play(target, brooms(target)[0], Strategy("", "hmmmmm"))
    >>> game.cycle[:6], len(game.cycle)
    (((1,), (2,), (3,), (0,), (2,), (3,)), 24)
    """
    if board.trie.footprint_size(board.queries) <= target.capacity:
        return None
    game = _Game(target, board, seed)
    limit = limit or (16 if target.randomised else 40) * target.k + len(strategy.warm)
    closes = target.has_state and not target.randomised
    for letter in strategy.warm:
        if stop and stop():
            return None
        game.step(letter)
    seen: dict[Hashable, int] = {}
    begin = None
    while len(game.steps) < limit:
        if closes:
            begin = seen.setdefault(game.state(), len(game.steps))
            if begin < len(game.steps):
                break
            begin = None
        for letter in strategy.pattern:
            if stop and stop():
                return None
            game.step(letter)
    if begin is None:
        begin = _period(game.steps)
    return Instance(board.trie, target.capacity, game.steps, cycle_start=begin)


def _period(steps: Sequence[tuple[int, ...]]) -> int:
    """Where the last repetition of the shortest period of the end begins."""
    count = len(steps)
    for period in range(1, count // 3):
        tail = steps[count - 3 * period :]
        if tail[:period] == tail[period : 2 * period] == tail[2 * period :]:
            return count - period
    return count // 2
