"""SGLang's LRU is of the order of B sqrt(B): the worst case, and every step of the upper bound."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import ceil, isqrt, sqrt
from typing import NamedTuple

import pytest
from hypothesis import given

from adversary.families import FAMILIES
from adversary.tries import chains
from mip.belady import farthest_next_use
from tests.theory.strategies import examples, instances
from theory.bounds import evaluate
from theory.cache import PrefixCache, run
from theory.exact import cycle_ratio
from theory.model import Instance


@pytest.mark.parametrize(
    ("cuts", "weight", "handle"), [(2, 1, 0), (2, 10, 3), (3, 20, 0), (8, 20, 0), (8, 119, 1)]
)
def test_sglang_is_worse_than_any_multiple_of_k(cuts: int, weight: int, handle: int) -> None:
    instance = FAMILIES["sglang-cuts"](cuts=cuts, weight=weight, handle=handle)
    ratio = cycle_ratio(instance, "sglang-lru").ratio
    assert ratio == evaluate("sglang-cuts-lower", k=instance.k, q=cuts)
    if instance.k > 100:
        assert ratio > 2 * instance.k - 4
    for policy in ("node-lru", "vllm-lru"):
        marking = cycle_ratio(instance, policy).ratio
        assert marking is not None
        assert marking <= instance.k


def test_the_lower_bound_grows_faster_than_k() -> None:
    def slope(k: int) -> Fraction:
        cuts = range(1, isqrt(k - 2))
        return max(Fraction(evaluate("sglang-cuts-lower", k=k, q=q)) for q in cuts) / k

    # From 77 on it is the better one.
    assert slope(76) <= Fraction(2 * 76 - 4, 76)
    assert slope(77) > Fraction(2 * 77 - 4, 77)
    for k in (100, 400, 1600, 6400):
        assert 1.9 < slope(4 * k) / slope(k) < 2.3
        assert slope(k) > sqrt(k) / 5


class Eviction(NamedTuple):
    step: int
    node: tuple[int, ...]
    cached: frozenset[int]  # before it
    last: dict[int, int]  # the last use of each token, before the step


class Rounds:
    """A run of `sglang-lru` in phases and rounds, every step of the proof asserted."""

    def __init__(self, instance: Instance) -> None:
        self.trie, self.steps, b = instance.trie, instance.steps, instance.capacity
        self.footprints = [frozenset(self.trie.footprint(step)) for step in self.steps]
        self.misses = 0
        self.phases: list[list[tuple[int, int]]] = []  # the (cut, step) of each break
        self.evictions: list[Eviction] = []
        cache = PrefixCache(self.trie, b, "sglang-lru")
        used: set[int] = set()  # in the phase
        now: set[int] = set()  # in the round
        loaded: set[int] = set()  # in the round
        refreshed: dict[int, list[tuple[int, int]]] = {}  # in the phase: token -> (cut, step)
        last: dict[int, int] = {}
        breaks: list[tuple[int, list[int]]] = []  # step, unused leaves
        for number, (step, tokens) in enumerate(zip(self.steps, self.footprints, strict=True)):
            if len(used | tokens) > b:
                self._close(breaks, refreshed)
                used, now, loaded, refreshed, breaks = set(), set(), set(), {}, []
            used |= tokens
            told = cache.begin(step)
            for token in set(told.split_off) - used:
                cut = next(t for t in reversed(self.trie.path(token)) if t in told.cuts)
                refreshed.setdefault(token, []).append((cut, number))
            broken = False
            while cache.excess > 0:
                leaves = [leaf for leaf in cache.leaves() if leaf not in used]
                victim = cache.policy.choose(cache.leaves())
                node = cache.node(victim)
                self.evictions.append(Eviction(number, node, frozenset(cache.cached), dict(last)))
                if not now.isdisjoint(node) and not broken:
                    broken = True
                    breaks.append((number, leaves))
                cache.evict(victim)
            if broken:
                now, loaded = set(), set()
            cache.finish()
            assert loaded.isdisjoint(told.misses)  # no token is loaded twice in a round
            loaded.update(told.misses)
            now |= tokens
            last.update(dict.fromkeys(tokens, number))
            self.misses += len(told.misses)
        self._close(breaks, refreshed)

    def _close(
        self, breaks: list[tuple[int, list[int]]], refreshed: dict[int, list[tuple[int, int]]]
    ) -> None:
        """Statement (1): each unused leaf is refreshed for each break, by another cut."""
        cuts: list[tuple[int, int]] = []
        for (before, _), (step, leaves) in pairwise([(-1, []), *breaks]):
            assert leaves
            for leaf in (*leaves, breaks[-1][1][0]):
                found = [entry for entry in refreshed[leaf] if before < entry[1] <= step]
                assert found
            cuts.append(found[0])  # of a leaf that is there at the last break
        assert len({cut for cut, _ in cuts}) == len(cuts)
        assert all(self.trie.is_ancestor(a, b) for (a, _), (b, _) in pairwise(cuts))
        self.phases.append(cuts)

    def charges(self, schedule: list[frozenset[int]]) -> Counter[tuple[int, int]]:
        """The drops of the optimum, (token, step), that the units charge."""

        def drop(token: int, after: int, until: int) -> tuple[int, int]:
            found = [
                (token, step)
                for step in range(after + 1, until + 1)
                if token in schedule[step - 1] - schedule[step]
            ]
            return found[-1]

        charged: Counter[tuple[int, int]] = Counter()
        for cuts in self.phases:
            half = len(cuts) // 2
            low = dict(cuts[len(cuts) - half :])
            for cut, made in cuts[: len(cuts) - half]:
                gone = next((e for e in self.evictions if e.step >= made and cut in e.node), None)
                if gone is None:
                    continue
                step, node, cached, last = gone
                assert node[-1] == cut
                assert low.keys().isdisjoint(cached | self.footprints[step])
                here = [drop(t, made, step) for t, made in low.items() if t not in schedule[step]]
                there = [drop(t, last[t], step) for t in cached - schedule[step]]
                assert len(here) + len(there) >= half
                charged.update(here)
                charged.update(there)
        return charged


def follow(instance: Instance) -> list[frozenset[int]]:
    """The caches of the optimum: farthest next use of leaves."""
    found: list[frozenset[int]] = []
    cache: set[int] = set()
    uses = [frozenset(instance.trie.footprint(step)) for step in instance.steps]
    for number, tokens in enumerate(uses):
        cache |= tokens
        while len(cache) > instance.capacity:
            inner = {instance.trie.parent(token) for token in cache}
            later = range(number + 1, len(uses))
            leaves = [token for token in cache if token not in inner | tokens]
            next_use = {t: next((n for n in later if t in uses[n]), len(uses)) for t in leaves}
            cache.remove(max(leaves, key=next_use.__getitem__))
        found.append(frozenset(cache))
    return found


def check(instance: Instance) -> int:
    """Assert the count; return the breaks."""
    rounds, b = Rounds(instance), instance.capacity
    best = farthest_next_use(instance, schedule=False).misses
    assert best is not None
    assert rounds.misses == run(instance, "sglang-lru").misses
    breaks = sum(map(len, rounds.phases))
    assert rounds.misses <= b * (len(rounds.phases) + breaks)
    assert len(rounds.phases) - 1 <= best
    charged = rounds.charges(follow(instance))
    assert all(count <= 4 * b for count in charged.values())
    root = sqrt(b)
    assert rounds.misses <= (8 * root + 2) * b * best + 2 * b * (root + 1) ** 2
    return breaks


@pytest.mark.parametrize(
    ("family", "given_", "least"),
    [
        ("sglang-cuts", {"cuts": 2, "weight": 2}, 8),
        ("sglang-cuts", {"cuts": 4, "weight": 3, "handle": 1}, 32),
        ("sglang-twice", {"weight": 2}, 6),
        ("sglang", {}, 2),
    ],
)
def test_the_count_of_rounds_step_by_step(family: str, given_: dict[str, int], least: int) -> None:
    assert check(FAMILIES[family](**given_).unrolled(2)) >= least


@pytest.mark.parametrize(("size", "handle"), [(36, 0), (40, 2)])
def test_the_count_of_rounds_where_the_charges_count(size: int, handle: int) -> None:
    """One chain is cut all the way down in each phase: more than 4 sqrt(B) breaks."""
    trie, (chain, d, y, p, m, away) = chains([size, 2, 2, 1, 1, size + 5], handle)
    top = chain - size + 1
    steps: list[tuple[int, ...]] = []
    for _ in range(3):
        steps += [(query,) for query in (away, chain, d, y, p)]
        for cut in range(top, chain):
            steps += [(query,) for query in (p, cut, m, d, y)]
            p, m = m, p
    instance = Instance(trie, size + 5 + handle, steps)
    check(instance)
    few = 2 * ceil(2 * sqrt(instance.capacity))
    assert sum(len(cuts) >= few for cuts in Rounds(instance).phases) == 3


@given(instances(most_tokens=12, most_steps=60))
@examples(100)
def test_the_count_of_rounds_on_random_instances(instance: Instance) -> None:
    check(instance)
