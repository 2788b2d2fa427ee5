"""A hit rate without its denominator: two tools said 0.553 and 0.51 of the same run.

Which tokens are counted makes the difference. Every rate comes with its tokens and its window, and
the rates of two windows are told apart by them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from empirical.ratio import RatioStudy
from empirical.traces.base import Trace
from empirical.traces.mooncake import dump
from tests.cli.command import call

# Four prompts, blocks of 10 tokens: a (8 tokens), then a again, b (20 tokens), and a once more.
TRACE = Trace.from_hash_ids(
    [[0], [0], [1, 2], [0]], [0, 1, 2, 3], [8, 8, 20, 8], [1] * 4, block_size=10, name="four"
)


@pytest.mark.parametrize(
    ("window", "tokens", "hits"),
    [("all", 8 + 8 + 20 + 8, 8 + 8), ("last-half", 20 + 8, 8)],
)
def test_rates_by_hand(window: str, tokens: int, hits: int) -> None:
    row = RatioStudy(TRACE, window=window).row("leaf-lru", 3)  # type: ignore[arg-type]
    assert (row.tokens, row.hits, row.misses) == (tokens, hits, tokens - hits)
    assert row.hit_rate == hits / tokens


def test_other_units_have_other_rates_and_say_so() -> None:
    """Counted in whole blocks instead of tokens the same run has 2 hits of 5, not 16 of 44."""
    row = RatioStudy(TRACE).row("leaf-lru", 3)
    assert row.hit_rate == pytest.approx(16 / 44)
    assert (row.run_misses, row.run_opt_misses) == (3, 3)


@pytest.mark.parametrize("window", ["all", "last-half"])
@pytest.mark.parametrize("output", ["table", "json"])
def test_every_output_names_tokens_and_window(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, window: str, output: str
) -> None:
    path = tmp_path / "four.jsonl"
    dump(TRACE, path)
    options = ["--capacity", "3", "--window", window, "--format", output]
    out = call(capsys, "ratio", "--trace", path, *options).out
    told = {"all": "all of the 4 requests", "last-half": "the last half of the 4 requests"}
    assert f"prompt tokens of {told[window]}" in out
    assert {"all": "44", "last-half": "28"}[window] in out


def test_odd_numbers_of_requests() -> None:
    """The last half of five requests are the last three: index >= 5 // 2."""
    trace = Trace.from_hash_ids([[n] for n in range(5)], range(5), [1, 2, 4, 8, 16], [1] * 5)
    assert RatioStudy(trace, window="last-half").row("leaf-lru", 9).tokens == 4 + 8 + 16
