"""Random changes of strategies and of sequences, for the evolutionary search."""

from __future__ import annotations

from random import Random

from adversary.strategy import LETTERS, Strategy
from adversary.target import Target
from theory.errors import InputError
from theory.model import Instance
from theory.trie import ROOT, TokenTrie

__all__ = ["change_sequence", "change_strategy"]

MOST_STEPS = 400


def change_strategy(strategy: Strategy, draw: Random, slots: int) -> Strategy:
    """Change, insert, repeat or delete letters of the pattern or the warm-up.

    Examples
    --------
    >>> change_strategy(Strategy("", "m"), Random(1), slots=4).pattern != ""
    True
    """
    words = [strategy.warm, strategy.pattern]
    which = int(draw.random() < 0.7)
    word = words[which]
    at = draw.randrange(len(word) + 1)
    kind = draw.randrange(4)
    if kind == 0:
        word = word[:at] + draw.choice(LETTERS) + word[at:]
    elif kind == 1:
        word = word[:at] + draw.choice(LETTERS) + word[at + 1 :]
    elif kind == 2:
        word = word[:at] + draw.choice(LETTERS) * draw.randint(1, 2 * slots) + word[at:]
    else:
        word = word[:at] + word[at + draw.randint(1, max(1, len(word) // 2)) :]
    words[which] = word[: 6 * slots + 6]
    return Strategy(words[0], words[1] or "m")


def change_sequence(instance: Instance, target: Target, draw: Random) -> Instance | None:
    """Change a few steps, or give a query a new token to end at.

    Returns
    -------
    Instance or None
        None if the change broke a rule of the target.

    Examples
    --------
    >>> from adversary.cyclic import cyclic
    >>> changed = change_sequence(cyclic(4), Target("leaf-lru", 4), Random(3))
    >>> changed is None or len(changed.cycle) > 0
    True
    """
    trie, prefix, cycle = instance.trie, list(instance.prefix), list(instance.cycle)
    for _ in range(draw.choice((1, 1, 2, 3))):
        steps = cycle if draw.random() < 0.75 or not prefix else prefix
        at, to = sorted(draw.choices(range(len(steps) + 1), k=2))
        kind = draw.randrange(6)
        if kind == 0:
            steps.insert(at, _random_step(trie, target, draw))
        elif kind == 1:
            steps[at : at + 1] = [_random_step(trie, target, draw)]
        elif kind == 2:
            del steps[at : max(at + 1, to) if draw.random() < 0.3 else at + 1]
        elif kind == 3:
            steps[to:to] = steps[at:to]
        elif kind == 4 and len(steps) > 1:
            i, j = draw.sample(range(len(steps)), 2)
            steps[i], steps[j] = steps[j], steps[i]
        elif len(trie) <= 3 * target.capacity + 3:
            above = draw.choice((ROOT, draw.randrange(len(trie)), *_parents_of(steps, trie)))
            trie = TokenTrie.from_parents([*trie.parents(), above])
            if steps:
                at = draw.randrange(len(steps))
                place = draw.randrange(len(steps[at]))
                step = (*steps[at][:place], len(trie) - 1, *steps[at][place + 1 :])
                steps[at] = step
    steps = prefix + cycle
    if not cycle or len(steps) > MOST_STEPS or not all(target.allows(trie, s) for s in set(steps)):
        return None
    try:
        return Instance(trie, target.capacity, steps, cycle_start=len(prefix))
    except InputError:
        return None


def _parents_of(steps: list[tuple[int, ...]], trie: TokenTrie) -> tuple[int, ...]:
    """Where a new sibling of a query of these steps would hang."""
    return tuple(trie.parent(step[0]) for step in steps[:2])


def _random_step(trie: TokenTrie, target: Target, draw: Random) -> tuple[int, ...]:
    return tuple(draw.sample(range(len(trie)), min(target.beta, len(trie))))
