"""Seated OnlineMIN: the randomised policy with the best possible ratio, H_k.

Two caches. The *virtual* one, C, is OnlineMIN of paging for whole steps and ignores prefixes: it is
the basis of largest priority of a nested matroid whose layers are the work function of the optimum.
The *real* one, D, is prefix-closed and follows it: every token of C that can has a *seat* in D, the
token itself or an ancestor of it, no two the same; a token of D that is nobody's seat is *spare*,
and only below spare tokens leaves are evicted. D never misses more than C (Theorem O3), and C
misses at most H_k times as often as the optimum, in expectation (Theorem O2).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Self

from theory.errors import PolicyError
from theory.eviction.base import CacheView, RandomisedPolicy, Sees, Step
from theory.trie import ROOT

__all__ = ["OnlineMIN"]


class OnlineMIN(RandomisedPolicy):
    """Seated OnlineMIN: E[cost] <= H_k OPT from an empty cache, on every trie and for all batches.

    Its coins are the tokens' priorities: an order in which every token of a step gets a new place
    before the next step, right below a random one of the others or on top. So the order is uniform
    at every time, and the next one depends on the past by the order of now alone, which independent
    numbers would not give. Once the coins are known `distribution` is a certain victim: the least
    recently used of the allowed leaves, ties to the later token.

    Parameters
    ----------
    epoch : int
        Memory: whenever the optimum has grown by ``epoch * B``, all tokens but those of C are
        forgotten and all priorities drawn anew. This costs a factor of at most
        1 / (1 - 1/epoch) in the ratio and keeps at most that many forgotten tokens; 0: never.

    Attributes
    ----------
    optimum : int
        The misses of the offline optimum so far (the sum of Delta_t), known online.
    virtual : set of int
        C.
    virtual_cost : int
        The misses of C so far.

    Source: Theorem 4. OnlineMIN itself: G. S. Brodal, G. Moruz and A. Negoescu, OnlineMin: a fast
    strongly competitive randomized paging algorithm, WAOA 2011.
    """

    sees: Sees = "footprint"

    def __init__(self, epoch: int = 100) -> None:
        if not isinstance(epoch, int) or (epoch < 2 and epoch != 0):
            raise PolicyError(f"epoch {epoch!r} is neither 0 nor a whole number from 2 on")
        self.epoch = epoch
        self.layers: list[set[int]] = []  # X_1, ..., X_m, low to high
        self.slots: list[int] = []  # s_1, ..., s_m
        self.order: list[int] = []  # the tokens of all layers, and forgotten ones; lowest first
        self.unplaced: list[int] = []  # the tokens that are to get a place in it
        self.virtual: set[int] = set()
        self.seat: dict[int, int] = {}  # token of C -> its seat in D
        self.owner: dict[int, int] = {}  # the inverse
        self.last: dict[int, int] = {}  # token of D -> step of its last use
        self.optimum = 0
        self.virtual_cost = 0
        self._since = 0  # the optimum's growth in this epoch

    def on_step(self, step: Step) -> None:
        for token in self.unplaced:
            above = self.random.randrange(len(self.order) + 1)
            others = sorted(self.order)
            place = self.order.index(others[above]) if above < len(others) else above
            self.order.insert(place, token)
        self._serve(step)

    def tosses(self, step: Step) -> Sequence[Self]:
        orders = [self._known_order()]
        for token in self.unplaced:
            orders = [
                [*order[:place], token, *order[place:]]
                for order in orders
                for place in range(len(order) + 1)
            ]
        outcomes = []
        for order in orders:
            new = self.fork(self.cache)
            new.order = order
            new._serve(step)
            outcomes.append(new)
        return outcomes

    def _known_order(self) -> list[int]:
        """The order without what is forgotten: a token falls into it anywhere equally likely."""
        known = set().union(*self.layers)
        return [token for token in self.order if token in known]

    def _serve(self, step: Step) -> None:
        """The step itself, without coins."""
        tokens = step.tokens
        self.virtual_cost += sum(token not in self.virtual for token in tokens)
        rise = self._contract(tokens)
        self._truncate(self.cache.capacity - len(tokens))
        self.layers.append(set(tokens))
        self.slots.append(len(tokens))
        self.virtual.update(tokens)
        self._tidy()
        self.optimum += rise
        self._since += rise
        if self.epoch and self._since >= self.epoch * self.cache.capacity:
            self.layers = [set(self.virtual)]
            self.slots = [len(self.virtual)]
            self._since = 0
            self.order = []
            self.unplaced = sorted(self.virtual)
        else:
            # New places for the tokens of the step are as good as the old ones (they are free in
            # the matroid), and they make the average over time an average over coins.
            self.order = [token for token in self.order if token not in tokens]
            self.unplaced = list(tokens)
        for token in tokens:
            self.last[token] = step.number
            before = self.owner.get(token)
            if before != token:
                if before is not None:
                    del self.seat[before]
                self.owner[token] = token
                self.seat[token] = token

    def _contract(self, tokens: Sequence[int]) -> int:
        """Contract the footprint; return Delta, how many of its tokens are in no layer."""
        rise = 0
        for token in tokens:
            place = next((i for i, layer in enumerate(self.layers) if token in layer), None)
            if place is None:
                rise += 1
                continue
            if token not in self.virtual:
                self._evict_virtual(self._circuit(place))
            self.layers[place].remove(token)
            self._take_slot(place)
        return rise

    def _circuit(self, place: int) -> set[int]:
        """C's tokens in the layers up to the first full one from `place` on."""
        held: set[int] = set()
        rank = 0
        for i, (layer, slots) in enumerate(zip(self.layers, self.slots, strict=True)):
            held |= layer & self.virtual
            rank += slots
            if i >= place and len(held) == rank:
                return held
        raise AssertionError("C is a basis: all layers together are full")

    def _truncate(self, rank: int) -> None:
        """Cut the rank of the layers down, from the top."""
        while sum(self.slots) > rank:
            self._evict_virtual(self.virtual & set().union(*self.layers))
            self._take_slot(len(self.slots) - 1)

    def _take_slot(self, place: int) -> None:
        """Take a slot from a layer; without any left it joins the one below, or is forgotten."""
        self.slots[place] -= 1
        if self.slots[place] == 0:
            tokens = self.layers.pop(place)
            del self.slots[place]
            if place:
                self.layers[place - 1] |= tokens

    def _tidy(self) -> None:
        """Join layers that are no restriction to those above them."""
        place = 0
        while place < len(self.layers) - 1:
            if len(self.layers[place]) <= self.slots[place]:
                tokens, slots = self.layers.pop(place), self.slots.pop(place)
                self.layers[place] |= tokens
                self.slots[place] += slots
            else:
                place += 1

    def _evict_virtual(self, among: Iterable[int]) -> None:
        """The token of lowest priority leaves C, and its seat becomes spare."""
        token = min(among, key=self.order.index)
        self.virtual.remove(token)
        if token in self.seat:
            del self.owner[self.seat.pop(token)]

    def distribution(self, leaves: Sequence[int]) -> dict[int, Fraction]:
        return {self.choose(leaves): Fraction(1)}

    def choose(self, leaves: Sequence[int]) -> int:
        allowed = (leaf for leaf in leaves if self._spare_above(leaf) is not None)
        return min(allowed, key=lambda leaf: (self.last[leaf], -leaf))

    def _spare_above(self, token: int) -> int | None:
        """The lowest spare token on the path to `token`."""
        while token != ROOT and token in self.owner:
            token = self.cache.trie.parent(token)
        return None if token == ROOT else token

    def on_evict(self, token: int) -> None:
        spare = self._spare_above(token)
        assert spare is not None, "only leaves at or below a spare token are evicted"
        del self.last[token]
        moved = self.owner.pop(token, None)
        while moved is not None:  # each owner on the path moves up by one, the last to the spare
            token = self.cache.trie.parent(token)
            next_moved = self.owner.get(token)
            self.owner[token] = moved
            self.seat[moved] = token
            moved = next_moved

    def state(self) -> Hashable:
        if self.epoch:
            raise NotImplementedError("onlinemin counts up to epoch * B; give epoch=0")
        return (
            tuple(
                (tuple(sorted(layer)), slots)
                for layer, slots in zip(self.layers, self.slots, strict=True)
            ),
            tuple(self._known_order()),
            tuple(self.unplaced),
            tuple(sorted(self.virtual)),
            tuple(sorted(self.seat.items())),
            tuple(sorted(self.last, key=lambda token: (self.last[token], -token))),
        )

    def fork(self, cache: CacheView) -> Self:
        new = super().fork(cache)
        new.layers = [set(layer) for layer in self.layers]
        return new
