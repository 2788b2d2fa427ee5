"""A solver that stopped early: PuLP says "Optimal", we say what is proven."""

from __future__ import annotations

import pytest

from mip.belady import farthest_next_use
from mip.eviction import solve_eviction
from mip.solver import SOLVERS, Outcome, pulp, solve
from tests.mip.programs import hard_program
from theory.errors import MissingProofError
from theory.model import Instance
from theory.trie import TokenTrie

TRIE = TokenTrie.from_segments([(-1, 5), *((i % 5, 1 + i % 7) for i in range(40))])
INSTANCE = Instance(TRIE, 40, [[(17 * j * j + 5 * j) % len(TRIE)] for j in range(120)])


def test_pulp_calls_the_time_limit_optimal() -> None:
    """The fault that this file is about; when PuLP mends it, this test may go."""
    problem = hard_program()
    problem.solve(pulp.HiGHS(msg=False, threads=1, timeLimit=1))
    assert pulp.LpStatus[problem.status] == "Optimal"


@pytest.mark.parametrize("solver", SOLVERS)
def test_stopped_early_is_not_proven(solver: str) -> None:
    answer = solve(hard_program(), solver=solver, time_limit=1)
    assert answer.outcome is Outcome.feasible and answer.objective is not None
    if solver == "highs":  # CBC's bound does not come through PuLP
        assert answer.bound is not None and answer.bound > answer.objective
        assert answer.gap is not None and answer.gap > 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bypass", [False, True])
@pytest.mark.parametrize("time_limit", [1e-6, 0.03])
def test_an_eviction_program_cut_short(solver: str, bypass: bool, time_limit: float) -> None:
    """Whatever is known in that time is true: the optimum lies between bound and misses."""
    optimum = farthest_next_use(INSTANCE, bypass=bypass).require()
    found = solve_eviction(INSTANCE, bypass=bypass, solver=solver, time_limit=time_limit)
    assert INSTANCE.trie.footprint_size(q for (q,) in INSTANCE.steps) <= found.bound <= optimum
    assert found.misses is None or found.misses >= optimum
    if time_limit == 1e-6:
        assert not found.proven
        with pytest.raises(MissingProofError, match="raise the time limit"):
            found.require()
