"""A partial match must not make the unmatched rest of its node young."""

from __future__ import annotations

import pytest

from theory.cache import PrefixCache
from theory.trie import TokenTrie

TRIE, (ABCD, AB, X, YZ) = TokenTrie.from_sequences(["abcd", "ab", "x", "yz"])
A, B, C, D = TRIE.path(ABCD)


def victims(policy: str, capacity: int, *queries: int) -> list[int]:
    cache = PrefixCache(TRIE, capacity, policy)
    return [token for query in queries for token in cache.serve([query]).evicted]


def test_token_policies_evict_d_then_c() -> None:
    for policy in ("leaf-lru", "vllm-lru", "fifo", "lfu", "slru"):
        assert victims(policy, 4, ABCD, AB, X, YZ)[:2] == [D, C], policy


def test_node_lru_evicts_the_whole_rest_before_the_younger_node() -> None:
    # x is used after abcd was inserted, before ab is matched: the rest cd is older than x.
    assert victims("node-lru", 6, ABCD, X, AB, YZ) == [D, C]


def test_sglang_lru_keeps_the_fault_of_the_real_system() -> None:
    # The match of ab stamps cd too, so x, which somebody did ask for, leaves instead.
    assert victims("sglang-lru", 6, ABCD, X, AB, YZ) == [X]


@pytest.mark.parametrize(("policy", "first"), [("sglang-lru", D), ("node-lru", D)])
def test_the_rest_still_leaves_before_the_matched_part(policy: str, first: int) -> None:
    assert victims(policy, 4, ABCD, AB, X)[0] == first
