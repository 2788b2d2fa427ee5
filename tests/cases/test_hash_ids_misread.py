"""Ids that are local to a conversation, taken as global, make hits that never were.

An id names a block with its whole prefix, so it has one predecessor. A trace in which it has two is
refused, with both lines.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from empirical.traces.base import Trace
from empirical.traces.mooncake import load
from tests.cli.command import call, fails
from theory.errors import InputError


def rows(*prompts: list[int]) -> str:
    return "".join(
        json.dumps(
            {
                "timestamp": time,
                "input_length": 512 * len(ids),
                "output_length": 1,
                "hash_ids": ids,
            }
        )
        + "\n"
        for time, ids in enumerate(prompts)
    )


@pytest.mark.parametrize(
    ("prompts", "line", "message"),
    [
        # Two conversations, each numbered from 0: nothing tells them apart until they differ.
        (([0, 1, 2], [0, 2, 1]), 2, "hash id 2 follows 0 here and follows 1 in line 1"),
        # An id for the content of a block alone, without its prefix.
        (([5, 9], [6, 9]), 2, "hash id 9 follows 6 here and follows 5 in line 1"),
        (([5, 9], [7], [9]), 3, "hash id 9 opens the prompt here and follows 5 in line 1"),
        (([9], [5, 9]), 2, "hash id 9 follows 5 here and opens the prompt in line 1"),
        # The same block twice in a row of padding.
        (([5, 0, 0],), 1, "hash id 0 occurs twice in the request"),
    ],
)
def test_refused_with_both_lines(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    prompts: tuple[list[int], ...],
    line: int,
    message: str,
) -> None:
    path = tmp_path / "local.jsonl"
    path.write_text(rows(*prompts))
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{line}: {message}")
    for command in (["ratio", "--capacity", "9", "--trace", path], ["trace", "inspect", path]):
        fails(call(capsys, *command), 2, f"local.jsonl:{line}: {message}")


def test_global_ids_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "global.jsonl"
    path.write_text(rows([0, 1, 2], [0, 1, 3], [4, 5]))
    trace = load(path)
    assert trace.parent.tolist() == [-1, 0, 1, 1, -1, 4]
    assert trace.new_blocks.tolist() == [3, 1, 2]


@pytest.mark.parametrize(("length", "blocks"), [(512, 1), (513, 2), (1024, 2), (1, 1)])
def test_the_number_of_ids_is_checked_at_the_boundaries(length: int, blocks: int) -> None:
    for count in (1, 2, 3):
        ids = [list(range(count))]
        if count == blocks:
            assert Trace.from_hash_ids(ids, [0], [length], [1]).blocks.tolist() == [count]
        else:
            with pytest.raises(
                InputError, match=f"has {count} hash_ids, but input_length {length}"
            ):
                Trace.from_hash_ids(ids, [0], [length], [1])
