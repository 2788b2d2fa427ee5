"""What the router believes the caches hold: one radix tree, each node marked with its workers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

__all__ = ["PrefixIndex", "Victim"]

Prompt = Sequence[Hashable]


class Victim(NamedTuple):
    """A part of a worker's prefixes that would be the next to leave.

    Attributes
    ----------
    symbols : int
        How long it is.
    uses : int
        How often it was inserted for this worker.
    """

    symbols: int
    uses: int


class _Holding:
    """One worker's share of a node: when and how often used, how many children held below."""

    __slots__ = ("below", "last", "uses")

    def __init__(self, last: int, uses: int, below: int) -> None:
        self.last, self.uses, self.below = last, uses, below


class _Node:
    """A run of symbols below a parent, with the workers that hold all of it."""

    __slots__ = ("children", "edge", "end", "holders", "parent")

    def __init__(self, edge: tuple[Hashable, ...], parent: _Node | None) -> None:
        self.edge = edge
        self.parent = parent
        self.end: int = len(edge) + (parent.end if parent else 0)
        self.children: dict[Hashable, _Node] = {}
        self.holders: dict[int, _Holding] = {}


class PrefixIndex:
    """The prefixes that each worker was sent, as a radix tree over prompt symbols.

    Parameters
    ----------
    workers : int
        How many there are.
    limits : sequence of (int or None), optional
        The symbols that may be remembered of each worker; None is no limit. Beyond it the least
        recently inserted leaves are forgotten, symbol by symbol, as Leaf-LRU would.

    Examples
    --------
    >>> index = PrefixIndex(2)
    >>> index.insert(0, "abcd")
    >>> index.insert(1, "abx")
    >>> index.match("abce"), index.sizes
    ([3, 2], [4, 3])
    """

    def __init__(self, workers: int, limits: Sequence[int | None] | None = None) -> None:
        self.sizes = [0] * workers
        self._limits = [None] * workers if limits is None else list(limits)
        self._root = _Node((), None)
        self._time = 0
        # Per worker, (last use, -end, serial, node) of what was a leaf when it was pushed. An
        # entry counts only while its node is a leaf of this worker, last used at that time.
        self._leaves: list[list[tuple[int, int, int, _Node]]] = [[] for _ in range(workers)]
        self._serial = 0

    def match(self, prompt: Prompt) -> list[int]:
        """The symbols at the start of `prompt` that each worker was sent before."""
        found = [0] * len(self.sizes)
        node, place = self._root, 0
        while place < len(prompt):
            child = node.children.get(prompt[place])
            if child is None:
                break
            common = _common(child.edge, prompt, place)
            place += common
            for worker in child.holders:
                found[worker] = place
            if common < len(child.edge):
                break
            node = child
        return found

    def insert(self, worker: int, prompt: Prompt) -> None:
        """Remember that `worker` was sent `prompt`, and forget what goes beyond its limit."""
        self._time += 1
        node, place = self._root, 0
        while place < len(prompt):
            child = node.children.get(prompt[place])
            if child is None:
                child = _Node(tuple(prompt[place:]), node)
                node.children[child.edge[0]] = child
            else:
                common = _common(child.edge, prompt, place)
                if common < len(child.edge):
                    child = self._split(child, common)
            holding = child.holders.get(worker)
            if holding is None:
                child.holders[worker] = _Holding(self._time, 1, 0)
                self.sizes[worker] += len(child.edge)
                if node is not self._root:
                    node.holders[worker].below += 1
            else:
                holding.last = self._time
                holding.uses += 1
            node, place = child, place + len(child.edge)
        limit = self._limits[worker]
        if limit is not None and node is not self._root:
            self._push(worker, node)
            while self.sizes[worker] > limit:
                self._forget_leaf(worker, self.sizes[worker] - limit)

    def remove(self, worker: int) -> None:
        """Forget everything about `worker`."""
        pending = [self._root]
        while pending:
            node = pending.pop()
            node.holders.pop(worker, None)
            for child in list(node.children.values()):
                pending.append(child)
        self._prune(self._root)
        self.sizes[worker] = 0
        self._leaves[worker].clear()

    def victims(self, worker: int, symbols: int) -> Iterator[Victim]:
        """What `worker` would lose, least recently used first, to free `symbols` symbols."""
        heap = list(self._leaves[worker])
        lost: dict[int, int] = {}  # id of a node -> children that would have left
        while symbols > 0 and heap:
            last, _, serial, node = heappop(heap)
            holding = node.holders.get(worker)
            if holding is None or holding.last != last or holding.below > lost.get(id(node), 0):
                continue
            taken = min(symbols, len(node.edge))
            symbols -= taken
            yield Victim(taken, holding.uses)
            parent = node.parent
            if parent is not None and parent is not self._root:
                lost[id(parent)] = lost.get(id(parent), 0) + 1
                above = parent.holders[worker]
                if above.below == lost[id(parent)]:
                    heappush(heap, (above.last, -parent.end, serial, parent))

    def _split(self, node: _Node, length: int) -> _Node:
        """Cut `node` after `length` symbols; return the new upper part."""
        parent = node.parent
        assert parent is not None
        upper = _Node(node.edge[:length], parent)
        upper.holders = {w: _Holding(h.last, h.uses, 1) for w, h in node.holders.items()}
        upper.children[node.edge[length]] = node
        parent.children[upper.edge[0]] = upper
        node.edge = node.edge[length:]
        node.parent = upper
        return upper

    def _push(self, worker: int, node: _Node) -> None:
        holding = node.holders[worker]
        if holding.below:
            return
        heap = self._leaves[worker]
        self._serial += 1
        heappush(heap, (holding.last, -node.end, self._serial, node))
        if len(heap) > 64 + 2 * self.sizes[worker]:  # each leaf has a symbol: most are outdated
            heap[:] = [entry for entry in heap if self._is_leaf(worker, entry[3], entry[0])]
            heapify(heap)

    @staticmethod
    def _is_leaf(worker: int, node: _Node, last: int) -> bool:
        holding = node.holders.get(worker)
        return holding is not None and not holding.below and holding.last == last

    def _forget_leaf(self, worker: int, symbols: int) -> None:
        """Forget at most `symbols` symbols of the least recently used leaf."""
        last, _, _, node = heappop(self._leaves[worker])
        if not self._is_leaf(worker, node, last):
            return
        if symbols < len(node.edge):
            self._split(node, len(node.edge) - symbols)
        del node.holders[worker]
        self.sizes[worker] -= len(node.edge)
        parent = node.parent
        assert parent is not None
        if not node.holders:
            del parent.children[node.edge[0]]
        if parent is not self._root:
            parent.holders[worker].below -= 1
            self._push(worker, parent)

    def _prune(self, top: _Node) -> None:
        """Cut off what no worker holds any more."""
        pending = [top]
        while pending:
            node = pending.pop()
            node.children = {s: c for s, c in node.children.items() if c.holders}
            pending.extend(node.children.values())


def _common(edge: tuple[Hashable, ...], prompt: Prompt, start: int) -> int:
    """How many symbols of `edge` stand in `prompt` from `start` on."""
    end = min(len(edge), len(prompt) - start)
    if edge[:end] == tuple(prompt[start : start + end]):
        return end
    low, high = 0, end  # edge[:low] agrees, edge[:high] does not
    while high - low > 1:
        middle = (low + high) // 2
        if edge[low:middle] == tuple(prompt[start + low : start + middle]):
            low = middle
        else:
            high = middle
    return low
