"""The prefix cache, executable: the specification that every faster engine is held to.

Simple before fast: sets of tokens, one leaf at a time. For traces use the engine.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from theory.errors import InadmissibleStepError, InputError, PolicyError
from theory.eviction import EvictionPolicy, RandomisedPolicy, make_policy
from theory.eviction.base import Step
from theory.model import Instance, check_capacity
from theory.trie import ROOT, TokenTrie

__all__ = ["MatchRule", "PrefixCache", "RunResult", "StepResult", "run"]

MatchRule = Literal["full", "all-but-last"]
"""Whether an identical prompt can hit in full, or its last token is always computed again."""


class StepResult(NamedTuple):
    """What one step did.

    Attributes
    ----------
    hits, misses : tuple of int
        The tokens of the footprint that were cached before the step, and those that were not, in
        the order of tokens.
    evicted : tuple of int
        The tokens that left, in the order in which they left.
    recomputed : tuple of int
        With the match rule ``"all-but-last"``: hits that are computed again because they are the
        last token of a query. They stay cached and cost as much as a miss.
    """

    hits: tuple[int, ...]
    misses: tuple[int, ...]
    evicted: tuple[int, ...]
    recomputed: tuple[int, ...] = ()

    @property
    def cost(self) -> int:
        """The number of tokens computed."""
        return len(self.misses) + len(self.recomputed)


class PrefixCache:
    """A prefix cache of `capacity` tokens under an eviction policy (model, section 1).

    Parameters
    ----------
    trie : TokenTrie
        The tokens.
    capacity : int
        B.
    policy : str or EvictionPolicy
        A name (see `theory.eviction.make_policy`) or a policy that serves no other cache.
    seed : int
        Seeds a randomised policy.
    match : {"full", "all-but-last"}
        The match rule. The theorems are about ``"full"``; SGLang and vLLM use the other one. Under
        it a node-granular cache splits an identical prompt before its last token, as SGLang does.

    Examples
    --------
    >>> trie, (abcd, ab, x) = TokenTrie.from_sequences(["abcd", "ab", "x"])
    >>> cache = PrefixCache(trie, 4, "leaf-lru")
    >>> cache.serve([abcd]).misses
    (0, 1, 2, 3)
    >>> cache.serve([ab]).hits
    (0, 1)
    >>> cache.serve([x]).evicted
    (3,)
    """

    def __init__(
        self,
        trie: TokenTrie,
        capacity: int,
        policy: str | EvictionPolicy = "leaf-lru",
        *,
        seed: int = 0,
        match: MatchRule = "full",
    ) -> None:
        if match not in ("full", "all-but-last"):
            raise InputError(f"match can be 'full' or 'all-but-last', not {match!r}")
        self.trie = trie
        self.capacity = check_capacity(capacity)
        self.match: MatchRule = match
        self.steps = 0
        self._cached: set[int] = set()
        self._children: dict[int, set[int]] = {}  # cached token -> its cached children, if any
        self._tips: set[int] = set()  # the cached tokens without a cached child
        self._bottoms: set[int] = set()  # node granularity: the last tokens of the radix nodes
        self._locked: frozenset[int] = frozenset()
        self._open: tuple[Step, list[int], tuple[int, ...]] | None = None
        self.policy = make_policy(policy) if isinstance(policy, str) else policy
        if self.policy.granularity not in ("token", "node"):
            raise PolicyError(
                f"granularity can be 'token' or 'node', not {self.policy.granularity!r}",
                where=f"policy {type(self.policy).__name__}",
            )
        self._whole_nodes = self.policy.granularity == "node"
        self.policy.bind(self, seed)

    @property
    def cached(self) -> Collection[int]:
        """S_j: the cached tokens; treat it as read-only."""
        return self._cached

    def serve(self, step: Sequence[int]) -> StepResult:
        """Serve the batch of queries that end at the tokens `step`.

        Raises
        ------
        InadmissibleStepError
            If the footprint exceeds the capacity; the cache is unchanged.
        PolicyError
            If the policy names a victim that is not an evictable leaf.
        """
        self.begin(step)
        while self.excess > 0:
            self.evict(self.policy.choose(self.leaves()))
        return self.finish()

    def begin(self, step: Sequence[int]) -> Step:
        """Lock the footprint of `step` and tell the policy; evictions may follow."""
        told = self._lock(step)
        self.policy.on_step(told)
        return told

    def begin_each(self, step: Sequence[int]) -> list[PrefixCache]:
        """Begin a step in copies, one for each equally likely toss of the policy's coins.

        What `begin` does at random, for exact laws; this cache stays as it is. Where the policy
        tosses no coins before it chooses, there is one copy.
        """
        start = self.fork()
        told = start._lock(step)
        if not isinstance(start.policy, RandomisedPolicy):
            start.policy.on_step(told)
            return [start]
        begun = []
        for policy in start.policy.tosses(told):
            new = start._copy()
            new.policy, policy.cache = policy, new
            begun.append(new)
        return begun

    def _lock(self, step: Sequence[int]) -> Step:
        """Open a step: what the policy is to be told."""
        if self._open is not None:
            raise InputError("the step before is not finished", where=f"step {self.steps}")
        queries = tuple(dict.fromkeys(step))
        if not queries:
            raise InputError("the batch has no query", where=f"step {self.steps}")
        for query in queries:
            self.trie.check(query, where=f"step {self.steps}")
        tokens = self.trie.footprint(queries)
        if len(tokens) > self.capacity:
            raise InadmissibleStepError(
                step=self.steps,
                footprint=len(tokens),
                capacity=self.capacity,
                queries=len(queries),
            )
        locked = frozenset(tokens)
        split_off, cuts = self._split(queries, locked) if self._whole_nodes else ((), ())
        told = Step(
            self.steps,
            queries,
            tokens,
            tuple(t for t in tokens if t in self._cached),
            tuple(t for t in tokens if t not in self._cached),
            split_off,
            cuts,
        )
        recomputed: tuple[int, ...] = ()
        if self.match == "all-but-last":
            recomputed = tuple(sorted(q for q in queries if q in self._cached))
        self._locked = locked
        self._open = told, [], recomputed
        return told

    @property
    def excess(self) -> int:
        """The number of tokens that must still leave before the open step can be loaded."""
        if self._open is None:
            return 0
        return len(self._cached) + len(self._open[0].misses) - self.capacity

    def leaves(self) -> list[int]:
        """The evictable leaves, in the order of tokens: no cached child and not locked."""
        return sorted(self._tips - self._locked)

    def evict(self, victim: int) -> None:
        """Evict the leaf token (or the leaf node that ends there)."""
        if self._open is None:
            raise InputError("no step is open", where=f"step {self.steps}")
        if (
            not isinstance(victim, Hashable)
            or victim not in self._cached
            or victim in self._children
            or victim in self._locked
        ):
            raise PolicyError(
                f"{type(self.policy).__name__} chose {victim!r}, which is not an evictable leaf",
                where=f"step {self.steps}",
                fix="return one of the leaves that choose() is given",
            )
        for token in reversed(self.node(victim)):
            self._cached.remove(token)
            self._tips.remove(token)
            self._bottoms.discard(token)
            self._open[1].append(token)
            parent = self.trie.parent(token)
            if parent != ROOT:
                self._children[parent].remove(token)
                if not self._children[parent]:
                    del self._children[parent]
                    self._tips.add(parent)
            self.policy.on_evict(token)

    def finish(self) -> StepResult:
        """Load the misses of the open step and close it."""
        if self._open is None:
            raise InputError("no step is open", where=f"step {self.steps}")
        if self.excess > 0:
            raise InputError(f"{self.excess} tokens must still leave", where=f"step {self.steps}")
        step, evicted, recomputed = self._open
        for token in step.misses:
            self._cached.add(token)
            self._tips.add(token)
            parent = self.trie.parent(token)
            if parent != ROOT:
                self._children.setdefault(parent, set()).add(token)
                self._tips.discard(parent)
        self._locked = frozenset()
        self._open = None
        self.steps += 1
        return StepResult(step.hits, step.misses, tuple(evicted), recomputed)

    def node(self, bottom: int) -> tuple[int, ...]:
        """The tokens that leave with the leaf `bottom`, top first."""
        if not self._whole_nodes:
            return (bottom,)
        tokens = [bottom]
        while (above := self.trie.parent(tokens[-1])) != ROOT and above not in self._bottoms:
            tokens.append(above)
        return tuple(reversed(tokens))

    def _split(
        self, queries: Sequence[int], locked: frozenset[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Split the radix nodes where matches end and insert the new ones.

        Returns the cached tokens outside the footprint that were split off, and the cuts.
        """
        rests: set[int] = set()
        cuts: set[int] = set()
        present = set(self._cached)
        for query in queries:
            path = self.trie.path(query)
            matched = [t for t in path if t in self._cached]
            # The match of an identical prompt may stop before its last token (`match`); what is
            # inserted afterwards ends at that token.
            stop = -2 if self.match == "all-but-last" and matched[-1:] == [query] else -1
            shared = [t for t in path if t in present]
            for end in (*matched[stop:], *shared[-1:], query):
                if end not in self._bottoms:
                    if end in self._cached:
                        rests.update(self._rest_of_node(end))
                        cuts.add(end)
                    self._bottoms.add(end)
            present.update(path)
        return tuple(sorted(rests - locked)), tuple(sorted(cuts))

    def _rest_of_node(self, token: int) -> list[int]:
        """The tokens of the radix node of `token` that lie below it (a chain)."""
        below: list[int] = []
        while token not in self._bottoms and token in self._children:
            (token,) = self._children[token]  # inside a node there is exactly one
            below.append(token)
        return below

    def state(self) -> Hashable:
        """Cache, radix nodes and policy state: equal states have equal futures."""
        return frozenset(self._cached), frozenset(self._bottoms), self.policy.state()

    @property
    def tells_state(self) -> bool:
        """Whether the policy has a `state()`.

        Raises
        ------
        PolicyError
            If what it gives cannot be hashed.
        """
        try:
            state = self.policy.state()
        except NotImplementedError:
            return False
        try:
            hash(state)
        except TypeError as error:
            raise PolicyError(
                f"state() cannot be hashed ({error})",
                where=f"policy {type(self.policy).__name__}",
                fix="return numbers, tuples and frozensets",
            ) from None
        return True

    def fork(self) -> PrefixCache:
        """An independent copy: both can go on from here, with the same coins ahead of them."""
        new = self._copy()
        new.policy = self.policy.fork(new)
        return new

    def _copy(self) -> PrefixCache:
        """A copy that wants a policy."""
        new = object.__new__(PrefixCache)
        new.trie, new.capacity, new.match, new.steps = (
            self.trie,
            self.capacity,
            self.match,
            self.steps,
        )
        new._cached = set(self._cached)
        new._tips = set(self._tips)
        new._children = {token: set(below) for token, below in self._children.items()}
        new._bottoms = set(self._bottoms)
        new._locked = self._locked
        new._whole_nodes = self._whole_nodes
        new._open = None
        if self._open is not None:
            step, evicted, recomputed = self._open
            new._open = step, list(evicted), recomputed
        return new


@dataclass(frozen=True)
class RunResult:
    """A whole run, step by step.

    Attributes
    ----------
    steps : tuple of StepResult
        One a step of the instance.
    """

    steps: tuple[StepResult, ...]

    @property
    def hits(self) -> int:
        """All hits, in tokens (those that are computed again not counted)."""
        return sum(len(step.hits) - len(step.recomputed) for step in self.steps)

    @property
    def misses(self) -> int:
        """The cost: all tokens computed."""
        return sum(step.cost for step in self.steps)

    @property
    def evicted(self) -> int:
        """All evictions, in tokens."""
        return sum(len(step.evicted) for step in self.steps)


def run(
    instance: Instance,
    policy: str | EvictionPolicy = "leaf-lru",
    *,
    seed: int = 0,
    match: MatchRule = "full",
) -> RunResult:
    """Serve a whole instance from an empty cache.

    Examples
    --------
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> run(Instance(star, 2, [[0], [1], [2], [0]]), "leaf-lru").misses
    4
    """
    cache = PrefixCache(instance.trie, instance.capacity, policy, seed=seed, match=match)
    return RunResult(tuple(cache.serve(step) for step in instance.steps))
