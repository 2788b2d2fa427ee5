"""Queries that begin, compute, grow and end on a worker's memory, in any order."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from empirical.cluster.cache import BlockCache
from theory.trie import TokenTrie

SEEDS = range(150)


class Workload:
    """Random prompts over two letters, a capacity that is too small for all, and events."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        words = {"".join(random.choices("ab", k=random.randint(1, 6))) for _ in range(6)}
        self.trie, self.ends = TokenTrie.from_sequences(sorted(words))
        longest = max(map(len, words))
        self.capacity = random.randint(longest, max(longest, len(self.trie) - 1))
        self.events = [
            (random.randrange(60), random.choices(range(4), (4, 6, 1, 3))[0]) for _ in range(150)
        ]

    def drive(self, cache: BlockCache) -> Driver:
        """Queries on `cache`."""
        return Driver(self, cache)


class Driver:
    """The running queries of a cache, each as [query, blocks held, private blocks]."""

    def __init__(self, workload: Workload, cache: BlockCache) -> None:
        self.workload, self.cache = workload, cache
        self.running: list[list[int]] = []

    def path(self, query: int) -> tuple[int, ...]:
        """The blocks of a query."""
        return self.workload.trie.path(self.workload.ends[query])

    def event(self, which: int, action: int) -> None:
        """A query begins, computes one block or all, decodes, or ends, whatever it has done."""
        if action == 0:
            query = which % len(self.workload.ends)
            path = self.path(query)
            before = dict(self.cache.locks)
            matched = self.cache.admit(path)
            if matched is None:
                assert self.cache.locks == before
            else:
                self.running.append([query, matched, len(path) - matched])
        elif self.running:
            query, held, private = self.running[which % len(self.running)]
            path = self.path(query)
            if action == 1 and held < len(path):
                stop = held + 1 if which % 2 else len(path)
                self.cache.commit(path, held, stop)
                self.running[which % len(self.running)] = [query, stop, private - stop + held]
            elif action == 2 and self.cache.grow(1):
                self.running[which % len(self.running)][2] += 1
            elif action == 3:
                self.cache.release(path[:held], private)
                del self.running[which % len(self.running)]


def evicted(test: Callable[[int], BlockCache]) -> int:
    """Run a test for all seeds: what its caches have evicted."""
    return sum(test(seed).evicted for seed in SEEDS)
