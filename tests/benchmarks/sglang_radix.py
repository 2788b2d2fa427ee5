"""SGLang's RadixCache on given queries; run by a Python that has SGLang.

Reads a folder with ``queries.json`` and a capacity; prints the least seconds of
three runs and the hits, as JSON.
"""

import json
import sys
import time
from array import array
from pathlib import Path


class Allocator:
    """All that RadixCache asks of an allocator."""

    device = "cpu"

    def free_segment(self, indices, start_pos=0):
        """Nothing is allocated here."""

    free = free_segment


def serve(queries, capacity):
    """Match, lock, evict the shortfall, insert, unlock: the order of SGLang's scheduler."""
    import torch
    from sglang.srt.mem_cache.base_prefix_cache import EvictParams, InsertParams, MatchPrefixParams
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams
    from sglang.srt.mem_cache.radix_cache import RadixCache, RadixKey

    cache = RadixCache(
        CacheInitParams(
            disable=False,
            req_to_token_pool=None,
            token_to_kv_pool_allocator=Allocator(),
            page_size=1,
            eviction_policy="lru",
        )
    )
    values = torch.arange(len(queries[0]))
    hits = 0
    for query in queries:
        key = RadixKey(query)
        match = cache.match_prefix(MatchPrefixParams(key=key))
        hits += match.device_prefix_len
        cache.inc_lock_ref(match.last_device_node)
        room = capacity - cache.evictable_size() - cache.protected_size()
        need = len(query) - match.device_prefix_len - room
        if need > 0:
            cache.evict(EvictParams(num_tokens=need))
        cache.insert(InsertParams(key=key, value=values))
        cache.dec_lock_ref(match.last_device_node)
    return hits


if __name__ == "__main__":
    folder, capacity = sys.argv[1], int(sys.argv[2])
    with Path(folder, "queries.json").open() as file:
        queries = [array("q", query) for query in json.load(file)]
    serve(queries[:10], capacity)
    least = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        hits = serve(queries, capacity)
        least = min(least, time.perf_counter() - began)
    print(json.dumps({"seconds": least, "hits": hits}))
