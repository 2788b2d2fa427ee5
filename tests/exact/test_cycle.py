"""The cost of a cycle in the long run."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.strategies import examples, instances
from theory.errors import InputError
from theory.exact import cycle, cycle_ratio, replay
from theory.exact.cycle import average_reward
from theory.model import Instance
from theory.trie import TokenTrie

STAR = TokenTrie.from_parents([-1] * 5)
Law = dict[int, Fraction]


@st.composite
def chains(draw: st.DrawFn) -> tuple[Law, list[Law], list[Fraction]]:
    """A small Markov chain with rewards, possibly with several recurrent classes."""
    size = draw(st.integers(1, 6))

    def law() -> Law:
        weights = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
        if not any(weights):
            weights[draw(st.integers(0, size - 1))] = 1
        return {s: Fraction(w, sum(weights)) for s, w in enumerate(weights) if w}

    rewards = [Fraction(draw(st.integers(0, 9))) for _ in range(size)]
    return law(), [law() for _ in range(size)], rewards


@given(chains())
@examples(200)
def test_average_reward_against_powers_of_the_matrix(
    chain: tuple[Law, list[Law], list[Fraction]],
) -> None:
    start, rows, rewards = chain
    matrix = np.array([[float(row.get(t, 0)) for t in range(len(rows))] for row in rows])
    lazy = np.linalg.matrix_power((matrix + np.eye(len(rows))) / 2, 1 << 24)
    law = np.array([float(start.get(s, 0)) for s in range(len(rows))])
    wanted = law @ lazy @ np.array([float(reward) for reward in rewards])
    assert float(average_reward(start, rows, rewards)) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("policy", ["leaf-lru", "sglang-lru", "rlt", "rlt-step", "rlt-token"])
@given(instances(most_tokens=6, most_steps=8))
@examples(40)
def test_two_programs_agree(policy: str, instance: Instance) -> None:
    looped = Instance(instance.trie, instance.capacity, instance.steps, len(instance.steps) // 3)
    try:
        found = cycle_ratio(looped, policy)
    except InputError as error:
        assert "costs nothing" in str(error)
        return
    assert replay.policy_of_cycle(looped, policy) == found.policy_cost
    assert replay.optimum_of_cycle(looped) == found.optimum_cost
    assert found.ratio is None or found.ratio >= 1


@pytest.mark.parametrize("policy", ["rlt", "rlt-token", "tests.exact.policies:Sticky"])
def test_linear_equations_give_what_the_period_gives(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the law returns, its average is also that of the Markov chain."""
    instance = Instance(STAR, 3, [[0], [1], [2], [0], [3], [4]], cycle_start=0)
    long = [cycle_ratio(instance, policy).policy_cost, replay.policy_of_cycle(instance, policy)]
    monkeypatch.setattr(cycle, "MOST_REPEATS", 1)
    monkeypatch.setattr(replay, "MOST_REPEATS", 1)
    short = [cycle_ratio(instance, policy).policy_cost, replay.policy_of_cycle(instance, policy)]
    assert len({*long, *short}) == 1


def test_a_law_that_never_returns() -> None:
    """The laws converge without ever being equal; the limit is exact all the same."""
    instance = Instance(STAR, 2, [[0], [1], [2]], cycle_start=0)
    found = cycle_ratio(instance, "tests.exact.policies:Sticky")
    assert replay.policy_of_cycle(instance, "tests.exact.policies:Sticky") == found.policy_cost
    player = replay.Player(STAR, 2, "tests.exact.policies:Sticky")
    law = player.start
    for _ in range(60):
        total = Fraction(0)
        for batch in instance.cycle:
            law, cost = player.serve(law, batch)
            total += cost
    assert float(total) == pytest.approx(float(found.policy_cost), abs=1e-9)
    assert total != found.policy_cost


def test_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="has no cycle"):
        cycle_ratio(Instance(STAR, 2, [[0]]), "rlt")
    with pytest.raises(InputError, match="costs nothing"):
        cycle_ratio(Instance(STAR, 2, [[0], [1]], cycle_start=0), "rlt")
    growing = Instance(STAR, 2, [[0], [1], [0], [2]], cycle_start=0)
    with pytest.raises(InputError, match="its counters grow"):
        cycle_ratio(growing, "lfu")
    monkeypatch.setattr(cycle, "MOST_STATES", 3)
    with pytest.raises(InputError, match="more than 3 states"):
        cycle_ratio(Instance(STAR, 2, [[0], [1], [2], [3]], cycle_start=0), "rlt")
