"""Loaders of text data sets from small files, and their drawn twins."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from empirical.traces import loogle, sharegpt, ultrachat
from empirical.traces.text import splitter
from empirical.traces.workload import parse
from theory.errors import InputError

HELLO = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]
LONG = [*HELLO, {"from": "human", "value": "bye, then"}, {"from": "gpt", "value": "bye"}]


def write(path: Path, value: object) -> str:
    path.write_text(json.dumps(value))
    return str(path)


def lines(path: Path, rows: list[object]) -> str:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return str(path)


def test_sharegpt_by_hand(tmp_path: Path) -> None:
    """Prompts: ``hello`` and ``hello`` + ``hi`` + ``bye, then``; blocks of 4 bytes."""
    short = {"id": "short", "conversations": HELLO}
    file = write(tmp_path / "talk.json", [short, {"id": "long", "conversations": LONG}])
    trace = sharegpt.generate(file=file, turns=2, block=4)
    assert trace.name == "sharegpt (text split into bytes)"
    assert trace.session == ["long", "long"]
    assert trace.input_length.tolist() == [5, 16]
    assert trace.output_length.tolist() == [2, 3]
    assert trace.hash_ids(0) == [0, 1]
    assert trace.hash_ids(1) == [0, 2, 3, 4]


def test_messages_are_cut(tmp_path: Path) -> None:
    file = write(tmp_path / "talk.json", [{"conversations": LONG}])
    trace = sharegpt.generate(file=file, turns=2, user=3, answer=1, block=4)
    assert trace.input_length.tolist() == [3, 3 + 1 + 3]
    assert trace.output_length.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "#: is not a list of conversations"),
        ([{"id": 1}], "#/0: has no list of conversations"),
        ([{"conversations": [{"from": "human"}]}], "#/0/conversations/0/value: has no text"),
        ([], "holds no turn"),
    ],
)
def test_what_is_no_sharegpt_file(tmp_path: Path, value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sharegpt.generate(file=write(tmp_path / "talk.json", value))


def test_both_forms_of_ultrachat(tmp_path: Path) -> None:
    data = {"id": "a", "data": ["hello", "hi", "bye, then", "bye"]}
    roles = ("user", "assistant") * 2
    messages = {
        "prompt_id": "a",
        "messages": [
            {"role": role, "content": text} for role, text in zip(roles, data["data"], strict=True)
        ],
    }
    one, two = (
        ultrachat.generate(file=lines(tmp_path / f"{name}.jsonl", [row]), turns=2, block=4)
        for name, row in (("data", data), ("messages", messages))
    )
    assert one.input_length.tolist() == two.input_length.tolist() == [5, 16]
    assert one.parent.tolist() == two.parent.tolist()
    with pytest.raises(InputError, match=r"bad.jsonl:2: has neither data nor messages"):
        ultrachat.generate(file=lines(tmp_path / "bad.jsonl", [data, {"id": 1}]), turns=2)


def test_both_forms_of_loogle(tmp_path: Path) -> None:
    pairs = [{"Q": "who?", "A": "I"}, {"Q": "why", "A": "so"}]
    forms: list[list[object]] = [
        [{"input": "a long tale", "qa_pairs": str(pairs)}],
        [{"input": "a long tale", "qa_pairs": pairs}],
        [{"context": "a long tale", "question": pair["Q"], "answer": pair["A"]} for pair in pairs],
    ]
    for number, rows in enumerate(forms):
        file = lines(tmp_path / f"{number}.jsonl", rows)
        trace = loogle.generate(file=file, lengths=[8], order="grouped", block=4)
        assert trace.input_length.tolist() == [8 + 4, 8 + 3]
        assert [trace.hash_ids(row) for row in (0, 1)] == [[0, 1, 2], [0, 1, 3]]
    with pytest.raises(InputError, match=r":1: has no questions"):
        loogle.generate(file=lines(tmp_path / "bad.jsonl", [{"input": "x", "qa_pairs": "[1"}]))


def test_a_line_that_is_no_json(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"input": "x", "question": "y"}\n{"input"\n')
    with pytest.raises(InputError, match=r"bad.jsonl:2: is not valid JSON"):
        loogle.generate(file=str(path))
    with pytest.raises(InputError, match="No such file"):
        loogle.generate(file=str(tmp_path / "none.jsonl"))


def test_a_tokenizer_of_the_user(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="the extra 'text' is not installed")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"hello": 0, "hi": 1, "?": 2}, "?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    split, unit = splitter(str(tmp_path / "tokenizer.json"))
    assert split("hello hello you") == [0, 0, 2]
    assert unit == "tokens of tokenizer.json"
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InputError, match="is no tokenizer"):
        splitter(str(tmp_path / "bad.json"))


@pytest.mark.parametrize(
    "text",
    ["sharegpt:clients=3,turns=2", "ultrachat:clients=3,turns=2", "loogle:groups=3,questions=2"],
)
def test_twins_have_the_shape_of_the_sets(text: str) -> None:
    trace = parse(text, seed=1)
    assert len(trace) == 6
    again = parse(text, seed=1)
    assert trace.parent.tolist() == again.parent.tolist()
    assert trace.timestamp.tolist() == again.timestamp.tolist()
    assert parse(text, seed=2).timestamp.tolist() != trace.timestamp.tolist()
    shared = len(trace.parent) < int(trace.blocks.sum())
    assert shared  # histories and documents repeat
    if trace.session:
        assert len(set(trace.session)) == 3
        for name in set(trace.session):
            rows = [row for row, session in enumerate(trace.session) if session == name]
            assert np.diff(trace.input_length[rows]) > 0


def test_files_are_read_by_the_workload_grammar(tmp_path: Path) -> None:
    file = write(tmp_path / "talk.json", [{"conversations": LONG}])
    trace = parse(f"sharegpt:file={file},turns=2,block=4")
    assert trace.name.endswith("(text split into bytes)")
    assert len(trace) == 2
    with pytest.raises(InputError, match="workload sharegpt: turns"):
        parse("sharegpt:turns=0")
