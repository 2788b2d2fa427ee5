"""What the router sees of a request."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tests.gateway.fakes  # noqa: F401 - skips without the extra
from empirical.gateway import read_prompt
from theory.errors import InputError
from theory.routing.index import PrefixIndex

TOKENS = st.lists(st.integers(0, 40), max_size=70)


def read(value: Any, symbol_tokens: int = 16):
    return read_prompt(orjson.dumps(value), symbol_tokens)


@settings(max_examples=50)
@given(TOKENS, TOKENS, st.integers(1, 20))
def test_two_prompts_share_the_symbols_that_their_tokens_share(
    left: list[int], right: list[int], size: int
) -> None:
    common = next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )
    index = PrefixIndex(1)
    first, second = read({"input_ids": left}, size), read({"input_ids": right}, size)
    index.insert(0, first.symbols)
    whole = common // size
    # A last symbol that is shorter is shared only if both prompts end there.
    if common == len(left) == len(right):
        whole = -(-common // size)
    assert index.match(second.symbols) == [whole]


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ({"input_ids": [5] * 33}, 33),
        ({"prompt": [5] * 33}, 33),
        ({"prompt": "x" * 33}, 9),
        ({"text": "é" * 6}, 3),
        ({"text": None, "input_ids": [1, 2, 3]}, 3),
        ({"input_ids": [[1, 2], [3, 4, 5]]}, 5),
        ({"text": ["abcd", "abcdefgh"]}, 3),
        ({"text": ""}, 1),
        ({"input_ids": []}, 1),
        ({"input_embeds": [[0.5]]}, 1),
        ({"input_ids": [1, "x"]}, 1),
        ({"input_ids": [2**70 % 2**63, 2]}, 2),
        ({"prompt": {"a": 1}}, 1),
        ({}, 1),
    ],
)
def test_length_in_tokens(value: dict[str, Any], length: int) -> None:
    assert read(value).length == length


def test_a_batch_is_routed_by_its_first_prompt() -> None:
    assert read({"input_ids": [[1, 2], [3, 4, 5]]}).symbols == read({"input_ids": [1, 2]}).symbols


def test_the_next_turn_of_a_chat_starts_like_the_last_one() -> None:
    turns = [{"role": "user", "content": "Tell me about competitive ratios. " * 20}]
    before = read({"messages": turns}).symbols
    turns += [{"role": "assistant", "content": "No."}, {"role": "user", "content": "Please."}]
    after = read({"messages": turns}).symbols
    assert after[: len(before) - 1] == before[:-1]
    assert len(before) > 10


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        ({"sampling_params": {"max_new_tokens": 8}}, 8),
        ({"sampling_params": [{"max_new_tokens": 7}, {}]}, 7),
        ({"max_tokens": 6}, 6),
        ({"max_completion_tokens": 5, "max_tokens": 6}, 5),
        ({"max_tokens": "many"}, 0),
        ({"max_tokens": True}, 0),
        ({"max_tokens": -1}, 0),
        ({"sampling_params": "none"}, 0),
    ],
)
def test_output_tokens(value: dict[str, Any], tokens: int) -> None:
    assert read({"text": "x"} | value).output_tokens == tokens


@pytest.mark.parametrize(
    ("value", "session"),
    [
        ({"session_id": "a", "user": "b"}, "a"),
        ({"session_params": {"id": "c"}, "user": "b"}, "c"),
        ({"user": "b"}, "b"),
        ({"session_id": 7}, "7"),
        ({"session_id": None, "user": ""}, None),
        ({"session_id": {"x": 1}, "session_params": []}, None),
        ({"user": True}, None),
    ],
)
def test_session(value: dict[str, Any], session: str | None) -> None:
    assert read({"text": "x"} | value).session == session


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"null", b'{"text": "\xff"}'])
def test_what_is_no_json_object(body: bytes) -> None:
    with pytest.raises(InputError, match="the request"):
        read_prompt(body)


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["input_ids", "prompt", "text", "messages", "sampling_params", "user"]
                ),
                inner,
                max_size=3,
            )
        ),
    )
)
def test_any_json_is_read_or_refused(value: Any) -> None:
    try:
        body = orjson.dumps(value)
    except orjson.JSONEncodeError:  # a lone surrogate
        return
    if isinstance(value, dict):
        prompt = read_prompt(body)
        assert prompt.length >= 1
        assert prompt.output_tokens >= 0
    else:
        with pytest.raises(InputError):
            read_prompt(body)
