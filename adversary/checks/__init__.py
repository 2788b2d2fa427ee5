"""Is a class a policy? Every promise of the protocol, held to small instances in a second or two.

A fault comes with the smallest sequence found that shows it. That no fault is found proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adversary.checks import coins, runs, states
from adversary.checks.case import Finding, Probe, battery, look, raised, told
from adversary.marking import look_for_violation
from adversary.target import Target
from adversary.tries import at_least
from theory.cache import PrefixCache
from theory.engine import supports
from theory.errors import InputError
from theory.eviction import RandomisedPolicy, make_policy, policy_class
from theory.model import Instance
from theory.trie import TokenTrie

__all__ = ["Finding", "check_policy"]

MOST_CAPACITY = 64
SEQUENCES = 60
"""Random sequences on which a violation of marking is looked for."""

Check = Callable[[str, Instance, int], str | None]


def check_policy(policy: str, capacity: int = 4, seed: int = 0) -> list[Finding]:
    """Hold a policy to its protocol.

    Parameters
    ----------
    policy : str
        ``name[:parameter=value...]`` or ``module:Class``.
    capacity : int
        The largest capacity of the instances.
    seed : int
        Of the instances, and of the policy's coins.

    Returns
    -------
    list of Finding
        One for each check, in the order in which they build on each other.

    Raises
    ------
    PolicyError
        If there is no such class, or parameters are given that it does not take.

    Examples
    --------
    >>> found = check_policy("mru", capacity=3)
    >>> [one.check for one in found if one.result == "fail"]
    []
    >>> [one.result for one in found if one.check == "marking"]
    ['told']
    """
    at_least(capacity, 2, "capacity", most=MOST_CAPACITY)
    policy_class(":".join(part for part in policy.split(":") if "=" not in part))
    try:
        made = make_policy(policy)
    except (Exception, SystemExit) as error:
        if "=" in policy:
            raise
        return [Finding("built", "fail", raised(error))]
    try:
        PrefixCache(TokenTrie.from_parents([-1]), 1, made, seed=seed)
    except (Exception, SystemExit) as error:
        return [Finding("built", "fail", f"cannot serve a cache: {raised(error)}")]
    if isinstance(made, RandomisedPolicy) and not hasattr(made, "random"):
        fault = "bind() leaves out super().bind(cache, seed), so there is no self.random"
        return [Finding("built", "fail", fault)]
    return _Checks(policy, capacity, seed, isinstance(made, RandomisedPolicy)).all()


class _Checks:
    """All checks of one policy; those that need what has failed are left out."""

    def __init__(self, policy: str, capacity: int, seed: int, randomised: bool) -> None:
        self.policy, self.capacity, self.seed = policy, capacity, seed
        self.randomised = randomised
        self.kind = policy_class(":".join(p for p in policy.split(":") if "=" not in p))
        self.instances = battery(capacity, seed)
        self.found: list[Finding] = []

    def all(self) -> list[Finding]:
        """Run them."""
        kind = "randomised" if self.randomised else "deterministic"
        self.found.append(Finding("built", "pass", f"{self.kind.__name__}, {kind}"))
        steps = sum(len(instance.steps) for instance in self.instances)
        size = f"{steps} steps of {len(self.instances)} sequences, B up to {self.capacity}"
        if self.randomised:
            self._probe("distribution", coins.law, "exact, adds up to 1, names leaves only")
        else:
            self._skip("distribution", "a deterministic policy has none")
        good = f"all victims in {size}"
        self._probe("candidates", runs.candidates, good, ["distribution"])
        runs_well = ["distribution", "candidates"]
        self._probe("serves", runs.serves, "all of them", runs_well)
        runs_well.append("serves")
        self._probe("same run", runs.repeats, "same seed, same evictions", runs_well)
        runs_well.append("same run")
        self._probe("granularity", runs.granularity, self._granularity(), runs_well)
        self._probe("fork", runs.forks, "independent, and the same future", runs_well)
        forks_well = [*runs_well, "fork"]
        self._coins(runs_well, forks_well)
        laws_well = [*forks_well, "draws", "tosses"]
        self._state(laws_well)
        self._call("sees", states.sees_no_more, laws_well)
        self._guard("marking", self._marking, runs_well)
        if supports(self.policy):
            good = "the compiled kernel does the same in every step"
            self._probe("engine", runs.agrees_with_the_engine, good, runs_well)
        else:
            self._skip("engine", "no compiled kernel: traces take the executable cache, slowly")
        return self.found

    def _granularity(self) -> str:
        return f"{make_policy(self.policy).granularity!r} throughout"

    def _coins(self, runs_well: list[str], forks_well: list[str]) -> None:
        """What only randomised policies have."""
        if not self.randomised:
            self._skip("draws", "a deterministic policy has none")
            self._skip("tosses", "a deterministic policy has none")
            return
        if self.kind.choose is RandomisedPolicy.choose:
            self._skip("draws", "choose() is that of RandomisedPolicy, which draws exactly")
        else:
            good = (
                f"{coins.DRAWS} draws where there is a choice, within {coins.margin():.2f} of "
                "distribution(); a right policy fails with probability below "
                f"{float(coins.ERROR):g}"
            )
            few = self.instances[:: max(1, len(self.instances) // 4)]
            self._probe("draws", coins.draws, good, forks_well, few)
        if self.kind.tosses is RandomisedPolicy.tosses:  # type: ignore[attr-defined]
            good = "no coins before choose()"
            self._probe("tosses", coins.tosses_are_told, good, runs_well)
        else:
            few = self.instances[:: max(1, len(self.instances) // 4)]
            good = f"outcomes of on_step(), {coins.DRAWS} a place, as tosses() tells"
            if not self._tells_state():
                good = "independent policies; without state() their law is not compared"
            self._probe("tosses", coins.tosses, good, forks_well, few)

    def _state(self, laws_well: list[str]) -> None:
        if not self._tells_state():
            for check in ("state", "canonical", "finite"):
                self._skip(check, "no state(): runs and attacks work, `exact` and certificates not")
            return
        self._probe("state", states.state, "hashable; the same in a fork", laws_well)
        needs = [*laws_well, "state"]
        self._call("canonical", states.canonical, needs)
        self._call("finite", states.finite, needs)

    def _tells_state(self) -> bool:
        try:
            return PrefixCache(
                TokenTrie.from_parents([-1]), 1, make_policy(self.policy)
            ).tells_state
        except (Exception, SystemExit):
            return True  # what is wrong with it is told by its check

    def _marking(self) -> Finding:
        left = SEQUENCES

        def stop() -> bool:
            nonlocal left
            left -= 1
            return left < 0

        target = Target(self.policy, self.capacity)
        found = look_for_violation(target, self.seed, self.instances, stop)
        if found.violation is None:
            return Finding("marking", "told", f"no violation in {found.steps} steps")
        violation = found.violation
        return Finding(
            "marking",
            "told",
            f"no: step {violation.step} evicts token {violation.token}, which was used in its "
            f"phase ({told(violation.instance)})",
            violation.instance,
        )

    def _probe(
        self,
        check: str,
        probe: Check,
        good: str,
        needs: Sequence[str] = (),
        instances: Sequence[Instance] | None = None,
    ) -> None:
        bound: Probe = _guarded(probe, self.policy, self.seed)
        wanted = self.instances if instances is None else instances
        self._guard(check, lambda: look(check, bound, wanted, good), needs)

    def _call(
        self, check: str, whole: Callable[[str, int, int], Finding], needs: Sequence[str]
    ) -> None:
        self._guard(check, lambda: whole(self.policy, self.capacity, self.seed), needs)

    def _guard(self, check: str, run: Callable[[], Finding], needs: Sequence[str]) -> None:
        """Run a check whose needs are met; what the policy raises in it is its finding."""
        failed = [one.check for one in self.found if one.result == "fail" and one.check in needs]
        if failed:
            self._skip(check, f"needs {failed[0]!r}")
            return
        try:
            self.found.append(run())
        except (Exception, SystemExit) as error:
            self.found.append(Finding(check, "fail", raised(error)))

    def _skip(self, check: str, why: str) -> None:
        self.found.append(Finding(check, "not applicable", why))


def _guarded(probe: Check, policy: str, seed: int) -> Probe:
    def guarded(instance: Instance) -> str | None:
        try:
            return probe(policy, instance, seed)
        except InputError as error:
            return str(error)
        except (Exception, SystemExit) as error:
            return raised(error)

    return guarded
