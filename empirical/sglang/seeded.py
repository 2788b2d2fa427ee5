"""RLT as the plugin draws it: the policy that predicts a seeded SGLang worker, hit by hit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from empirical.sglang.pool import LeafPool
from theory.eviction.base import CacheView, EvictionPolicy, Sees, Step
from theory.eviction.rlt import RLT
from theory.eviction.rlt_step import StepRLT
from theory.trie import ROOT, TokenTrie

__all__ = ["SeededRLT", "SeededRLTStep", "lexicographic"]


def lexicographic(trie: TokenTrie) -> tuple[TokenTrie, list[int]]:
    """Number the tokens of `trie` in the order of a walk that goes down first.

    Returns
    -------
    trie : TokenTrie
        The same forest; children come in the order of their old numbers.
    number : list of int
        The new number of every old token.

    Examples
    --------
    >>> lexicographic(TokenTrie.from_parents([-1, -1, 0]))[1]
    [0, 2, 1]
    """
    parents = trie.parents()
    children: dict[int, list[int]] = {}
    for token, parent in enumerate(parents):
        children.setdefault(parent, []).append(token)
    order: list[int] = []
    stack = children.get(ROOT, [])[::-1]
    while stack:
        token = stack.pop()
        order.append(token)
        stack.extend(reversed(children.get(token, [])))
    number = [0] * len(order)
    for new, old in enumerate(order):
        number[old] = new
    moved = [ROOT if parents[old] == ROOT else number[parents[old]] for old in order]
    return TokenTrie.from_parents(moved), number


class SeededRLT(EvictionPolicy):
    """`rlt`, its uniform draws taken from a `LeafPool` as the plugin takes them.

    The law is that of `theory.eviction.rlt`; only the order in which the candidates are numbered,
    and so the use of the coins, is the plugin's. Every draw is checked against the law.

    Parameters
    ----------
    seed : int
        The worker's ``KVBOUNDS_SEED``.

    Notes
    -----
    The trie must be numbered as `lexicographic` does: then the leaves come in the order of their
    token ids, as in the plugin.
    """

    sees: Sees = "order"
    rule: RLT | StepRLT

    def __init__(self, seed: int = 0) -> None:
        self.pool = LeafPool[int](seed)
        self.rule = RLT()
        self._leaves: Sequence[int] = ()

    def bind(self, cache: CacheView, seed: int) -> None:
        """Meet the empty cache; the seed is the worker's, not the run's."""
        super().bind(cache, seed)
        self.rule.bind(cache, seed)

    def on_step(self, step: Step) -> None:
        self.rule.on_step(step)
        # Query by query, as the requests of a batch are locked: the pool's order depends on it.
        for path in [self.cache.trie.path(query) for query in step.queries] or [step.tokens]:
            for token in path:
                self.pool.discard(token)

    def choose(self, leaves: Sequence[int]) -> int:
        self._leaves = leaves
        law = self.rule.distribution(leaves)
        if not len(self.pool):
            self.pool.refill((leaf, 1, leaf + 1) for leaf in leaves if leaf in law)
        if set(self.pool.leaves) != set(law):
            raise AssertionError(f"the pool {self.pool.leaves} is not the support of {law}")
        (victim,) = self.pool.take(1, self._follow)
        return int(victim)

    def _follow(self, leaf: int) -> tuple[int, int, int] | None:
        """The parent takes the place of the leaf if it is now an unmarked leaf itself."""
        parent = self.cache.trie.parent(leaf)
        if parent == ROOT or parent in self.rule.marked or self._still_marked(parent, leaf):
            return None
        # Depth first, the leaves below the parent are neighbours of this one. None of them is
        # locked, or the parent would be marked.
        place = bisect_left(self._leaves, leaf)
        if place and self._leaves[place - 1] > parent:
            return None
        after = self._leaves[place + 1 : place + 2]
        if after and self.cache.trie.is_ancestor(parent, after[0]):
            return None
        return parent, 1, parent + 1

    def _still_marked(self, parent: int, leaf: int) -> bool:
        # The plugin forgets the old marks only when no leaf without them is left.
        assert isinstance(self.rule, RLT)
        return parent in self.rule.previous and leaf not in self.rule.previous


class SeededRLTStep(SeededRLT):
    """`rlt-step`, its uniform draws taken from a `LeafPool` as the plugin takes them."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.rule = StepRLT()

    def on_step(self, step: Step) -> None:
        before = self.rule.marked
        super().on_step(step)
        if self.rule.marked is not before:
            self.pool.refill(())

    def _still_marked(self, parent: int, leaf: int) -> bool:
        return False
