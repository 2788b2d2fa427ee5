"""A policy that tosses coins in secret is refused wherever it is measured, not given a number.

`ratio`, `curve` and `makespan` printed one of its runs as if it were the policy's; and `exact`, for
states that never return, asked for a larger cap after a long search.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from adversary.families import make_instance
from tests.cli.command import call, fails

Capture = pytest.CaptureFixture[str]
OWN = "tests.cases.own_policies"
EXACT = ("exact", "--family", "broom", "--set", "L=1,leaves=4", "--capacity", 2, "--quiet")
TELLS = f"distribution(); 'kvbounds check {OWN}:Coins' tells more"


def test_no_measurement_of_hidden_coins(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "star.json"
    make_instance("cyclic", {"capacity": 3}).save(path)
    run_instance = ("ratio", "--instance", path, "--cycles", 5)
    trace = tmp_path / "trace.jsonl"
    call(capsys, "trace", "generate", "--requests", 80, "--out", trace, "--quiet")
    makespan = ("makespan", "--workload", "gsp:groups=4,prompts=8", "--queries", 24)
    for command in (
        (*run_instance, "--policy", f"{OWN}:Coins"),
        ("ratio", "--trace", trace, "--capacity", 60, "--policy", f"{OWN}:Coins"),
        ("curve", "--trace", trace, "--capacities", 60, "--policy", f"{OWN}:Coins"),
        (*makespan, "--capacity", 80, "--eviction", f"{OWN}:Coins"),
    ):
        done = call(capsys, *command, "--quiet")
        fails(done, 2, "when the same steps are served again; derive a policy that tosses coins")
        assert f"from RandomisedPolicy, which has the seed, and give its {TELLS}" in done.err
    assert call(capsys, *run_instance, "--policy", f"{OWN}:First").code == 0


def test_states_that_grow_are_named_and_no_larger_cap_is_asked_for(capsys: Capture) -> None:
    own = "tests.adversary.faulty:TimeStamps"
    done = call(capsys, *EXACT, "--max-states", 400, "--policy", own)
    fails(done, 2, "the values of state() keep growing while the caches repeat")
    assert f"'kvbounds check {own}' tells" in done.err
    assert "raise the cap" not in done.err
    fails(call(capsys, *EXACT, "--max-states", 3, "--policy", "leaf-lru"), 2, "raise the cap")
    two = ("exact", "--family", "broom", "--set", "L=1,leaves=3", "--capacity", 2)
    done = call(capsys, *two, "--max-states", 40, "--policy", "clock")
    assert "keep growing" not in done.err
