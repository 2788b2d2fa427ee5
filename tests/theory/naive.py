"""A cache that keeps nothing but its log: every policy is a scan over what happened so far.

It shares with the product only the trie. Radix nodes are explicit tuples of tokens; the key of a
candidate is worked out anew from the whole log for every eviction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from theory.trie import ROOT, TokenTrie


class Event(NamedTuple):
    """One step in the log."""

    queries: tuple[int, ...]
    footprint: frozenset[int]
    misses: frozenset[int]
    refreshed: frozenset[int]  # unmatched rests of split nodes
    recreated: frozenset[int]  # upper parts of split nodes
    evicted: list[int]  # filled in as it happens


class NaiveCache:
    """Serve steps under the rule `key` (the smallest key leaves first)."""

    def __init__(self, trie: TokenTrie, capacity: int, rule: str, *, nodes: bool = False) -> None:
        self.parent = trie.parents()
        self.capacity = capacity
        self.rule = rule
        self.whole = nodes
        self.nodes: list[tuple[int, ...]] = []  # the cached tokens, cut into units of eviction
        self.log: list[Event] = []
        self.ring: list[int] = []
        self.hand = 0
        self.bits: set[int] = set()

    def path(self, token: int) -> list[int]:
        tokens = []
        while token != ROOT:
            tokens.append(token)
            token = self.parent[token]
        return tokens[::-1]

    @property
    def cached(self) -> set[int]:
        return {token for node in self.nodes for token in node}

    def begin(self, step: Sequence[int]) -> list[tuple[int, ...]]:
        """Match, split, log; return the new nodes."""
        queries = tuple(dict.fromkeys(step))
        footprint = frozenset(t for query in queries for t in self.path(query))
        misses = footprint - self.cached
        new: list[tuple[int, ...]] = []
        rests: set[int] = set()
        uppers: set[int] = set()
        for query in queries:
            path = set(self.path(query))
            for nodes in (self.nodes, new):
                for node in list(nodes):
                    upper = tuple(t for t in node if t in path)
                    lower = node[len(upper) :]
                    if upper and lower:
                        nodes.remove(node)
                        nodes += [upper, lower]
                        if nodes is self.nodes:
                            rests.update(lower)
                            uppers.update(upper)
            known = self.cached | {t for node in new for t in node}
            fresh = tuple(t for t in self.path(query) if t not in known)
            if fresh:
                new += [fresh] if self.whole else [(t,) for t in fresh]
        self.log.append(
            Event(queries, footprint, misses, frozenset(rests - footprint), frozenset(uppers), [])
        )
        return new

    def candidates(self) -> list[tuple[int, ...]]:
        """The evictable leaf units."""
        inner = {self.parent[token] for token in self.cached}
        locked = self.log[-1].footprint
        return [n for n in self.nodes if n[-1] not in inner and n[-1] not in locked]

    def serve(self, step: Sequence[int]) -> tuple[set[int], list[int]]:
        """Misses and evictions, in order, of a deterministic rule."""
        if "clock" in self.rule and self.log:
            fresh = sorted(self.log[-1].misses, reverse=True)
            self.ring[self.hand : self.hand] = fresh
            self.hand += len(fresh)
            if self.rule == "clock":
                self.bits |= self.log[-1].misses
        new = self.begin(step)
        self.bits |= self.log[-1].footprint - self.log[-1].misses
        evicted = self.log[-1].evicted
        while len(self.cached) + len(self.log[-1].misses) > self.capacity:
            leaves = self.candidates()
            if "clock" in self.rule:
                victim = self.sweep({node[-1] for node in leaves})
            else:
                victim = min(leaves, key=lambda node: KEYS[self.rule](self, node))
            self.nodes.remove(victim)
            evicted += reversed(victim)
        self.nodes += new
        return set(self.log[-1].misses), list(evicted)

    def sweep(self, leaves: set[int]) -> tuple[int]:
        """The hand of a clock, as an index into a fixed ring."""
        while True:
            self.hand %= len(self.ring)
            token = self.ring[self.hand]
            if token in leaves and token not in self.bits:
                del self.ring[self.hand]
                return (token,)
            if token in leaves:
                self.bits.remove(token)
            self.hand += 1

    # What a key may ask of the log; times are pairs (step, rank within the step).

    def used(self, token: int) -> tuple[int, int]:
        return max((j, 1) for j, event in enumerate(self.log) if token in event.footprint)

    def stamped(self, token: int) -> tuple[int, int]:
        rests = [(j, 0) for j, event in enumerate(self.log) if token in event.refreshed]
        return max([self.used(token), *rests])

    def inserted(self, token: int) -> int:
        return max(j for j, event in enumerate(self.log) if token in event.misses)

    def created(self, token: int) -> tuple[int, int]:
        start = self.inserted(token)
        cuts = [(j, 0) for j, e in enumerate(self.log) if token in e.recreated and j > start]
        return max([(start, 1), *cuts])

    def freed(self, token: int) -> tuple[int, int]:
        step = self.used(token)[0]
        queries = self.log[step].queries
        return step, max(i for i, query in enumerate(queries) if token in self.path(query))

    def times(self, token: int) -> list[int]:
        start = self.inserted(token)
        return [j for j, e in enumerate(self.log) if token in e.footprint and j >= start]

    def lost(self, token: int) -> int:
        step = self.log[self.used(token)[0]]
        longest = max(len(self.path(q)) for q in step.queries if token in self.path(q))
        return longest - len(self.path(token)) + 1

    def aged(self, token: int) -> tuple[int, int]:
        # The whole history again: what was evicted last had the priority that is the age.
        age = 0
        count: dict[int, int] = {}
        priority: dict[int, int] = {}
        for event in self.log:
            for query in event.queries:
                for t in self.path(query):
                    count[t] = count.get(t, 0) + 1
            for t in event.footprint - event.misses:
                priority[t] = count[t] + age
            for t in event.evicted:
                age = priority[t]
                del count[t]
            for t in event.misses:
                priority[t] = count[t] + age
        return priority[token], self.used(token)[0]

    def uses(self, token: int) -> int:
        since = self.log[self.inserted(token) :]
        return sum(token in self.path(query) for event in since for query in event.queries)


def _negative(time: tuple[int, int]) -> tuple[int, int]:
    return -time[0], -time[1]


KEYS: dict[str, Callable[[NaiveCache, tuple[int, ...]], Any]] = {
    "leaf-lru": lambda c, n: (c.used(n[-1]), -n[-1]),
    "node-lru": lambda c, n: (c.used(n[-1]), -n[-1]),
    "sglang-lru": lambda c, n: (c.stamped(n[-1]), -n[-1]),
    "vllm-lru": lambda c, n: (c.freed(n[-1]), -len(c.path(n[-1]))),
    "fifo": lambda c, n: (c.created(n[-1]), -n[-1]),
    "filo": lambda c, n: (_negative(c.created(n[-1])), -n[-1]),
    "mru": lambda c, n: (_negative(c.stamped(n[-1])), -n[-1]),
    "lfu": lambda c, n: (c.uses(n[-1]), c.stamped(n[-1]), -n[-1]),
    "slru": lambda c, n: (c.uses(n[-1]) >= 2, c.stamped(n[-1]), -n[-1]),
    "lru-k": lambda c, n: ((c.times(n[-1])[-2:-1] or [-1])[0], c.used(n[-1]), -n[-1]),
    "tail-lru": lambda c, n: (c.lost(n[-1]) > 2, c.used(n[-1]), -n[-1]),
    "lfu-ageing": lambda c, n: (*c.aged(n[-1]), -n[-1]),
    "hits-per-token": lambda c, n: (Fraction(c.uses(n[-1]), len(n)), c.used(n[-1]), -n[-1]),
}
"""The deterministic rules but for the clocks: the unit with the smallest key leaves."""
