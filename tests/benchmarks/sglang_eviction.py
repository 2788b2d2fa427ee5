"""The eviction time of the plugin and of SGLang's own tree; run by a Python that has SGLang.

Prints, as JSON, the least processor time per evicted token in ns: tree -> page size -> ns. The
trees take turns on the same queries.
"""

from __future__ import annotations

import json
import random
import sys
import time
from array import array
from typing import Any

TURNS = 3
CAPACITY, QUERIES, LENGTH, SHARED, PREFIXES = 65_536, 2_000, 512, 256, 200


class Allocator:
    """All that the trees ask of an allocator."""

    device = "cpu"

    def free_segment(self, indices: Any, start_pos: int = 0) -> None:
        """Nothing is allocated here."""

    free = free_segment


def queries() -> list[array[int]]:
    """Prompts of which the first half is one of a few, by a power law."""
    rng = random.Random(0)
    prefixes = [[rng.randrange(32000) for _ in range(SHARED)] for _ in range(PREFIXES)]
    weights = [1 / (rank + 1) for rank in range(PREFIXES)]
    own = LENGTH - SHARED
    return [
        array("q", rng.choices(prefixes, weights)[0] + [rng.randrange(32000) for _ in range(own)])
        for _ in range(QUERIES)
    ]


def evict_ns(tree: Any, prompts: list[array[int]]) -> float:
    """Serve all prompts in the order of SGLang's scheduler; processor ns per evicted token."""
    import torch
    from sglang.srt.mem_cache.base_prefix_cache import EvictParams, InsertParams, MatchPrefixParams
    from sglang.srt.mem_cache.radix_cache import RadixKey

    value = torch.arange(LENGTH)
    spent = evicted = 0
    for prompt in prompts:
        key = RadixKey(prompt)
        match = tree.match_prefix(MatchPrefixParams(key=key))
        tree.inc_lock_ref(match.last_device_node)
        room = CAPACITY - tree.evictable_size() - tree.protected_size()
        need = LENGTH - match.device_prefix_len - room
        if need > 0:
            began = time.process_time_ns()
            evicted += tree.evict(EvictParams(num_tokens=need)).num_tokens_evicted
            spent += time.process_time_ns() - began
        tree.insert(InsertParams(key=key, value=value))
        tree.dec_lock_ref(match.last_device_node)
    return spent / evicted


def main() -> None:
    """Measure and print."""
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams
    from sglang.srt.mem_cache.radix_cache import RadixCache

    from empirical.sglang import radix
    from empirical.sglang.plugin import BACKENDS

    trees = {"lru": RadixCache} | {name: getattr(radix, cls) for name, cls in BACKENDS.items()}
    prompts = queries()
    least: dict[str, dict[int, float]] = {name: {} for name in trees}
    for _ in range(TURNS):
        for page_size in (1, 16):
            for name, tree in trees.items():
                params = CacheInitParams(
                    disable=False,
                    req_to_token_pool=None,
                    token_to_kv_pool_allocator=Allocator(),
                    page_size=page_size,
                    eviction_policy="lru",
                )
                found = evict_ns(tree(params), prompts)
                least[name][page_size] = min(found, least[name].get(page_size, found))
    json.dump(least, sys.stdout)


if __name__ == "__main__":
    main()
