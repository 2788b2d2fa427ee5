"""SGLang's trees, driven by hand in the order in which its scheduler drives them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import torch
from sglang.srt.mem_cache.base_prefix_cache import EvictParams, InsertParams, MatchPrefixParams
from sglang.srt.mem_cache.cache_init_params import CacheInitParams
from sglang.srt.mem_cache.radix_cache import RadixCache, RadixKey
from sglang.srt.mem_cache.unified_cache.components import ComponentType
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache

from empirical.sglang import radix
from empirical.sglang.plugin import BACKENDS
from empirical.sglang.prediction import Request
from theory.trie import TokenTrie


class Pool:
    """The memory pool: every page is free or in use, and is freed once."""

    device = "cpu"

    def __init__(self, capacity: int, page_size: int) -> None:
        self.page_size = page_size
        self.free_pages = list(range(capacity // page_size))
        self.freed: list[int] = []  # memory indices in the order of their frees

    def available_size(self) -> int:
        return len(self.free_pages) * self.page_size

    def alloc(self, pages: int) -> list[int]:
        assert pages <= len(self.free_pages), "out of memory"
        taken, self.free_pages = self.free_pages[:pages], self.free_pages[pages:]
        return [page * self.page_size + i for page in taken for i in range(self.page_size)]

    def free_segment(self, indices: Any, start_pos: int = 0) -> None:
        pages = sorted(index // self.page_size for index in indices.tolist())
        freed = sorted(set(pages))
        assert pages == [page for page in freed for _ in range(self.page_size)], "half a page"
        assert not set(freed) & set(self.free_pages), "freed twice"
        self.free_pages += freed
        self.freed += indices.tolist()

    free = free_segment

    def free_segments(self, segments: Any) -> None:
        for indices, start in segments:
            self.free_segment(indices, start)

    def mamba_full_cache_donor(self) -> None:
        return None

    def free_group_begin(self) -> None:
        """Frees take effect at once here."""

    def free_group_end(self) -> None:
        """Frees take effect at once here."""


class Tree:
    """One of SGLang's trees, or one of the plugin's, with its memory pool."""

    def __init__(
        self,
        kind: str,
        capacity: int,
        eviction: str = "lru",
        *,
        page_size: int = 1,
        seed: int = 0,
        events: bool = False,
    ) -> None:
        self.page_size = page_size
        self.pool = Pool(capacity, page_size)
        self.pages = len(self.pool.free_pages)
        self.token_at: dict[int, int] = {}  # the token whose memory it is
        params = CacheInitParams(
            disable=False,
            req_to_token_pool=None,
            token_to_kv_pool_allocator=self.pool,
            page_size=page_size,
            eviction_policy="lru" if eviction in BACKENDS else eviction,
            enable_kv_cache_events=events,
        )
        if eviction in BACKENDS:
            self.cache = getattr(radix, BACKENDS[eviction])(params, seed=seed)
        elif kind == "radix":
            self.cache = RadixCache(params)
        else:
            params.tree_components = (ComponentType.FULL,)
            params.tree_core_backend = "python" if kind == "unified-python" else "rust"
            self.cache = UnifiedRadixCache(params)

    def key(self, ids: Sequence[int]) -> RadixKey:
        return RadixKey(array("q", ids))

    def match(self, ids: Sequence[int]) -> tuple[int, Any]:
        found = self.cache.match_prefix(MatchPrefixParams(key=self.key(ids)))
        return found.device_prefix_len, found.last_device_node

    def free_to(self, pages: int) -> int:
        """Evict until so many pages are free; the tokens that left."""
        short = pages * self.page_size - self.pool.available_size()
        if short <= 0:
            return 0
        return int(self.cache.evict(EvictParams(num_tokens=short)).num_tokens_evicted)

    def insert(self, ids: Sequence[int], row: list[int], owned: int, inserted: int = 0) -> Any:
        """Insert whole pages, of which the tree owns the first `owned` tokens; the node at the end.

        What the tree had already is freed, and the tree's own copy stands in `row` afterwards.
        """
        key, value = self.key(ids), torch.tensor(row[: len(ids)], dtype=torch.int64)
        found = self.cache.insert(
            InsertParams(key=key, value=value, inserted_len=inserted, prev_prefix_len=owned)
        )
        if isinstance(self.cache, RadixCache):  # the other tree frees them itself
            self.pool.free_segment(value[owned : found.prefix_len], owned)
        _, node = self.match(ids)
        row[: len(ids)] = self.cache.path_device_indices(node).tolist()
        return node

    def request(
        self,
        request: Request,
        chunk: int = 8192,
        *,
        abort: int | None = None,
        overlap: bool = True,
    ) -> int:
        """Serve one request from match to end, as the scheduler does; its cached tokens.

        With `abort` the client hangs up after so many tokens of the output (0: in the prefill).
        """
        run = Run(self, list(request.prompt))
        output = request.output[:-1] if abort is None else request.output[:abort]
        early = output[: int(overlap)]
        run.prefill(chunk, early)
        for token in output[len(early) :]:
            run.decode(token)
        run.end(insert=abort != 0)
        return run.matched

    def step(self, trie: TokenTrie, queries: Sequence[int]) -> tuple[set[int], set[int]]:
        """Serve a batch as the token model does: match and lock all, evict once, insert all.

        Returns the hits and the tokens that left. Token ids are the tokens of `trie`.
        """
        assert self.page_size == 1
        self.pool.freed.clear()
        hits: set[int] = set()
        locks = []
        for query in queries:
            ids = trie.path(query)
            matched, node = self.match(ids)
            locks.append(self.cache.lock(node))
            hits.update(ids[:matched])
        self.free_to(trie.footprint_size(queries) - len(hits))
        gone = {self.token_at[index] for index in self.pool.freed}
        for query in queries:
            ids = list(trie.path(query))
            matched, node = self.match(ids)
            row = self.cache.path_device_indices(node).tolist() if matched else []
            row += self.pool.alloc(len(ids) - matched)
            self.token_at.update(zip(row, ids, strict=True))
            locks.append(self.cache.lock(self.insert(ids, row, owned=matched)))
        for lock in locks:
            self.cache.unlock(lock)
        return hits, gone

    def check(self) -> None:
        """Every page is in the tree or free, and nothing is locked."""
        held = self.cache.evictable_size() // self.page_size
        assert held + len(self.pool.free_pages) == self.pages
        assert self.cache.protected_size() == 0


class Run:
    """A running request: the row of memory that it holds, and its lock on the tree."""

    def __init__(self, tree: Tree, prompt: list[int]) -> None:
        self.tree, self.prompt, self.ids = tree, prompt, list(prompt)
        self.matched, node = tree.match(prompt[:-1])
        self.lock = tree.cache.lock(node)
        self.row = tree.cache.path_device_indices(node).tolist() if self.matched else []
        self.owned, self.inserted = self.matched, 0

    def prefill(self, chunk: int, early: Sequence[int] = ()) -> None:
        """Compute the prompt; every chunk is inserted when it is computed.

        The tokens `early` of the output are allocated before the last chunk is inserted.
        """
        size, done = self.tree.page_size, self.matched
        while done < len(self.prompt):
            pages = -done // size
            done = min(done + chunk // size * size, len(self.prompt))
            pages += -(-done // size)
            self.tree.free_to(pages + (size > 1))
            self.row += self.tree.pool.alloc(pages)
            if done == len(self.prompt):
                for token in early:
                    self.decode(token)
            self.insert(done)

    def decode(self, token: int) -> None:
        """Allocate the memory of one token of the output."""
        self.tree.free_to(1)
        self.ids.append(token)
        if len(self.ids) > len(self.row):
            self.row += self.tree.pool.alloc(1)

    def insert(self, length: int) -> None:
        """Insert the first `length` tokens and move the lock there."""
        size, tree = self.tree.page_size, self.tree
        full, prompt = length - length % size, len(self.prompt) - len(self.prompt) % size
        if full:
            node = tree.insert(self.ids[:full], self.row, self.owned, self.inserted)
            if prompt and full > prompt:  # again, so that a node ends where the prompt does
                tree.insert(self.prompt[:prompt], self.row, prompt, prompt)
            self.owned = self.inserted = full
            tree.cache.unlock(self.lock)
            self.lock = tree.cache.lock(node)

    def end(self, *, insert: bool = True) -> None:
        """Insert what was computed and give the rest of the row back."""
        if insert and len(self.ids) > len(self.prompt):
            self.insert(len(self.ids))
        rest = torch.tensor(self.row[self.owned :], dtype=torch.int64)
        self.tree.pool.free_segment(rest, self.owned)
        self.tree.cache.unlock(self.lock)
