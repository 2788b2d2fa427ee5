"""ShareGPT: multi-turn conversations, from a user's file or drawn in the same shape.

The file is the public JSON: a list of ``{"id", "conversations": [{"from", "value"}, ...]}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import log
from typing import Any

import numpy as np

from empirical.traces.base import Trace
from empirical.traces.text import Conversation, Split, chat, drawn, splitter
from theory.errors import InputError
from theory.jsonfile import read_json

__all__ = ["generate", "pair_turns"]

USER = ("human", "user")
MODEL = ("gpt", "assistant", "chatgpt", "bing", "bard")


def generate(
    clients: int = 128,
    *,
    seed: int = 0,
    file: str = "",
    tokenizer: str = "",
    turns: int = 4,
    user: int = 1024,
    answer: int = 128,
    rate: float = 12.0,
    block: int = 64,
    name: str = "sharegpt",
) -> Trace:
    """Conversations of `turns` turns each; history is kept.

    Parameters
    ----------
    clients : int
        Conversations.
    seed : int
        Seeds what is drawn.
    file : str
        A file of conversations, in place of drawn ones; those with fewer turns are left out.
    tokenizer : str
        A ``tokenizer.json`` for the file; without one text is split into bytes.
    turns : int
        Of each conversation.
    user, answer : int
        Tokens of a message and of an answer: the mean of a log-normal law for drawn ones, the most
        for those of a file, which are cut.
    rate : float
        Turns a second, for the timestamps.
    block : int
        Tokens a block.
    name : str
        The name of the trace.

    Raises
    ------
    InputError
        If the file is not of this kind or a parameter is out of range.

    Examples
    --------
    >>> trace = generate(2, turns=3, user=100)
    >>> len(trace), len(set(trace.session))
    (6, 2)

    Notes
    -----
    Source: the paper's set-up: 128 clients, 2 to 8 turns, messages of 1024 tokens.
    """
    check(clients=clients, turns=turns, user=user, answer=answer)
    if file:
        split, unit = splitter(tokenizer)
        found = (c for c in _read(file, split) if len(c.turns) >= turns)
        cut = [
            Conversation(c.id, [(m[:user], a[:answer]) for m, a in c.turns[:turns]])
            for c in islice(found, clients)
        ]
        return chat(cut, block=block, rate=rate, seed=seed, name=f"{name} ({unit})")
    random = np.random.default_rng(seed)

    def text(mean: int) -> list[int]:
        return drawn(random, max(1, round(random.lognormal(log(mean) - 0.5, 1.0))))

    return chat(
        [
            Conversation(f"client-{client}", [(text(user), text(answer)) for _ in range(turns)])
            for client in range(clients)
        ],
        block=block,
        rate=rate,
        seed=seed,
        name=name,
    )


def check(**counts: int) -> None:
    """Raise `InputError` unless all values are positive whole numbers."""
    for name, value in counts.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"{value!r} is not a positive whole number", where=name)


def _read(file: str, split: Split) -> Iterator[Conversation]:
    value = read_json(file)
    if not isinstance(value, list):
        raise InputError("is not a list of conversations", where=f"{file}#")
    for number, item in enumerate(value):
        where = f"{file}#/{number}"
        said = item.get("conversations") if isinstance(item, dict) else None
        if not isinstance(said, list):
            raise InputError("has no list of conversations", where=where)
        messages = []
        for place, part in enumerate(said):
            spot = f"{where}/conversations/{place}"
            if not (isinstance(part, dict) and isinstance(part.get("value"), str)):
                raise InputError("has no text", where=f"{spot}/value")
            messages.append((str(part.get("from", "")), part["value"]))
        yield pair_turns(str(item.get("id", number)), messages, split)


def pair_turns(name: str, messages: list[tuple[str, Any]], split: Split) -> Conversation:
    """Pair each message of a user with the answer that follows it; empty pairs are left out.

    Examples
    --------
    >>> said = [("system", "x"), ("human", "ab"), ("gpt", "c"), ("human", "d")]
    >>> pair_turns("1", said, str.encode)
    Conversation(id='1', turns=[(b'ab', b'c')])
    """
    turns = []
    asked: str | None = None
    for role, text in messages:
        if role in USER:
            asked = text
        elif role in MODEL and asked:
            if text:
                turns.append((split(asked), split(text)))
            asked = None
    return Conversation(name, turns)
