"""What the checks of a policy run on, how they report, and the smallest case of a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Literal, NamedTuple

from adversary.shrink import minimise
from adversary.tries import binary, broom, caterpillar, chains
from theory.errors import InputError
from theory.model import Instance
from theory.plugins import users_own
from theory.trie import TokenTrie

__all__ = ["Finding", "Probe", "battery", "look", "raised", "told"]

Result = Literal["pass", "fail", "not applicable", "told"]

STEPS = 24
MOST_PROBES = 400
AGAIN = 5


class Finding(NamedTuple):
    """What one check found.

    Attributes
    ----------
    check : str
        Its name.
    result : {"pass", "fail", "not applicable", "told"}
        ``"told"`` is neither right nor wrong: a property of the policy.
    detail : str
        One line: what was looked at, or what is wrong and where.
    case : Instance, optional
        The smallest sequence found that shows it; its last step stands as the cycle.
    """

    check: str
    result: Result
    detail: str
    case: Instance | None = None


Probe = Callable[[Instance], str | None]
"""Serve an instance and say what is wrong; None if nothing is."""


def battery(capacity: int, seed: int) -> list[Instance]:
    """Small instances, from small to large: stars, brooms, chains, deep tries; single and batched.

    Examples
    --------
    >>> first = battery(4, seed=0)[0]
    >>> first.capacity, first.trie.parents(), len(first.steps)
    (2, [-1, -1, -1], 24)
    """
    draw = Random(f"{seed}/check")
    found = []
    for bound in sorted({2, 3, 4, capacity} & set(range(1, capacity + 1))):
        for trie, queries in _shapes(bound, draw):
            for beta in (1, 2, 3):
                steps = _steps(trie, queries, bound, beta, draw)
                if len(steps) == STEPS:
                    found.append(Instance(trie, bound, steps, STEPS - 1))
    return found


def _shapes(bound: int, draw: Random) -> Iterator[tuple[TokenTrie, tuple[int, ...]]]:
    yield broom(1, bound + 1)
    yield broom(1, bound + 2)
    if bound > 1:
        yield broom(2, bound + 1)
        yield chains([2] * (bound // 2 + 1))
        trie, _ = caterpillar(bound)
        yield trie, tuple(t for t in range(len(trie)) if trie.depth(t) <= bound)
        trie, _ = chains([bound, bound], handle=1)  # nested queries on two long paths
        yield trie, tuple(t for t in range(len(trie)) if trie.depth(t) <= bound)
    if bound > 2:
        trie, _ = binary(min(3, bound - 1))
        yield trie, tuple(range(len(trie)))
        size = 2 * bound
        deep = [draw.randrange(max(-1, t - 3), t) for t in range(size)]
        trie = TokenTrie.from_parents(deep)
        yield trie, tuple(t for t in range(size) if trie.depth(t) <= bound)


def _steps(
    trie: TokenTrie, queries: Sequence[int], bound: int, beta: int, draw: Random
) -> list[tuple[int, ...]]:
    """Random batches that fit, often of recent queries."""
    steps: list[tuple[int, ...]] = []
    for _ in range(6 * STEPS):
        pool = list(queries)
        if steps and draw.random() < 0.4:
            recent = list(dict.fromkeys(query for step in steps[-3:] for query in step))
            pool = recent if len(recent) >= beta else pool
        step = tuple(draw.sample(pool, beta)) if len(pool) >= beta else ()
        if step and trie.footprint_size(step) <= bound:
            steps.append(step)
        if len(steps) == STEPS:
            break
    return steps


def look(check: str, probe: Probe, instances: Sequence[Instance], good: str) -> Finding:
    """Probe the instances; of the first fault the smallest case."""
    for instance in instances:
        fault = probe(instance)
        if fault is None:
            continue
        last = [(instance, fault)]

        def keep(smaller: Instance) -> bool:
            found = probe(smaller)
            if found is not None:
                last.append((smaller, found))  # noqa: B023 - called in this turn of the loop only
            return found is not None

        small = minimise(instance, keep, MOST_PROBES)
        # Hidden coins do not show every time.
        again = next(filter(None, (probe(small) for _ in range(AGAIN))), None)
        case, fault = last[-1] if again is None else (small, again)
        return Finding(check, "fail", f"{fault} ({told(case)})", case)
    return Finding(check, "pass", good)


def told(instance: Instance) -> str:
    """An instance in one line.

    Examples
    --------
    >>> told(Instance(TokenTrie.from_parents([-1, 0, 0]), 3, [[1], [1, 2]]))
    'B = 3, parents -1 0 0, steps 1 | 1 2'
    """
    parents = " ".join(map(str, instance.trie.parents()))
    steps = " | ".join(" ".join(map(str, step)) for step in instance.steps)
    return f"B = {instance.capacity}, parents {parents}, steps {steps}"


def raised(error: BaseException) -> str:
    """What a policy raised, and where."""
    if isinstance(error, InputError):
        return str(error)
    place = users_own(error)
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    return " ".join(f"raises {text}{f' in {place}' if place else ''}".split())
