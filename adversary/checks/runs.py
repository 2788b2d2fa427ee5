"""Checks of single runs: victims, steps, hidden coins, granularity, forks, the engine."""

from __future__ import annotations

import random
from collections.abc import Sequence

from adversary.checks.case import raised
from theory.cache import PrefixCache, StepResult, run
from theory.engine import Flat, simulate
from theory.eviction import make_policy
from theory.model import Instance
from theory.repeats import difference

__all__ = [
    "agrees_with_the_engine",
    "candidates",
    "forks",
    "granularity",
    "repeats",
    "serves",
]

AHEAD = 4
"""The steps that a fork is watched for."""


CHANCES = 30
"""Runs that would all agree with probability 2^-30 if the victim were one of two, by a coin."""


def candidates(policy: str, instance: Instance, seed: int) -> str | None:
    """Every victim is one of the leaves that `choose` is given."""
    kind, fault = _faults(policy, instance, seed)
    return fault if kind == "candidates" else None


def serves(policy: str, instance: Instance, seed: int) -> str | None:
    """All steps are served: nothing is raised, and the policy leaves the cache alone."""
    kind, fault = _faults(policy, instance, seed)
    return fault if kind == "serves" else None


def _faults(policy: str, instance: Instance, seed: int) -> tuple[str, str | None]:
    cache = PrefixCache(instance.trie, instance.capacity, make_policy(policy), seed=seed)
    for number, step in enumerate(instance.steps):
        held = set(cache.cached)
        try:
            cache.begin(step)
            while cache.excess > 0:
                leaves = cache.leaves()
                victim = cache.policy.choose(list(leaves))
                if set(cache.cached) != held:
                    return "serves", f"step {number}: changes the cache, which is read-only"
                if not _among(victim, leaves):
                    shown = f"{victim!r}, which is none of the leaves {leaves}"
                    return "candidates", f"step {number}: choose() returns {shown}"
                cache.evict(victim)
                held = set(cache.cached)
            cache.finish()
        except (Exception, SystemExit) as error:
            return "serves", f"step {number}: {raised(error)}"
    return "", None


def _among(victim: object, leaves: Sequence[int]) -> bool:
    try:
        return victim in leaves
    except Exception:  # what is compared is the user's
        return False


def repeats(policy: str, instance: Instance, seed: int) -> str | None:
    """The same steps and seed give the same evictions: again, and in step with another cache."""
    first = run(instance, make_policy(policy), seed=seed)
    coins = random.getstate()

    def again(times: int) -> str | None:
        """The difference to further runs, one after another."""
        for _ in range(times):
            fault = difference(first.steps, run(instance, make_policy(policy), seed=seed).steps)
            if fault is not None:
                return fault
        return None

    fault = again(1)
    if fault is None:
        pair = [
            PrefixCache(instance.trie, instance.capacity, make_policy(policy), seed=seed)
            for _ in range(2)
        ]
        both = [[cache.serve(step) for cache in pair] for step in instance.steps]
        fault = difference(first.steps, [served[1] for served in both])
        alone = None if fault is None else again(CHANCES)  # hidden coins may have agreed once
        if alone is None and fault is not None:
            return f"{fault} beside a second cache: what one policy learns, another one knows"
    drawn = random.getstate() != coins
    if fault is None:
        return "draws from the global `random`" if drawn else None
    return f"{fault} when the same steps are served again" + (
        ", and draws from the global `random`" if drawn else ""
    )


def granularity(policy: str, instance: Instance, seed: int) -> str | None:
    """The granularity is what the cache has read, before the first step and after the last."""
    made = make_policy(policy)
    first = made.granularity
    cache = PrefixCache(instance.trie, instance.capacity, made, seed=seed)
    for number, step in enumerate(instance.steps):
        if made.granularity != first:
            return f"step {number}: granularity {first!r} has become {made.granularity!r}"
        cache.serve(step)
    return None


def forks(policy: str, instance: Instance, seed: int) -> str | None:
    """A fork behaves as the original does, and neither changes the other."""
    steps = instance.steps
    reference = run(instance, make_policy(policy), seed=seed).steps
    cache = PrefixCache(instance.trie, instance.capacity, make_policy(policy), seed=seed)
    waiting: list[tuple[int, PrefixCache]] = []
    for number, step in enumerate(steps):
        at_once, later = cache.fork(), cache.fork()
        wrong = _of_its_own(cache, at_once)
        if wrong is not None:
            return f"step {number}: {wrong}"
        for other in reversed(steps[max(0, number - AHEAD) : number + AHEAD]):
            later.serve(other)  # elsewhere: the original must not see it
        waiting.append((number, cache.fork()))
        fault = _follows(at_once, steps, reference, number)
        if fault is not None:
            return fault
        if number >= AHEAD:
            fault = _follows(waiting[number - AHEAD][1], steps, reference, number - AHEAD)
            if fault is not None:
                return f"{fault} when the original has gone on"
        if _in_the_middle(cache, step).finish() != reference[number]:
            return f"step {number}: a fork in the middle of the step goes another way"
        if cache.finish() != reference[number]:
            return f"step {number}: a fork changes what the original evicts"
    return None


def _in_the_middle(cache: PrefixCache, step: Sequence[int]) -> PrefixCache:
    """Serve a step but for its end, and a fork of the middle of the step too."""
    cache.begin(step)
    middle = cache.fork()
    for one in (middle, cache):
        while one.excess > 0:
            one.evict(one.policy.choose(one.leaves()))
    return middle


def _of_its_own(cache: PrefixCache, copy: PrefixCache) -> str | None:
    if copy.policy is cache.policy:
        return "fork() returns the policy itself"
    if type(copy.policy) is not type(cache.policy):
        return f"fork() returns a {type(copy.policy).__name__}"
    if getattr(copy.policy, "cache", None) is not copy:
        return "fork() leaves `cache` as it was: it must serve the cache that it is given"
    if copy.policy.granularity != cache.policy.granularity:
        return "fork() returns a policy of another granularity"
    return None


def _follows(
    copy: PrefixCache,
    steps: Sequence[tuple[int, ...]],
    reference: Sequence[StepResult],
    start: int,
) -> str | None:
    for number in range(start, min(start + AHEAD, len(steps))):
        served = copy.serve(steps[number])
        if served != reference[number]:
            return (
                f"step {number}: a fork made before step {start} evicts {list(served.evicted)}, "
                f"the original {list(reference[number].evicted)}"
            )
    return None


def agrees_with_the_engine(policy: str, instance: Instance, seed: int) -> str | None:
    """The compiled kernel does the same as the class, step by step."""
    counts = simulate(Flat.from_instance(instance), policy, instance.capacity, seed)
    served = run(instance, make_policy(policy), seed=seed).steps
    for number, step in enumerate(served):
        ours = len(step.hits), len(step.misses), len(step.evicted)
        fast = tuple(int(c[number]) for c in (counts.hits, counts.misses, counts.evicted))
        if ours != fast:
            return f"step {number}: hits, misses, evictions {ours}, in the engine {fast}"
    return None
