"""The exact competitive ratio of a policy on a finite trie."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from theory.cache import run
from theory.errors import InputError, PolicyError
from theory.eviction import RandomisedPolicy, make_policy
from theory.exact.arena import Arena, Batch
from theory.exact.game import Game, Progress, explore
from theory.exact.growing import state_grows
from theory.exact.ratio import Extreme, free_cycle, largest_ratio
from theory.model import Instance

__all__ = ["GROWS", "ExactRatio", "exact_ratio"]

MOST_STATES = 200_000
ROUNDS = 8

GROWS = (
    "the values of state() keep growing while the caches repeat, so the search ends at any cap, or "
    "with an unbounded ratio: give ranks instead of times and counts, where no victim depends on "
    "these ('kvbounds check {policy}' tells)"
)
"""What to do about a policy whose states never return."""


@dataclass(frozen=True)
class ExactRatio:
    """The ratio of a policy over all sequences of admissible steps of an arena.

    Attributes
    ----------
    arena : Arena
        The trie, the capacity and the queries.
    policy : str
        The policy.
    ratio : Fraction or None
        The largest ratio found; None: unbounded.
    complete : bool
        Whether the ratio is exact. If not, the cap on the states was reached and the ratio is that
        of the best cycle found: a lower bound only. An unbounded ratio is always exact.
    states : int
        The product states found.
    witness : Instance
        A prefix and a cycle of steps that has the ratio.
    policy_cost : Fraction
        What the policy pays in each cycle (in expectation).
    optimum_cost : int
        By how much the optimum rises in each cycle.
    additive : Fraction or None
        If the ratio is complete and bounded: the least d such that ALG <= ratio * OPT + d for every
        sequence, from an empty cache.
    game : Game
        The product states.
    extreme : Extreme
        Their potential.
    """

    arena: Arena
    policy: str
    ratio: Fraction | None
    complete: bool
    states: int
    witness: Instance
    policy_cost: Fraction
    optimum_cost: int
    additive: Fraction | None
    game: Game
    extreme: Extreme

    @property
    def text(self) -> str:
        """The ratio as it is printed: "3/2", "7", "unbounded"."""
        return "unbounded" if self.ratio is None else str(self.ratio)


def exact_ratio(
    arena: Arena,
    policy: str,
    *,
    most_states: int = MOST_STATES,
    progress: Progress | None = None,
) -> ExactRatio:
    """The competitive ratio of a policy on a finite trie, with what proves it.

    Parameters
    ----------
    arena : Arena
        The trie, the capacity and the queries.
    policy : str
        A policy that gives its state (see `theory.eviction.make_policy`).
    most_states : int
        A cap on the product states; when it is reached the ratio is a lower bound only.
    progress : callable, optional
        Called with the number of states found and expanded.

    Raises
    ------
    InputError
        If the cache holds all tokens that any step uses, or the cap leaves no cycle.
    PolicyError
        If the policy is unknown, gives no state, or does not do what its state says it will.

    Notes
    -----
    A policy with unbounded counters (lfu, hits-per-token) has infinitely many states. The search
    then ends at the cap, unless a cycle shows that the ratio is unbounded: nothing is rounded or
    normalised to make the states finite.

    Examples
    --------
    >>> from theory.trie import TokenTrie
    >>> found = exact_ratio(Arena(TokenTrie.from_parents([-1, -1, -1]), 2), "rlt")
    >>> found.text, found.complete, found.witness.cycle
    ('3/2', True, ((2,), (0,), (1,), (0,)))
    """
    if arena.trivial:
        size = arena.universe.bit_count()
        raise InputError(
            f"{arena.capacity} tokens hold all {size} tokens of the admissible steps, so nothing "
            "is ever evicted",
            where="capacity",
            fix=f"give less than {size}",
        )
    game = explore(
        arena,
        policy,
        most_states,
        progress=progress,
        enough=lambda part: free_cycle(part.edges()) is not None,
    )
    graph = game.edges()
    extreme = largest_ratio(graph, prove=game.complete)
    if extreme is None:
        raise InputError(
            f"no cycle closes within {len(game.pairs):,} states (the trie has {arena.caches:,} "
            f"prefix-closed caches of at most {arena.capacity} tokens)",
            where="max-states",
            fix=f"raise the cap of {most_states:,} states or give a smaller trie"
            if not state_grows(arena, policy)
            else GROWS.format(policy=policy),
        )
    policy_cost, optimum_cost = graph.costs(extreme.cycle)
    prefix = [game.steps[step] for step in game.walk_to(extreme.cycle[0][0])]
    cycle: list[Batch] = [game.steps[step] for _, step in extreme.cycle]
    witness = Instance(arena.trie, arena.capacity, prefix + cycle, cycle_start=len(prefix))
    _serve_again(witness, policy, policy_cost)
    return ExactRatio(
        arena,
        policy,
        extreme.ratio,
        game.complete or extreme.ratio is None,
        len(game.pairs),
        witness,
        policy_cost,
        optimum_cost,
        None if extreme.potential is None else Fraction(extreme.potential[0], extreme.scale),
        game,
        extreme,
    )


def _serve_again(witness: Instance, policy: str, cost: Fraction) -> None:
    """Check that a deterministic policy pays in every round of the cycle what its states say.

    A policy that tosses coins of its own, or remembers what `state` does not tell, does not.
    """
    if isinstance(make_policy(policy), RandomisedPolicy):
        return
    served = run(witness.unrolled(ROUNDS), policy).steps[len(witness.prefix) :]
    size = len(witness.cycle)
    for number in range(ROUNDS):
        paid = sum(step.cost for step in served[number * size : (number + 1) * size])
        if paid != cost:
            raise PolicyError(
                f"pays {paid} in round {number + 1} of a cycle in which its states say {cost}",
                where=f"policy {policy}",
                fix="state() must tell all that decisions depend on, and what is random must be "
                "in distribution() of a RandomisedPolicy",
            )
