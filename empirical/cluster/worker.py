"""A worker: continuous batching, chunked prefill, and one memory for queries and prefixes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from empirical.cluster.cache import BlockCache
from empirical.cluster.profiles import Profile
from theory.errors import InputError

__all__ = ["SCHEDULERS", "Batching", "Ended", "Query", "Worker"]

SCHEDULERS = ("prefill-first", "mixed")
"""Prefill alone while there is any (SGLang 0.4.6), or prefill and decode in one iteration."""


@dataclass(frozen=True)
class Batching:
    """How a worker batches.

    Attributes
    ----------
    scheduler : {"prefill-first", "mixed"}
        See `SCHEDULERS`.
    chunk : int
        The most prompt tokens of an iteration; a longer prompt is computed in several.
    max_running : int
        The most queries that run at a time.
    reserve : float
        The share of the tokens still to be decoded for which an admission leaves room.
    """

    scheduler: str = "prefill-first"
    chunk: int = 8192
    max_running: int = 256
    reserve: float = 0.7

    def __post_init__(self) -> None:
        if self.scheduler not in SCHEDULERS:
            raise InputError(f"the scheduler can be {' or '.join(SCHEDULERS)}")
        for name in ("chunk", "max_running"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)} is not positive")
        if not 0 <= self.reserve <= 1:
            raise InputError(f"reserve={self.reserve!r} is not in [0, 1]")


class Query:
    """A query on a worker.

    Parameters
    ----------
    row : int
        Its number.
    path : sequence of int
        The blocks of the prompt.
    length, output : int
        Tokens of the prompt and of the answer.
    answer : sequence of int
        The full blocks that the answer adds below those of the prompt.

    Attributes
    ----------
    hits : int
        Prompt tokens found cached at the first admission.
    recomputed : int
        Tokens computed again after a retraction.
    computed : int
        Tokens at the start of prompt and answer that have their KV entries.
    cached : int
        Tokens found cached at the last admission.
    held : int
        Blocks of the path that are held in the cache.
    private : int
        Private blocks.
    generated : int
        Tokens of the answer so far.
    """

    __slots__ = (
        "answer",
        "cached",
        "computed",
        "generated",
        "held",
        "hits",
        "length",
        "output",
        "path",
        "private",
        "recomputed",
        "row",
    )

    def __init__(
        self,
        row: int,
        path: Sequence[int],
        length: int,
        output: int,
        answer: Sequence[int] = (),
    ) -> None:
        self.row, self.path, self.length, self.output = row, path, length, output
        self.answer = answer
        self.hits = -1
        self.recomputed = self.computed = self.cached = 0
        self.held = self.private = self.generated = 0

    @property
    def target(self) -> int:
        """The tokens to compute before the next one of the answer comes out."""
        return self.length + self.generated


class Ended(NamedTuple):
    """What an iteration brought.

    Attributes
    ----------
    started : list of Query
        With their first token.
    finished : list of Query
        With their last one.
    """

    started: list[Query]
    finished: list[Query]


class Worker:
    """A worker of the cluster; it is told the time by iterations that begin and end.

    Queries are admitted in order of arrival. A query is admitted if its missing blocks, and the
    reserve for what is being decoded, are free or evictable; alone it always is. If a decode finds
    no room, queries are retracted, those with the shortest answers so far first (then the longest
    prompts, then the latest): they go back to the head of the queue and keep their answers.

    Parameters
    ----------
    cache : BlockCache
        Its memory.
    profile : Profile
        Its speed.
    block_size : int
        Tokens a block.
    batching : Batching
        Its scheduler.
    """

    def __init__(
        self, cache: BlockCache, profile: Profile, block_size: int, batching: Batching
    ) -> None:
        self.cache, self.profile = cache, profile
        self.block_size, self.batching = block_size, batching
        self.waiting: deque[Query] = deque()
        self.prefilling: list[Query] = []
        self.decoding: list[Query] = []
        self.busy_ms = 0.0
        self.iterations = self.retractions = self.served = 0
        self._plan: tuple[list[tuple[Query, int]], list[Query]] | None = None

    def start(self) -> float | None:
        """Begin an iteration; how long it takes in ms, or None if there is nothing to do."""
        mixed = self.batching.scheduler == "mixed"
        decoding = self._room_to_decode() if mixed else []
        parts, found = self._prefill(self.batching.chunk - len(decoding))
        if not mixed and not parts:
            decoding = self._room_to_decode()
            if not decoding:  # all were retracted
                parts, found = self._prefill(self.batching.chunk)
        if not parts and not decoding:
            return None
        self._plan = parts, decoding
        time = self.profile.iteration(
            sum(tokens for _, tokens in parts),
            found,
            len(decoding),
            sum(query.target for query in decoding),
        )
        self.busy_ms += time
        self.iterations += 1
        return time

    def finish(self) -> Ended:
        """End the iteration."""
        assert self._plan is not None
        (parts, decoding), self._plan = self._plan, None
        ended = Ended([], [])
        for query, tokens in parts:
            query.computed += tokens
            whole = query.computed >= query.length
            stop = len(query.path) if whole else query.computed // self.block_size
            if stop > query.held:
                self.cache.commit(query.path, query.held, stop)
                query.private -= stop - query.held
                query.held = stop
            if query.computed == query.target:
                self.prefilling.remove(query)
                if not query.generated:
                    ended.started.append(query)
                self._advance(query, ended)
        newcomers = self.decoding[len(decoding) :]
        self.decoding = []
        for query in decoding:
            query.computed += 1
            self._advance(query, ended)
        self.decoding += newcomers
        return ended

    def _advance(self, query: Query, ended: Ended) -> None:
        """A token of the answer comes out."""
        query.generated += 1
        if query.generated < query.output:
            self.decoding.append(query)
            return
        if query.answer:
            # The partial last block of the prompt stays beside the full one that the answer makes.
            above = len(query.path) - 1 if query.length % self.block_size else len(query.path)
            whole = [*query.path[:above], *query.answer[: query.private]]
            self.cache.commit(whole, above, len(whole))
            query.private -= len(whole) - above
            self.cache.release(query.path, query.private)
            self.cache.release(whole[above:], 0)
        else:
            self.cache.release(query.path, query.private)
        self.served += 1
        ended.finished.append(query)

    def _prefill(self, budget: int) -> tuple[list[tuple[Query, int]], int]:
        """What to compute in this iteration; and the tokens newly found cached."""
        parts: list[tuple[Query, int]] = []
        found = 0
        for query in self.prefilling:
            if budget <= 0:
                break
            tokens = min(budget, query.target - query.computed)
            parts.append((query, tokens))
            budget -= tokens
        while budget > 0 and self.waiting and self._admit(self.waiting[0]):
            query = self.waiting.popleft()
            self.prefilling.append(query)
            found += query.cached
            tokens = min(budget, query.target - query.computed)
            parts.append((query, tokens))
            budget -= tokens
        return parts, found

    def _admit(self, query: Query) -> bool:
        running = [*self.prefilling, *self.decoding]
        if len(running) >= self.batching.max_running:
            return False
        spare = 0
        if running:
            left = query.output - query.generated
            left += sum(other.output - other.generated for other in running)
            spare = self._blocks(int(self.batching.reserve * left))
        extra = self._blocks(query.target) - len(query.path)
        matched = self.cache.admit(query.path, extra, spare)
        if matched is None:
            return False
        # At least the last token is computed: from it comes the next one.
        query.cached = min(matched * self.block_size, query.length, query.target - 1)
        query.computed = query.cached
        query.held, query.private = matched, len(query.path) - matched + extra
        if query.hits < 0:
            query.hits = query.cached
        else:
            query.recomputed += query.target - query.cached
        return True

    def _room_to_decode(self) -> list[Query]:
        """Make room for a token of each query that decodes; who is left after retractions."""
        place = 0
        while place < len(self.decoding):
            query = self.decoding[place]
            grown = self._blocks(query.target) - len(query.path) - query.private
            if grown <= 0 or self.cache.grow(grown):
                query.private += max(grown, 0)
                place += 1
                continue
            victim = min(self.decoding, key=lambda q: (q.generated, -q.length, -q.row))
            if self.decoding.index(victim) < place:
                place -= 1
            self._retract(victim)
        return list(self.decoding)

    def _retract(self, query: Query) -> None:
        self.decoding.remove(query)
        self.cache.release(query.path, query.private)
        query.private = query.held = 0
        self.waiting.appendleft(query)
        self.retractions += 1

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self.block_size)
