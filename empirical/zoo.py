"""The policy zoo: all policies side by side, worst cases and real traces, in one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from adversary.drawing import draw_trie, sequence_text
from adversary.growth import PROVED, SINGLE, Growth, growth
from adversary.marking import Marking, look_for_violation
from adversary.measure import Score
from adversary.search import Candidate, Search
from adversary.shrink import shrink
from adversary.target import Target
from adversary.tries import forests
from empirical.ratio import NoKernelError, RatioRow, RatioStudy
from empirical.traces.base import Trace
from theory.bounds import evaluate
from theory.errors import InputError
from theory.exact import Arena, exact_ratio
from theory.model import Instance
from theory.trie import TokenTrie

__all__ = ["NODES", "SMALL", "ZooRow", "exact_worst", "on_trace", "zoo_row"]

NODES, SMALL = 4, 2
"""The exact ratio is the worst over all forests with so many tokens, at this capacity."""
STATES = 5_000
WITH_STATE = {"onlinemin": "onlinemin:epoch=0"}
"""A policy with too many states for the exact solver -> the form of it that has few."""
SLOTS = (2, 3, 4, 6, 8, 12)
SEEDS = 5


@dataclass(frozen=True)
class ZooRow:
    """What is known about a policy (single queries of any length).

    Attributes
    ----------
    policy : str
        Its name.
    marking : Marking
        The search for a violation.
    exact : str or None
        The largest exact ratio over all forests with `NODES` tokens at capacity `SMALL`; None if
        the policy gives no state. With ">=" where the solver's cap was reached.
    score : Score
        The costs of the witness.
    witness : Instance
        The worst case found, minimal.
    found_by : str
        By which method.
    growth : Growth
        How the ratio grows with k.
    proved : tuple of (str, str, str) or None
        Names and values of the proved lower and upper bound at this capacity.
    traces : dict of str to RatioRow or None
        By the name of the trace; None if the policy has no kernel and the trace is too long.
    """

    policy: str
    marking: Marking
    exact: str | None
    score: Score
    witness: Instance
    found_by: str
    growth: Growth
    proved: tuple[str, str, str, str] | None
    traces: dict[str, RatioRow | None] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The row of ``zoo.json``."""
        score = self.score
        return {
            "policy": self.policy,
            "marking": self.marking.violation is None,
            "marking_steps": self.marking.steps,
            "exact": self.exact,
            "ratio": _number(score),
            "ratio_exact": score.exact,
            "half_width": score.half_width,
            "found_by": self.found_by,
            "growth": self.growth.verdict,
            "growth_evidence": self.growth.evidence,
            "growth_reason": self.growth.reason,
            "proved": None
            if self.proved is None
            else dict(
                zip(("lower", "lower_value", "upper", "upper_value"), self.proved, strict=True)
            ),
            "sequence": sequence_text(self.witness),
            "trie": draw_trie(self.witness.trie).splitlines(),
            "witness": self.witness.to_json(),
            "points": [
                {"slots": point.slots, "ratio": _number(point.score)}
                for point in self.growth.points
            ],
            "traces": {
                name: None if row is None else row.to_json() for name, row in self.traces.items()
            },
        }


def zoo_row(policy: str, capacity: int, evaluations: int, seed: int = 0) -> ZooRow:
    """Attack a policy and collect what is known about it; the traces are added by `on_trace`.

    Examples
    --------
    >>> row = zoo_row("mru", capacity=3, evaluations=1)
    >>> row.exact, row.growth.verdict, sequence_text(row.witness)
    ('unbounded', 'unbounded', 'a (b c)^inf')
    """
    target = Target(policy, capacity)
    search = Search(target, seed)
    while search.evaluations < evaluations and not search.finished:
        search.advance()
    best = search.result()
    target.check_repeats(best.instance)
    witness, score = shrink(best.instance, target)
    found = Candidate(witness, score, best.found_by, best.board, best.strategy)
    return ZooRow(
        policy,
        look_for_violation(target, seed, [witness]),
        exact_worst(policy) if target.has_state or policy in WITH_STATE else None,
        score,
        witness,
        best.found_by,
        growth(target, found, search.pool, slots=SLOTS),
        _proved(target),
    )


def exact_worst(policy: str) -> str | None:
    """The largest exact ratio over all forests with `NODES` tokens, at capacity `SMALL`.

    Examples
    --------
    >>> exact_worst("leaf-lru"), exact_worst("fifo"), exact_worst("rlt")
    ('2', '2', '2')

    Where only another form of the policy has a state, that is named:

    >>> exact_worst("onlinemin")
    '3/2 (onlinemin:epoch=0)'
    """
    if policy in WITH_STATE:
        return f"{exact_worst(WITH_STATE[policy])} ({WITH_STATE[policy]})"
    worst: Fraction | None = None
    complete = True
    for parents in forests(NODES):
        try:
            solved = exact_ratio(
                Arena(TokenTrie.from_parents(parents), SMALL), policy, most_states=STATES
            )
        except InputError:
            continue  # nothing is ever evicted there, or no cycle closes within the cap
        if solved.ratio is None:
            return "unbounded"
        complete = complete and solved.complete
        worst = solved.ratio if worst is None else max(worst, solved.ratio)
    return None if worst is None else f"{'' if complete else '>= '}{worst}"


def _proved(target: Target) -> tuple[str, str, str, str] | None:
    names = PROVED.get(target.policy, {}).get(SINGLE)
    if names is None:
        return None
    values = {"B": target.capacity, "L": 1, "beta": 1, "u": 1, "k": target.k}
    lower, upper = names
    try:
        return lower, str(evaluate(lower, **values)), upper, str(evaluate(upper, **values))
    except InputError:  # a bound for large caches only, or without a rational value
        return None


def on_trace(policy: str, trace: Trace, capacity: int) -> RatioRow | None:
    """Hit rate and ratio on a real trace, over the whole of it; None if that takes too long."""
    try:
        return RatioStudy(trace, seeds=SEEDS).row(policy, capacity)
    except NoKernelError:
        return None


def _number(score: Score) -> str:
    if score.ratio is None:
        return "unbounded"
    return str(score.ratio) if score.exact else f"{float(score.ratio):.6g}"
