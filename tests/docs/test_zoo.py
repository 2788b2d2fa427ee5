"""The zoo that the docs show is of all policies, and its witnesses are what it says."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from theory.cache import run
from theory.eviction import POLICIES, RandomisedPolicy, make_policy
from theory.exact import cycle_ratio
from theory.exact.cycle import optimum_per_cycle
from theory.model import Instance

TABLE = json.loads(
    (Path(__file__).parents[2] / "docs" / "reports" / "zoo.json").read_text(encoding="utf-8")
)
ROWS: dict[str, dict[str, Any]] = {row["policy"]: row for row in TABLE["rows"]}
LONG = 60
"""Steps of a cycle that the exact solver of cycles takes quickly."""


def test_all_policies_on_three_real_traces() -> None:
    assert set(ROWS) == set(POLICIES)
    for row in ROWS.values():
        assert len(row["traces"]) == 3
        assert all(measured is not None for measured in row["traces"].values())


@pytest.mark.parametrize("policy", POLICIES)
def test_the_witness_costs_what_the_table_says(policy: str) -> None:
    row = ROWS[policy]
    witness = Instance.from_json(row["witness"])
    if row["ratio_exact"] and len(witness.cycle) <= LONG:
        assert cycle_ratio(witness, policy).text == row["ratio"]
        return
    owed = optimum_per_cycle(witness)
    seeds = range(40 if isinstance(make_policy(policy), RandomisedPolicy) else 1)
    repeats = max(4, 400 // len(witness.cycle))
    few, more = witness.unrolled(2), witness.unrolled(2 + repeats)
    costs = [run(more, policy, seed=s).misses - run(few, policy, seed=s).misses for s in seeds]
    ratio = Fraction(sum(costs), len(costs) * repeats) / owed
    # An exact ratio is one in the long run: a transient may differ from it a little.
    assert float(ratio) == pytest.approx(float(Fraction(row["ratio"])), rel=0.1)
