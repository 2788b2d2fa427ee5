"""The arena of an exact ratio: a finite trie, a capacity, and every step that is admissible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from math import comb, factorial

from theory.errors import InputError
from theory.eviction.base import EvictionPolicy, Sees
from theory.model import check_capacity
from theory.trie import ROOT, TokenTrie

__all__ = ["Arena", "Batch", "mask", "sees"]

Batch = tuple[int, ...]
"""A step: its distinct queries in their order, each by its last token."""

MOST_STEPS = 20_000


def sees(policy: EvictionPolicy) -> Sees:
    """What of a batch the policy can tell apart.

    A policy declares it in its class (`EvictionPolicy.sees`). The cache of a node-granular policy
    also keeps where queries end, in whatever order they come.
    """
    if policy.granularity == "node" and policy.sees == "footprint":
        return "queries"
    return policy.sees


def mask(tokens: Iterable[int]) -> int:
    """The set of `tokens` as the bits of an int.

    Examples
    --------
    >>> bin(mask([0, 2]))
    '0b101'
    """
    result = 0
    for token in tokens:
        result |= 1 << token
    return result


@dataclass(frozen=True)
class Arena:
    """All admissible steps of exactly `beta` distinct queries on a finite trie.

    Parameters
    ----------
    trie : TokenTrie
        The tokens.
    capacity : int
        B.
    beta : int
        The exact number of distinct queries in every batch; nested ones are allowed.
    queries : sequence of int, optional
        The queries that a batch may contain, each by its last token; all tokens unless given.
    min_length : int
        Leave out the queries of fewer tokens.

    Raises
    ------
    CapacityError
        If the capacity is not a positive int.
    InputError
        If a query is no token, or no step is admissible.

    Examples
    --------
    >>> broom = Arena(TokenTrie.from_parents([-1, 0, 0, 0]), capacity=3, min_length=2)
    >>> broom.batches("footprint")
    [(1,), (2,), (3,)]
    >>> broom.u, broom.k
    (2, 2)
    """

    trie: TokenTrie
    capacity: int
    beta: int
    queries: tuple[int, ...]

    def __init__(
        self,
        trie: TokenTrie,
        capacity: int,
        beta: int = 1,
        queries: Sequence[int] | None = None,
        min_length: int = 1,
    ) -> None:
        check_capacity(capacity)
        for name, value in (("beta", beta), ("min_length", min_length)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InputError(f"{value!r} is not a positive whole number", where=name)
        for query in queries or ():
            trie.check(query, where="queries")
        allowed = sorted(set(range(len(trie)) if queries is None else queries))
        object.__setattr__(self, "trie", trie)
        object.__setattr__(self, "capacity", capacity)
        object.__setattr__(self, "beta", beta)
        object.__setattr__(
            self, "queries", tuple(q for q in allowed if trie.depth(q) >= min_length)
        )
        self._check(min_length)

    def _check(self, min_length: int) -> None:
        if len(self.queries) < self.beta:
            raise InputError(
                f"only {len(self.queries)} queries of at least {min_length} tokens, "
                f"too few for batches of {self.beta}",
                where="queries",
                fix="lower beta or min_length",
            )
        if comb(len(self.queries), self.beta) * factorial(self.beta) > 100 * MOST_STEPS:
            raise self._too_many(comb(len(self.queries), self.beta))
        if not self._sets:
            raise InputError(
                f"no batch of {self.beta} queries fits into {self.capacity} tokens",
                where="capacity",
                fix="raise the capacity or lower beta or min_length",
            )

    def _too_many(self, count: int) -> InputError:
        return InputError(
            f"has {count:,} steps, more than the {MOST_STEPS:,} that an exact ratio allows",
            where="the arena",
            fix="give fewer queries (--queries), a smaller trie or a smaller beta",
        )

    @cached_property
    def _path(self) -> dict[int, int]:
        """The mask of the path to each query."""
        masks: list[int] = []
        for token, parent in enumerate(self.trie.parents()):
            masks.append((0 if parent == ROOT else masks[parent]) | 1 << token)
        return {query: masks[query] for query in self.queries}

    @cached_property
    def _sets(self) -> list[tuple[Batch, int]]:
        """The admissible sets of queries, each with the mask of its footprint."""
        found = []
        for batch in combinations(self.queries, self.beta):
            tokens = self.footprint(batch)
            if tokens.bit_count() <= self.capacity:
                found.append((batch, tokens))
        return found

    def footprint(self, batch: Sequence[int]) -> int:
        """The mask of U for a batch of allowed queries."""
        tokens = 0
        for query in batch:
            tokens |= self._path[query]
        return tokens

    def batches(self, what: Sees) -> list[Batch]:
        """One step for each that a policy can tell apart.

        Parameters
        ----------
        what : {"footprint", "queries", "order"}
            What of a batch the policy sees: the footprint alone, the set of queries, or their
            order too.
        """
        if what == "footprint":
            steps = list({tokens: batch for batch, tokens in reversed(self._sets)}.values())[::-1]
        elif what == "queries":
            steps = [batch for batch, _ in self._sets]
        else:
            steps = [order for batch, _ in self._sets for order in permutations(batch)]
        if len(steps) > MOST_STEPS:
            raise self._too_many(len(steps))
        return steps

    @property
    def used_queries(self) -> tuple[int, ...]:
        """The queries that occur in some admissible step."""
        return tuple(sorted({query for batch, _ in self._sets for query in batch}))

    @cached_property
    def universe(self) -> int:
        """The mask of all tokens that some step uses."""
        tokens = 0
        for _, step in self._sets:
            tokens |= step
        return tokens

    @property
    def u(self) -> int:
        """The smallest footprint of an admissible step, in tokens."""
        return min(tokens.bit_count() for _, tokens in self._sets)

    @property
    def k(self) -> int:
        """B - u + 1, the number of free slots."""
        return self.capacity - self.u + 1

    @property
    def trivial(self) -> bool:
        """Whether the cache holds all tokens that any step uses: then nobody pays twice."""
        return self.universe.bit_count() <= self.capacity

    @cached_property
    def caches(self) -> int:
        """The number of prefix-closed caches of at most B tokens: how large the state space is.

        Examples
        --------
        >>> Arena(TokenTrie.from_parents([-1, 0, 0, 0]), capacity=3).caches
        8
        """
        # ways[t][s]: closed sets of s tokens in the subtree of t, t itself included or s = 0.
        limit = self.capacity
        forest = [1]
        below: dict[int, list[int]] = {}
        parents = self.trie.parents()
        for token in range(len(parents) - 1, -1, -1):
            subtree = [1, *below.pop(token, [1])][: limit + 1]
            if parents[token] == ROOT:
                forest = _product(forest, subtree, limit)
            else:
                above = parents[token]
                below[above] = _product(below.get(above, [1]), subtree, limit)
        return sum(forest)


def _product(left: list[int], right: list[int], limit: int) -> list[int]:
    """The product of two polynomials, cut off at degree `limit`."""
    result = [0] * min(len(left) + len(right) - 1, limit + 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right[: limit + 1 - i]):
            result[i + j] += a * b
    return result
