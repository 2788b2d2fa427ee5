"""Beam search through the product of a deterministic policy's states and the work functions.

Every step is tried in every state of the beam; the states with the largest gain ``cost of the
policy - r * growth of the optimum`` are kept, r being the ratio to beat. A state that repeats on
its own way closes a cycle, whose ratio is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from adversary.strategy import Board
from adversary.target import Target
from theory.cache import PrefixCache
from theory.exact.arena import mask
from theory.exact.work_function import EMPTY, WorkFunction, serve
from theory.model import Instance

__all__ = ["beam"]

MOST_BATCHES = 60
"""Only the first so many batches of a board are tried."""


@dataclass(frozen=True)
class _Node:
    """A state, how it was reached, and what was paid until then."""

    cache: PrefixCache
    layers: WorkFunction
    key: Hashable
    paid: int
    owed: int
    before: _Node | None
    step: tuple[int, ...]


def beam(
    target: Target,
    board: Board,
    ratio: Fraction,
    *,
    width: int = 40,
    depth: int = 0,
    stop: Callable[[], bool] | None = None,
) -> tuple[Instance | None, int]:
    """Look for a cycle with a ratio above `ratio`.

    Parameters
    ----------
    target : Target
        A deterministic policy that tells its state.
    board : Board
        The trie and the queries.
    ratio : Fraction
        The ratio to beat.
    width : int
        States kept after each step.
    depth : int
        Steps; 0 for 4 B + 8.
    stop : callable, optional
        Asked in every state; True ends the search with what was found.

    Returns
    -------
    instance : Instance or None
        The best cycle found, if one beats `ratio`.
    served : int
        The number of steps served.

    Examples
    --------
    >>> from adversary.strategy import brooms
    >>> target = Target("mru", 2)
    >>> len(beam(target, brooms(target)[0], Fraction(2))[0].cycle)
    2
    """
    free = target.beta - len(board.fixed)
    batches = [
        (*board.fixed, *rest)
        for rest in combinations(board.queries, free)
        if target.allows(board.trie, (*board.fixed, *rest))
    ][:MOST_BATCHES]
    footprints = [mask(board.trie.footprint(batch)) for batch in batches]
    cache = PrefixCache(board.trie, target.capacity, target.policy)
    level = [_Node(cache, EMPTY, (cache.state(), EMPTY), 0, 0, None, ())]
    best: tuple[bool, Fraction] = (False, ratio)
    found: Instance | None = None
    served = 0
    for _ in range(depth or 4 * target.capacity + 8):
        following: dict[Hashable, _Node] = {}
        for node in level:
            if stop and stop():
                return found, served
            for batch, footprint in zip(batches, footprints, strict=True):
                cache = node.cache.fork()
                cost = cache.serve(batch).cost
                served += 1
                layers, rise = serve(node.layers, footprint, target.capacity)
                key = (cache.state(), layers)
                paid, owed = node.paid + cost, node.owed + rise
                start = _on_the_way(node, key)
                if start is not None:
                    gain, debt = paid - start.paid, owed - start.owed
                    rank = (not debt and gain > 0, Fraction(gain, debt) if debt else Fraction(0))
                    if rank > best:
                        best = rank
                        found = _instance(target, board, node, start, batch)
                    continue
                other = following.get(key)
                if other is None or _gain(paid, owed, ratio) > _gain(other.paid, other.owed, ratio):
                    following[key] = _Node(cache, layers, key, paid, owed, node, batch)
        if best[0]:
            break
        level = sorted(
            following.values(), key=lambda node: _gain(node.paid, node.owed, ratio), reverse=True
        )[:width]
    return found, served


def _gain(paid: int, owed: int, ratio: Fraction) -> Fraction:
    return paid - ratio * owed


def _on_the_way(node: _Node, key: Hashable) -> _Node | None:
    """The node with this state among `node` and those before it."""
    now: _Node | None = node
    while now is not None and now.key != key:
        now = now.before
    return now


def _instance(
    target: Target, board: Board, node: _Node, start: _Node, last: tuple[int, ...]
) -> Instance:
    """The way to `start`, and the cycle from there."""
    steps = [last]
    cycle_start = 0
    now: _Node | None = node
    while now is not None and now.before is not None:
        if now is start:
            cycle_start = len(steps)
        steps.append(now.step)
        now = now.before
    if now is start:
        cycle_start = len(steps)
    return Instance(board.trie, target.capacity, steps[::-1], cycle_start=len(steps) - cycle_start)
