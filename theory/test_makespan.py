"""Claims about the makespan: to even out queues is not enough, nor is affinity.

*Theorem (burst).* m workers of capacity p + t, m groups of prompts with a common prefix of p tokens
and t own ones (1 ms a miss, 0 a hit). All arrive at time 0, in R rounds; in a round each group asks
m times in a row. Least load, round-robin and LBGR with unlearned latencies take R m (p + t) ms, the
optimum at most p + R m t. So their ratio exceeds every constant, with R and p growing.

*Proof.* Claim: whenever a group begins to ask, all loads are equal, and then every worker serves
one of its m queries. A worker that has not served one of these yet has the load P and would miss
p + t: its cache holds one prompt, and since it last served this group it has served another one (or
none, at the start). One that has would be at P + (p + t) + t. So LBGR prefers the former by t > 0
(with the paper's margin of 1 ms: if t > 1; its index forgets nothing, so that from the second round
on it believes in hits everywhere, which makes the same choice), and so do the shorter queue and the
turn. After m queries all loads are P + p + t. Each worker thus spends p + t on each group in each
round. The optimum is at most that of one worker a group: it misses p once and t for each of R m
queries.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from adversary.routing import alternating_groups, hot_prefix, witnesses
from mip.makespan import solve_makespan
from mip.makespan_bounds import lower_bounds
from theory.load import route


@pytest.mark.parametrize("router", ["lbgr", "lbgr:preset=paper", "least-load", "round-robin"])
@pytest.mark.parametrize(("m", "rounds", "p", "t"), [(2, 1, 5, 2), (2, 9, 50, 3), (3, 4, 20, 2)])
def test_a_burst_makes_even_queues_expensive(
    router: str, m: int, rounds: int, p: int, t: int
) -> None:
    instance = alternating_groups(m, rounds, prefix=p, tail=t)
    assert route(instance, router, "leaf-lru").loads == (rounds * m * (p + t),) * m
    assert solve_makespan(instance).require() == p + rounds * m * t


def test_the_ratio_of_a_burst_exceeds_every_constant() -> None:
    for constant in (2, 4, 8):
        instance = alternating_groups(2, constant, prefix=4 * constant**2, tail=2)
        best = solve_makespan(instance).require()
        assert Fraction(route(instance, "lbgr").makespan, best) > constant


def test_affinity_alone_is_as_bad_as_the_number_of_workers() -> None:
    for workers in (2, 3, 5):
        instance = hot_prefix(workers, 20 * workers, prefix=8, tail=7)
        best = solve_makespan(instance).require()
        ratio = Fraction(route(instance, "cache-aware").makespan, best)
        assert workers * Fraction(9, 10) < ratio <= workers


def test_no_router_beats_a_lower_bound() -> None:
    for found in witnesses():
        for bound in lower_bounds(found.instance):
            assert bound.value <= found.optimum <= found.makespan
