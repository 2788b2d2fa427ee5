"""The same prompt again: a full hit, or all but its last token; both rules are named."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.theory.strategies import examples, instances
from theory.cache import PrefixCache, run
from theory.eviction import POLICIES
from theory.model import Instance
from theory.trie import TokenTrie

TRIE, (ABCD, AB, X) = TokenTrie.from_sequences(["abcd", "ab", "x"])


def test_the_default_is_a_full_hit() -> None:
    cache = PrefixCache(TRIE, 4)
    cache.serve([ABCD])
    again = cache.serve([ABCD])
    assert (again.cost, again.hits, again.recomputed) == (0, TRIE.path(ABCD), ())


def test_all_but_the_last_token() -> None:
    cache = PrefixCache(TRIE, 4, match="all-but-last")
    assert cache.serve([ABCD]).cost == 4
    again = cache.serve([ABCD])
    assert (again.cost, again.misses, again.recomputed) == (1, (), (ABCD,))
    assert cache.serve([AB]).recomputed == (AB,)  # a prefix is matched in full as well
    assert len(cache.cached) == 4


def test_node_granularity_splits_before_the_last_token() -> None:
    for match, evicted in (("full", (3, 2, 1, 0)), ("all-but-last", (3,))):
        cache = PrefixCache(TRIE, 4, "node-lru", match=match)  # type: ignore[arg-type]
        cache.serve([ABCD])
        cache.serve([ABCD])
        assert cache.serve([X]).evicted == evicted


@pytest.mark.parametrize("policy", [p for p in POLICIES if "node" not in p and "sglang" not in p])
@given(instance=instances(most_queries=3))
@examples(40)
def test_the_rule_costs_one_token_a_fully_cached_query(policy: str, instance: Instance) -> None:
    if policy == "hits-per-token":
        return  # node-granular: its nodes differ under the two rules
    full = run(instance, policy, seed=1)
    capped = run(instance, policy, seed=1, match="all-but-last")
    for index, (left, right) in enumerate(zip(full.steps, capped.steps, strict=True)):
        again = {query for query in instance.steps[index] if query in left.hits}
        assert (left.hits, left.misses, left.evicted) == (right.hits, right.misses, right.evicted)
        assert set(right.recomputed) == again
        assert right.cost == left.cost + len(again)
    assert full.hits + full.misses == capped.hits + capped.misses
