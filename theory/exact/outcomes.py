"""What a policy does in a step, exactly: every outcome with its probability, computed once.

The executable cache (`theory.cache`) is the meaning of a policy. It is slow, so each of its states
gets a number, and each transition (state, step) is computed once and kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import NamedTuple

from theory.cache import PrefixCache
from theory.errors import PolicyError
from theory.eviction import RandomisedPolicy, make_policy
from theory.eviction.base import check_law
from theory.exact.arena import Batch
from theory.trie import TokenTrie

__all__ = ["Distribution", "ExhaustedError", "Move", "Outcomes", "mix", "new_cache"]


class ExhaustedError(Exception):
    """The cap on the number of states of a policy is reached."""


class Move(NamedTuple):
    """One step from one state of cache and policy.

    Attributes
    ----------
    cost : int
        The misses; they do not depend on the victims.
    outcomes : tuple of (int, int)
        The next states and their weights, which add up to `total`.
    total : int
        The common denominator of the probabilities.
    """

    cost: int
    outcomes: tuple[tuple[int, int], ...]
    total: int


class Distribution(NamedTuple):
    """An exact distribution over states, in lowest terms: equal ones are equal tuples.

    Attributes
    ----------
    states : tuple of int
        The support, increasing.
    weights : tuple of int
        Positive, without a common divisor; probabilities are weights over their sum.
    """

    states: tuple[int, ...]
    weights: tuple[int, ...]


def new_cache(trie: TokenTrie, capacity: int, policy: str) -> PrefixCache:
    """An empty cache under a policy whose states can be told apart.

    Raises
    ------
    PolicyError
        If the policy gives no state or, randomised, no distribution.
    """
    cache = PrefixCache(trie, capacity, policy)
    if not cache.tells_state:
        raise PolicyError(
            f"has no exact ratio: {type(cache.policy).__name__} gives no state()",
            where=f"policy {policy}",
            fix="give the policy a hashable, canonical state()",
        )
    # No coin is ever drawn here; without its generator a randomised policy is cheap to fork.
    vars(cache.policy).pop("random", None)
    return cache


class Outcomes:
    """The numbered states of a policy on a trie, and its moves between them.

    Parameters
    ----------
    trie : TokenTrie
        The tokens.
    capacity : int
        B.
    policy : str
        A policy (see `theory.eviction.make_policy`).
    steps : sequence of Batch
        The steps that can be asked for, each by its index.
    most : int, optional
        Raise `ExhaustedError` rather than number more states than this.

    Attributes
    ----------
    randomised : bool
        Whether a move can have several outcomes.

    Examples
    --------
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> outcomes = Outcomes(star, 2, "rlt", [(0,), (1,), (2,)])
    >>> state = outcomes.move(outcomes.move(0, 0).outcomes[0][0], 1).outcomes[0][0]
    >>> outcomes.move(state, 2)
    Move(cost=1, outcomes=((3, 1), (4, 1)), total=2)
    """

    def __init__(
        self,
        trie: TokenTrie,
        capacity: int,
        policy: str,
        steps: Sequence[Batch],
        most: int | None = None,
    ) -> None:
        cache = new_cache(trie, capacity, policy)
        self.randomised = isinstance(make_policy(policy), RandomisedPolicy)
        self.steps = steps
        self.most = most
        self._number: dict[Hashable, int] = {cache.state(): 0}
        self._caches: list[PrefixCache | None] = [cache]
        self._moves: dict[tuple[int, int], Move] = {}
        self._rows: dict[int, list[Move]] = {}

    def __len__(self) -> int:
        return len(self._caches)

    def move(self, state: int, step: int) -> Move:
        """What step number `step` does in the state number `state`."""
        found = self._moves.get((state, step))
        if found is None:
            found = self._moves[state, step] = self._serve(self._cache(state), self.steps[step])
        return found

    def play(self, law: Distribution, step: int) -> tuple[Distribution, Fraction]:
        """The law after a step, and the expected cost of the step."""
        return mix(law, [self.move(state, step) for state in law.states])

    def row(self, state: int) -> list[Move]:
        """The moves of all steps from a state, whose cache is then forgotten: it is large.

        A deterministic policy's row can be asked for only once.
        """
        found = self._rows.get(state)
        if found is None:
            cache = self._cache(state)
            found = [self._serve(cache, step) for step in self.steps]
            self._caches[state] = None
            if self.randomised:
                self._rows[state] = found
        return found

    def _cache(self, state: int) -> PrefixCache:
        cache = self._caches[state]
        assert cache is not None, f"the cache of state {state} is forgotten"
        return cache

    def _serve(self, cache: PrefixCache, batch: Batch) -> Move:
        if not self.randomised:
            start = cache.fork()
            return Move(start.serve(batch).cost, ((self._seen(start), 1),), 1)
        begun = cache.begin_each(batch)
        # Branches that agree after as many evictions go on as one.
        level = [(start, Fraction(1, len(begun))) for start in begun]
        done: dict[int, Fraction] = {}
        cost = 0
        while level:
            merged: dict[Hashable, tuple[PrefixCache, Fraction]] = {}
            for now, weight in level:
                if now.excess <= 0:
                    cost = now.finish().cost
                    state = self._seen(now)
                    done[state] = done.get(state, Fraction(0)) + weight
                    continue
                for victim, share in self._law(now).items():
                    then = now.fork()
                    then.evict(victim)
                    key = then.state()
                    _, before = merged.get(key, (then, Fraction(0)))
                    merged[key] = then, before + weight * share
            level = list(merged.values())
        total = lcm(*(weight.denominator for weight in done.values()))
        outcomes = ((state, int(weight * total)) for state, weight in sorted(done.items()))
        return Move(cost, tuple(outcomes), total)

    def _law(self, cache: PrefixCache) -> dict[int, Fraction]:
        assert isinstance(cache.policy, RandomisedPolicy)
        law = cache.policy.distribution(cache.leaves())
        check_law(law, cache.policy)
        return {victim: Fraction(share) for victim, share in law.items() if share}

    def _seen(self, cache: PrefixCache) -> int:
        number = self._number.setdefault(cache.state(), len(self._caches))
        if number == len(self._caches):
            if number == self.most:
                del self._number[cache.state()]
                raise ExhaustedError
            self._caches.append(cache)
        return number


def mix(law: Distribution, moves: Sequence[Move]) -> tuple[Distribution, Fraction]:
    """The distribution after one step, and its expected cost.

    Parameters
    ----------
    law : Distribution
        The distribution before the step.
    moves : sequence of Move
        What the step does in each state of its support.

    Examples
    --------
    >>> mix(Distribution((0, 1), (1, 1)), [Move(1, ((0, 1), (1, 1)), 2), Move(0, ((1, 1),), 1)])
    (Distribution(states=(0, 1), weights=(1, 3)), Fraction(1, 2))
    """
    common = lcm(*(move.total for move in moves))
    gained: dict[int, int] = {}
    cost = 0
    for weight, move in zip(law.weights, moves, strict=True):
        cost += weight * move.cost
        share = weight * (common // move.total)
        for state, part in move.outcomes:
            gained[state] = gained.get(state, 0) + share * part
    divisor = gcd(*gained.values())
    states = tuple(sorted(gained))
    then = Distribution(states, tuple(gained[state] // divisor for state in states))
    return then, Fraction(cost, sum(law.weights))
