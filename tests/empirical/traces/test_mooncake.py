"""The Mooncake loader: every check names file and line, and a written trace reads back."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical.traces.mooncake import dump, dumps, load
from tests.empirical.traces.prompts import Prompt, examples, prompts, trace_of
from theory.errors import InputError

ROW: dict[str, Any] = {
    "timestamp": 0,
    "input_length": 600,
    "output_length": 5,
    "hash_ids": [7, 8],
}


def write(folder: Path, *rows: dict[str, Any] | str, name: str = "t.jsonl") -> Path:
    path = folder / name
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ('{"timestamp": 0, "input', "is not valid JSON"),
        ("[1, 2]", "is not a JSON object; write one request a line"),
        ("3", "is not a JSON object"),
        *[
            ({key: value for key, value in ROW.items() if key != field}, f"has no field '{field}'")
            for field in ROW
        ],
        ({**ROW, "timestamp": "0"}, "timestamp '0' is not a number of ms"),
        ({**ROW, "timestamp": True}, "timestamp True is not a number of ms"),
        ({**ROW, "timestamp": None}, "timestamp None is not a number of ms"),
        ({**ROW, "input_length": 0}, "input_length 0 is not a positive whole number"),
        ({**ROW, "input_length": -600}, "input_length -600 is not a positive whole number"),
        ({**ROW, "input_length": 600.0}, "input_length 600.0 is not a positive whole number"),
        ({**ROW, "input_length": 2**63}, f"input_length {2**63} is not a positive whole number"),
        ({**ROW, "output_length": 0}, "output_length 0 is not a positive whole number"),
        ({**ROW, "output_length": "5"}, "output_length '5' is not a positive whole number"),
        ({**ROW, "block_size": 0}, "block_size 0 is not a positive whole number"),
        ({**ROW, "block_size": 300}, "block_size 300 differs from 512 in line 1"),
        ({**ROW, "hash_ids": 7}, "hash_ids is a int, not a list"),
        ({**ROW, "hash_ids": [7, "8"]}, "hash id '8' is not a whole number >= 0"),
        ({**ROW, "hash_ids": [7, 8.0]}, "hash id 8.0 is not a whole number >= 0"),
        ({**ROW, "hash_ids": [7, True]}, "hash id True is not a whole number >= 0"),
        ({**ROW, "hash_ids": [7, -8]}, "hash id -8 is not a whole number >= 0"),
        ({**ROW, "session_id": [1]}, "session_id [1] is not a string"),
        (
            {**ROW, "hash_ids": [7]},
            "has 1 hash_ids, but input_length 600 makes 2 blocks of 512 tokens; "
            "give one id per block, or the right block_size",
        ),
        ({**ROW, "hash_ids": [7, 8, 9]}, "has 3 hash_ids, but input_length 600 makes 2 blocks"),
        ({**ROW, "hash_ids": []}, "has 0 hash_ids, but input_length 600 makes 2 blocks"),
        ({**ROW, "hash_ids": [9, 9]}, "hash id 9 occurs twice in the request"),
        (
            {**ROW, "hash_ids": [9, 8]},
            "hash id 8 follows 9 here and follows 7 in line 1; "
            "ids must be global: one id for a block together with its whole prefix",
        ),
        ({**ROW, "hash_ids": [8, 9]}, "hash id 8 opens the prompt here and follows 7 in line 1"),
        ({**ROW, "hash_ids": [9, 7]}, "hash id 7 follows 9 here and opens the prompt in line 1"),
    ],
)
def test_every_check_names_the_line(
    tmp_path: Path, second: dict[str, Any] | str, message: str
) -> None:
    path = write(tmp_path, ROW, second, ROW)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:2: {message}")
    assert "\n" not in str(caught.value)


def test_the_line_is_that_of_the_file_whatever_the_order_of_time(tmp_path: Path) -> None:
    late = {**ROW, "timestamp": 9, "hash_ids": [9, 8]}
    path = write(tmp_path, late, "", ROW)  # the row at fault is the later one, in line 1
    with pytest.raises(InputError, match=rf"{path}:1: hash id 8 follows 9 here and .* in line 3"):
        load(path)


def test_a_last_line_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + json.dumps(ROW)[:-9])
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:2: the last line is cut off")
    path.write_text(json.dumps(ROW) + "\n" + json.dumps(ROW))  # only the newline is missing
    assert len(load(path)) == 2


@pytest.mark.parametrize("content", ["", "\n\n  \n"])
def test_an_empty_trace(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value) == f"{path}: the trace has no request; give at least one row"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.jsonl: cannot be read \(No such file"):
        load(tmp_path / "missing.jsonl")
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        load(tmp_path)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"timestamp": "\xff\xfe"}\n')
    with pytest.raises(InputError, match=r"t\.jsonl:1: is not valid JSON"):
        load(path)


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    raw = json.dumps(ROW).encode() + b"\n"
    for name in ("t.jsonl.gz", "t.jsonl"):
        (tmp_path / name).write_bytes(gzip.compress(raw))
        trace = load(tmp_path / name)
        assert (trace.name, trace.input_length.tolist()) == ("t", [600])


@pytest.mark.parametrize("keep", [3, 12, -9])
def test_gzip_that_is_cut_off(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(ROW).encode())[:keep])
    with pytest.raises(InputError, match=r"t\.jsonl\.gz: the gzip data is damaged or cut off"):
        load(path)


def test_optional_fields(tmp_path: Path) -> None:
    small = {**ROW, "input_length": 20, "block_size": 16, "timestamp": 1.5}
    trace = load(write(tmp_path, {**small, "session_id": "a"}, small, {**small, "session_id": 3}))
    assert (trace.block_size, trace.session) == (16, ["a", "", "3"])
    assert trace.timestamp.tolist() == [1.5] * 3
    assert load(write(tmp_path, ROW)).session is None
    assert load(write(tmp_path, ROW), name="mine").name == "mine"


def test_limit_reads_no_further(tmp_path: Path) -> None:
    path = write(tmp_path, ROW, {**ROW, "timestamp": 5}, "broken")
    assert len(load(path, limit=2)) == 2
    with pytest.raises(InputError, match="jsonl:3"):
        load(path, limit=3)


def test_ids_of_64_bits(tmp_path: Path) -> None:
    trace = load(write(tmp_path, {**ROW, "hash_ids": [2**64 - 1, 2**63]}, ROW))
    assert trace.parent.tolist() == [-1, 0, -1, 2]


def test_a_block_that_is_partial_here_and_full_there(tmp_path: Path) -> None:
    longer = {**ROW, "input_length": 1024}
    trace = load(write(tmp_path, ROW, longer, ROW))
    assert (trace.parent.tolist(), trace.fill.tolist()) == ([-1, 0], [512, 512])
    steps = trace.steps()
    assert steps.hit_tokens(trace.new_blocks).tolist() == [0, 1024, 600]
    assert steps.prompt_tokens.tolist() == [600, 1024, 600]


@examples(40)
@given(prompts(), st.integers(1, 5), st.booleans())
def test_a_written_trace_reads_back(found: list[Prompt], block_size: int, exact: bool) -> None:
    import tempfile

    trace = trace_of(found, block_size, exact)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("t.jsonl", "t.jsonl.gz"):
            path = Path(folder) / name
            dump(trace, path)
            again = load(path)
            assert dumps(again) == dumps(trace)
            for field in ("parent", "last", "timestamp", "input_length", "output_length"):
                assert (getattr(again, field) == getattr(trace, field)).all()
            first = path.read_bytes()
            dump(again, path)
            assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("name", "rows", "blocks", "distinct"),
    [
        ("mooncake_conversation_trace", 12_031, 288_500, 182_790),
        ("mooncake_synthetic_trace", 3_993, 121_877, 43_924),
        ("claude_code_agentic_sample", 442, 523_634, 33_683),
    ],
)
def test_the_public_traces(traces: Path, name: str, rows: int, blocks: int, distinct: int) -> None:
    trace = load(traces / f"{name}.jsonl")
    assert (len(trace), int(trace.blocks.sum()), len(trace.parent)) == (rows, blocks, distinct)
    assert (trace.timestamp[1:] >= trace.timestamp[:-1]).all()
    raw = [json.loads(line) for line in (traces / f"{name}.jsonl").open()]
    for row in range(0, rows, 97):  # the ids, up to their names
        assert len(trace.hash_ids(row)) == len(raw[row]["hash_ids"])
    names = {}
    for row in range(0, rows, 7):
        names.update(zip(trace.hash_ids(row), raw[row]["hash_ids"], strict=True))
    assert len(set(names.values())) == len(names)
