"""Sequences that are bad for routers: their closed forms, the search, and the saved witnesses."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from adversary.routing import (
    ROUTING_FAMILIES,
    RoutingWitness,
    alternating_groups,
    hot_prefix,
    late_giant,
    load_routing_instance,
    misleading_lengths,
    witness,
    witnesses,
)
from adversary.routing_search import search_routing
from theory.errors import ClaimError, InputError
from theory.load import route

SAVED = {row.instance.name + "/" + row.router: row for row in witnesses()}


@pytest.mark.parametrize("name", sorted(SAVED))
def test_a_saved_witness_holds(name: str) -> None:
    found = SAVED[name]
    found.verify()
    assert found.ratio >= Fraction(3, 2)


def test_every_construction_and_three_searches_are_saved() -> None:
    for family, (build, routers) in ROUTING_FAMILIES.items():
        for router in routers:
            saved = SAVED[f"{family}/{router}"]
            assert saved.instance == build()
            assert saved.origin == "construction"
    searched = {row.router for row in SAVED.values() if row.origin.startswith("search")}
    assert {"lbgr", "cache-aware", "least-load"} <= searched


@pytest.mark.parametrize(("workers", "queries"), [(2, 8), (2, 40), (4, 32)])
def test_hot_prefix_goes_to_the_number_of_workers(workers: int, queries: int) -> None:
    instance = hot_prefix(workers, queries)
    found = witness(instance, "cache-aware")
    assert found.makespan == 8 + queries * 7
    assert found.optimum == 8 + queries // workers * 7
    assert found.makespan == route(instance, "cache-aware").loads[0]


@pytest.mark.parametrize("router", ["least-load", "lbgr", "round-robin", "lbgr:preset=paper"])
@pytest.mark.parametrize(("workers", "rounds"), [(2, 1), (2, 4), (2, 8), (3, 3)])
def test_alternating_groups_grow_with_the_rounds(router: str, workers: int, rounds: int) -> None:
    # With a tail of 1 the paper's margin of 1 ms would keep a group together.
    instance = alternating_groups(workers, rounds, prefix=16, tail=2)
    found = witness(instance, router)
    assert found.makespan == rounds * workers * 18
    assert found.optimum == 16 + rounds * workers * 2


def test_no_constant_bounds_the_ratio_of_lbgr() -> None:
    ratios = [witness(alternating_groups(2, n, prefix=40 * n), "lbgr").ratio for n in (1, 2, 4, 8)]
    assert all(b > Fraction(9, 5) * a for a, b in pairwise(ratios))


@pytest.mark.parametrize(("workers", "rounds"), [(2, 4), (3, 6), (4, 4)])
def test_misleading_lengths_go_to_the_number_of_workers(workers: int, rounds: int) -> None:
    found = witness(misleading_lengths(workers, rounds), "least-load")
    total = rounds * (16 + workers - 1)
    assert found.makespan == rounds * 16
    assert found.optimum >= -(-total // workers)
    if rounds % workers == 0:
        assert found.optimum == total // workers


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_late_giant_is_grahams_example(workers: int) -> None:
    found = witness(late_giant(workers, small=2), "lbgr")
    assert found.ratio == 2 - Fraction(1, workers)


def test_a_search_is_reproducible_and_its_result_is_minimal() -> None:
    found = search_routing("least-load", queries=5, steps=40, seed=3)
    assert found == search_routing("least-load", queries=5, steps=40, seed=3)
    found.verify()
    assert found.ratio > 1
    assert found.origin == "search with 40 steps, seed 3"


def test_a_witness_is_the_same_after_it_was_a_file(tmp_path: Path) -> None:
    found = witness(late_giant(), "lbgr")
    found.save(tmp_path / "w.json")
    assert RoutingWitness.load(tmp_path / "w.json") == found
    assert load_routing_instance(tmp_path / "w.json") == found.instance
    found.instance.save(tmp_path / "i.json")
    assert load_routing_instance(tmp_path / "i.json") == found.instance


def test_a_false_witness_is_refuted(tmp_path: Path) -> None:
    found = witness(late_giant(), "lbgr")
    false = RoutingWitness(found.instance, "lbgr", "leaf-lru", 0, 3, 1, "by hand")
    with pytest.raises(ClaimError, match="late-giant says optimum 1 ms for lbgr, it is 2 ms"):
        false.verify()
    path = tmp_path / "w.json"
    found.save(path)
    path.write_text(path.read_text().replace('"router": "lbgr"', '"router": 3'))
    with pytest.raises(InputError, match=r"w\.json#/router: is no str"):
        RoutingWitness.load(path)


def test_parameters_are_checked() -> None:
    with pytest.raises(InputError, match="workers: 0 is not a positive whole number"):
        hot_prefix(0)
    with pytest.raises(InputError, match="steps: 0 is not"):
        search_routing("lbgr", steps=0)
