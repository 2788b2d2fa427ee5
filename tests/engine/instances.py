"""Random instances, and what the executable specification makes of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hypothesis import strategies as st

from theory.cache import PrefixCache, RunResult, run
from theory.engine import StepCounts
from theory.engine import kernel as kernels
from theory.eviction import EvictionPolicy, Step
from theory.model import Instance
from theory.trie import TokenTrie

WAYS = ("compiled", "interpreted")
"""How a light kernel can run."""


@contextmanager
def running(way: str) -> Iterator[None]:
    """Run the light kernels in one of the `WAYS`, whatever the work."""
    patience = kernels.PATIENCE
    kernels.PATIENCE = -1 if way == "compiled" else 2**62
    try:
        yield
    finally:
        kernels.PATIENCE = patience


def random_instance(seed: int, most_tokens: int, most_steps: int) -> Instance:
    """Tries from stars to chains; steps of one to four queries; capacities from tight to wide."""
    rng = random.Random(seed)
    size = rng.randint(1, most_tokens)
    chain = rng.choice([0, 0.3, 0.6, 0.9])
    parents = [
        i - 1 if rng.random() < chain else rng.choice([-1, rng.randint(-1, i - 1)])
        for i in range(size)
    ]
    trie = TokenTrie.from_parents(parents)
    widest = rng.choice([1, 1, 2, 4])
    steps = [
        [rng.randrange(size) for _ in range(rng.randint(1, widest))]
        for _ in range(rng.randint(1, most_steps))
    ]
    least = max(trie.footprint_size(step) for step in steps)
    return Instance(trie, least + rng.choice([0, 0, 1, 2, 3, 5]), steps)


def instances(most_tokens: int = 16, most_steps: int = 40) -> st.SearchStrategy[Instance]:
    """Random instances. Drawn from a seed, so that most of them are large and evict often."""
    return st.integers(0, 2**32 - 1).map(
        lambda seed: random_instance(seed, most_tokens, most_steps)
    )


class FarthestNextUse(EvictionPolicy):
    """The clairvoyant rule of Lemma 1, scanning all leaves."""

    def __init__(self, steps: Sequence[frozenset[int]]) -> None:
        self.steps = steps
        self.now = 0

    def on_step(self, step: Step) -> None:
        self.now = step.number

    def choose(self, leaves: Sequence[int]) -> int:
        return max(leaves, key=lambda leaf: (self.next(leaf), -self.last(leaf), leaf))

    def next(self, token: int) -> int:
        later = range(self.now + 1, len(self.steps))
        return next((j for j in later if token in self.steps[j]), len(self.steps))

    def last(self, token: int) -> int:
        return max(j for j in range(self.now + 1) if token in self.steps[j])


def run_farthest(instance: Instance) -> RunResult:
    """The schedule of `FarthestNextUse`."""
    steps = [frozenset(instance.footprint(j)) for j in range(len(instance.steps))]
    cache = PrefixCache(instance.trie, instance.capacity, FarthestNextUse(steps))
    return RunResult(tuple(cache.serve(step) for step in instance.steps))


def same(counts: StepCounts, result: RunResult) -> bool:
    """Assert that engine and specification agree at every step."""
    assert counts.hits.tolist() == [len(step.hits) for step in result.steps]
    assert counts.misses.tolist() == [len(step.misses) for step in result.steps]
    assert counts.evicted.tolist() == [len(step.evicted) for step in result.steps]
    return True


def agrees(counts: StepCounts, instance: Instance, policy: str, seed: int = 0) -> bool:
    """Assert that the engine's counts are those of the executable cache."""
    return same(counts, run(instance, policy, seed=seed))
