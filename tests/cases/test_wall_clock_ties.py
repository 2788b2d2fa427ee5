"""The victim depends on the order of the steps alone, and every tie has a total order."""

from __future__ import annotations

import time

import pytest

from theory.cache import PrefixCache, run
from theory.eviction import POLICIES, RandomisedPolicy, make_policy
from theory.model import Instance
from theory.trie import TokenTrie

DETERMINISTIC = [n for n in POLICIES if not isinstance(make_policy(n), RandomisedPolicy)]
STAR = TokenTrie.from_parents([-1] * 6)


@pytest.mark.parametrize("policy", DETERMINISTIC)
def test_among_equals_the_later_token_leaves_first(policy: str) -> None:
    cache = PrefixCache(STAR, 4, policy)
    cache.serve([2, 0, 3, 1])  # one step: equal times, equal counts
    evicted = [*cache.serve([4]).evicted, *cache.serve([5]).evicted]
    if policy == "vllm-lru":
        assert evicted == [2, 0]  # its queries are freed in their order, so these are no ties
    elif policy in ("mru", "filo"):
        assert evicted == [3, 4]  # token 4 is newer than what is left
    else:
        assert evicted == [3, 2]


@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_reads_a_clock(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance(STAR, 3, [[t % 6, t * t % 6] for t in range(30)])
    expected = run(instance, policy, seed=2)

    def broken() -> float:
        raise AssertionError("a policy reads the clock")

    for name in ("time", "monotonic", "perf_counter", "time_ns", "monotonic_ns"):
        monkeypatch.setattr(time, name, broken)
    again = run(instance, policy, seed=2)
    monkeypatch.undo()
    assert again == expected
