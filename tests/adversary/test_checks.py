"""Every promise of the policy protocol: what keeps it passes, what breaks it is found."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from adversary.checks import Finding, check_policy, coins, runs, states
from adversary.checks.case import battery
from tests.cli.command import call, fails
from theory.cache import run
from theory.engine import simulate
from theory.errors import InputError, PolicyError
from theory.eviction import POLICIES
from theory.exact import Arena
from theory.exact.growing import state_grows
from theory.trie import TokenTrie

OWN = "tests.adversary.faulty"
CHECKS = [
    *("built", "distribution", "candidates", "serves", "same run", "granularity", "fork"),
    *("draws", "tosses", "state", "canonical", "finite", "sees", "marking", "engine"),
]


def failed(found: list[Finding]) -> dict[str, str]:
    return {one.check: one.detail for one in found if one.result == "fail"}


@pytest.mark.parametrize("policy", POLICIES)
def test_all_built_in_policies_pass(policy: str) -> None:
    found = check_policy(policy)
    assert [one.check for one in found] == CHECKS
    assert failed(found) == {}
    assert {one.check: one.result for one in found}["engine"] == "pass"


@pytest.mark.parametrize(
    "policy",
    ["onlinemin:epoch=0", "lfu:granularity=node", "fifo:granularity=node", "lru-k:uses=3"],
)
def test_parameters(policy: str) -> None:
    assert failed(check_policy(policy, capacity=3)) == {}


@pytest.mark.parametrize(
    ("name", "check", "message"),
    [
        ("NoOnStep", "built", "abstract method"),
        ("RaisesWhenBuilt", "built", "raises RuntimeError: no in "),
        ("BindsNothing", "built", "cannot serve a cache: raises TypeError"),
        ("NoCoins", "built", "bind() leaves out super().bind(cache, seed)"),
        ("Pages", "built", "granularity can be 'token' or 'node', not 'page'"),
        ("Outsider", "candidates", "which is none of the leaves"),
        ("Forgets", "serves", "raises KeyError: 0 in "),
        ("Meddles", "serves", "changes the cache, which is read-only"),
        ("GlobalCoins", "same run", "draws from the global `random`"),
        ("WallClock", "same run", "when the same steps are served again"),
        ("Shared", "same run", "evicts"),
        ("ChangesGranularity", "granularity", "granularity 'token' has become 'node'"),
        ("Shallow", "fork", "fork"),
        ("ForksItself", "fork", "fork() returns the policy itself"),
        ("AddsUpToMore", "distribution", "are no distribution"),
        ("Floats", "distribution", "are not all Fractions"),
        ("Strays", "distribution", "a probability, which is no leaf"),
        ("DrawsTheLaw", "distribution", "distribution() draws from self.random"),
        ("OtherCoins", "same run", "when the same steps are served again"),
        ("Loaded", "draws", f"times in {coins.DRAWS}, its probability is 1/"),
        ("TossesUntold", "tosses", "on_step() draws from self.random, and tosses() is not given"),
        ("TossesWrongly", "tosses", "its probability is 1/2, by tosses()"),
        ("Unhashable", "state", "state() cannot be hashed"),
        ("LeavesOut", "canonical", "equal states and caches after"),
        ("LeavesOutLate", "canonical", "put what choose() depends on into state()"),
        ("TimeStamps", "finite", "give ranks instead of times"),
        ("SeesNothing", "sees", "sees can be 'footprint', 'queries' or 'order', not 'nothing'"),
        ("SeesMore", "sees", "promises 'footprint', but after"),
        ("SeesOrder", "sees", "promises 'queries', but after"),
    ],
)
def test_every_fault_is_found_by_its_check_alone(name: str, check: str, message: str) -> None:
    found = check_policy(f"{OWN}:{name}")
    assert list(failed(found)) == [check], found
    assert message in failed(found)[check]


def test_what_is_right_passes() -> None:
    for name in ("Good", "Draws"):
        found = check_policy(f"{OWN}:{name}")
        assert failed(found) == {}
        assert "no compiled kernel" in found[-1].detail


def test_the_case_of_a_fault_is_small_and_shows_it() -> None:
    (wrong,) = (one for one in check_policy(f"{OWN}:Outsider") if one.result == "fail")
    case = wrong.case
    assert case is not None
    with pytest.raises(PolicyError, match="which is not an evictable leaf"):
        run(case, f"{OWN}:Outsider")
    assert len(case.steps) == 2, "two steps: what is evicted must have been cached"


def test_the_violation_of_marking_is_told_and_is_no_fault() -> None:
    (told,) = (one for one in check_policy("mru", capacity=2) if one.check == "marking")
    assert told.result == "told"
    assert "was used in its phase" in told.detail
    assert told.case is not None


@pytest.mark.parametrize("policy", ["lfu", "hits-per-token", "lfu-ageing", "gdsf"])
@pytest.mark.parametrize("capacity", [2, 3, 6, 9])
def test_counters_that_decide_are_no_fault(policy: str, capacity: int) -> None:
    told = states.finite(policy, capacity, seed=0)
    assert told.result == "told"
    assert "victims depend on it" in told.detail


def test_an_engine_that_does_not_agree_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        runs, "simulate", lambda flat, policy, *given: simulate(flat, "mru", *given)
    )
    assert list(failed(check_policy("mru", capacity=3))) == []
    found = failed(check_policy("leaf-lru", capacity=3))
    assert list(found) == ["engine"]
    assert "in the engine" in found["engine"]


def test_equal_input_gives_equal_findings() -> None:
    assert check_policy("rlt", 3, seed=5) == check_policy("rlt", 3, seed=5)
    assert battery(4, 0) != battery(4, 1)


def test_the_margin_keeps_its_promise() -> None:
    """Hoeffding and the union bound, by hand; and a fair coin is within it."""
    tail = 2 * 2.718281828459045 ** (-2 * coins.DRAWS * coins.margin() ** 2)
    assert tail * coins.MOST_TESTS <= float(coins.ERROR) * (1 + 1e-9)
    fair = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    half = coins.DRAWS // 2
    far = int(coins.DRAWS * coins.margin()) + 1
    assert coins._far(Counter({0: half, 1: half}), fair, "draws") is None
    assert coins._far(Counter({0: half + far, 1: half - far}), fair, "draws") is not None
    assert coins._far(Counter({0: half, 1: half - 1, 2: 1}), fair, "draws") is not None


@pytest.mark.parametrize(
    ("policy", "grows"),
    [("lfu", True), (f"{OWN}:TimeStamps", True), ("leaf-lru", False), ("rlt", False)],
)
def test_states_that_grow(policy: str, grows: bool) -> None:
    star = Arena(TokenTrie.from_parents([-1] * 4), 3)
    assert state_grows(star, policy) is grows


def test_bad_input() -> None:
    with pytest.raises(PolicyError, match="unknown eviction policy"):
        check_policy("nope")
    with pytest.raises(PolicyError, match="has no parameter 'k'"):
        check_policy("leaf-lru:k=2")
    with pytest.raises(InputError, match="capacity"):
        check_policy("leaf-lru", capacity=1)


def test_the_command(capsys: Any) -> None:
    done = call(capsys, "check", "leaf-lru", "--capacity", 3, "--format", "json")
    assert done.code == 0
    assert done.json["passed"] is True
    assert [one["check"] for one in done.json["checks"]] == CHECKS
    done = call(capsys, "check", f"{OWN}:Outsider", "--capacity", 2)
    assert done.code == 1
    assert "candidates" in done.out
    assert "fail" in done.out
    assert done.err == ""
    fails(call(capsys, "check", "nope"), 2, "unknown eviction policy 'nope'")
    fails(call(capsys, "check", "leaf-lru", "--capacity", 1), 2, "--capacity")
