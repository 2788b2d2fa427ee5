"""Replay a cycle for ever: what it costs a policy, and what it costs the optimum.

Used by the verifier, and independent of the solver: the policy runs in the executable cache, the
optimum is farthest-next-use on the endless sequence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from fractions import Fraction

from theory.cache import PrefixCache
from theory.errors import InputError
from theory.eviction import RandomisedPolicy
from theory.model import Instance
from theory.trie import TokenTrie

__all__ = ["Law", "Player", "optimum_of_cycle", "policy_of_cycle"]

MOST_REPEATS = 50
MOST_PLAIN_REPEATS = 1_000
MOST_CHAIN_STATES = 2_000

Law = dict[Hashable, Fraction]
"""An exact distribution over the states of cache and policy."""


class Player:
    """A policy, played exactly: a law over its states goes in, the next one comes out.

    Examples
    --------
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> player = Player(star, 2, "rlt")
    >>> law = player.start
    >>> for query in (0, 1, 2):
    ...     law, cost = player.serve(law, (query,))
    >>> sorted(law.values()), cost
    ([Fraction(1, 2), Fraction(1, 2)], Fraction(1, 1))
    """

    def __init__(self, trie: TokenTrie, capacity: int, policy: str) -> None:
        cache = PrefixCache(trie, capacity, policy)
        self.randomised = isinstance(cache.policy, RandomisedPolicy)
        vars(cache.policy).pop("random", None)  # no coin is drawn, and it is slow to copy
        self._caches: dict[Hashable, PrefixCache] = {cache.state(): cache}
        self._known: dict[tuple[Hashable, tuple[int, ...]], tuple[int, Law]] = {}
        self.start: Law = {cache.state(): Fraction(1)}

    def serve(self, law: Law, batch: Sequence[int]) -> tuple[Law, Fraction]:
        """The law after a step, and the expected cost of the step."""
        after: Law = {}
        expected = Fraction(0)
        for state, weight in law.items():
            cost, outcomes = self._outcomes(state, tuple(batch))
            expected += weight * cost
            for then, share in outcomes.items():
                after[then] = after.get(then, Fraction(0)) + weight * share
        return after, expected

    def _outcomes(self, state: Hashable, batch: tuple[int, ...]) -> tuple[int, Law]:
        known = self._known.get((state, batch))
        if known is not None:
            return known
        begun = self._caches[state].begin_each(batch)
        law: Law = {}
        cost = 0
        branches = [(start, Fraction(1, len(begun))) for start in begun]
        while branches:
            now, weight = branches.pop()
            if now.excess <= 0:
                cost = now.finish().cost
                key = now.state()
                self._caches.setdefault(key, now)
                law[key] = law.get(key, Fraction(0)) + weight
                continue
            leaves = now.leaves()
            policy = now.policy
            if isinstance(policy, RandomisedPolicy):
                victims = policy.distribution(leaves)
            else:
                victims = {policy.choose(leaves): Fraction(1)}
            for victim, share in victims.items():
                if share:
                    then = now.fork()
                    then.evict(victim)
                    branches.append((then, weight * share))
        self._known[state, batch] = cost, law
        return cost, law


def policy_of_cycle(instance: Instance, policy: str) -> Fraction:
    """What a cycle costs the policy, on average in the long run.

    A law that does not return to an earlier one is a finite Markov chain on the states between two
    cycles; its long-run average solves linear equations over the rationals.

    Raises
    ------
    InputError
        If that chain has more than `MOST_CHAIN_STATES` states, or a deterministic policy returns to
        no earlier state.

    Examples
    --------
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> policy_of_cycle(Instance(star, 2, [[0], [1], [0], [2]], cycle_start=0), "rlt")
    Fraction(3, 1)
    """
    player = Player(instance.trie, instance.capacity, policy)
    law = player.start
    for batch in instance.prefix:
        law, _ = player.serve(law, batch)
    total = Fraction(0)
    seen: dict[Hashable, tuple[int, Fraction]] = {}
    for count in range(MOST_REPEATS if player.randomised else MOST_PLAIN_REPEATS):
        key = frozenset(law.items())
        if key in seen:
            first, before = seen[key]
            return (total - before) / (count - first)
        seen[key] = count, total
        law, cost = _cycle(player, law, instance.cycle)
        total += cost
    if not player.randomised:
        raise InputError(f"{policy} returns to no earlier state in {MOST_PLAIN_REPEATS:,} cycles")
    return _long_run(player, law, instance.cycle)


def _cycle(player: Player, law: Law, cycle: Sequence[Sequence[int]]) -> tuple[Law, Fraction]:
    """The law after a whole cycle, and the expected cost of the cycle."""
    total = Fraction(0)
    for batch in cycle:
        law, cost = player.serve(law, batch)
        total += cost
    return law, total


def _long_run(player: Player, law: Law, cycle: Sequence[Sequence[int]]) -> Fraction:
    """The long-run average cost of a cycle, by linear equations."""
    import networkx as nx
    from sympy.polys.domains import QQ
    from sympy.polys.matrices import DomainMatrix

    rows: dict[Hashable, Law] = {}
    rewards: dict[Hashable, Fraction] = {}
    queue = list(law)
    for state in queue:
        if state in rows:
            continue
        rows[state], rewards[state] = _cycle(player, {state: Fraction(1)}, cycle)
        queue.extend(rows[state])
        if len(rows) > MOST_CHAIN_STATES:
            raise InputError(f"the policy has more than {MOST_CHAIN_STATES:,} states on the cycle")

    def solve(left: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
        matrix = [[QQ(x.numerator, x.denominator) for x in row] for row in left]
        column = [[QQ(x.numerator, x.denominator)] for x in right]
        size = len(right)
        found = DomainMatrix(matrix, (size, size), QQ).lu_solve(DomainMatrix(column, (size, 1), QQ))
        return [Fraction(int(x.numerator), int(x.denominator)) for (x,) in found.to_list()]

    graph = nx.DiGraph((state, then) for state, row in rows.items() for then in row)
    average: dict[Hashable, Fraction] = {}
    for members in nx.attracting_components(graph):
        states = list(members)
        # Stationary: sum_s pi(s) P(s, t) = pi(t) for all t but one, and sum_s pi(s) = 1.
        left = [[rows[s].get(t, Fraction(0)) - (s == t) for s in states] for t in states[1:]]
        left.append([Fraction(1)] * len(states))
        weights = solve(left, [Fraction(0)] * (len(states) - 1) + [Fraction(1)])
        gain = sum((w * rewards[s] for s, w in zip(states, weights, strict=True)), Fraction(0))
        average.update(dict.fromkeys(states, gain))
    transient = [state for state in rows if state not in average]
    if transient:
        left = [[(s == t) - rows[s].get(t, Fraction(0)) for t in transient] for s in transient]
        right = [
            sum((p * average.get(t, 0) for t, p in rows[s].items()), Fraction(0)) for s in transient
        ]
        average.update(zip(transient, solve(left, right), strict=True))
    return sum((weight * average[state] for state, weight in law.items()), Fraction(0))


def optimum_of_cycle(instance: Instance) -> Fraction:
    """What a cycle costs the optimum, on average over the period that it settles in.

    Farthest-next-use on the prefix and the endlessly repeated cycle. At every time it has the
    fewest misses possible: among the tokens that are used again before some horizon it evicts those
    that are not first, so it is farthest-next-use for every horizon (model, Lemma 1).

    Examples
    --------
    >>> star = TokenTrie.from_parents([-1, -1, -1])
    >>> optimum_of_cycle(Instance(star, 2, [[0], [1], [2]], cycle_start=0))
    Fraction(3, 2)
    """
    footprints = [instance.footprint(index) for index in range(len(instance.steps))]
    begin, end = len(instance.prefix), len(footprints)
    uses: dict[int, list[int]] = {}
    for time, tokens in enumerate(footprints):
        for token in tokens:
            uses.setdefault(token, []).append(time)

    def next_use(token: int, now: int) -> float:
        times = uses[token]
        later = bisect_right(times, now)
        if later < len(times):
            return times[later]
        if times[-1] < begin:
            return float("inf")
        return times[bisect_right(times, begin - 1)] + end - begin

    cached: set[int] = set()
    misses = 0
    seen: dict[frozenset[int], tuple[int, int]] = {}
    cycles = 0
    now = 0
    while True:
        if now == begin:
            key = frozenset(cached)
            if key in seen:
                first, before = seen[key]
                return Fraction(misses - before, cycles - first)
            seen[key] = cycles, misses
        tokens = footprints[now]
        misses += sum(token not in cached for token in tokens)
        cached.update(tokens)
        while len(cached) > instance.capacity:
            cached.remove(
                max(cached.difference(tokens), key=lambda token: (next_use(token, now), token))
            )
        now += 1
        if now == end:
            now, cycles = begin, cycles + 1
