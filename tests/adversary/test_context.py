"""The proved bounds beside a worst case."""

from __future__ import annotations

import pytest

from adversary.context import known_bounds
from adversary.target import Target
from theory.bounds import BOUNDS


@pytest.mark.parametrize(("beta", "length", "k"), [(1, 1, 8), (3, 1, 6), (2, 4, 4)])
def test_a_deterministic_policy_that_may_be_marking(beta: int, length: int, k: int) -> None:
    target = Target("clock", 8, beta, length)
    found = [(known.name, known.value) for known in known_bounds(target, marking=True)]
    assert found == [("deterministic-lower", k), ("marking-upper", k)]
    assert [known.name for known in known_bounds(target, marking=False)] == ["deterministic-lower"]


def test_bounds_of_its_own() -> None:
    names = [known.name for known in known_bounds(Target("fifo", 8), marking=False)]
    assert names == ["deterministic-lower", "fifo-upper"]
    root = known_bounds(Target("sglang-lru", 20), marking=False)[-1]
    assert root.name == "sglang-root-upper"
    assert isinstance(root.value, float)
    assert root.to_json()["value"] == root.value


def test_every_bound_is_one_of_a_ratio() -> None:
    for policy in ("leaf-lru", "rlt", "rlt-step", "onlinemin", "random-leaf", "sglang-lru"):
        for known in known_bounds(Target(policy, 12), marking=True):
            assert known.kind == BOUNDS[known.name].kind
            assert known.about == "marking" or known.kind == "lower" or known.about == "policy"
            assert float(known.value) >= 1
