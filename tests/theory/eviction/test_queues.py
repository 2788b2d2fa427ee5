"""Policies with queues, ghosts and ages: what they evict, worked out by hand from their papers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from theory.cache import PrefixCache, run
from theory.errors import PolicyError
from theory.eviction import make_policy
from theory.eviction.gdsf import UNIT
from theory.model import Instance
from theory.trie import TokenTrie

STAR = TokenTrie.from_parents([-1] * 8)


def evictions(policy, capacity, queries, trie=STAR):
    instance = Instance(trie, capacity, [[query] for query in queries])
    return [token for step in run(instance, policy).steps for token in step.evicted]


def test_sieve_passes_the_visited_and_stays_where_it_evicts():
    # 3 comes: the hand clears 0 and takes 1. 4: it goes on with 2. 5: it clears 3 and takes the
    # newest, 4; so 6 meets the hand at the oldest, 0.
    assert evictions("sieve", 3, [0, 1, 2, 0, 3, 4, 3, 5, 6]) == [1, 2, 4, 0]


def test_sieve_is_not_clock():
    # CLOCK would have moved 0 behind the others.
    queries = [0, 1, 2, 0, 3, 4, 5]
    assert evictions("sieve", 3, queries) == [1, 2, 3]
    assert evictions("clock-clear", 3, queries) == [1, 2, 0]


def test_s3_fifo_promotes_what_was_used_and_welcomes_ghosts():
    # 0 is used twice again and moves to the main queue when 3 comes, so 1 leaves; 1 comes back
    # as a ghost to the main queue, and the newcomers go one by one.
    assert evictions("s3-fifo", 3, [0, 1, 2, 0, 0, 3, 1, 4, 5]) == [1, 2, 3, 4]


def test_s3_fifo_turns_to_the_main_queue_when_the_small_one_is_empty():
    assert evictions("s3-fifo", 2, [0, 1, 0, 0, 1, 1, 2]) == [0]


def test_s3_fifo_gives_a_used_token_of_the_main_queue_another_round():
    # 0 and 1 are in the main queue, then 0 is used; 2 stays alone in the small one and goes first.
    queries = [0, 1, 0, 0, 1, 1, 2, 1, 1, 2, 2, 3]
    assert evictions("s3-fifo", 2, queries) == [0, 2]


def test_2q_keeps_what_came_back():
    # Newcomers leave first in, first out; 0, 2, 3 and 4 return while remembered. When only one
    # newcomer is left (6), the least recently used of the others goes: 0.
    queries = [0, 1, 2, 3, 4, 5, 0, 6, 2, 3, 4]
    assert evictions("2q", 4, queries) == [0, 1, 2, 3, 4, 5, 0]


def test_2q_ignores_hits_on_newcomers():
    assert evictions("2q", 3, [0, 1, 2, 0, 0, 3]) == [0]


def test_arc_moves_its_target():
    # 1 leaves the first list; its return raises the target to 1, so the second list loses 0; its
    # return lowers the target to 0, so 2 leaves; then only the second list is left, and 1 goes.
    assert evictions("arc", 2, [0, 1, 0, 2, 1, 0, 3]) == [1, 0, 2, 1]


def test_arc_withstands_a_scan():
    assert evictions("arc", 3, [0, 0, 1, 2, 3, 4, 5]) == [1, 2, 3]


def test_lru_k_evicts_what_was_used_once():
    assert evictions("lru-k", 2, [0, 0, 1, 2, 3]) == [1, 2]
    # Second last uses: 0 at step 0, 1 at step 1.
    assert evictions("lru-k", 2, [0, 1, 1, 0, 2]) == [0]
    assert evictions("lru-k:uses=1", 2, [0, 0, 1, 2, 3]) == evictions(
        "leaf-lru", 2, [0, 0, 1, 2, 3]
    )


def test_lfu_ageing_lets_old_fame_fade():
    # 0 has priority 3. 1, 2 and 3 come with the age 0, 1 and 2, so 3 ties with 0 and is younger.
    queries = [0, 0, 0, 1, 2, 3, 4]
    assert evictions("lfu", 2, queries) == [1, 2, 3]
    assert evictions("lfu-ageing", 2, queries) == [1, 2, 0]


def test_gdsf_evicts_large_nodes_that_are_seldom_used():
    # A chain of three and two single tokens: 1/3 against 1; the whole chain goes. Then the age is
    # 1/3: token 4 has 1/3 + 1, token 3 only 1.
    trie = TokenTrie.from_parents([-1, 0, 1, -1, -1, -1, 5, 6])
    assert evictions("gdsf", 4, [2, 3, 4, 7], trie) == [2, 1, 0, 3]
    cache = PrefixCache(trie, 4, "gdsf")
    for query in (2, 3, 4):
        cache.serve([query])
    assert Fraction(cache.policy.age, UNIT) == Fraction(1, 3)


def test_tail_lru_takes_the_tails_first():
    # Two chains of four. The first loses a tail of two tokens, then the second one does: more
    # would be a long recomputation. After that the rest goes in the order of LRU.
    trie = TokenTrie.from_segments([(-1, 4), (-1, 4), (-1, 6)])
    assert evictions("tail-lru", 8, [3, 7, 13], trie) == [3, 2, 7, 6, 1, 0]
    assert evictions("leaf-lru", 8, [3, 7, 13], trie) == [3, 2, 1, 0, 7, 6]
    assert evictions("tail-lru:threshold=0", 8, [3, 7, 13], trie) == [3, 2, 1, 0, 7, 6]


@pytest.mark.parametrize(
    "spec",
    [
        "lru-k:uses=0",
        "tail-lru:threshold=-1",
        "s3-fifo:share=0",
        "s3-fifo:share=1.5",
        "onlinemin:epoch=1",
        "sieve:epoch=1",
    ],
)
def test_bad_parameters(spec):
    with pytest.raises(PolicyError):
        make_policy(spec)
