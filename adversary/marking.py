"""Is a policy marking? If not: the step that shows it.

Cut a sequence greedily into phases of at most B distinct tokens. A policy is marking if it never
evicts a token that was used in the current phase; then Theorem 1 bounds its ratio by B - u + 1. One
violating step refutes it; a search that finds none proves nothing, and says how far it looked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from random import Random

from adversary.shrink import minimise
from adversary.strategy import brooms, random_board
from adversary.target import Target
from theory.cache import PrefixCache
from theory.eviction import RandomisedPolicy
from theory.model import Instance

__all__ = ["Marking", "Violation", "first_violation", "look_for_violation"]

SEQUENCES = 400
STEPS = 40


@dataclass(frozen=True)
class Violation:
    """An eviction that no marking policy would make.

    Attributes
    ----------
    instance : Instance
        The sequence, minimal; its last step is the violating one.
    step : int
        Its number.
    token : int
        The token that was used in the phase and is (or, for a randomised policy, can be) evicted.
    phase_start : int
        The first step of the phase.
    """

    instance: Instance
    step: int
    token: int
    phase_start: int


@dataclass(frozen=True)
class Marking:
    """What the search for a violation found.

    Attributes
    ----------
    violation : Violation or None
        The smallest one.
    steps : int
        The steps that were looked at.
    """

    violation: Violation | None
    steps: int


def first_violation(instance: Instance, policy: str, seed: int = 0) -> tuple[int, int, int] | None:
    """The first violating step of a run.

    Returns
    -------
    (step, token, phase_start) or None
        None if the run is marking. Of a randomised policy every victim of positive probability
        counts, along one run.

    Examples
    --------
    >>> from adversary.cyclic import cyclic
    >>> from adversary.granular import sglang
    >>> first_violation(cyclic(3).unrolled(4), "leaf-lru") is None
    True
    >>> first_violation(sglang(), "sglang-lru")
    (6, 2, 3)
    """
    cache = PrefixCache(instance.trie, instance.capacity, policy, seed=seed)
    used: set[int] = set()
    phase_start = 0
    for index, step in enumerate(instance.steps):
        footprint = set(instance.footprint(index))
        if len(used | footprint) > instance.capacity:
            used, phase_start = set(), index
        used |= footprint
        cache.begin(step)
        while cache.excess > 0:
            leaves = cache.leaves()
            possible: Iterable[int]
            if isinstance(cache.policy, RandomisedPolicy):
                law = cache.policy.distribution(leaves)
                possible = [leaf for leaf, weight in law.items() if weight]
                victim = cache.policy.choose(leaves)
            else:
                victim = cache.policy.choose(leaves)
                possible = [victim]
            for leaf in possible:
                gone = used.intersection(cache.node(leaf))
                if gone:
                    return index, min(gone), phase_start
            cache.evict(victim)
        cache.finish()
    return None


def look_for_violation(
    target: Target,
    seed: int = 0,
    also: Iterable[Instance] = (),
    stop: Callable[[], bool] | None = None,
) -> Marking:
    """Look for a violation on given sequences and on random ones, and make it minimal.

    Marking is asked for at every capacity, so random sequences have capacities up to the target's.

    Parameters
    ----------
    target : Target
        The policy and its constraints.
    seed : int
        Seeds the random sequences.
    also : iterable of Instance
        More sequences to look at.
    stop : callable, optional
        Asked before every sequence; True ends the search.

    Examples
    --------
    >>> look_for_violation(Target("leaf-lru", 4)).violation is None
    True
    >>> found = look_for_violation(Target("mru", 4)).violation
    >>> found.instance.capacity, found.instance.steps, found.token
    (2, ((0,), (1,), (2,), (3,)), 2)
    """
    draw = Random(f"{seed}/marking")
    steps = 0
    found: Instance | None = None
    for instance in chain(also, _random_sequences(target, draw)):
        if stop and stop():
            break
        steps += len(instance.steps)
        violation = first_violation(instance, target.policy, seed)
        if violation is not None:
            found = _until(instance, violation[0])
            break
    if found is None:
        return Marking(None, steps)
    small = minimise(found, lambda cut: _violates(cut, target, seed), most=500, stop=stop)
    violation = first_violation(small, target.policy, seed)
    if violation is None:
        raise target.not_repeated("keeps no token that was used in its phase, and loses one")
    small = _until(small, violation[0])
    return Marking(Violation(small, *violation), steps)


def _violates(instance: Instance, target: Target, seed: int) -> bool:
    queries = (query for step in set(instance.steps) for query in step)
    if any(instance.trie.depth(query) < target.min_length for query in queries):
        return False
    if any(len(step) != target.beta for step in set(instance.steps)):
        return False
    return first_violation(instance, target.policy, seed) is not None


def _until(instance: Instance, last: int) -> Instance:
    """The steps up to `last`; the last one stands as the cycle, so that it is kept."""
    return Instance(instance.trie, instance.capacity, instance.steps[: last + 1], last)


def _random_sequences(target: Target, draw: Random) -> Iterator[Instance]:
    least = target.min_length + target.beta - 1
    for number in range(SEQUENCES):
        smaller = replace(target, capacity=draw.randint(least, target.capacity))
        board = draw.choice(brooms(smaller)) if number % 4 == 0 else random_board(smaller, draw)
        steps: list[tuple[int, ...]] = []
        for _ in range(STEPS):
            free = target.beta - len(board.fixed)
            # Often recent queries again: many hits and many misses.
            pool = board.queries
            if steps and draw.random() < 0.5:
                recent = dict.fromkeys(q for s in steps[-4:] for q in s if q not in board.fixed)
                pool = tuple(recent) if len(recent) >= free else pool
            step = (*board.fixed, *draw.sample(pool, free))
            if smaller.allows(board.trie, step):
                steps.append(step)
        if steps:
            yield Instance(board.trie, smaller.capacity, steps)
