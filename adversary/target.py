"""What is attacked: a policy at a capacity, and the steps that the adversary may ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from adversary.tries import at_least
from theory.cache import PrefixCache, run
from theory.errors import CapacityError, PolicyError
from theory.eviction import EvictionPolicy, RandomisedPolicy, make_policy
from theory.model import Instance, check_capacity
from theory.repeats import check_repeats, not_repeated
from theory.trie import TokenTrie

__all__ = ["Target"]


@dataclass(frozen=True)
class Target:
    """A policy, and the batches of exactly `beta` queries of at least `min_length` tokens.

    Parameters
    ----------
    policy : str
        ``name[:parameter=value...]`` or ``module:Class``.
    capacity : int
        B.
    beta : int
        Distinct queries a batch.
    min_length : int
        L, the least length of a query.

    Examples
    --------
    >>> target = Target("leaf-lru", capacity=8, beta=2, min_length=3)
    >>> target.k, target.randomised, target.has_state
    (5, False, True)
    """

    policy: str
    capacity: int
    beta: int = 1
    min_length: int = 1

    def __post_init__(self) -> None:
        at_least(check_capacity(self.capacity), 1, "capacity")
        at_least(self.beta, 1, "beta")
        at_least(self.min_length, 1, "min_length")
        if self.k < 1:
            raise CapacityError(
                f"{self.beta} queries of {self.min_length} tokens do not fit into {self.capacity}",
                where="capacity",
                fix=f"give at least {self.min_length + self.beta - 1}",
            )
        make_policy(self.policy)

    @property
    def k(self) -> int:
        """The free slots B - L - beta + 2, if the shortest footprint is as short as it can be."""
        return self.capacity - self.min_length - self.beta + 2

    @cached_property
    def _example(self) -> EvictionPolicy:
        return make_policy(self.policy)

    @property
    def randomised(self) -> bool:
        """Whether the policy tosses coins."""
        return isinstance(self._example, RandomisedPolicy)

    @cached_property
    def has_state(self) -> bool:
        """Whether the policy tells its state, so that a repetition can be recognised."""
        return PrefixCache(TokenTrie.from_parents([-1]), 1, make_policy(self.policy)).tells_state

    def check_repeats(self, instance: Instance) -> None:
        """Check that a deterministic policy does the same when it serves an instance again.

        Raises
        ------
        PolicyError
            If it does not: it draws random numbers, or reads what is not in the steps.
        """
        if self.randomised:
            return
        long = instance if instance.cycle_start is None else instance.unrolled(4)
        check_repeats(self.policy, run(long, self.policy).steps, run(long, self.policy).steps)

    def not_repeated(self, what: str) -> PolicyError:
        """The error of a deterministic policy that does two things in the same place."""
        return not_repeated(self.policy, what)

    def allows(self, trie: TokenTrie, step: Sequence[int]) -> bool:
        """Whether the adversary may ask for a batch."""
        return (
            len(set(step)) == self.beta
            and all(trie.depth(query) >= self.min_length for query in step)
            and trie.footprint_size(step) <= self.capacity
        )
