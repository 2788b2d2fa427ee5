"""The judge of schedules, and what an `Optimum` may say."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mip.schedule import Optimum, schedule_cost, step_hits
from theory.errors import MissingProofError, OptimumError
from theory.model import Instance
from theory.trie import TokenTrie

# Two tokens a, b below each other, and c beside them; queries ab, c, ab.
INSTANCE = Instance(TokenTrie.from_parents([-1, 0, -1]), 2, [[1], [2], [1]])


def test_the_cost_is_what_the_steps_miss() -> None:
    schedule = [{0, 1}, {0, 2}, {0, 1}]
    assert schedule_cost(INSTANCE, schedule) == 4
    assert step_hits(INSTANCE, schedule) == [0, 0, 1]


def test_bypass_need_not_cache_what_it_serves() -> None:
    schedule = [{0, 1}, {0, 1}, {0, 1}]
    assert schedule_cost(INSTANCE, schedule, bypass=True) == 3
    with pytest.raises(OptimumError, match="after step 1, token 2 is served but not cached"):
        schedule_cost(INSTANCE, schedule)


@pytest.mark.parametrize(
    ("schedule", "fault"),
    [
        ([{0, 1}, {0, 2}], "the schedule has 2 caches for 3 steps"),
        ([{0, 1}, {0, 1, 2}, {0, 1}], "after step 1, 3 tokens are cached, the capacity is 2"),
        ([{0, 1}, {1, 2}, {0, 1}], "after step 1, token 1 is cached without its parent"),
        ([{0, 2}, {0, 2}, {0, 1}], "after step 0, token 2 is cached but was not served"),
    ],
)
@pytest.mark.parametrize("bypass", [False, True])
def test_what_is_no_schedule(schedule: list[set[int]], fault: str, bypass: bool) -> None:
    with pytest.raises(OptimumError, match=fault):
        schedule_cost(INSTANCE, schedule, bypass)


def test_a_token_that_left_does_not_come_back_unserved() -> None:
    with pytest.raises(OptimumError, match="after step 2, token 0 is cached but was not served"):
        schedule_cost(
            Instance(TokenTrie.from_parents([-1, -1]), 2, [[0], [1], [1]]),
            [{0}, {1}, {0, 1}],
        )


def test_an_optimum_is_consistent() -> None:
    assert Optimum(4, 4, proven=True, method="m").require() == 4
    assert Optimum(4, 3, proven=False, method="m").gap == Fraction(1, 4)
    assert Optimum(None, 3, proven=False, method="m").gap is None
    with pytest.raises(OptimumError, match="4 misses are called optimal, the bound is 3"):
        Optimum(4, 3, proven=True, method="m")
    with pytest.raises(OptimumError, match="None misses are called optimal"):
        Optimum(None, 3, proven=True, method="m")
    with pytest.raises(OptimumError, match="a schedule with 2 misses is below the lower bound 3"):
        Optimum(2, 3, proven=False, method="m")


@pytest.mark.parametrize("misses", [None, 4])
def test_require_asks_for_a_proof(misses: int | None) -> None:
    with pytest.raises(MissingProofError, match="without a proof of the optimum") as caught:
        Optimum(misses, 3, proven=False, method="m").require()
    assert caught.value.exit_code == 1
