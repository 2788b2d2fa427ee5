"""A worker's memory under any eviction policy of `theory.eviction`, built in or a user's own."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Hashable, Sequence
from functools import cached_property
from itertools import pairwise

from empirical.cluster.cache import BlockCache
from theory.errors import PolicyError
from theory.eviction import EvictionPolicy, Step
from theory.eviction.onlinemin import OnlineMIN
from theory.eviction.rlt import RLT
from theory.eviction.rlt_step import StepRLT
from theory.plugins import users_own
from theory.trie import ROOT, TokenTrie

__all__ = ["PolicyCache"]


class PolicyCache(BlockCache):
    """The cache that an `EvictionPolicy` sees as its `CacheView`; a token is a block.

    Parameters
    ----------
    parent : sequence of int
        The predecessor of each block, ``-1`` at the start of a prompt; ancestors first.
    capacity : int
        Blocks, private ones included.
    policy : EvictionPolicy
        One that serves no other cache.
    seed : int
        Seeds a randomised policy.

    Raises
    ------
    PolicyError
        If the policy cannot serve here, or finds no victim among the leaves.

    Notes
    -----
    What of a worker is a step:

    - The end of a query (its retraction too) is a step with its path. So a query is one use of its
      blocks, though it holds them for long, and a block is as old as the last query that held it.
      Blocks of running queries are no candidates, and those that are new are told at the end. An
      answer that is kept for the next turn is a step of its own, with the whole path above it.
    - A split of a radix node (node-granular policies only) is a step without queries: its
      ``split_off`` and ``cuts`` are all that there is to tell.
    - Evictions never follow a step with misses directly: a step with nothing in it comes before
      them. In the executable cache, too, what a step has loaded is evictable from the next one on.

    So policies that look at what a query asks for *before* they make room for it (``arc``,
    ``2q``, ``gdsf``, ``lfu-ageing``) learn of it later than there. Numbers of steps count uses;
    they never fall, but steps without queries repeat them.

    Marks, of `RLT`, `StepRLT` and what derives from them: what is held is marked, and the policies'
    own count of marks never exceeds the capacity, since only what is cached is marked. It is locks
    and private blocks that end a phase: where all evictable leaves are marked, only what is held
    stays marked. For `StepRLT` that happens before an eviction of more blocks than are unmarked.

    Examples
    --------
    >>> from theory.eviction import make_policy
    >>> cache = PolicyCache([-1, -1, -1], 2, make_policy("lfu"))
    >>> for block in (0, 0, 1, 2):
    ...     matched = cache.admit([block])
    ...     cache.commit([block], matched, 1)
    ...     cache.release([block], 0)
    >>> sorted(cache.cached)
    [0, 2]
    """

    def __init__(
        self, parent: Sequence[int], capacity: int, policy: EvictionPolicy, seed: int = 0
    ) -> None:
        name = type(policy).__name__
        if isinstance(policy, OnlineMIN):
            raise PolicyError(
                "does not run on a worker: its seats follow from whole steps, and a running query "
                "may hold the only blocks that it allows to evict",
                where=f"policy {name}",
                fix="choose another one, such as rlt",
            )
        if policy.granularity not in ("token", "node"):
            raise PolicyError(
                f"granularity can be 'token' or 'node', not {policy.granularity!r}",
                where=f"policy {name}",
            )
        self.policy = policy
        self._whole_nodes = policy.granularity == "node"
        super().__init__(parent, capacity, seed)

    def _reset(self, seed: int) -> None:
        self._known: set[int] = set()  # what the policy has been told of, and is still cached
        self._leaves: list[int] = []  # the evictable leaves, in order
        self._fresh = False  # whether the last step had misses
        self._ends: set[int] = set()  # the last blocks of the nodes
        self._child: dict[int, int] = {}  # the block below, where that is in the same node
        self.policy.bind(self, seed)

    @cached_property
    def trie(self) -> TokenTrie:
        """The blocks."""
        return TokenTrie.from_parents(self.parent)

    @property
    def cached(self) -> Collection[int]:
        """The cached blocks that the policy has been told of."""
        return self._known

    def node(self, bottom: int) -> tuple[int, ...]:
        """The blocks that leave with the leaf `bottom`, top first."""
        blocks = [bottom]
        if self._whole_nodes:
            while (above := self.parent[blocks[-1]]) != ROOT and above not in self._ends:
                blocks.append(above)
        return tuple(reversed(blocks))

    def leaves(self) -> list[int]:
        """The evictable leaves, in the order of blocks: no cached child, and nobody holds them."""
        return list(self._leaves)

    def _use(self, path: Sequence[int]) -> None:
        if self._whole_nodes and path:
            self._cut(path[-1])
            self._child.update(pairwise(path))

    def _branch(self, block: int) -> None:
        if self._whole_nodes:
            self._cut(block)

    def _cut(self, end: int) -> None:
        """Split the node of `end` below it."""
        rest = []
        block = end
        while block not in self._ends and block in self.below:
            block = self._child[block]
            rest.append(block)
        self._ends.add(end)
        if rest:
            split_off = tuple(block for block in rest if block in self._known)
            cuts = (end,) if end in self._known else ()
            if split_off or cuts:
                self._tell(Step(self.clock, (), (), (), (), split_off, cuts))

    def _hold(self, blocks: Sequence[int]) -> None:
        super()._hold(blocks)
        for block in blocks:  # more than the last: a leaf may just have got a child
            self._discard(block)
        if isinstance(self.policy, RLT | StepRLT):
            self.policy.marked.update(blocks)

    def _end(self, path: Sequence[int]) -> None:
        if not path:
            return
        above = [path[0]]
        while self.parent[above[-1]] != ROOT:
            above.append(self.parent[above[-1]])
        tokens = (*above[:0:-1], *path)
        self._tell(
            Step(
                self.clock,
                (path[-1],),
                tokens,
                tuple(block for block in tokens if block in self._known),
                tuple(block for block in tokens if block not in self._known),
            )
        )

    def _tell(self, step: Step) -> None:
        self.policy.on_step(step)
        self._known.update(step.misses)
        self._fresh = bool(step.misses)

    def _let_go(self, block: int) -> None:
        if block not in self.below:
            insort(self._leaves, block)

    def _discard(self, leaf: int) -> None:
        place = bisect_left(self._leaves, leaf)
        if place < len(self._leaves) and self._leaves[place] == leaf:
            del self._leaves[place]

    def _evict(self, blocks: int) -> None:
        if self._fresh:
            self._tell(Step(self.clock, (), (), (), ()))
        marks = self.policy if isinstance(self.policy, RLT | StepRLT) else None
        if isinstance(marks, StepRLT) and blocks > len(self.locks) - len(marks.marked):
            self._end_phase(marks)
        while blocks > 0:
            if marks is not None and all(leaf in marks.marked for leaf in self._leaves):
                self._end_phase(marks)
            blocks -= self._drop(self._victim())

    def _end_phase(self, policy: RLT | StepRLT) -> None:
        policy.marked = {block for block, locks in self.locks.items() if locks}

    def _victim(self) -> int:
        name = type(self.policy).__name__
        try:
            victim = self.policy.choose(self.leaves())
        except PolicyError:
            raise
        except Exception as error:
            where = users_own(error)
            raise PolicyError(
                f"finds no victim among {len(self._leaves)} evictable leaves "
                f"({type(error).__name__}: {error}{f'; {where}' if where else ''})",
                where=f"policy {name}",
                fix="let choose() name one of any leaves: running queries hold the others",
            ) from error
        if isinstance(victim, Hashable) and victim in self.locks:
            place = bisect_left(self._leaves, victim)
            if self._leaves[place : place + 1] == [victim]:
                return self._leaves[place]
        raise PolicyError(
            f"{name} chose {victim!r}, which is not an evictable leaf",
            where=f"use {self.clock} of a worker",
            fix="return one of the leaves that choose() is given",
        )

    def _drop(self, victim: int) -> int:
        """Evict a leaf, or the node that ends there; how many blocks are free by that."""
        self._discard(victim)
        blocks = self.node(victim)
        above: int | None = None
        for block in reversed(blocks):
            self._ends.discard(block)
            self._known.remove(block)
            above = self._remove(block)
            self.policy.on_evict(block)
        if above is not None:
            insort(self._leaves, above)
        return len(blocks)
