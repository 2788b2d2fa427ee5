"""The same seed gives the same run, whatever else draws random numbers, and seeds differ."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest

from theory.cache import PrefixCache, run
from theory.eviction import POLICIES, RandomisedPolicy, make_policy
from theory.model import Instance
from theory.trie import TokenTrie

RANDOMISED = [n for n in POLICIES if isinstance(make_policy(n), RandomisedPolicy)]
STEPS = [[t * t * t % 31 % 9] for t in range(30)] * 2
INSTANCE = Instance(TokenTrie.from_parents([-1] * 9), 4, STEPS)

PROGRAM = f"""
import sys
from theory.cache import run
from theory.model import Instance
from theory.trie import TokenTrie
instance = Instance(TokenTrie.from_parents([-1] * 9), 4, {STEPS})
print([step.evicted for step in run(instance, sys.argv[1], seed=7).steps])
"""


def test_there_are_randomised_policies() -> None:
    assert {"rlt", "rlt-step", "rlt-node", "rlt-token"} <= set(RANDOMISED)


@pytest.mark.parametrize("policy", POLICIES)
def test_global_generators_do_not_matter(policy: str) -> None:
    random.seed(1)
    expected = run(INSTANCE, policy, seed=7)
    random.seed(2)
    np.random.seed(3)  # noqa: NPY002 - the global generator is the point
    before = random.getstate()
    assert run(INSTANCE, policy, seed=7) == expected
    assert random.getstate() == before


@pytest.mark.parametrize("policy", RANDOMISED)
def test_two_caches_share_no_coins(policy: str) -> None:
    alone = [step.evicted for step in run(INSTANCE, policy, seed=7).steps]
    left = PrefixCache(INSTANCE.trie, INSTANCE.capacity, policy, seed=7)
    right = PrefixCache(INSTANCE.trie, INSTANCE.capacity, policy, seed=8)
    together = []
    for step in INSTANCE.steps:
        together.append(left.serve(step).evicted)
        right.serve(step)
    assert together == alone


@pytest.mark.parametrize("policy", RANDOMISED)
def test_seeds_differ(policy: str) -> None:
    assert len({run(INSTANCE, policy, seed=seed) for seed in range(20)}) > 10


@pytest.mark.parametrize("policy", RANDOMISED)
def test_another_hash_seed_gives_the_same_run(policy: str) -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM, policy],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
