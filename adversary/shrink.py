"""Make a witness minimal: a short sequence, a small trie and capacity that still show it.

Delta debugging: every part that can go without losing the ratio goes, until no single part can. The
result is minimal in that sense: leaving out any one step, query, or token, or lowering the capacity
by one (alone or together with a token) makes the ratio smaller or breaks a rule of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from adversary.measure import Score, certify, measure
from adversary.target import Target
from theory.errors import InputError
from theory.model import Instance
from theory.trie import ROOT, TokenTrie

__all__ = ["minimise", "renumbered", "shrink", "without_token"]

Keep = Callable[[Instance], bool]


def shrink(
    instance: Instance,
    target: Target,
    *,
    most: int = 0,
    smaller_capacity: bool = True,
    stop: Callable[[], bool] | None = None,
    score: Score | None = None,
) -> tuple[Instance, Score]:
    """Shrink a witness, keeping its ratio (or, for a randomised policy, the sure part of it).

    Parameters
    ----------
    instance : Instance
        With a cycle.
    target : Target
        The policy and the rules that the witness has to keep.
    most : int
        The largest number of tries; 0 for 2000, or 200 if every try has to be measured.
    smaller_capacity : bool
        Whether the capacity may be lowered, where that loses nothing.
    stop : callable, optional
        Asked before every try; when it says True the witness is returned as it is then.
    score : Score, optional
        The certified costs of `instance`, if they are known.

    Returns
    -------
    instance : Instance
        The minimal witness.
    score : Score
        Its certified costs.

    Examples
    --------
    >>> star = TokenTrie.from_parents([-1] * 5)
    >>> long = Instance(star, 3, [[0], [3], [0], [1], [1], [2], [4], [2], [4]], cycle_start=5)
    >>> small, score = shrink(long, Target("lfu", 3))
    >>> small.capacity, small.prefix, small.cycle, score.text
    (2, ((0,), (0,)), ((1,), (2,)), 'unbounded')
    """
    wanted = certify(instance, target) if score is None else score
    # A measured ratio may shrink within its interval: shorter cycles cannot be told apart.
    goal = wanted.ratio
    if goal is not None and not wanted.exact:
        goal = Fraction(wanted.sure)

    def keep(smaller: Instance) -> bool:
        if not all(_allowed(target, smaller, step) for step in set(smaller.steps)):
            return False
        quick = measure(smaller, target)
        if quick.ratio is not None and (goal is None or float(quick.ratio) < 0.9 * float(goal)):
            return False  # far from it: no need to be exact
        found = certify(smaller, target)
        if goal is None:
            return found.ratio is None and (found.exact or not wanted.exact)
        return found.ratio is None or (
            found.ratio >= goal if found.exact or not wanted.exact else False
        )

    most = most or (200 if target.randomised else 2000)
    small = minimise(instance, keep, most, smaller_capacity=smaller_capacity, stop=stop)
    if score is not None and small is instance:
        return instance, score
    return small, certify(small, target)


def minimise(
    instance: Instance,
    keep: Keep,
    most: int = 2000,
    *,
    smaller_capacity: bool = True,
    stop: Callable[[], bool] | None = None,
) -> Instance:
    """Cut an instance down as long as `keep` holds, then number its tokens as they come.

    Examples
    --------
    >>> star = TokenTrie.from_parents([-1] * 4)
    >>> long = Instance(star, 3, [[0], [3], [2], [0], [3]], cycle_start=2)
    >>> small = minimise(long, lambda found: len(set(found.steps)) >= 2)
    >>> small.capacity, small.trie.parents(), small.steps
    (1, [-1, -1], ((0,), (1,)))
    """
    tries = 0
    done = False
    while not done and tries < most and not (stop and stop()):
        done = True
        for smaller in _smaller(instance, smaller_capacity):
            tries += 1
            if keep(smaller):
                instance, done = smaller, False
                break
            if tries >= most or (stop and stop()):
                break
    if stop and stop():
        return instance
    named = renumbered(instance)
    return named if keep(named) else instance


def renumbered(instance: Instance) -> Instance:
    """The same instance with its tokens numbered in the order of their first use.

    Examples
    --------
    >>> star = TokenTrie.from_parents([-1, -1])
    >>> renumbered(Instance(star, 1, [[1], [0]])).steps
    ((0,), (1,))
    """
    order: dict[int, int] = {}
    for step in instance.steps:
        for query in step:
            for token in instance.trie.path(query):
                order.setdefault(token, len(order))
    for token in range(len(instance.trie)):
        order.setdefault(token, len(order))
    parents = instance.trie.parents()
    renamed = [ROOT] * len(parents)
    for token, parent in enumerate(parents):
        renamed[order[token]] = ROOT if parent == ROOT else order[parent]
    steps = [[order[query] for query in step] for step in instance.steps]
    return Instance(
        TokenTrie.from_parents(renamed),
        instance.capacity,
        steps,
        instance.cycle_start,
        instance.name,
        instance.notes,
    )


def _allowed(target: Target, instance: Instance, step: tuple[int, ...]) -> bool:
    """The target's rules, at the instance's own capacity."""
    trie = instance.trie
    return len(step) == target.beta and all(trie.depth(q) >= target.min_length for q in step)


def _smaller(instance: Instance, smaller_capacity: bool) -> Iterator[Instance]:
    """Everything one cut away from the instance, the largest cuts first."""
    prefix, cycle = list(instance.prefix), list(instance.cycle)
    for part in (prefix, cycle):
        size = len(part)
        while size:
            for at in range(0, len(part), size):
                rest = part[:at] + part[at + size :]
                if part is cycle and not rest:
                    continue
                yield from _built(
                    instance,
                    instance.trie,
                    instance.capacity,
                    *((rest, cycle) if part is prefix else (prefix, rest)),
                )
            size //= 2
    used = {t for step in set(instance.steps) for t in instance.trie.footprint(step)}
    for token in range(len(instance.trie) - 1, -1, -1):
        trie, number = without_token(instance.trie, token)
        if token not in used:
            yield from _built(instance, trie, instance.capacity, prefix, cycle, number)
        else:
            for capacity in {instance.capacity, instance.capacity - 1}:
                if capacity == instance.capacity or smaller_capacity:
                    yield from _built(instance, trie, capacity, prefix, cycle, number)
    if smaller_capacity:
        yield from _built(instance, instance.trie, instance.capacity - 1, prefix, cycle)


def without_token(trie: TokenTrie, token: int) -> tuple[TokenTrie, dict[int, int]]:
    """The trie without a token, whose children move up, and where each query ends then.

    A query that ended at the token ends at its parent, or is gone if there is none.

    Examples
    --------
    >>> trie, number = without_token(TokenTrie.from_parents([-1, 0, 1, 0]), 1)
    >>> trie.parents(), number
    ([-1, 0, 0], {0: 0, 2: 1, 3: 2, 1: 0})
    """
    parents = trie.parents()
    number = {t: t - (t > token) for t in range(len(parents)) if t != token}
    above = parents[token]
    lifted = [above if p == token else p for t, p in enumerate(parents) if t != token]
    if above != ROOT:
        number[token] = number[above]
    return TokenTrie.from_parents([p if p == ROOT else number[p] for p in lifted]), number


def _built(
    instance: Instance,
    trie: TokenTrie,
    capacity: int,
    prefix: list[tuple[int, ...]],
    cycle: list[tuple[int, ...]],
    number: dict[int, int] | None = None,
) -> Iterator[Instance]:
    """The instance with these parts, if it is one: no cycle must be lost."""
    if number is not None:
        prefix, cycle = (
            [tuple(dict.fromkeys(number[q] for q in step if q in number)) for step in steps]
            for steps in (prefix, cycle)
        )
        prefix, cycle = [s for s in prefix if s], [s for s in cycle if s]
    if not cycle:
        return
    try:
        yield Instance(trie, capacity, prefix + cycle, len(prefix), instance.name, instance.notes)
    except InputError:
        return
