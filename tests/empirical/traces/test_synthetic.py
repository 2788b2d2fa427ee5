"""The generator: seeded, valid, and with the sharing that it promises."""

from __future__ import annotations

import numpy as np
import pytest

from empirical.traces.mooncake import dumps
from empirical.traces.synthetic import generate
from theory.errors import InputError


def test_equal_seeds_give_equal_bytes() -> None:
    assert dumps(generate(200, seed=3)) == dumps(generate(200, seed=3))
    assert dumps(generate(200, seed=3)) != dumps(generate(200, seed=4))


def test_sessions_go_on_where_they_were() -> None:
    """Within a session every prompt holds all full blocks of the one before."""
    trace = generate(400, seed=1, block_size=64)
    assert trace.session is not None
    last: dict[str, int] = {}
    continued = 0
    for row, session in enumerate(trace.session):
        if session in last:
            whole = int(trace.input_length[last[session]]) // 64
            assert trace.hash_ids(row)[:whole] == trace.hash_ids(last[session])[:whole]
            assert trace.input_length[row] > trace.input_length[last[session]]
            continued += 1
        last[session] = row
    assert continued > 100


def test_system_prompts_are_shared_among_sessions() -> None:
    one = generate(300, seed=0, systems=1, system_tokens=4096, turns=1.0)
    first = {one.hash_ids(row)[0] for row in range(len(one))}
    assert first == {0}
    many = generate(300, seed=0, systems=8, zipf=2.0, system_tokens=4096, turns=1.0)
    heads = np.array([many.hash_ids(row)[0] for row in range(len(many))])
    _, counts = np.unique(heads, return_counts=True)
    assert 1 < len(counts) <= 8
    assert counts.max() > 0.4 * len(many)  # 1 / zeta(2) = 0.61 of the weight


def test_means_are_near_what_was_asked_for() -> None:
    trace = generate(
        4000, seed=0, turns=1.0, systems=1, system_tokens=1, message_tokens=1000, answer_tokens=100
    )
    assert trace.input_length.mean() == pytest.approx(1001, rel=0.1)
    assert trace.output_length.mean() == pytest.approx(100, rel=0.1)
    span = (trace.timestamp[-1] - trace.timestamp[0]) / 1000
    assert len(trace) / span == pytest.approx(4.0, rel=0.15)


def test_an_infinite_cache_has_misses_only_where_blocks_are_new() -> None:
    trace = generate(500, seed=2)
    assert int(trace.new_blocks.sum()) == len(trace.parent)
    assert trace.new_blocks[0] == trace.blocks[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("requests", 0),
        ("requests", 2.5),
        ("systems", 0),
        ("system_tokens", -1),
        ("message_tokens", 0),
        ("answer_tokens", 0),
        ("block_size", True),
        ("turns", 0.5),
        ("turns", float("nan")),
        ("rate", 0.0),
        ("rate", float("inf")),
        ("think_ms", -1.0),
        ("zipf", -0.1),
        ("zipf", float("nan")),
    ],
)
def test_parameters_out_of_range(field: str, value: float) -> None:
    with pytest.raises(InputError, match=f"^{field}: "):
        generate(**{"requests": 10, field: value})  # type: ignore[arg-type]
