"""A pool of leaves that loses units uniformly at random, many at a time.

RLT draws a uniform leaf for every single token. The draws of one eviction are one compiled loop,
which is left only when a leaf has run out and the tree has to say what becomes of its place.

The same class serves the cache inside SGLang and the policy that predicts it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["LeafPool"]

Leaf = TypeVar("Leaf", bound=Hashable)


@numba.njit(
    "UniTuple(int64, 2)(float64[::1], int64, int64, int64[::1], int64[::1], int64[::1], int64)",
    cache=True,
)
def _draw(uniforms, first, count, length, end, taken, done):  # type: ignore[no-untyped-def] # pragma: no cover
    """Draw from `first` on until `taken` is full or a leaf has run out.

    Returns how many are taken then, and the place of the leaf or -1.
    """
    for drawn in range(done, len(taken)):
        place = int(uniforms[first + drawn - done] * count)
        end[place] -= 1
        length[place] -= 1
        taken[drawn] = end[place]
        if length[place] == 0:
            return drawn + 1, place
    return len(taken), -1


class LeafPool(Generic[Leaf]):
    """Leaves with a number of units each (tokens or pages), drawn uniformly by leaf.

    Parameters
    ----------
    seed : int
        Seeds the draws.

    Notes
    -----
    A leaf holds the units ``end - length .. end - 1`` of some numbering of all units, and loses
    them from the end.

    Examples
    --------
    >>> pool = LeafPool(seed=1)
    >>> pool.refill([("ab", 2, 2), ("c", 1, 3)])
    >>> sorted(pool.take(3, lambda leaf: None).tolist()), len(pool)
    ([0, 1, 2], 0)
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._uniforms = np.empty(0)
        self._used = 0  # of the uniforms
        self.refill(())

    def __len__(self) -> int:
        return len(self._leaves)

    def __contains__(self, leaf: object) -> bool:
        return leaf in self._place

    @property
    def leaves(self) -> list[Leaf]:
        """The leaves, in the order of their places."""
        return list(self._leaves)

    def length(self, leaf: Leaf) -> int:
        """How many units `leaf` still has."""
        return int(self._length[self._place[leaf]])

    def shorten(self, leaf: Leaf, units: int) -> None:
        """Take `units` units from the *front* of `leaf`: they belong to another node now."""
        self._length[self._place[leaf]] -= units

    def refill(self, leaves: Iterable[tuple[Leaf, int, int]]) -> None:
        """Empty the pool and put in triples (leaf, number of units, end), in their order."""
        triples = list(leaves)
        self._leaves: list[Leaf] = [leaf for leaf, _, _ in triples]
        self._place = {leaf: place for place, leaf in enumerate(self._leaves)}
        self._length = np.array([length for _, length, _ in triples], np.int64)
        self._end = np.array([end for _, _, end in triples], np.int64)

    def discard(self, leaf: Leaf) -> None:
        """Remove `leaf` if it is there; the last leaf moves into its place."""
        place = self._place.pop(leaf, None)
        if place is None:
            return
        last = self._leaves.pop()
        if place < len(self._leaves):
            self._put(place, last, self._length[len(self._leaves)], self._end[len(self._leaves)])

    def _put(self, place: int, leaf: Leaf, length: int, end: int) -> None:
        self._leaves[place], self._place[leaf] = leaf, place
        self._length[place], self._end[place] = length, end

    def take(
        self, units: int, follow: Callable[[Leaf], tuple[Leaf, int, int] | None]
    ) -> NDArray[np.int64]:
        """Draw `units` times a uniform leaf and take its last unit.

        Parameters
        ----------
        units : int
            How many; the pool may run out before.
        follow : callable
            Called with a leaf that has run out; gives the triple (leaf, number of units, end) that
            takes its place, or None.

        Returns
        -------
        ndarray of int64
            The numbers of the units taken, fewer than `units` only if the pool has run out.
        """
        if len(self._uniforms) - self._used < units:
            more = self._generator.random(max(4096, units))
            self._uniforms = np.concatenate([self._uniforms[self._used :], more])
            self._used = 0
        taken = np.empty(units, np.int64)
        before = done = 0
        while done < units and self._leaves:
            done, place = _draw(
                self._uniforms, self._used, len(self._leaves), self._length, self._end, taken, done
            )
            self._used += done - before
            before = done
            if place >= 0:
                leaf = self._leaves[place]
                other = follow(leaf)
                if other is None:
                    self.discard(leaf)
                else:
                    del self._place[leaf]
                    self._put(place, *other)
        return taken[:done]
