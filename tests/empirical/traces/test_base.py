"""A trace's arrays, units and steps against the token sequences that it was made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical.traces.base import Trace
from empirical.traces.steps import TraceSteps, units_of, whole_pages
from tests.empirical.traces.prompts import Prompt, examples, prompts, trace_of
from theory.cache import run
from theory.errors import CapacityError, InadmissibleStepError, InputError
from theory.model import Instance, split_step
from theory.trie import ROOT, TokenTrie

SMALL = Trace.from_hash_ids([[7, 8], [7, 9], [7]], [0, 1, 2], [10, 9, 8], [1, 1, 1], block_size=8)


def names(found: list[Prompt], size: int, partial: str = "keep") -> list[list[Prompt]]:
    """The units of each prompt: full pages by their tokens, partial ones by prompt and end."""
    rows = []
    for prompt in found:
        whole = len(prompt) // size * size
        row = [prompt[:end] for end in range(size, whole + 1, size)]
        if whole < len(prompt) and partial == "keep":
            row.append((*prompt, -1))  # no full page has this name
        rows.append(row)
    return rows


def paths(steps: TraceSteps) -> list[list[int]]:
    """The units of each row, top first."""
    flat = steps.flat.expanded()
    parent = flat.parent.tolist()
    rows = []
    ends = iter(flat.query.tolist())
    for depth in steps.units.depth.tolist():
        row: list[int] = []
        node = next(ends) if depth else ROOT
        while node != ROOT:
            row.append(node)
            node = parent[node]
        assert len(row) == depth
        rows.append(row[::-1])
    return rows


def sharing(rows: list[list[object]]) -> list[list[int]]:
    """For every two rows, how many leading units they share: what the numbers mean."""
    return [
        [sum(a == b for a, b in zip(one, other, strict=False)) for other in rows] for one in rows
    ]


@examples()
@given(prompts(), st.integers(1, 5), st.booleans())
def test_arrays_tell_the_prompts(found: list[Prompt], block_size: int, exact: bool) -> None:
    trace = trace_of(found, block_size, exact)
    assert trace.blocks.tolist() == [-(-len(prompt) // block_size) for prompt in found]
    assert [len(trace.hash_ids(row)) for row in range(len(trace))] == trace.blocks.tolist()
    assert (trace.parent < np.arange(len(trace.parent))).all()
    if exact:
        wanted = [
            [prompt[: start + block_size] for start in range(0, len(prompt), block_size)]
            for prompt in found
        ]
        rows = [trace.hash_ids(row) for row in range(len(trace))]
        assert sharing(rows) == sharing(wanted)  # type: ignore[arg-type]
    # Numbered by first appearance: each prompt's new blocks are the next numbers.
    seen: set[int] = set()
    for row in range(len(trace)):
        fresh = [block for block in trace.hash_ids(row) if block not in seen]
        assert fresh == list(range(len(seen), len(seen) + len(fresh)))
        assert trace.new_blocks[row] == len(fresh)
        seen.update(fresh)


@examples()
@given(
    prompts(),
    st.integers(1, 5),
    st.integers(1, 7),
    st.sampled_from(["keep", "drop"]),
    st.booleans(),
)
def test_pages_are_those_of_the_tokens(
    found: list[Prompt], block_size: int, page_size: int, partial: str, exact: bool
) -> None:
    trace = trace_of(found, block_size, exact)
    # Two partial blocks are different blocks, whatever their tokens: the trace knows no more.
    found = [
        tuple(
            block * block_size + offset
            for place, block in enumerate(trace.hash_ids(row))
            for offset in range(min(block_size, len(prompt) - place * block_size))
        )
        for row, prompt in enumerate(found)
    ]
    steps = trace.steps(unit="token", page_size=page_size, partial=partial)  # type: ignore[arg-type]
    if not steps.units.depth.any():
        with pytest.raises(InputError, match="no prompt fills a page"):
            _ = steps.flat
        return
    assert sharing(paths(steps)) == sharing(names(found, page_size, partial))  # type: ignore[arg-type]
    assert steps.size == len({n for row in names(found, page_size, partial) for n in row})


@examples()
@given(prompts(), st.integers(1, 5), st.integers(1, 4), st.sampled_from(["keep", "drop"]))
def test_pages_equal_those_of_the_token_trie(
    found: list[Prompt], block_size: int, page_size: int, partial: str
) -> None:
    """The same numbers as `TokenTrie.paged`, from the trie with one run a block."""
    trace = trace_of(found, block_size)
    last = np.cumsum(trace.fill) - 1
    above = [ROOT if p == ROOT else int(last[p]) for p in trace.parent.tolist()]
    trie = TokenTrie.from_segments(zip(above, trace.fill.tolist(), strict=True))
    ends = last[trace.last].tolist()
    pages = trie.paged(ends, page_size, partial)
    units = units_of(
        trace.parent,
        trace.fill,
        trace.last,
        trace.input_length,
        page_size=page_size,
        partial=partial,  # type: ignore[arg-type]
    )
    unit_last = np.cumsum(units.length) - 1
    assert sum(units.length.tolist()) == len(pages.trie)
    assert [ROOT if end == ROOT else int(unit_last[end]) for end in units.end.tolist()] == [
        pages.end.get(end, ROOT) for end in ends
    ]
    attach = [ROOT if p == ROOT else int(unit_last[p]) for p in units.parent.tolist()]
    if pages.end:
        assert (
            TokenTrie.from_segments(zip(attach, units.length.tolist(), strict=True)).parents()
            == pages.trie.parents()
        )


@examples()
@given(prompts(), st.integers(1, 5), st.integers(1, 3), st.integers(0, 4), st.booleans())
def test_hit_tokens_are_counted_by_hand(
    found: list[Prompt], block_size: int, page_size: int, spare: int, in_tokens: bool
) -> None:
    """The executable cache says which units hit; every token of them counts, and no other."""
    trace = trace_of(found, block_size, exact=in_tokens)
    unit = "token" if in_tokens else "block"
    steps = trace.steps(unit=unit, page_size=page_size)  # type: ignore[arg-type]
    capacity = int(steps.units.depth.max()) + spare
    result = run(steps.instance(capacity), "leaf-lru")
    misses = np.array([len(step.misses) for step in result.steps])
    per_unit = page_size * (1 if in_tokens else block_size)
    wanted, rematched = [], []
    for prompt, step in zip(found, result.steps, strict=True):
        position = [len(step.hits)] * len(prompt)
        hits = sum(place // per_unit < hit for place, hit in enumerate(position))
        wanted.append(hits)
        capped = len(step.hits) - (not step.misses)  # the last unit is computed again
        rematched.append(sum(place // per_unit < capped for place in range(len(prompt))))
    assert steps.hit_tokens(misses).tolist() == wanted
    assert steps.hit_tokens(misses, "all-but-last").tolist() == rematched
    assert steps.prompt_tokens.tolist() == [len(prompt) for prompt in found]


@examples()
@given(prompts(), st.integers(1, 5), st.integers(2, 4), st.integers(0, 4))
def test_batches_are_steps_of_the_model(
    found: list[Prompt], block_size: int, batch: int, spare: int
) -> None:
    trace = trace_of(found, block_size)
    single = trace.steps().instance(1 << 20)
    rows = [step[0] for step in single.steps]
    batches = [rows[start : start + batch] for start in range(0, len(rows), batch)]
    steps = trace.steps(batch=batch)
    capacity = int(trace.blocks.max()) + spare
    split = Instance(single.trie, capacity, batches, overflow="split")
    fitted = steps.fit(capacity, "split")
    assert fitted.instance(capacity).steps == split.steps
    assert fitted.row_start.tolist()[-1] == len(rows)
    try:
        model = Instance(single.trie, capacity, batches)
    except InadmissibleStepError as error:
        with pytest.raises(InadmissibleStepError) as caught:
            steps.fit(capacity)
        assert (caught.value.step, caught.value.footprint) == (error.step, error.footprint)
    else:
        assert steps.fit(capacity).instance(capacity).steps == model.steps
    # A unit is computed once for a batch, and counted whole.
    result = run(split, "leaf-lru")
    misses = np.array([len(step.misses) for step in result.steps])
    computed = fitted.prompt_tokens - fitted.hit_tokens(misses)
    assert computed.tolist() == (block_size * misses).tolist()


def test_split_is_that_of_the_model() -> None:
    steps = SMALL.steps(batch=3).fit(2, "split")
    assert [list(step) for step in steps.instance(2).steps] == [
        list(part) for part in split_step(SMALL.trie, (1, 2, 0), 2)
    ]


def test_requests_are_sorted_by_time_and_stay_in_order_at_equal_times() -> None:
    trace = Trace.from_hash_ids(
        [[1], [2], [3], [4]], [5, 0, 5, 0], [1, 2, 3, 4], [1] * 4, session=list("abcd")
    )
    assert trace.input_length.tolist() == [2, 4, 1, 3]
    assert trace.line.tolist() == [2, 4, 1, 3]
    assert trace.session == ["b", "d", "a", "c"]


def test_windows() -> None:
    trace = Trace.from_hash_ids([[n] for n in range(5)], range(5), [1] * 5, [1] * 5)
    assert trace.steps().window("last-half").tolist() == [False, False, True, True, True]
    assert trace.steps().window("all").all()
    # A batch that begins before the window is not in it.
    assert trace.steps(batch=2).window("last-half").tolist() == [False, True, True]
    with pytest.raises(InputError, match="window can be"):
        trace.steps().window("first-half")  # type: ignore[arg-type]


def test_units_and_capacities() -> None:
    assert SMALL.instance(16, unit="token", page_size=8).capacity == 2
    assert SMALL.instance(3).u == 1
    assert SMALL.steps(unit="token").size == 8 + 2 + 1
    assert whole_pages(17, 8) == 2
    with pytest.raises(CapacityError, match="7 holds no page of 8; give at least 8"):
        whole_pages(7, 8)
    with pytest.raises(CapacityError):
        SMALL.instance(0)


@examples(40)
@given(prompts(), st.integers(1, 5), st.integers(1, 2))
def test_partial_blocks_can_be_dropped(
    found: list[Prompt], block_size: int, page_size: int
) -> None:
    """As in SGLang and vLLM: whole blocks only, whatever the capacity counts."""
    trace = trace_of(found, block_size)
    steps = trace.steps(page_size=page_size, partial="drop")
    assert steps.units.depth.tolist() == [len(p) // (block_size * page_size) for p in found]
    if steps.units.depth.any():
        wanted = names(found, block_size * page_size, "drop")
        assert sharing(paths(steps)) == sharing(wanted)  # type: ignore[arg-type]
        nothing = np.zeros(len(steps.served), dtype=np.int64)
        hits = steps.units.depth * block_size * page_size
        assert steps.hit_tokens(nothing).tolist() == hits.tolist()
        whole = np.array([len(p) for p in found]) == hits
        again = hits - whole * (hits > 0) * block_size * page_size
        assert steps.hit_tokens(nothing, "all-but-last").tolist() == again.tolist()


def test_select_renumbers() -> None:
    part = SMALL.select([1, 2])
    assert (part.parent.tolist(), part.line.tolist()) == ([ROOT, 0], [2, 3])
    assert SMALL.select(np.array([True, False, False])).input_length.tolist() == [10]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SMALL.steps(unit="page"), "unit can be"),
        (lambda: SMALL.steps(page_size=0), "page size 0 is not"),
        (lambda: SMALL.steps(batch=0), "batch size 0 is not"),
        (lambda: SMALL.steps(partial="half"), "partial pages can be"),
        (lambda: SMALL.steps().fit(5, "drop"), "overflow can be"),
        (lambda: SMALL.steps(batch=2).hit_tokens(np.array([1, 1]), "all-but-last"), "single req"),
        (lambda: Trace.from_hash_ids([], [], [], []), "no request"),
        (lambda: Trace.from_hash_ids([[1]], [0], [1], [1], block_size=0), "block size 0"),
    ],
)
def test_wrong_arguments(call: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()  # type: ignore[operator]


def test_a_prompt_that_is_too_long_names_its_line() -> None:
    with pytest.raises(InadmissibleStepError) as caught:
        SMALL.instance(1)
    assert str(caught.value) == (
        "sequence, line 1: its footprint of 2 blocks exceeds the capacity 1; "
        "raise the capacity to at least 2"
    )
    with pytest.raises(InadmissibleStepError, match="2 pages exceeds the capacity 1"):
        SMALL.instance(9, unit="token", page_size=5)


def test_a_batch_that_is_too_large_says_how_to_split_it() -> None:
    with pytest.raises(InadmissibleStepError) as caught:
        SMALL.steps(batch=3).fit(2)
    assert caught.value.footprint == 3
    assert "--overflow split" in str(caught.value)
