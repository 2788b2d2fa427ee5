"""What a SGLang server does with its cache, request by request: the model that a replay is held to.

The policies are those of `theory.eviction`; this file adds what a server does differently from the
token model (SGLang 0.5.23, one request at a time):

1. SGLang's own policies evict whole leaf nodes and so free more than was asked for. A long prompt
   is prefilled in chunks, each inserted as a node.
2. A match ends at least one token before the end of the prompt, at a page boundary. So an identical
   prompt computes its last page again, in memory of its own, while the cached copy of that page is
   not locked and may be the victim.
3. A request matches and locks, evicts only what is missing, and is inserted when it is computed.
4. With pages only full ones are cached, but a partial one needs memory until the request ends, and
   one page more is always kept free for an allocation than it needs.
5. ``cached_tokens`` counts what was matched, in tokens.
6. The output is inserted too, all but its last token, as a node of its own; each of its tokens is
   allocated when it is computed. A request counts a node once.
7. The server schedules a step while the one before is computed (``overlap``, its default). So the
   first token of the output is allocated before the prompt is inserted: what the match left out
   is not yet locked, and what the prompt holds twice is not yet free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from empirical.sglang.seeded import SeededRLT, SeededRLTStep
from theory.cache import PrefixCache
from theory.errors import InputError
from theory.eviction import EvictionPolicy, make_policy
from theory.eviction.base import Step
from theory.eviction.lfu import LFU
from theory.trie import ROOT, TokenTrie

__all__ = ["Request", "ServerCache", "page_trie", "policy_of", "predict"]

POLICIES = {
    "lru": "sglang-lru",
    "lfu": "lfu:granularity=node",
    "slru": "slru:granularity=node",
    "fifo": "fifo:granularity=node",
    "mru": "mru:granularity=node",
    "filo": "filo:granularity=node",
    "kvbounds-leaf-lru": "leaf-lru",
}
"""The eviction policy of a worker -> the policy that models it, if it draws nothing."""


def policy_of(eviction: str, seed: int = 0) -> EvictionPolicy:
    """The policy that models a worker's ``--eviction``, with the worker's seed.

    Examples
    --------
    >>> type(policy_of("lru")).__name__
    'SGLangLRU'
    """
    if eviction == "kvbounds-rlt":
        return SeededRLT(seed)
    if eviction == "kvbounds-rlt-step":
        return SeededRLTStep(seed)
    if eviction not in POLICIES:
        raise InputError(f"there is no model of the eviction {eviction!r}", where="--eviction")
    return make_policy(POLICIES[eviction])


class Request(NamedTuple):
    """A request to a server.

    Attributes
    ----------
    prompt : sequence of int
        Token ids.
    output : sequence of int
        The token ids of the answer, at least one.
    """

    prompt: Sequence[int]
    output: Sequence[int]


class _Paged(NamedTuple):
    """A request in a trie of pages: where its prompt and all of it end, ``ROOT`` if before a page.

    `length` counts the tokens of the prompt, `answer` those of the output.
    """

    prompt: int
    whole: int
    length: int
    answer: int


def page_trie(requests: Sequence[Request], page_size: int) -> tuple[TokenTrie, list[_Paged]]:
    """The trie of the full pages of all requests, each with its output but for the last token.

    Pages are numbered depth first in the order of their token ids: the order in which the plugin
    lists its leaves.
    """

    def pages(ids: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        full = len(ids) - len(ids) % page_size
        return tuple(tuple(ids[i : i + page_size]) for i in range(0, full, page_size))

    prompts = [pages(r.prompt) for r in requests]
    wholes = [pages([*r.prompt, *r.output[:-1]]) for r in requests]
    distinct = sorted({path for path in (*prompts, *wholes) if path})
    trie, ends = TokenTrie.from_sequences(distinct)
    end = {(): ROOT, **dict(zip(distinct, ends, strict=True))}
    return trie, [
        _Paged(end[prompt], end[whole], len(r.prompt), len(r.output))
        for prompt, whole, r in zip(prompts, wholes, requests, strict=True)
    ]


class ServerCache(PrefixCache):
    """The cache of a server, in pages.

    Parameters
    ----------
    trie : TokenTrie
        The pages (`page_trie`).
    capacity : int
        Tokens of the memory pool.
    eviction : str
        The eviction policy of the worker.
    page_size : int
        Tokens a page.
    seed : int
        The seed of the worker.
    chunk : int
        Tokens of a prefill chunk, rounded down to whole pages.
    overlap : bool
        Whether a step is scheduled while the one before is computed.

    Notes
    -----
    SGLang has two trees. In the server's, ``UnifiedRadixCache``, both parts of a split node keep
    the time of creation; the older ``RadixCache`` gives the upper part a new one, as
    `theory.eviction.fifo` does. `inherits_creation` chooses.
    """

    inherits_creation = True

    def __init__(
        self,
        trie: TokenTrie,
        capacity: int,
        eviction: str = "lru",
        *,
        page_size: int = 1,
        seed: int = 0,
        chunk: int = 8192,
        overlap: bool = True,
    ) -> None:
        super().__init__(trie, capacity // page_size, policy_of(eviction, seed))
        self.page_size = page_size
        self.chunk = chunk // page_size * page_size
        self.overlap = overlap

    def request(self, request: _Paged) -> int:
        """Serve one request from match to end; the tokens that it found cached."""
        size = self.page_size
        path = self.trie.path(request.prompt) if request.prompt != ROOT else ()
        known = sum(page in self._cached for page in path)
        matched = min(known, (request.length - 1) // size)
        spare = 1 if size > 1 else 0
        early = self.overlap and request.answer > 1  # the first token of the output
        done = matched * size
        inserted: tuple[int, ...] = ()
        while done < request.length:
            held = done // size
            done = min(done + self.chunk, request.length)
            self._read(path[:held], -(-done // size) - held + spare)
            if early and done == request.length:
                self._read(path[:held], -(-done // size) + 1 - held)
            if done >= size:
                self._insert(path[done // size - 1], counted=inserted)
                inserted = path[: done // size]
        for computed in range(request.length + early, request.length + request.answer - 1):
            self._read(path, -(-computed // size) + 1 - len(path))
        if request.whole != request.prompt:
            self._insert(request.whole, counted=path)
        return matched * size

    def _read(self, path: tuple[int, ...], units: int) -> None:
        """Lock `path`, which is cached, and evict until `units` more are free.

        A policy is told of a step without a query: nothing is inserted or counted. The units
        that the request holds outside the tree lessen the capacity as long as it is served.
        """
        whole, self.capacity = self.capacity, self.capacity - units
        if self.capacity < len(path):
            raise InputError(
                f"a request needs {len(path) + units} units of {whole}",
                where=f"step {self.steps}",
                fix="raise the capacity of the worker",
            )
        self._locked = frozenset(path)
        split = self._split(path[-1:], self._locked) if path and self._whole_nodes else ((), ())
        step = Step(self.steps, (), path, path, (), *split)
        self._open = step, [], ()
        self.policy.on_step(step)
        while self.excess > 0:
            self.evict(self.policy.choose(self.leaves()))
        self.finish()
        self.capacity = whole

    def _insert(self, end: int, counted: Iterable[int] = ()) -> None:
        """Insert the path to `end`, for which there is room; `counted` was counted before."""
        self.serve([end])
        if isinstance(self.policy, LFU):
            for page in counted:
                self.policy.uses[page] -= 1

    def _split(
        self, queries: Sequence[int], locked: frozenset[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        rests, cuts = super()._split(queries, locked)
        return rests, () if self.inherits_creation else cuts


def predict(
    requests: Sequence[Request],
    capacity: int,
    eviction: str = "lru",
    *,
    page_size: int = 1,
    seed: int = 0,
    chunk: int = 8192,
    overlap: bool = True,
) -> list[int]:
    """The ``cached_tokens`` that a worker reports for each of the requests it serves one by one.

    Examples
    --------
    >>> predict([Request([5, 6, 7], [1]), Request([5, 6, 7], [1]), Request([5, 8], [1])], 64)
    [0, 2, 1]
    """
    trie, paged = page_trie(requests, page_size)
    cache = ServerCache(
        trie, capacity, eviction, page_size=page_size, seed=seed, chunk=chunk, overlap=overlap
    )
    return [cache.request(request) for request in paged]
