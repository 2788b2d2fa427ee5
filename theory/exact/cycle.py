"""One prefix and cycle, repeated for ever: what it costs a policy and the optimum, exactly.

No game is built, so the trie may be large. The optimum's cost comes from the work function, which
is polynomial in the number of tokens. A deterministic policy returns to an earlier state, so its
cost is periodic. A randomised policy's law over states need not return to an earlier one; its cost
per cycle is then the long-run average of a finite Markov chain with rewards, solved exactly.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from theory.errors import InputError
from theory.exact.arena import mask
from theory.exact.outcomes import Distribution, ExhaustedError, Outcomes, new_cache
from theory.exact.work_function import EMPTY, WorkFunction, serve
from theory.model import Instance

__all__ = ["CycleRatio", "average_reward", "cycle_ratio", "optimum_per_cycle"]

MOST_STATES = 50_000
MOST_REPEATS = 30
MOST_PLAIN_REPEATS = 1_000


@dataclass(frozen=True)
class CycleRatio:
    """What the endless repetition of a cycle costs.

    Attributes
    ----------
    instance : Instance
        The prefix and the cycle.
    policy : str
        The policy.
    ratio : Fraction or None
        Policy over optimum; None: the optimum pays nothing and the policy something.
    policy_cost, optimum_cost : Fraction
        The average costs of a cycle in the long run.
    """

    instance: Instance
    policy: str
    ratio: Fraction | None
    policy_cost: Fraction
    optimum_cost: Fraction

    @property
    def text(self) -> str:
        """The ratio as it is printed."""
        return "unbounded" if self.ratio is None else str(self.ratio)


def cycle_ratio(instance: Instance, policy: str) -> CycleRatio:
    """The exact ratio of a policy on a cycle that is repeated for ever.

    Parameters
    ----------
    instance : Instance
        With a cycle; the steps before it are the prefix.
    policy : str
        A policy that gives its state.

    Raises
    ------
    InputError
        If the instance has no cycle, the cycle costs nothing, a randomised policy has more than
        `MOST_STATES` states on it, or a deterministic one returns to no earlier state.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> found = cycle_ratio(Instance(star, 2, [[0], [1], [0], [2]], cycle_start=0), "rlt")
    >>> found.text, found.policy_cost, found.optimum_cost
    ('3/2', Fraction(3, 1), Fraction(2, 1))
    """
    if instance.cycle_start is None:
        raise InputError(
            "the instance has no cycle", where="cycle_start", fix="name the step that begins it"
        )
    owed = optimum_per_cycle(instance)
    cache = new_cache(instance.trie, instance.capacity, policy)
    try:
        paid = _policy(instance, policy)
    except ExhaustedError:
        raise InputError(
            f"{type(cache.policy).__name__} has more than {MOST_STATES:,} states on this cycle",
            where="--cycle",
            fix="measure it with sampled runs instead, or shorten the cycle",
        ) from None
    if not paid and not owed:
        raise InputError(
            "the cycle costs nothing: all its tokens stay cached",
            where="cycle",
            fix=f"use more than {instance.capacity} tokens in it",
        )
    return CycleRatio(instance, policy, paid / owed if owed else None, paid, owed)


def optimum_per_cycle(instance: Instance) -> Fraction:
    """What one more cycle costs the optimum, on average in the long run.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> optimum_per_cycle(Instance(star, 2, [[0], [1], [2]], cycle_start=0))
    Fraction(3, 2)
    """
    footprints = [mask(instance.footprint(index)) for index in range(len(instance.steps))]
    begin = len(instance.prefix)
    layers: WorkFunction = EMPTY
    total = 0
    for footprint in footprints[:begin]:
        layers, _ = serve(layers, footprint, instance.capacity)
    seen: dict[Hashable, int] = {}
    totals = [0]
    while layers not in seen:
        seen[layers] = len(seen)
        for footprint in footprints[begin:]:
            layers, increase = serve(layers, footprint, instance.capacity)
            total += increase
        totals.append(total)
    first = seen[layers]
    return Fraction(total - totals[first], len(seen) - first)


def _policy(instance: Instance, policy: str) -> Fraction:
    steps = list(dict.fromkeys(instance.steps))
    index = {batch: number for number, batch in enumerate(steps)}
    prefix = [index[batch] for batch in instance.prefix]
    cycle = [index[batch] for batch in instance.cycle]
    outcomes = Outcomes(instance.trie, instance.capacity, policy, steps, MOST_STATES)
    law = Distribution((0,), (1,))
    for step in prefix:
        law, _ = outcomes.play(law, step)
    seen: dict[Distribution, int] = {}
    totals = [Fraction(0)]
    repeats = MOST_REPEATS if outcomes.randomised else MOST_PLAIN_REPEATS
    while law not in seen and len(seen) < repeats:
        seen[law] = len(seen)
        law, cost = _around(outcomes, law, cycle)
        totals.append(totals[-1] + cost)
    if law in seen:
        first = seen[law]
        return (totals[-1] - totals[first]) / (len(seen) - first)
    if not outcomes.randomised:
        raise InputError(
            f"{policy} returns to no earlier state in {repeats:,} cycles: its counters grow",
            where="cycle",
            fix="such a cycle has no exact ratio; measure it on a long sequence",
        )
    return _chain(outcomes, law, cycle)


def _around(
    outcomes: Outcomes, law: Distribution, cycle: Sequence[int]
) -> tuple[Distribution, Fraction]:
    """The law after a whole cycle, and the expected cost of the cycle."""
    total = Fraction(0)
    for step in cycle:
        law, cost = outcomes.play(law, step)
        total += cost
    return law, total


def _chain(outcomes: Outcomes, law: Distribution, cycle: Sequence[int]) -> Fraction:
    """The long-run cost of a cycle, from the Markov chain of the states between two cycles."""
    place: dict[int, int] = {}
    rows: list[dict[int, Fraction]] = []
    rewards: list[Fraction] = []

    def number(state: int) -> int:
        return place.setdefault(state, len(place))

    def numbered(spread: Distribution) -> dict[int, Fraction]:
        total = sum(spread.weights)
        pairs = zip(spread.states, spread.weights, strict=True)
        return {number(state): Fraction(weight, total) for state, weight in pairs}

    start = numbered(law)
    while len(rows) < len(place):
        state = list(place)[len(rows)]
        after, cost = _around(outcomes, Distribution((state,), (1,)), cycle)
        rows.append(numbered(after))
        rewards.append(cost)
    return average_reward(start, rows, rewards)


def average_reward(
    start: dict[int, Fraction], rows: list[dict[int, Fraction]], rewards: list[Fraction]
) -> Fraction:
    """The expected long-run average reward of a finite Markov chain.

    Parameters
    ----------
    start : dict of int to Fraction
        The initial law.
    rows : list of dict of int to Fraction
        The transition probabilities out of each state.
    rewards : list of Fraction
        The expected reward of each state.

    Notes
    -----
    States are eliminated one by one; the others take over their rewards and the time spent in them.
    Of every recurrent class one state is left, and returns to itself.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> average_reward({0: Fraction(1)}, [{0: half, 1: half}, {0: Fraction(1)}], [half, half * 4])
    Fraction(1, 1)
    """
    rows = [dict(row) for row in rows]
    rewards, times = list(rewards), [Fraction(1)] * len(rows)
    start = dict(start)
    sources: list[set[int]] = [set() for _ in rows]
    for state, row in enumerate(rows):
        for then in row:
            sources[then].add(state)
    for state, row in enumerate(rows):
        stay = row.pop(state, Fraction(0))
        if stay == 1:
            continue
        sources[state].discard(state)
        onward = {then: share / (1 - stay) for then, share in row.items()}
        reward, time = rewards[state] / (1 - stay), times[state] / (1 - stay)
        for source in sources[state]:
            share = rows[source].pop(state)
            rewards[source] += share * reward
            times[source] += share * time
            for then, part in onward.items():
                rows[source][then] = rows[source].get(then, Fraction(0)) + share * part
                sources[then].add(source)
        for then in onward:
            sources[then].discard(state)
        if state in start:
            share = start.pop(state)
            for then, part in onward.items():
                start[then] = start.get(then, Fraction(0)) + share * part
    return sum((share * rewards[s] / times[s] for s, share in start.items()), Fraction(0))
