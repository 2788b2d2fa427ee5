"""Witnesses in a form that people read: the trie as a tree, the sequence as words."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

from theory.model import Instance
from theory.trie import ROOT, TokenTrie

__all__ = ["draw_trie", "sequence_text", "token_name"]


def token_name(token: int) -> str:
    """A letter for each of the first 26 tokens, then t26, t27, ...

    Examples
    --------
    >>> token_name(0), token_name(26)
    ('a', 't26')
    """
    return ascii_lowercase[token] if token < len(ascii_lowercase) else f"t{token}"


def draw_trie(trie: TokenTrie) -> str:
    """The trie, one token a line; a chain without branches stands on one line.

    Examples
    --------
    >>> print(draw_trie(TokenTrie.from_parents([-1, 0, 1, 1, -1])))
    +- a-b
    |  +- c
    |  +- d
    +- e
    """
    below: dict[int, list[int]] = {ROOT: []}
    for token, parent in enumerate(trie.parents()):
        below.setdefault(parent, []).append(token)
    lines: list[str] = []
    stack = [(token, "") for token in reversed(below[ROOT])]
    last = {children[-1] for children in below.values() if children}
    while stack:
        token, margin = stack.pop()
        label, top = token_name(token), token
        while len(below.get(token, ())) == 1:
            (token,) = below[token]
            label += f"-{token_name(token)}"
        lines.append(f"{margin}+- {label}")
        inner = margin + ("   " if top in last else "|  ")
        stack += [(child, inner) for child in reversed(below.get(token, ()))]
    return "\n".join(lines)


def sequence_text(instance: Instance) -> str:
    """The steps, each query by its last token; a batch in braces, the cycle with ``^inf``.

    Examples
    --------
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> print(sequence_text(Instance(star, 2, [[0], [0], [1], [2]], cycle_start=2)))
    a a (b c)^inf
    >>> print(sequence_text(Instance(star, 2, [[0, 1], [2]])))
    {a b} c
    """
    words = [_words(instance.prefix)] if instance.prefix else []
    if instance.cycle:
        words.append(f"({_words(instance.cycle)})^inf")
    return " ".join(words)


def _words(steps: Sequence[tuple[int, ...]]) -> str:
    return " ".join(
        token_name(step[0]) if len(step) == 1 else "{" + " ".join(map(token_name, step)) + "}"
        for step in steps
    )
