"""The memory of a worker: a prefix cache that grows and shrinks beside running queries.

The cache of `theory.cache` serves whole steps. Here a query holds blocks from its admission to its
end, others come and go meanwhile, and the memory is shared with what is computed and decoded. When
queries follow one another, both caches do the same, eviction by eviction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from time import perf_counter

from theory.errors import InputError
from theory.trie import ROOT

__all__ = ["BlockCache"]


class BlockCache(ABC):
    """Blocks of KV memory: cached ones, each below its predecessor, and private ones.

    Parameters
    ----------
    parent : sequence of int
        The predecessor of each block, ``-1`` at the start of a prompt; ancestors first.
    capacity : int
        Blocks.
    seed : int
        Seeds a randomised eviction.

    Attributes
    ----------
    locks : dict of int to int
        The cached blocks, each with the number of running queries that hold it.
    private : int
        Blocks of running queries that are not cached: being computed, or decoded.
    locked : int
        Cached blocks that are held.
    evicted : int
        Blocks evicted so far.
    eviction_seconds : float
        What the evictions took here, by the clock on the wall.

    Notes
    -----
    Time is a counter of uses, and no two are at the same time: what a query holds is used at its
    admission, with every chunk that it computes and when it ends.
    """

    def __init__(self, parent: Sequence[int], capacity: int, seed: int = 0) -> None:
        self.parent = parent
        self.capacity = capacity
        self.locks: dict[int, int] = {}
        self.below: dict[int, int] = {}  # cached children of a block, if any
        self.private = 0
        self.locked = 0
        self.evicted = 0
        self.eviction_seconds = 0.0
        self.clock = 0
        self._reset(seed)

    @property
    def free(self) -> int:
        """Blocks that hold nothing."""
        return self.capacity - len(self.locks) - self.private

    @property
    def evictable(self) -> int:
        """Cached blocks that no running query holds."""
        return len(self.locks) - self.locked

    def match(self, path: Sequence[int]) -> int:
        """How many blocks at the start of `path` are cached."""
        for place, block in enumerate(path):
            if block not in self.locks:
                return place
        return len(path)

    def admit(self, path: Sequence[int], extra: int = 0, spare: int = 0) -> int | None:
        """Hold the cached part of `path`, and private blocks for the rest of it and `extra` more.

        Parameters
        ----------
        path : sequence of int
            The blocks of a prompt.
        extra : int
            Private blocks besides.
        spare : int
            Blocks that must be free or evictable on top, and stay so.

        Returns
        -------
        int or None
            How many blocks were cached; None, and nothing has changed, if there is no room.
        """
        matched = self.match(path)
        held = path[:matched]
        need = len(path) - matched + extra
        idle = sum(not self.locks[block] for block in held)
        if need + spare > self.free + self.evictable - idle:
            return None
        self._used(held)
        self._hold(held)
        self._make_room(need)
        self.private += need
        return matched

    def commit(self, path: Sequence[int], start: int, stop: int) -> None:
        """Turn the private blocks ``path[start:stop]`` into cached ones, held by their query.

        What another query has computed and cached in the meantime is held instead, and the private
        copy is given back.
        """
        blocks = path[start:stop]
        self.private -= len(blocks)
        for block in blocks:
            if block not in self.locks:
                self.locks[block] = 0
                above = self.parent[block]
                if above != ROOT:
                    self.below[above] = self.below.get(above, 0) + 1
                    if self.below[above] == 2:
                        self._branch(above)
        self._hold(blocks)
        self._used(path[:stop])

    def grow(self, blocks: int) -> bool:
        """Take private blocks for a running query; False, and nothing changes, without room."""
        if blocks > self.free + self.evictable:
            return False
        self._make_room(blocks)
        self.private += blocks
        return True

    def release(self, path: Sequence[int], private: int) -> None:
        """End a query: give back its private blocks and no longer hold `path`, all cached."""
        if private > self.private:
            raise InputError(f"gives back {private} private blocks of {self.private}")
        self.private -= private
        self._used(path)
        for block in path:
            if not self.locks[block]:
                raise InputError(f"block {block} is not held")
            self.locks[block] -= 1
            self.locked -= not self.locks[block]
        self._end(path)
        if path and not self.locks[path[-1]]:
            self._let_go(path[-1])

    def _used(self, path: Sequence[int]) -> None:
        self.clock += 1
        self._use(path)

    def _hold(self, blocks: Sequence[int]) -> None:
        for block in blocks:
            self.locked += not self.locks[block]
            self.locks[block] += 1

    def _make_room(self, blocks: int) -> None:
        """Evict until `blocks` are free; as many are free or evictable."""
        wanted = blocks - self.free
        if wanted > 0:
            began = perf_counter()
            self._evict(wanted)
            self.eviction_seconds += perf_counter() - began

    def _remove(self, block: int) -> int | None:
        """Drop a leaf; the block above if that is a leaf now that nobody holds."""
        del self.locks[block]
        self.evicted += 1
        above = self.parent[block]
        if above == ROOT:
            return None
        self.below[above] -= 1
        if self.below[above]:
            return None
        del self.below[above]
        return above if not self.locks[above] else None

    @abstractmethod
    def _reset(self, seed: int) -> None:
        """Start with an empty cache."""

    @abstractmethod
    def _use(self, path: Sequence[int]) -> None:
        """The cached blocks `path`, from the start of a prompt on, are used now."""

    @abstractmethod
    def _let_go(self, block: int) -> None:
        """`block`, the end of a path, is no longer held."""

    def _end(self, path: Sequence[int]) -> None:  # noqa: B027 - uses say enough for most
        """A query that held `path` has ended, or what it added to the path of its prompt."""

    def _branch(self, block: int) -> None:  # noqa: B027 - only whole nodes need to know
        """`block` has a second cached child."""

    @abstractmethod
    def _evict(self, blocks: int) -> None:
        """Evict at least `blocks` blocks, of which there are so many evictable."""
