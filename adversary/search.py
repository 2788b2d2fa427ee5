"""Find a bad sequence for any eviction policy.

Rounds of *islands*: each island takes the best sequences so far and spends a fixed number of
evaluations on adaptive play by strategies, on their random changes and on those of sequences, and
on beam search; where the capacity is small, one island also asks the exact solver about a few small
forests. The first round tries the known families too. A round depends on the seed and its number,
not on the number of processes, so a search can be stopped after any round and taken up again. A
round can also be cut short at a deadline; then it depends on the speed of the machine.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

from adversary.beam import beam
from adversary.deadline import Deadline
from adversary.evolve import change_sequence, change_strategy
from adversary.known import known
from adversary.measure import SEARCH_SEEDS, Score, certify, measure
from adversary.strategy import (
    LETTERS,
    Board,
    Strategy,
    brooms,
    play,
    random_board,
    random_strategy,
)
from adversary.target import Target
from adversary.tries import forests
from theory.engine import supports
from theory.errors import InputError
from theory.exact import Arena, exact_ratio
from theory.model import Instance
from theory.trie import TokenTrie

__all__ = ["Candidate", "Search"]

ISLANDS = 4
EVALUATIONS = 40
"""Of each island in each round."""
KEPT = 8
FRESH_SEEDS = range(3000, 3100)
RESULTS = 4
"""How many of the kept are certified at the end."""
SERVED_PER_EVALUATION = 100
BEAM_SHARE = 0.3
"""The most of the time until a deadline that goes to beam search."""
LONGEST_FAMILY = 50_000
"""With a deadline, a family with a longer cycle is left out: it would take too long."""
EXACT_CAPACITY = 4
EXACT_NODES = 6
EXACT_FORESTS = 4
EXACT_STATES = 2000


@dataclass(frozen=True)
class Candidate:
    """A sequence, its score and where it comes from.

    Attributes
    ----------
    instance : Instance
        A prefix and a cycle.
    score : Score
        The costs of the cycle.
    found_by : str
        The method.
    board, strategy : Board, Strategy or None
        What it was played with.
    """

    instance: Instance
    score: Score
    found_by: str
    board: Board | None = None
    strategy: Strategy | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        value: dict[str, Any] = {
            "found_by": self.found_by,
            "policy_cost": str(self.score.policy_cost),
            "optimum_cost": str(self.score.optimum_cost),
            "exact": self.score.exact,
            "half_width": self.score.half_width,
            "instance": self.instance.to_json(),
        }
        if self.board is not None and self.strategy is not None:
            value["queries"], value["fixed"] = list(self.board.queries), list(self.board.fixed)
            value["warm"], value["pattern"] = self.strategy.warm, self.strategy.pattern
        return value

    @classmethod
    def from_json(cls, value: Any, where: str) -> Candidate:
        """Read the JSON form."""
        try:
            instance = Instance.from_json(value["instance"], where)
            score = Score(
                Fraction(value["policy_cost"]),
                Fraction(value["optimum_cost"]),
                exact=value["exact"] is True,
                half_width=float(value["half_width"]),
            )
            found_by = str(value["found_by"])
            if "pattern" not in value:
                return cls(instance, score, found_by)
            board = Board(instance.trie, tuple(value["queries"]), tuple(value["fixed"]))
            return cls(instance, score, found_by, board, Strategy(value["warm"], value["pattern"]))
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise InputError(
                f"is no saved candidate ({type(error).__name__}: {error})", where=where
            ) from None


@dataclass
class Search:
    """A search that goes on round by round.

    Parameters
    ----------
    target : Target
        What is attacked.
    seed : int
        Seeds every random draw.

    Attributes
    ----------
    rounds, evaluations : int
        How many were made.
    pool : list of Candidate
        The best ones, the worst for the policy first.

    Examples
    --------
    >>> search = Search(Target("mru", 2), seed=1)
    >>> search.advance()
    >>> search.best.score.text
    'unbounded'
    """

    target: Target
    seed: int = 0
    rounds: int = 0
    evaluations: int = 0
    pool: list[Candidate] = field(default_factory=list)

    @property
    def best(self) -> Candidate:
        """The worst case so far."""
        if not self.pool:
            raise InputError("no round was made", where="search")
        return self.pool[0]

    @property
    def finished(self) -> bool:
        """Whether nothing worse can be found: the ratio is unbounded, beyond doubt."""
        return bool(self.pool) and self.best.score.exact and self.best.score.ratio is None

    def advance(
        self,
        jobs: int = 1,
        stop: Deadline | None = None,
        each: Callable[[int], None] = lambda count: None,
    ) -> None:
        """Make one round.

        Parameters
        ----------
        jobs : int
            Processes.
        stop : Deadline, optional
            Cuts the round short; what was found until then is kept. The first round does not count
            if it has not tried all that is always tried.
        each : callable
            Is told the number of evaluations of every island when it is done.
        """
        if stop and not self.rounds:
            # In this process: it takes seconds until others have begun.
            self.pool = _best([*self.pool, *_families(self.target, stop)])
        number, pool = self.rounds, self.pool
        tasks = [
            (self.target, f"{self.seed}/{number}/{island}", island, number, pool, stop)
            for island in range(ISLANDS)
        ]
        results: list[_Found] = []
        for result in _results(tasks, jobs):
            results.append(result)
            each(result.evaluations)
        found = [candidate for result in results for candidate in result.candidates]
        self.evaluations += sum(result.evaluations for result in results)
        self.rounds += all(result.first for result in results)
        self.pool = _best([*self.pool, *found])
        self._settle(stop)

    def _settle(self, stop: Deadline | None = None) -> None:
        """Certify the best ones until a certified one leads: a measurement can flatter."""
        tried: list[Instance] = []
        while self.target.has_state:
            open_ = [c for c in self.pool if not c.score.exact and c.instance not in tried]
            if not open_ or self.pool[0].score.exact or (stop and stop()):
                return
            if self.target.randomised and open_[0].score.ratio is not None:
                return
            tried.append(open_[0].instance)
            certified = _certified(open_[0], self.target, stop)
            self.pool = _best([certified, *(c for c in self.pool if c is not open_[0])])

    def result(self, stop: Deadline | None = None) -> Candidate:
        """The worst case, with its score certified; after `stop` no more than one is."""
        certified: list[Candidate] = []
        for candidate in self.pool[:RESULTS]:
            if not (certified and stop and stop()):
                certified.append(_certified(candidate, self.target, stop))
        if not certified:
            raise InputError(
                "no sequence was found that costs the policy anything",
                where=f"policy {self.target.policy}",
                fix="give more evaluations",
            )
        best = max(certified, key=lambda c: (c.score.sure, c.score.exact, -len(c.instance.steps)))
        if self.target.randomised and not best.score.exact:
            # The largest of several measurements flatters: what is told comes from fresh coins.
            best = replace(best, score=measure(best.instance, self.target, FRESH_SEEDS, stop))
        return best

    def to_json(self) -> dict[str, Any]:
        """The JSON form of the state, schema ``kvbounds/search/1``."""
        target = self.target
        return {
            "schema": "kvbounds/search/1",
            "policy": target.policy,
            "capacity": target.capacity,
            "beta": target.beta,
            "min_length": target.min_length,
            "seed": self.seed,
            "rounds": self.rounds,
            "evaluations": self.evaluations,
            "pool": [candidate.to_json() for candidate in self.pool],
        }

    @classmethod
    def from_json(cls, value: Any, where: str = "search") -> Search:
        """Read the state of a search."""
        try:
            target = Target(value["policy"], value["capacity"], value["beta"], value["min_length"])
            seed, rounds, evaluations = (
                int(value[key]) for key in ("seed", "rounds", "evaluations")
            )
            pool = value["pool"]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"is no saved search ({error})", where=where) from None
        return cls(
            target,
            seed,
            rounds,
            evaluations,
            [Candidate.from_json(item, f"{where}#/pool/{i}") for i, item in enumerate(pool)],
        )


def _certified(candidate: Candidate, target: Target, stop: Deadline | None = None) -> Candidate:
    if candidate.score.exact:
        return candidate
    return replace(candidate, score=certify(candidate.instance, target, stop))


def _best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best ones; of those with equal ratios, the shortest that each method found."""
    order = sorted(
        candidates,
        key=lambda c: (c.score.rank, c.score.exact, -len(c.instance.steps)),
        reverse=True,
    )
    kept: list[Candidate] = []
    seen: set[tuple[tuple[bool, Fraction], str]] = set()
    for candidate in order:
        key = candidate.score.rank, candidate.found_by
        if key not in seen:
            seen.add(key)
            kept.append(candidate)
    return kept[:KEPT]


class _Found(NamedTuple):
    """What an island found, in how many evaluations, and whether it tried all it always tries."""

    candidates: list[Candidate]
    evaluations: int
    first: bool


def _results(tasks: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[_Found]:
    """What the islands found, in their order."""
    if jobs == 1:
        yield from (_island(*task) for task in tasks)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator")
    yield from parallel(delayed(_quietly)(*task) for task in tasks)


def _quietly(*task: Any) -> _Found:
    """Work in a process of its own, which leaves Ctrl-C to the one that waits for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with redirect_stdout(sys.stderr):  # what a policy prints is no part of the result
        return _island(*task)


def _island(
    target: Target,
    seed: str,
    island: int,
    number: int,
    pool: Sequence[Candidate],
    stop: Deadline | None = None,
) -> _Found:
    """One island's share of a round."""
    draw = Random(seed)
    found: list[Candidate] = []
    count = 0
    first = True
    if number == 0:
        found += _first(target, island, stop)
        count += len(found)
        first = not (stop and stop())
    small = island == 0 and target.capacity <= EXACT_CAPACITY
    if small and target.has_state and not (stop and stop()):
        found += _exact(target, number, draw, stop)
        count += EXACT_FORESTS
    if target.has_state and not target.randomised and not (stop and stop()):
        boards = brooms(target)
        board = (
            boards[(number + island) % len(boards)] if island % 2 else random_board(target, draw)
        )
        beat = max((c.score.ratio or Fraction(0) for c in pool), default=Fraction(1))
        instance, served = beam(target, board, beat, width=10, stop=stop and stop.part(BEAM_SHARE))
        count += -(-served // SERVED_PER_EVALUATION)
        if instance is not None:
            found.append(Candidate(instance, certify(instance, target, stop), "beam search"))
    while count < EVALUATIONS and not (stop and stop()):
        count += 1
        candidate = _try(target, draw, [*pool, *found], stop)
        if candidate is not None:
            found.append(candidate)
    return _Found(_best(found), count, first)


def _try(
    target: Target, draw: Random, parents: Sequence[Candidate], stop: Deadline | None
) -> Candidate | None:
    """One evaluation: a new strategy, a changed one, or a changed sequence."""
    played = [c for c in parents if c.board is not None and c.strategy is not None]
    kind = draw.random()
    if not parents or kind < 0.3:
        board = random_board(target, draw) if draw.random() < 0.5 else draw.choice(brooms(target))
        strategy = random_strategy(draw, target.k)
        return _played(target, board, strategy, draw.randrange(2**20), "adaptive play", stop)
    if played and kind < 0.65:
        parent = _choose(played, draw)
        assert parent.board is not None
        assert parent.strategy is not None
        if draw.random() < 0.2:
            board, strategy = random_board(target, draw), parent.strategy
        else:
            board, strategy = parent.board, change_strategy(parent.strategy, draw, target.k)
        return _played(target, board, strategy, draw.randrange(2**20), "evolved play", stop)
    instance = change_sequence(_choose(parents, draw).instance, target, draw)
    if instance is None:
        return None
    return Candidate(instance, measure(instance, target, stop=stop), "evolved sequence")


def _choose(parents: Sequence[Candidate], draw: Random) -> Candidate:
    """The better of two."""
    two = draw.choice(parents), draw.choice(parents)
    return max(two, key=lambda c: c.score.rank)


def _played(
    target: Target,
    board: Board,
    strategy: Strategy,
    seed: int,
    how: str,
    stop: Deadline | None,
) -> Candidate | None:
    instance = play(target, board, strategy, seed, stop=stop)
    if instance is None:
        return None
    return Candidate(instance, measure(instance, target, stop=stop), how, board, strategy)


def _first(target: Target, island: int, stop: Deadline | None) -> list[Candidate]:
    """What is always tried: one part an island. With a deadline the families were tried before."""
    played = []
    words = [Strategy("", letter) for letter in LETTERS]
    words += [Strategy("n" * target.k + "h" * target.k, "m"), Strategy("nh" * target.k, "m")]
    for place, board in enumerate(brooms(target)):
        if place % ISLANDS == island:
            for word in words:
                candidate = _played(target, board, word, 0, "adaptive play", stop)
                if candidate is not None:
                    played.append(candidate)
    if island == 0 and stop is None:
        played += _families(target)
    return played


def _families(target: Target, stop: Deadline | None = None) -> list[Candidate]:
    """The known worst cases; with a deadline, one of them at the least, and no very long ones."""
    found: list[Candidate] = []
    slow = target.randomised and not supports(target.policy)
    longest = LONGEST_FAMILY // (len(SEARCH_SEEDS) if slow else 1)
    for name, instance in known(target, longest if stop else None):
        if not (found and stop and stop()):
            score = measure(instance, target, stop=stop)
            found.append(Candidate(instance, score, f"family {name}"))
    return found


def _exact(target: Target, number: int, draw: Random, stop: Deadline | None) -> Iterator[Candidate]:
    """The exact solver's worst cycle on a few small forests, among them the star."""
    nodes = min(target.capacity + 2 - number % 2, EXACT_NODES)
    every = list(forests(nodes))
    for parents in [every.pop(), *draw.sample(every, min(len(every), EXACT_FORESTS - 1))]:
        if stop and stop():
            return
        try:
            arena = Arena(
                TokenTrie.from_parents(parents),
                target.capacity,
                target.beta,
                min_length=target.min_length,
            )
            solved = exact_ratio(arena, target.policy, most_states=EXACT_STATES)
        except InputError:
            continue
        costs = solved.policy_cost, Fraction(solved.optimum_cost)
        yield Candidate(solved.witness, Score(*costs, exact=True), "exact solver")
