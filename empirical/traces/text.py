"""Prompts made of text or of tokens: split, cut into blocks, and shared where they are equal.

With a tokenizer (extra ``text``) text is split into its tokens; without one into the bytes of its
UTF-8 form, about four to a token of English, and the name of the trace says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from empirical.traces.arrivals import retime
from empirical.traces.base import Trace
from theory.errors import InputError

__all__ = ["Blocks", "Conversation", "Prompt", "chat", "drawn", "splitter"]

Split = Callable[[str], Sequence[int]]


def splitter(tokenizer: str = "") -> tuple[Split, str]:
    """How text is split, and what the parts are called.

    Parameters
    ----------
    tokenizer : str
        A ``tokenizer.json`` of Hugging Face; empty for bytes.

    Examples
    --------
    >>> split, unit = splitter()
    >>> list(split("hé")), unit
    ([104, 195, 169], 'text split into bytes')
    """
    if not tokenizer:
        return str.encode, "text split into bytes"
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError(
            "tokenizers is not installed", where="tokenizer", fix="pip install 'kvbounds[text]'"
        ) from None
    try:
        found = Tokenizer.from_file(tokenizer)
    except Exception as error:  # the library raises bare exceptions
        raise InputError(f"is no tokenizer ({error})", where=tokenizer) from None

    def split(text: str) -> Sequence[int]:
        ids: list[int] = found.encode(text, add_special_tokens=False).ids
        return ids

    return split, f"tokens of {Path(tokenizer).name}"


class Prompt(NamedTuple):
    """A prompt in the making.

    Attributes
    ----------
    blocks : tuple of int
        Its full blocks.
    tail : tuple of int
        The tokens after them.
    length : int
        All tokens.
    """

    blocks: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()
    length: int = 0


class Blocks:
    """Numbers the blocks of prompts: equal ones with equal prefixes get equal numbers.

    Examples
    --------
    >>> blocks = Blocks(4)
    >>> hello = blocks.extend(Prompt(), b"hello")
    >>> blocks.ids(hello), blocks.ids(blocks.extend(Prompt(), b"hell")), hello.length
    ([0, 1], [0], 5)
    """

    def __init__(self, size: int) -> None:
        if not isinstance(size, int) or size < 1:
            raise InputError(f"{size!r} is not a positive whole number", where="block")
        self.size = size
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}

    def extend(self, prompt: Prompt, tokens: Sequence[int]) -> Prompt:
        """`prompt` with `tokens` behind it."""
        rest = (*prompt.tail, *tokens)
        blocks = list(prompt.blocks)
        full = len(rest) - len(rest) % self.size
        for start in range(0, full, self.size):
            blocks.append(self._number(blocks, rest[start : start + self.size]))
        return Prompt(tuple(blocks), rest[full:], prompt.length + len(tokens))

    def ids(self, prompt: Prompt) -> list[int]:
        """The blocks of a prompt, the partial last one included."""
        found = list(prompt.blocks)
        return [*found, self._number(found, prompt.tail)] if prompt.tail else found

    def _number(self, above: Sequence[int], tokens: tuple[int, ...]) -> int:
        key = above[-1] if above else -1, tokens
        return self._numbers.setdefault(key, len(self._numbers))


class Conversation(NamedTuple):
    """A conversation: pairs of a user's message and the answer, each a sequence of tokens."""

    id: str
    turns: list[tuple[Sequence[int], Sequence[int]]]


def chat(
    conversations: Iterable[Conversation], *, block: int, rate: float, seed: int, name: str
) -> Trace:
    """Every turn is a query: all that was said before, and the user's next message.

    Conversations begin as a Poisson process of `rate` turns a second.

    Examples
    --------
    >>> talk = Conversation("a", [(b"hello", b"hi"), (b"bye", b"bye")])
    >>> trace = chat([talk], block=4, rate=1, seed=0, name="talk")
    >>> trace.input_length, trace.output_length, trace.hash_ids(1)
    (array([ 5, 10]), array([2, 3]), [0, 2, 3])
    """
    blocks = Blocks(block)
    rows: list[tuple[list[int], int, int, str]] = []
    for conversation in conversations:
        prompt = Prompt()
        for message, answer in conversation.turns:
            prompt = blocks.extend(prompt, message)
            rows.append((blocks.ids(prompt), prompt.length, len(answer), conversation.id))
            prompt = blocks.extend(prompt, answer)
    if not rows:
        raise InputError("holds no turn", where=name, fix="give a file with conversations")
    trace = Trace.from_hash_ids(
        [row[0] for row in rows],
        [0.0] * len(rows),
        [row[1] for row in rows],
        [row[2] for row in rows],
        block_size=block,
        session=[row[3] for row in rows],
        name=name,
    )
    return retime(trace, "poisson", rate, seed=seed)


def drawn(random: np.random.Generator, tokens: int) -> list[int]:
    """Random tokens, which no other text repeats."""
    found: list[int] = random.integers(2**31, size=tokens).tolist()
    return found
