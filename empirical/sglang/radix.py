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

import torch
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

    def _trim(self, leaf: TreeNode, keep: int) -> torch.Tensor:
        """Cut `leaf` to its first `keep` tokens; the memory indices of the others.

        A leaf of which nothing is kept leaves the tree.
        """
        rest = leaf.value[keep:]
        hashes = split_node_hash_value(leaf.hash_value, keep, self.page_size)
        events = split_node_hash_value(leaf.event_hash_value, keep, self.page_size)
        if self.kv_events.enabled:
            end = TreeNode()
            end.parent, end.key = leaf if keep else leaf.parent, leaf.key[keep:]
            end.hash_value, end.event_hash_value = hashes[1], events[1]
            self.kv_events.record_remove(end)
        if keep:
            leaf.key, leaf.value = leaf.key[:keep], leaf.value[:keep]
            leaf.hash_value, leaf.event_hash_value = hashes[0], events[0]
        else:
            del leaf.parent.children[leaf.key.child_key(self.page_size)]
            self.evictable_leaves.discard(leaf)
            self._update_leaf_status(leaf.parent)
        return rest

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
    """

    def reset(self) -> None:
        """Forget everything."""
        self.clock = 0
        super().reset()

    def _touch(self, path: list[TreeNode]) -> None:
        self.clock += 1
        for node in path:
            node.last_access_time = self.clock

    def _evict_tokens(self, wanted: int) -> torch.Tensor:
        heap = [(leaf.last_access_time, leaf.id, leaf) for leaf in self.evictable_leaves]
        heapq.heapify(heap)
        freed = []
        while wanted:
            _, _, leaf = heapq.heappop(heap)
            length = min(wanted, len(leaf.key))
            wanted -= length
            parent = leaf.parent
            freed.append(self._trim(leaf, len(leaf.key) - length))
            if self._is_evictable_leaf(parent):
                heapq.heappush(heap, (parent.last_access_time, parent.id, parent))
        return torch.cat(freed)


class RLTRadixCache(TokenRadixCache):
    """RLT, page by page (`theory.eviction.rlt`): uniform among the unmarked leaves.

    A node carries the number of the phase in which it was last used; it is marked if that is the
    current phase. Only when no unmarked leaf is left does a phase end: then the marks become the
    tokens of the requests that are being served, which are locked. By Lemma 3 of the model this is
    the generation-first rule.

    Notes
    -----
    At the start of a phase the memory indices of all unmarked nodes are put into one tensor, so
    that an eviction, which takes a page here and a page there, is one gather. A leaf in the pool is
    cut only when somebody reads it (`_settle`).
    """

    def reset(self) -> None:
        """Forget everything; the draws go on."""
        self.phase = 0
        self.marked_tokens = 0
        self.unmarked = LeafPool[TreeNode](self.seed)
        self.indices: torch.Tensor | None = None
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
            upper.offset = child.offset
            child.offset += split_len
            if child in self.unmarked:
                self.unmarked.shorten(child, split_len // self.page_size)
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
        offset = 0
        stack = list(self._children(self.root_node))
        while stack:
            node = stack.pop()
            if node.lock_ref > 0:
                node.phase = self.phase
            else:
                values.append(node.value)
                node.offset = offset
                offset += len(node.key)
                if not node.children:
                    leaves.append(self._entry(node))
            stack.extend(self._children(node))
        self.unmarked.refill(leaves)
        self.indices = torch.cat(values) if values else self._empty_device_indices

    def _children(self, node: TreeNode) -> list[TreeNode]:
        """Last one first, in the order of their first page: the same requests, the same order."""
        return sorted(
            node.children.values(),
            key=lambda child: (
                str(child.key.extra_key),
                list(child.key.token_ids[: self.page_size]),
            ),
            reverse=True,
        )

    def _entry(self, node: TreeNode) -> tuple[TreeNode, int, int]:
        end = node.offset + len(node.key)
        return node, len(node.key) // self.page_size, end // self.page_size

    def _follow(self, leaf: TreeNode) -> tuple[TreeNode, int, int] | None:
        """The parent of a leaf that has run out, if it is now an unmarked leaf."""
        parent = leaf.parent
        self._trim(leaf, 0)
        if self._is_evictable_leaf(parent) and parent.phase != self.phase:
            return self._entry(parent)
        return None

    def _evict_tokens(self, wanted: int) -> torch.Tensor:
        freed = []
        pages = wanted // self.page_size
        while pages:
            if not self.unmarked:
                self._new_phase()
            taken = torch.from_numpy(self.unmarked.take(pages, self._follow))
            pages -= len(taken)
            if self.page_size > 1:
                within = torch.arange(self.page_size)
                taken = (taken[:, None] * self.page_size + within).flatten()
            assert self.indices is not None
            freed.append(self.indices[taken.to(self.indices.device)])
        if self.kv_events.enabled:
            # A subscriber must learn of a page before its memory is used again.
            for leaf in self.unmarked.leaves:
                self._settle(leaf)
        return torch.cat(freed)


class RLTStepRadixCache(RLTRadixCache):
    """RLT with its marks cleared per step (`theory.eviction.rlt_step`).

    The marks are reset as soon as the unmarked tokens do not suffice. With batches this loses the
    logarithm of RLT's guarantee (Theorem R4); it is here to be compared.
    """

    def _evict_tokens(self, wanted: int) -> torch.Tensor:
        if wanted > self.total_size() - self.marked_tokens:
            self._new_phase()
        return super()._evict_tokens(wanted)
