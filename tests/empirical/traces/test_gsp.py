"""Generated shared prefixes and the grammar of workloads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from empirical.traces import gsp
from empirical.traces.workload import WORKLOADS, keys, parse
from theory.errors import InputError


def common(left: list[int], right: list[int]) -> int:
    """The number of leading blocks that two prompts share."""
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
                min(len(left), len(right)))  # fmt: skip


def test_the_papers_setting() -> None:
    trace = gsp.generate(seed=1)
    assert len(trace) == 128 * 32
    assert trace.block_size == 64
    counts = Counter(trace.input_length.tolist())
    # 128 groups take 5 lengths in turn: 26, 26, 26, 25 and 25 groups of 32 prompts.
    assert [counts[length] for length in gsp.LENGTHS] == [832, 832, 832, 800, 800]
    assert set(trace.output_length.tolist()) == {4}
    gaps = np.diff(trace.timestamp, prepend=0.0)
    assert abs(gaps.mean() - 1000 / 12) < 4
    assert abs(np.median(gaps) - 1000 / 12 * np.log(2)) < 5  # exponential


@pytest.mark.parametrize(("ratio", "shared"), [(0.0, 0), (0.5, 4), (0.8, 6), (0.99, 7)])
def test_prompts_share_the_whole_blocks_of_the_prefix(ratio: float, shared: int) -> None:
    trace = gsp.generate(2, 3, lengths=[64], ratio=ratio, block=8, order="grouped")
    prompts = [trace.hash_ids(row) for row in range(6)]
    assert all(common(prompts[0], prompts[i]) == shared for i in (1, 2))
    assert all(common(prompts[0], prompts[i]) == 0 for i in (3, 4, 5))
    assert common(prompts[3], prompts[5]) == shared


def test_one_token_is_always_the_prompts_own() -> None:
    trace = gsp.generate(1, 2, lengths=[4], ratio=0.99, block=1)
    assert common(trace.hash_ids(0), trace.hash_ids(1)) == 3


def groups_of(order: str, seed: int = 0) -> list[int]:
    """Which group each request belongs to, told by its length."""
    lengths = [10, 20, 30]
    trace = gsp.generate(3, 4, lengths=lengths, order=order, block=5, seed=seed)
    return [lengths.index(length) for length in trace.input_length.tolist()]


def test_orders() -> None:
    assert groups_of("grouped") == [0] * 4 + [1] * 4 + [2] * 4
    assert groups_of("round-robin") == [0, 1, 2] * 4
    shuffled = groups_of("random", 3)
    assert sorted(shuffled) == groups_of("grouped")
    assert shuffled not in (groups_of("grouped"), groups_of("round-robin"))
    assert groups_of("random", 4) != shuffled == groups_of("random", 3)


def test_lengths_may_be_drawn() -> None:
    trace = gsp.generate(200, 1, draw="random", lengths=[8, 16], block=8)
    counts = Counter(trace.input_length.tolist())
    assert min(counts[8], counts[16]) > 70


def test_scale_and_limits() -> None:
    trace = gsp.generate(5, 2, scale=1 / 16, requests=7)
    assert len(trace) == 7
    assert trace.block_size == 4
    assert set(trace.input_length.tolist()) <= {32, 64, 128, 256, 512}
    assert not gsp.generate(2, 2, rate=float("inf")).timestamp.any()


def test_equal_arguments_give_equal_traces() -> None:
    first, again, other = (gsp.generate(4, 4, seed=seed) for seed in (7, 7, 8))
    assert np.array_equal(first.timestamp, again.timestamp)
    assert np.array_equal(first.last, again.last)
    assert not np.array_equal(first.timestamp, other.timestamp)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"groups": 0}, "groups: 0 is not a positive whole number"),
        ({"prompts": -1}, "prompts: -1 is not"),
        ({"groups": 10**5, "prompts": 10**5}, "prompts are too many"),
        ({"ratio": 1.0}, r"ratio: 1.0 is not in \[0, 1\)"),
        ({"ratio": float("nan")}, "ratio: nan is not"),
        ({"lengths": []}, "lengths: 0 is not"),
        ({"lengths": [5, 0]}, "lengths: 0 is not"),
        ({"order": "worst"}, "order: 'worst' is not one of random, grouped, round-robin"),
        ({"draw": "x"}, "draw: 'x' is not one of cycle, random"),
        ({"rate": 0}, "rate: 0 is not positive"),
        ({"scale": 0.0}, "scale: 0.0 is not a positive number"),
        ({"block": 0}, "block: 0 is not"),
        ({"output": 0}, "output: 0 is not"),
        ({"requests": 0}, "requests: 0 is not"),
    ],
)
def test_a_parameter_out_of_range_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        gsp.generate(**values)


class TestGrammar:
    """kind:key=value,key=value"""

    def test_every_key_reaches_the_generator(self) -> None:
        text = (
            "gsp:groups=3,prompts=2,ratio=1/4,lengths=16+32,draw=cycle,order=grouped,output=9,"
            "rate=2.5,scale=2,block=4,requests=5"
        )
        trace = parse(text, seed=6)
        direct = gsp.generate(
            3, 2, seed=6, ratio=0.25, lengths=[16, 32], order="grouped", output=9, rate=2.5,
            scale=2.0, block=4, requests=5,
        )  # fmt: skip
        assert np.array_equal(trace.timestamp, direct.timestamp)
        assert [trace.hash_ids(i) for i in range(5)] == [direct.hash_ids(i) for i in range(5)]
        assert trace.name == text
        assert set(keys("gsp")) == {part.partition("=")[0] for part in text[4:].split(",")}

    def test_every_kind_has_its_defaults(self) -> None:
        for kind in WORKLOADS:
            assert len(parse(kind)) == len(parse(f"{kind}:"))

    def test_spaces_and_empty_parts_are_fine(self) -> None:
        assert len(parse("gsp: groups = 2 , prompts=2,")) == 4

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("gps", "workload: unknown workload 'gps'; choose from gsp"),
            ("gsp:size=4", "workload gsp: has no key 'size'; choose from groups, prompts, ratio"),
            ("gsp:seed=4", "has no key 'seed'"),
            ("gsp:groups", "workload gsp: 'groups' has no value; write groups=VALUE"),
            ("gsp:groups=2,groups=3", "'groups' is given twice"),
            ("gsp:groups=many", "cannot read groups=many"),
            ("gsp:groups=2.5", "cannot read groups=2.5"),
            ("gsp:ratio=1/0", "cannot read ratio=1/0"),
            ("gsp:lengths=1,2", "has no key '2'"),
            ("gsp:lengths=1+x", r"cannot read lengths=1\+x"),
            ("gsp:ratio=2", "workload gsp: ratio: 2.0 is not in"),
        ],
    )
    def test_what_cannot_be_read_is_one_clear_line(self, text: str, message: str) -> None:
        with pytest.raises(InputError, match=message):
            parse(text)
