"""LooGLE: questions about long documents, from a user's file or drawn in the same shape.

The file has a JSON object a line: a document (``input`` or ``context``) with its questions, either
``qa_pairs`` (a list of ``{"Q", "A"}``, or that as a string) or one ``question`` and ``answer`` a
line. Lines with equal documents are one group.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from empirical.traces.arrivals import retime
from empirical.traces.base import Trace
from empirical.traces.lines import rows_of
from empirical.traces.sharegpt import check
from empirical.traces.text import Blocks, Prompt, drawn, splitter
from theory.errors import InputError

__all__ = ["generate"]

LENGTHS = (1024, 2048, 4096, 8192)
"""To which the paper cuts the documents, in tokens."""

ORDERS = ("random", "grouped", "round-robin")


def generate(
    groups: int = 512,
    questions: int = 8,
    *,
    seed: int = 0,
    file: str = "",
    tokenizer: str = "",
    lengths: Sequence[int] = LENGTHS,
    question: int = 32,
    output: int = 16,
    order: str = "random",
    rate: float = 12.0,
    block: int = 64,
    name: str = "loogle",
) -> Trace:
    """Documents with questions: every query is a document and one question about it.

    Parameters
    ----------
    groups, questions : int
        Documents, and the most questions about each.
    seed : int
        Seeds the order, the arrivals and what is drawn.
    file : str
        A file of documents, in place of drawn ones.
    tokenizer : str
        A ``tokenizer.json`` for the file; without one text is split into bytes.
    lengths : sequence of int
        Documents are cut to these lengths in turn.
    question : int
        Tokens of a drawn question.
    output : int
        Tokens of every answer.
    order : {"random", "grouped", "round-robin"}
        Shuffled, document by document, or one question about each document in turn.
    rate : float
        Queries a second, a Poisson process.
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
    >>> trace = generate(2, 3, lengths=[128, 64], order="grouped")
    >>> trace.input_length, len(trace.parent)
    (array([160, 160, 160,  96,  96,  96]), 9)

    Notes
    -----
    Source: the paper's set-up: 512 documents, up to 100 questions each.
    """
    check(groups=groups, questions=questions, question=question, output=output)
    check(lengths=min(lengths, default=0))
    if order not in ORDERS:
        raise InputError(f"{order!r} is not one of {', '.join(ORDERS)}", where="order")
    random = np.random.default_rng(seed)
    blocks = Blocks(block)
    title = name
    documents: Iterator[tuple[Sequence[int], list[Sequence[int]]]]
    if file:
        split, unit = splitter(tokenizer)
        title = f"{name} ({unit})"
        documents = ((split(text), [split(q) for q in asked]) for text, asked in _read(file))
    else:
        documents = (
            (
                drawn(random, lengths[group % len(lengths)]),
                [drawn(random, question) for _ in range(questions)],
            )
            for group in range(groups)
        )
    rows: list[tuple[int, int, list[int], int]] = []
    for group, (text, asked) in enumerate(islice(documents, groups)):
        document = blocks.extend(Prompt(), text[: lengths[group % len(lengths)]])
        for place, tokens in enumerate(asked[:questions]):
            prompt = blocks.extend(document, tokens)
            if prompt.length:
                rows.append((place, group, blocks.ids(prompt), prompt.length))
    if not rows:
        raise InputError("holds no question", where=file or name)
    if order == "random":
        rows = [rows[place] for place in random.permutation(len(rows)).tolist()]
    elif order == "round-robin":
        rows.sort(key=lambda row: row[:2])
    trace = Trace.from_hash_ids(
        [row[2] for row in rows],
        [0.0] * len(rows),
        [row[3] for row in rows],
        [output] * len(rows),
        block_size=block,
        name=title,
    )
    return retime(trace, "poisson", rate, seed=seed)


def _read(file: str) -> Iterator[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for where, row in rows_of(file):
        text = row.get("input", row.get("context"))
        if not isinstance(text, str) or not text:
            raise InputError("has no document (input or context)", where=where)
        groups.setdefault(text, []).extend(_questions(row, where))
    yield from groups.items()


def _questions(row: dict[str, Any], where: str) -> list[str]:
    if isinstance(row.get("question"), str):
        return [row["question"]]
    pairs = row.get("qa_pairs")
    if isinstance(pairs, str):
        try:
            pairs = literal_eval(pairs)
        except (ValueError, SyntaxError):
            pairs = None
    if not isinstance(pairs, list) or not all(
        isinstance(pair, dict) and isinstance(pair.get("Q"), str) for pair in pairs
    ):
        raise InputError("has no questions (qa_pairs or question)", where=where)
    return [pair["Q"] for pair in pairs]
