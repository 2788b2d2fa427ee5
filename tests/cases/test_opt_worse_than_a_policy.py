"""The optimum is at most every policy on every input; if it is not, that is a hard error.

Elsewhere a next use was missing for tokens that are never used again, or next uses stayed those of
the whole trace after it had been cut or sampled.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import empirical.ratio
from empirical.ratio import RatioStudy
from mip.belady import farthest_next_use
from tests.mip.oracle import brute_force
from tests.mip.strategies import instances
from theory.cache import run
from theory.errors import OptimumError
from theory.eviction import POLICIES
from theory.model import Instance
from theory.trie import TokenTrie

STAR = TokenTrie.from_parents([-1] * 4)


@pytest.mark.parametrize("policy", POLICIES)
@settings(deadline=None, derandomize=True, max_examples=40)
@given(instance=instances(max_tokens=10, max_steps=16))
def test_at_most_every_policy(policy: str, instance: Instance) -> None:
    best = farthest_next_use(instance).require()
    assert farthest_next_use(instance, bypass=True).require() <= best
    for seed in range(3):
        assert best <= run(instance, policy, seed=seed).misses


def test_tokens_that_are_never_used_again_leave_first() -> None:
    """0 is used once: it leaves for 2, and 1 and 2 hit for ever."""
    instance = Instance(STAR, 2, [[0], [1], [2], [1], [2], [1], [2]])
    assert farthest_next_use(instance).misses == 3


def test_next_uses_are_those_of_the_steps_that_are_served() -> None:
    """Cut anywhere, the optimum is that of the part, not a part of the whole."""
    steps = [[q] for q in (0, 1, 2, 3, 0, 1, 3, 2, 0, 2, 1, 3)]
    for start in range(len(steps)):
        for end in range(start + 1, len(steps) + 1):
            part = Instance(STAR, 2, steps[start:end])
            assert farthest_next_use(part).misses == brute_force(part)


def test_an_optimum_above_a_policy_is_a_hard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance(STAR, 4, [[0], [1], [2], [3]] * 2)
    assert RatioStudy(instance).row("leaf-lru").ratio == 1
    right = empirical.ratio.optimum

    def one_more(*arguments: object) -> object:
        counts = right(*arguments)  # type: ignore[arg-type]
        misses = counts.misses.copy()
        misses[0] += 1
        return counts._replace(misses=misses)

    monkeypatch.setattr(empirical.ratio, "optimum", one_more)
    with pytest.raises(OptimumError, match="leaf-lru has 4 misses at capacity 4, the optimum 5"):
        RatioStudy(instance).row("leaf-lru")
