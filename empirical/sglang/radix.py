"""SGLang's radix cache with token-granular eviction: split first, then pages from ends of leaves.

Subclasses of SGLang's own ``RadixCache`` (0.5.23): matching, inserting, locking and the memory pool
are SGLang's. Three things differ. A node that is matched in part is split *before* the matched part
is refreshed or marked, so nothing that was not asked for becomes young. An eviction frees exactly
the pages that are asked for, from the ends of leaves. And the order of leaving is Leaf-LRU or RLT.
"""

from __future__ import annotations

import heapq
import time
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sglang.srt.mem_cache.base_prefix_cache import EvictParams, EvictResult, IncLockRefResult
from sglang.srt.mem_cache.cache_init_params import CacheInitParams
from sglang.srt.mem_cache.radix_cache import RadixCache, RadixKey, TreeNode
from sglang.srt.mem_cache.utils import split_node_hash_value

from empirical.sglang.pool import LeafPool

__all__ = ["LeafLRURadixCache", "RLTRadixCache", "RLTStepRadixCache", "TokenRadixCache"]


class TokenRadixCache(RadixCache):  # type: ignore[misc]
    """The common part: splitting first, and evicting pages from the ends of leaves."""

    def __init__(self, params: CacheInitParams, *, seed: int = 0) -> None:
        self.seed = seed
        super().__init__(params)

    # Matching and inserting: as SGLang does, but a split comes before any refresh.

    def _match_prefix_helper(self, node: TreeNode, key: RadixKey) -> tuple[list[Any], TreeNode]:
        path = [node, *self._descend(node, key)]
        self._touch(path)
        return [matched.value for matched in path[1:]], path[-1]

    def _insert_helper(
        self,
        node: TreeNode,
        key: RadixKey,
        value: torch.Tensor,
        priority: int | None = 0,
        inserted_len: int = 0,
    ) -> tuple[int, TreeNode]:
        priority = priority or 0
        path = [node, *self._descend(node, key)]
        matched = 0
        for part in path[1:]:
            matched += len(part.key)
            # What this request inserted before has been counted then.
            if matched > inserted_len:
                self._inc_hit_count(part)
        if matched < len(key):
            path.append(self._attach(path[-1], key[matched:], value[matched:], priority))
            if len(key) > inserted_len:
                self._inc_hit_count(path[-1])
        for part in path:
            part.priority = max(part.priority, priority)
        self._touch(path)
        self._mark(path[1:])
        return matched, path[-1]

    def _descend(self, node: TreeNode, key: RadixKey) -> Iterator[TreeNode]:
        """The nodes that `key` matches, top first; the last one is split where the match ends."""
        while len(key) and (child := node.children.get(key.child_key(self.page_size))) is not None:
            self._settle(child)
            length = child.key.match(key, page_size=self.page_size)
            if length < len(child.key):
                yield self._split_node(child.key, child, length)
                return
            yield child
            node, key = child, key[length:]

    def _attach(
        self, parent: TreeNode, key: RadixKey, value: torch.Tensor, priority: int
    ) -> TreeNode:
        """A new leaf below `parent`."""
        new = TreeNode(priority=priority)
        new.parent, new.key, new.value, new.phase = parent, key, value.clone(), -1
        parent.children[key.child_key(self.page_size)] = new
        self.evictable_size_ += len(key)
        self._update_leaf_status(parent)
        self._update_leaf_status(new)
        self.kv_events.record_store(new)
        return new

    def _split_node(self, key: RadixKey, child: TreeNode, split_len: int) -> TreeNode:
        # SGLang gives the upper part a new time stamp; here splitting alone makes nothing young.
        upper = super()._split_node(key, child, split_len)
        upper.last_access_time = child.last_access_time
        upper.creation_time = child.creation_time
        upper.phase = child.phase
        return upper

    def inc_lock_ref(self, node: TreeNode) -> IncLockRefResult:
        """Lock the path to `node` and mark it: its request is being served."""
        path = []
        above = node
        while above is not self.root_node:
            self._settle(above)
            path.append(above)
            above = above.parent
        self._mark(path[::-1])
        return super().inc_lock_ref(node)

    # Evicting.

    def evict(self, params: EvictParams) -> EvictResult:
        """Evict the tokens asked for, rounded up to whole pages, and no more."""
        if self.disable:
            return EvictResult()
        start = time.perf_counter()
        wanted = min(-(-params.num_tokens // self.page_size) * self.page_size, self.evictable_size_)
        if wanted > 0:
            freed = self._evict_tokens(wanted)
            # Whole pages, each one in order: what an allocator takes for a segment.
            self.token_to_kv_pool_allocator.free_segment(freed, start_pos=0)
            self.evictable_size_ -= wanted
            self.update_eviction_metrics(wanted, start)
        return EvictResult(num_tokens_evicted=max(wanted, 0))

    def total_size(self) -> int:
        """All cached tokens, counted without a walk over the tree."""
        return int(self.evictable_size_ + self.protected_size_)

    def _trim(self, leaf: TreeNode, keep: int) -> None:
        """Cut `leaf` to its first `keep` tokens; if that is nothing, it leaves the tree."""
        if self.kv_events.enabled:
            end = TreeNode()
            end.parent, end.key = leaf if keep else leaf.parent, leaf.key[keep:]
            end.hash_value = self._cut(leaf.hash_value, keep)[1]
            end.event_hash_value = self._cut(leaf.event_hash_value, keep)[1]
            self.kv_events.record_remove(end)
        if keep:
            leaf.key, leaf.value = leaf.key[:keep], leaf.value[:keep]
            leaf.hash_value = self._cut(leaf.hash_value, keep)[0]
            leaf.event_hash_value = self._cut(leaf.event_hash_value, keep)[0]
        else:
            del leaf.parent.children[leaf.key.child_key(self.page_size)]
            self.evictable_leaves.discard(leaf)
            self._update_leaf_status(leaf.parent)

    def _cut(self, hashes: list[str] | None, keep: int) -> tuple[Any, Any]:
        """The hashes of the first `keep` tokens and of the others."""
        result: tuple[Any, Any] = split_node_hash_value(hashes, keep, self.page_size)
        return result

    def _is_evictable_leaf(self, node: TreeNode) -> bool:
        return node is not self.root_node and node in self.evictable_leaves

    # What the policies decide.

    def _touch(self, path: list[TreeNode]) -> None:
        """`path`, the root included, is used now."""

    def _mark(self, path: list[TreeNode]) -> None:
        """`path`, without the root, belongs to a request that is being served."""

    def _settle(self, node: TreeNode) -> None:
        """Bring key and value of `node` up to date before they are read."""

    @abstractmethod
    def _evict_tokens(self, wanted: int) -> torch.Tensor:
        """Take `wanted` tokens out of the tree: whole pages, at most the evictable ones.

        Returns their memory indices; the caller counts and frees them.
        """


class LeafLRURadixCache(TokenRadixCache):
    """Leaf-LRU, page by page (`theory.eviction.leaf_lru`).

    Time is a counter of uses. The tokens with equal stamps lie on one path, so no two leaves tie.

    Notes
    -----
    The heap has an entry for every evictable leaf, with a time at which it was used: perhaps not
    the last one. An entry that has come to the top is put back if its leaf was used since.
    """

    def reset(self) -> None:
        """Forget everything."""
        self.clock = 0
        self.heap: list[tuple[int, int, TreeNode]] = []
        super().reset()

    def _touch(self, path: list[TreeNode]) -> None:
        self.clock += 1
        for node in path:
            node.last_access_time = self.clock

    def _update_leaf_status(self, node: TreeNode) -> None:
        known = node in self.evictable_leaves
        super()._update_leaf_status(node)
        if not known and self._is_evictable_leaf(node):
            if len(self.heap) > 64 + 2 * len(self.evictable_leaves):
                self.heap = [self._entry(leaf) for leaf in self.evictable_leaves]
                heapq.heapify(self.heap)
            else:
                heapq.heappush(self.heap, self._entry(node))

    def _entry(self, leaf: TreeNode) -> tuple[int, int, TreeNode]:
        return leaf.last_access_time, leaf.id, leaf

    def _evict_tokens(self, wanted: int) -> torch.Tensor:
        freed = []
        while wanted:
            used, _, leaf = heapq.heappop(self.heap)
            if not self._is_evictable_leaf(leaf):
                continue
            if used < leaf.last_access_time:
                heapq.heappush(self.heap, self._entry(leaf))
                continue
            keep = max(0, len(leaf.key) - wanted)
            freed.append(leaf.value[keep:])
            wanted -= len(leaf.key) - keep
            self._trim(leaf, keep)
            if keep:
                heapq.heappush(self.heap, self._entry(leaf))
        return freed[0] if len(freed) == 1 else torch.cat(freed)


class RLTRadixCache(TokenRadixCache):
    """RLT, page by page (`theory.eviction.rlt`): uniform among the unmarked leaves.

    A node carries the number of the phase in which it was last used; it is marked if that is the
    current phase. Only when no unmarked leaf is left does a phase end: then the marks become the
    tokens of the requests that are being served, which are locked. By Lemma 3 of the model this is
    the generation-first rule.

    Notes
    -----
    At the start of a phase the memory indices of all unmarked nodes are put into one array, a row a
    page, so that an eviction, which takes a page here and a page there, is one gather. A leaf in
    the pool is cut only when somebody reads it (`_settle`).
    """

    def reset(self) -> None:
        """Forget everything, and draw from the start: a flushed cache is as a new one."""
        self.phase = 0
        self.marked_tokens = 0
        self.unmarked = LeafPool[TreeNode](self.seed)
        self.indices: NDArray[np.int64] = np.empty((0, self.page_size), np.int64)
        super().reset()

    def _mark(self, path: list[TreeNode]) -> None:
        for node in path:
            if node.phase != self.phase:
                node.phase = self.phase
                self.marked_tokens += len(node.key)
                self.unmarked.discard(node)

    def _split_node(self, key: RadixKey, child: TreeNode, split_len: int) -> TreeNode:
        upper = super()._split_node(key, child, split_len)
        if child.phase != self.phase:
            pages = split_len // self.page_size
            upper.first_page = child.first_page
            child.first_page += pages
            if child in self.unmarked:
                self.unmarked.shorten(child, pages)
        return upper

    def _settle(self, node: TreeNode) -> None:
        if node in self.unmarked:
            keep = self.unmarked.length(node) * self.page_size
            if keep < len(node.key):
                self._trim(node, keep)

    def _new_phase(self) -> None:
        """Mark what is locked and nothing else; the pool takes all other leaves."""
        for leaf in self.unmarked.leaves:
            self._settle(leaf)
        self.phase += 1
        self.marked_tokens = self.protected_size_
        leaves: list[tuple[TreeNode, int, int]] = []
        values: list[torch.Tensor] = []
        pages = 0
        stack = self._children(self.root_node)
        while stack:
            node = stack.pop()
            if node.lock_ref > 0:
                node.phase = self.phase
            else:
                length = len(node.key) // self.page_size
                values.append(node.value)
                node.first_page = pages
                pages += length
                if not node.children:
                    leaves.append((node, length, pages))
            stack.extend(self._children(node))
        self.unmarked.refill(leaves)
        self.indices = torch.cat(values).cpu().numpy().reshape(-1, self.page_size)

    def _children(self, node: TreeNode) -> list[TreeNode]:
        """Last one first, in the order of their first page: the same requests, the same order."""
        if len(node.children) < 2:
            return list(node.children.values())
        return sorted(
            node.children.values(),
            key=lambda child: (child.key.extra_key or "", child.key.token_ids[: self.page_size]),
            reverse=True,
        )

    def _follow(self, leaf: TreeNode) -> tuple[TreeNode, int, int] | None:
        """The parent of a leaf that has run out, if it is now an unmarked leaf."""
        parent = leaf.parent
        self._trim(leaf, 0)
        if self._is_evictable_leaf(parent) and parent.phase != self.phase:
            length = len(parent.key) // self.page_size
            return parent, length, parent.first_page + length
        return None

    def _evict_tokens(self, wanted: int) -> torch.Tensor:
        freed = []
        pages = wanted // self.page_size
        while pages:
            if not self.unmarked:
                self._new_phase()
            taken = self.unmarked.take(pages, self._follow)
            pages -= len(taken)
            freed.append(self.indices.take(taken, axis=0).reshape(-1))
        if self.kv_events.enabled:
            # A subscriber must learn of a page before its memory is used again.
            for leaf in self.unmarked.leaves:
                self._settle(leaf)
        indices = freed[0] if len(freed) == 1 else np.concatenate(freed)
        return torch.from_numpy(indices).to(self.device)


class RLTStepRadixCache(RLTRadixCache):
    """RLT with its marks cleared per step (`theory.eviction.rlt_step`).

    The marks are reset as soon as the unmarked tokens do not suffice. With batches this loses the
    logarithm of RLT's guarantee (Theorem R4); it is here to be compared.
    """

    def _evict_tokens(self, wanted: int) -> torch.Tensor:
        if wanted > self.total_size() - self.marked_tokens:
            self._new_phase()
        return super()._evict_tokens(wanted)
