"""UltraChat: multi-turn conversations, from a user's file or drawn in the same shape.

The file has a JSON object a line: ``{"id", "data": [message, answer, message, ...]}``, or
``{"prompt_id", "messages": [{"role", "content"}, ...]}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from empirical.traces.base import Trace
from empirical.traces.lines import rows_of
from empirical.traces.sharegpt import check, pair_turns
from empirical.traces.text import Conversation, Split, chat, drawn, splitter
from theory.errors import InputError

__all__ = ["generate"]


def generate(
    clients: int = 128,
    *,
    seed: int = 0,
    file: str = "",
    tokenizer: str = "",
    turns: int = 4,
    user: int = 1024,
    answer: int = 256,
    rate: float = 12.0,
    block: int = 64,
    name: str = "ultrachat",
) -> Trace:
    """Conversations of `turns` turns each; history is kept. Drawn lengths are all the same.

    Parameters
    ----------
    clients, seed, file, tokenizer, turns, rate, block, name
        As in `empirical.traces.sharegpt.generate`.
    user, answer : int
        Tokens of every message and of every answer; those of a file are cut to them.

    Raises
    ------
    InputError
        If the file is not of this kind or a parameter is out of range.

    Examples
    --------
    >>> generate(1, turns=2, user=100, answer=10).input_length
    array([100, 210])
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
    return chat(
        [
            Conversation(
                f"client-{client}",
                [(drawn(random, user), drawn(random, answer)) for _ in range(turns)],
            )
            for client in range(clients)
        ],
        block=block,
        rate=rate,
        seed=seed,
        name=name,
    )


def _read(file: str, split: Split) -> Iterator[Conversation]:
    for where, row in rows_of(file):
        data, messages = row.get("data"), row.get("messages")
        if isinstance(data, list) and all(isinstance(text, str) for text in data):
            said = [(("user", "assistant")[place % 2], text) for place, text in enumerate(data)]
        elif isinstance(messages, list) and all(
            isinstance(part, dict) and isinstance(part.get("content"), str) for part in messages
        ):
            said = [(str(part.get("role")), part["content"]) for part in messages]
        else:
            raise InputError("has neither data nor messages", where=where)
        yield pair_turns(str(row.get("id", row.get("prompt_id", where))), said, split)
