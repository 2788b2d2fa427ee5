"""What a cycle costs: fast for the search, and exactly for the result.

The cost of a cycle is what one more repetition adds, in the long run. That of the optimum is always
exact: its work function returns to an earlier state. That of a policy is measured over the last
repetitions, with several seeds if it is randomised, and proved where its state repeats too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from adversary.target import Target
from theory.cache import PrefixCache, run
from theory.engine import Flat, simulate, supports
from theory.errors import InputError
from theory.exact.arena import Arena
from theory.exact.cycle import cycle_ratio, optimum_per_cycle
from theory.model import Instance

__all__ = ["Score", "certify", "measure"]

SEARCH_SEEDS = range(8)
FINAL_SEEDS = range(1000, 1100)
"""Other coins than those that the search has selected on."""
LEAST_STEPS = 160
MOST_STEPS = 4000
"""How many steps a measurement lasts in the search, and at the end."""
SLOW_STEPS = 500
SLOW_SEEDS = 24
"""At the end, for a policy without a kernel."""
LEAST_SEEDS = 4
"""A measurement that is stopped has at least so many, or its interval would tell nothing."""
MOST_STEPS_TO_REPEAT = 1500
MOST_CACHES = 120
"""A randomised policy's exact law is asked for only where there are so few prefix-closed caches."""


@dataclass(frozen=True)
class Score:
    """The cost of a cycle to a policy and to the optimum.

    Attributes
    ----------
    policy_cost, optimum_cost : Fraction
        Per cycle, in the long run; means over seeds if the policy is randomised and not `exact`.
    exact : bool
        Whether a repetition of the state proves the costs; otherwise they are measured.
    half_width : float
        Half of the 95 % interval of the ratio; 0 if there is no chance in it.
    runs : int
        The number of seeds.
    """

    policy_cost: Fraction
    optimum_cost: Fraction
    exact: bool = False
    half_width: float = 0.0
    runs: int = 1

    @property
    def ratio(self) -> Fraction | None:
        """Policy over optimum; None: unbounded. A cycle that costs nobody anything has ratio 1."""
        if self.optimum_cost:
            return self.policy_cost / self.optimum_cost
        return None if self.policy_cost else Fraction(1)

    @property
    def text(self) -> str:
        """The ratio as it is printed: "3/2", "unbounded"; measured ones with their interval."""
        if self.ratio is None:
            return "unbounded"
        if self.exact or not self.half_width:
            return str(self.ratio)
        return f"{float(self.ratio):.4f} +- {self.half_width:.4f}"

    @property
    def rank(self) -> tuple[bool, Fraction]:
        """Larger is worse for the policy; there is nothing beyond unbounded."""
        return self.ratio is None, self.ratio or Fraction(0)

    @property
    def sure(self) -> float:
        """The lower end of the interval of the ratio."""
        return float("inf") if self.ratio is None else float(self.ratio) - self.half_width


def measure(
    instance: Instance,
    target: Target,
    seeds: Sequence[int] = SEARCH_SEEDS,
    stop: Callable[[], bool] | None = None,
) -> Score:
    """Repeat the cycle and count what its last repetitions cost.

    Parameters
    ----------
    instance : Instance
        With a cycle.
    target : Target
        Names the policy.
    seeds : sequence of int
        The runs of a randomised policy.
    stop : callable, optional
        Asked before every run; after True, `LEAST_SEEDS` will do.

    Examples
    --------
    >>> from adversary.cyclic import cyclic
    >>> measure(cyclic(4), Target("leaf-lru", 4)).ratio
    Fraction(4, 1)
    """
    compiled = supports(target.policy)
    cycle, before = len(instance.cycle), len(instance.prefix)
    wanted = LEAST_STEPS if seeds is SEARCH_SEEDS else MOST_STEPS if compiled else SLOW_STEPS
    repeats = max(4, wanted // cycle)
    counted = repeats // 2
    long = instance.unrolled(repeats)
    cut = before + (repeats - counted) * cycle
    flat = Flat.from_instance(long)
    costs: list[int] = []
    for seed in seeds[: 1 if not target.randomised else None if compiled else SLOW_SEEDS]:
        if len(costs) >= LEAST_SEEDS and stop and stop():
            break
        if compiled:
            misses = simulate(flat, target.policy, instance.capacity, seed).misses
            costs.append(int(misses[cut:].sum()))
        else:
            steps = run(long, target.policy, seed=seed).steps[cut:]
            costs.append(sum(step.cost for step in steps))
    owed = optimum_per_cycle(instance)
    return Score(
        Fraction(sum(costs), len(costs)) / counted,
        owed,
        half_width=_half_width(costs) / (counted * float(owed)) if owed else 0.0,
        runs=len(costs),
    )


def _half_width(values: list[int]) -> float:
    """Half of the 95 % Student t interval of a mean."""
    if len(values) < 2:
        return 0.0
    from scipy.special import stdtrit

    deviation = float(np.std(values, ddof=1)) / sqrt(len(values))
    return float(stdtrit(len(values) - 1, 0.975)) * deviation


def certify(instance: Instance, target: Target, stop: Callable[[], bool] | None = None) -> Score:
    """The exact cost of the cycle where it can be had, else the best measurement.

    It is exact for a deterministic policy whose state repeats, and for a randomised one on a small
    trie. Exact costs come from the executable cache and the work function, not from the engine.
    A measurement may be cut short by `stop`, as in `measure`.

    Examples
    --------
    >>> from adversary.cyclic import cyclic
    >>> score = certify(cyclic(3), Target("rlt", 3))
    >>> score.ratio, score.policy_cost, score.exact
    (Fraction(11, 6), Fraction(22, 9), True)
    """
    closes = _small if target.randomised else _repeats
    if target.has_state and closes(instance, target):
        try:
            found = cycle_ratio(instance, target.policy)
        except InputError:
            if not target.randomised:  # its state repeats, so the cycle costs nothing
                return Score(Fraction(0), Fraction(0), exact=True)
        else:
            return Score(found.policy_cost, found.optimum_cost, exact=True)
    score = measure(instance, target, FINAL_SEEDS, stop)
    if score.ratio is None and _wears_off(instance, target, score, stop):
        return Score(Fraction(0), Fraction(0), runs=score.runs)
    return score


def _wears_off(
    instance: Instance, target: Target, score: Score, stop: Callable[[], bool] | None
) -> bool:
    """Whether a cycle that is free to the optimum costs the policy less and less.

    Coins may take long until they have found the cache that serves the cycle for nothing. That is
    a cost of the start, and no unbounded ratio.
    """
    before = instance.unrolled(-(-MOST_STEPS // len(instance.cycle))).steps
    later = Instance(
        instance.trie, instance.capacity, [*before, *instance.cycle], cycle_start=len(before)
    )
    return 2 * measure(later, target, FINAL_SEEDS, stop).policy_cost < score.policy_cost


def _repeats(instance: Instance, target: Target) -> bool:
    """Whether a deterministic policy's state repeats before long."""
    cache = PrefixCache(instance.trie, instance.capacity, target.policy)
    for step in instance.prefix:
        cache.serve(step)
    seen: set[Hashable] = set()
    while len(seen) * len(instance.cycle) < MOST_STEPS_TO_REPEAT:
        if cache.state() in seen:
            return True
        seen.add(cache.state())
        for step in instance.cycle:
            cache.serve(step)
    return False


def _small(instance: Instance, target: Target) -> bool:
    """Whether the exact law of a randomised policy has few enough states."""
    return Arena(instance.trie, instance.capacity).caches <= MOST_CACHES
