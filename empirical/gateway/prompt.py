"""What a router needs of a request's body."""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

import orjson

from theory.errors import InputError

__all__ = ["Prompt", "read_prompt"]

_ID_BYTES = array("q").itemsize
_TEXT_BYTES = 4  # bytes of text a token: a rule of thumb, and the same for every worker


class Prompt(NamedTuple):
    """A prompt, cut into symbols.

    Attributes
    ----------
    symbols : tuple of bytes
        The prompt in pieces of equal length; the last one may be shorter.
    length : int
        Tokens, at least 1. A text counts four bytes a token.
    output_tokens : int
        The most that the answer may have; 0 if the request does not say.
    session : str or None
        The conversation, from ``session_id``, ``session_params`` or ``user``.
    """

    symbols: tuple[bytes, ...]
    length: int
    output_tokens: int
    session: str | None


def read_prompt(body: bytes, symbol_tokens: int = 16) -> Prompt:
    """Read the prompt of a request to one of the generating paths.

    Token ids (``input_ids``, or a ``prompt`` of integers) are cut token by token, texts and chat
    messages byte by byte. Of several prompts in one request the first one is routed by, and all
    of them count. A prompt of another kind is one that shares nothing: whether it is a good one
    is for the worker to say.

    Raises
    ------
    InputError
        If the body is not a JSON object.

    Examples
    --------
    >>> read_prompt(b'{"input_ids": [1, 2, 3], "sampling_params": {"max_new_tokens": 8}}').length
    3
    >>> turns = b'{"messages": [{"role": "user", "content": "Hello, world"}], "user": "ann"}'
    >>> read_prompt(turns).session
    'ann'
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InputError(f"is not valid JSON: {error.msg}", where="the request") from error
    if not isinstance(value, dict):
        raise InputError("is not a JSON object", where="the request")
    raw, unit, total = _first(value)
    step = unit * symbol_tokens
    return Prompt(
        tuple([raw[at : at + step] for at in range(0, len(raw), step)]),
        max(1, total),
        _output_tokens(value),
        _session(value),
    )


def _first(value: dict[str, Any]) -> tuple[bytes, int, int]:
    """The first prompt as bytes, the bytes a token, and the tokens of all prompts."""
    for key in ("input_ids", "prompt", "text"):
        prompt = value.get(key)
        if prompt is None:
            continue
        if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int):
            read = [_bytes_of(item) for item in prompt]  # a batch
            return *read[0], sum(-(-len(raw) // unit) for raw, unit in read)
        raw, unit = _bytes_of(prompt)
        return raw, unit, -(-len(raw) // unit)
    if value.get("messages") is not None:
        raw = orjson.dumps(value["messages"])
        return raw, _TEXT_BYTES, -(-len(raw) // _TEXT_BYTES)
    return b"", 1, 0


def _bytes_of(prompt: Any) -> tuple[bytes, int]:
    if isinstance(prompt, str):
        return prompt.encode(), _TEXT_BYTES
    if isinstance(prompt, list):
        try:
            return array("q", prompt).tobytes(), _ID_BYTES
        except (TypeError, OverflowError):
            pass
    return b"", 1


def _output_tokens(value: dict[str, Any]) -> int:
    params = value.get("sampling_params")
    if isinstance(params, list) and params:
        params = params[0]
    asked = params.get("max_new_tokens") if isinstance(params, dict) else None
    for key in ("max_completion_tokens", "max_tokens"):
        asked = value.get(key) if asked is None else asked
    return asked if isinstance(asked, int) and not isinstance(asked, bool) and asked > 0 else 0


def _session(value: dict[str, Any]) -> str | None:
    params = value.get("session_params")
    nested = params.get("id") if isinstance(params, dict) else None
    for found in (value.get("session_id"), nested, value.get("user")):
        if isinstance(found, str | int) and not isinstance(found, bool) and found != "":
            return str(found)
    return None
