"""What a replay sends: the queries of an instance or a trace as prompts of token ids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from empirical.traces.base import Trace
from theory.errors import InputError
from theory.model import Instance
from theory.trie import TokenTrie

__all__ = ["FIRST_ID", "Plan", "of_instance", "of_trace", "vocabulary"]

FIRST_ID, LAST_ID = 3, 31_999
"""The token ids that stand in prompts: no special ones, and those of the smallest vocabularies."""


class Plan(NamedTuple):
    """What is sent.

    Attributes
    ----------
    name : str
        For the report.
    prompts : list of tuple of int
        Token ids.
    outputs : list of int
        Tokens of each answer.
    arrivals : list of float
        In ms.
    steps : list of int
        The step that each query belongs to, ascending.
    """

    name: str
    prompts: list[tuple[int, ...]]
    outputs: list[int]
    arrivals: list[float]
    steps: list[int]

    def check_fits(self, capacity: int, page_size: int) -> None:
        """Raise `InputError` for the first query that a worker of `capacity` tokens refuses.

        SGLang refuses a prompt that does not leave 6 tokens of the memory pool free.
        """
        spare = 2 * page_size if page_size > 1 else 0
        for number, (prompt, output) in enumerate(zip(self.prompts, self.outputs, strict=True)):
            need = len(prompt) + max(output, 6) + 1 + spare
            if need > capacity:
                raise InputError(
                    f"its {len(prompt)} tokens do not fit a worker of {capacity}",
                    where=f"{self.name or 'replay'}, query {number}",
                    fix=f"give workers of at least {need} tokens (--capacity)",
                )


def vocabulary(trie: TokenTrie) -> list[int]:
    """A token id for every token of `trie`; siblings have different ones.

    Examples
    --------
    >>> vocabulary(TokenTrie.from_parents([-1, 0, 0]))
    [3, 4, 5]
    """
    span = LAST_ID - FIRST_ID + 1
    taken: dict[int, set[int]] = {}
    ids: list[int] = []
    for token, parent in enumerate(trie.parents()):
        siblings = taken.setdefault(parent, set())
        if len(siblings) == span:
            raise InputError(f"a token has more than {span} children", where=f"token {parent}")
        found = token % span
        while found in siblings:
            found = (found + 1) % span
        siblings.add(found)
        ids.append(FIRST_ID + found)
    return ids


def of_instance(instance: Instance, *, cycles: int = 1, stretch: int = 1) -> Plan:
    """The steps of an instance.

    Parameters
    ----------
    instance : Instance
        What is sent. Its capacity is not used: that of the workers counts.
    cycles : int
        How often the cycle is repeated, if there is one.
    stretch : int
        Token ids that stand for one token of the instance. A server computes the last token of
        every prompt again; with more than one, that is not the whole last token of the instance.
    """
    if instance.cycle_start is not None:
        instance = instance.unrolled(cycles)
    ids = vocabulary(instance.trie)
    prompts, steps = [], []
    for number, step in enumerate(instance.steps):
        for query in step:
            path = instance.trie.path(query)
            prompts.append(tuple(ids[token] for token in path for _ in range(stretch)))
            steps.append(number)
    count = len(prompts)
    return Plan(instance.name, prompts, [1] * count, [float(step) for step in steps], steps)


def of_trace(trace: Trace, *, batch: int = 1, longest_output: int = 1) -> Plan:
    """The requests of a trace; equal blocks become equal token ids."""
    flat = trace.flat(unit="token").expanded()
    trie = TokenTrie.from_parents(flat.parent.tolist())
    ids = vocabulary(trie)
    return Plan(
        trace.name,
        [tuple(ids[token] for token in trie.path(query)) for query in flat.query.tolist()],
        np.minimum(trace.output_length, longest_output).tolist(),
        (trace.timestamp - trace.timestamp[0]).tolist(),
        [row // batch for row in range(len(trace))],
    )
