"""Conversions and summaries of traces."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical.traces.base import Trace
from empirical.traces.convert import from_instance, reblock, shorter_than, summarise
from empirical.traces.mooncake import dumps
from tests.empirical.traces.prompts import Prompt, examples, prompts, trace_of
from tests.theory.strategies import instances
from theory.cache import run
from theory.errors import InputError
from theory.model import Instance


@examples()
@given(prompts(), st.integers(1, 4), st.integers(1, 6))
def test_reblocking_single_tokens_gives_the_blocks(
    found: list[Prompt], block_size: int, other: int
) -> None:
    tokens = trace_of(found, 1)  # one token a block: everything is known
    assert dumps(reblock(tokens, block_size)) == dumps(trace_of(found, block_size))
    # Larger blocks of whole blocks lose nothing on the way.
    assert dumps(reblock(trace_of(found, block_size), block_size)) == dumps(
        trace_of(found, block_size)
    )
    again = reblock(trace_of(found, block_size), other)
    assert again.input_length.tolist() == [len(prompt) for prompt in found]


@examples(40)
@given(instances())
def test_an_instance_of_single_queries_stays_itself(instance: Instance) -> None:
    single = Instance(
        instance.trie, instance.capacity, [[q] for step in instance.steps for q in step]
    )
    trace = from_instance(single)
    assert trace.blocks.tolist() == [single.trie.depth(q) for (q,) in single.steps]
    again = trace.instance(single.capacity)
    for policy in ("leaf-lru", "fifo"):
        assert run(again, policy).hits == run(single, policy).hits


def test_batches_become_equal_times() -> None:
    trie = Instance.from_json({"capacity": 3, "parents": [-1, 0, 0], "steps": [[1, 2], [0]]})
    trace = from_instance(trie)
    assert trace.timestamp.tolist() == [0, 0, 1]
    assert trace.name == "instance"


@examples()
@given(prompts(), st.integers(1, 4))
def test_the_summary_is_counted_by_hand(found: list[Prompt], block_size: int) -> None:
    told = summarise(trace_of(found, block_size))
    seen: set[Prompt] = set()
    blocks, hits, per_row = 0, 0, []
    for prompt in found:
        names = [prompt[: s + block_size] for s in range(0, len(prompt), block_size)]
        known = sum(len(n) - s for s, n in zip(range(0, len(prompt), block_size), names,
                                               strict=True) if n in seen)  # fmt: skip
        per_row.append((known, len(prompt)))
        seen.update(names)
        blocks += len(names)
        hits += known
    assert (told.requests, told.blocks, told.distinct_blocks) == (len(found), blocks, len(seen))
    assert told.reuse == pytest.approx(1 - len(seen) / blocks)
    for window, rows in (("all", per_row), ("last_half", per_row[len(per_row) // 2 :])):
        rate = sum(h for h, _ in rows) / sum(t for _, t in rows)
        assert told.infinite_hit_rate[window] == pytest.approx(rate)
    lengths = sorted(map(len, found))
    assert told.input_length["min"] == lengths[0]
    assert told.input_length["max"] == lengths[-1]
    assert told.input_length["mean"] == pytest.approx(sum(lengths) / len(lengths))
    assert told.input_length["p50"] == lengths[-(-len(lengths) // 2) - 1]
    assert (told.u, told.longest) == (-(-lengths[0] // block_size), -(-lengths[-1] // block_size))


def test_sessions_are_counted_and_optional() -> None:
    given_ = [[1], [2], [3]], [0, 1, 1], [1, 1, 1], [1, 1, 1]
    assert summarise(Trace.from_hash_ids(*given_)).sessions is None
    told = summarise(Trace.from_hash_ids(*given_, session=["a", "b", "a"]))
    assert (told.sessions, told.distinct_timestamps, told.span_s) == (2, 2, 0.001)
    assert asdict(told)["name"] == ""


def test_dropping_long_prompts() -> None:
    trace = Trace.from_hash_ids([[1, 2], [3]], [0, 1], [600, 60], [1, 1])
    assert shorter_than(trace, 600).input_length.tolist() == [600, 60]
    assert shorter_than(trace, 599).parent.tolist() == [-1]
    with pytest.raises(InputError, match="no prompt has at most 59 tokens; the shortest has 60"):
        shorter_than(trace, 59)


def test_too_many_blocks_are_refused_at_once() -> None:
    trace = Trace.from_hash_ids([[1, 2]], [0], [30_000_000], [1], block_size=15_000_000)
    with pytest.raises(InputError, match="blocks of 1 tokens would make 30,000,000 ids, more than"):
        reblock(trace, 1)
    assert len(reblock(trace, 1_000_000).parent) == 30
