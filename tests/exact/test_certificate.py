"""Certificates: the verifier accepts what the solver writes and rejects everything else."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.exact.tampering import at, changed, entries, lists, others
from theory.errors import ClaimError
from theory.exact import Arena, certificate, cycle_ratio, exact_ratio, game_value
from theory.exact.certificate import sealed
from theory.exact.verify import verify
from theory.jsonfile import dumps
from theory.model import Instance
from theory.trie import TokenTrie


def written(value: Any) -> Any:
    """The certificate as it comes back from its file."""
    return json.loads(dumps(value))


def arena(parents: list[int], capacity: int, **more: Any) -> Arena:
    return Arena(TokenTrie.from_parents(parents), capacity, **more)


STAR = arena([-1, -1, -1], 2)
RATIOS = {
    "rlt on a star": (STAR, "rlt"),
    "leaf-lru on a star": (STAR, "leaf-lru"),
    "leaf-lru on a forest": (arena([-1, -1, 0], 2), "leaf-lru"),
    "fifo on batches": (arena([-1] * 4, 3, beta=2), "fifo"),
    "vllm-lru on batches": (arena([-1, -1, 0], 2, beta=2), "vllm-lru"),
    "rlt-node on a chain": (arena([-1, 0, -1, -1], 3), "rlt-node"),
    "lfu, unbounded": (STAR, "lfu"),
    "rlt-step, capped": (arena([-1] * 5, 3), "rlt-step"),
}
VALUES = {
    "value of a star": STAR,
    "value between integers": arena([-1, 0, 0, -1, 3], 3, min_length=2),
}


def make(name: str) -> Any:
    if name in VALUES:
        return written(certificate(game_value(VALUES[name])))
    where, policy = RATIOS[name]
    most = 200 if "capped" in name else 10_000
    return written(certificate(exact_ratio(where, policy, most_states=most)))


@pytest.mark.parametrize("name", [*RATIOS, *VALUES])
def test_valid_certificates_are_accepted(name: str) -> None:
    value = make(name)
    verdict = verify(value)
    assert verdict.ratio == value["ratio"]
    exact = "exactly" in verdict.establishes or "no deterministic" in verdict.establishes
    assert exact == (value["complete"] and value["ratio"] != "unbounded")


@pytest.mark.parametrize("name", [*RATIOS, *VALUES])
def test_every_tampered_entry_is_rejected(name: str) -> None:
    value = make(name)
    draw = random.Random(1)
    paths = list(entries(value))
    for path in draw.sample(paths, min(len(paths), 50)):
        for new in draw.sample(changes := others(at(value, path), draw), min(2, len(changes))):
            with pytest.raises(ClaimError, match="certificate#/"):
                verify(changed(value, path, new))


@pytest.mark.parametrize("name", [*RATIOS, *VALUES])
def test_every_tampered_list_is_rejected(name: str) -> None:
    value = make(name)
    draw = random.Random(2)
    paths = list(lists(value))
    for path in draw.sample(paths, min(len(paths), 30)):
        old = at(value, path)
        for new in draw.sample([old[:-1], old[1:], [*old, old[-1]], {}, old[::-1]], 2):
            if new != old:
                with pytest.raises(ClaimError, match="certificate#/"):
                    verify(changed(value, path, new))


@pytest.mark.parametrize("name", ["rlt on a star", "fifo on batches", *VALUES])
def test_the_digest_is_not_what_the_checks_rest_on(name: str) -> None:
    """With a digest that fits it is still impossible to change a number that the checks derive.

    (Another step of the witness, or another step that an adversary asks for, can be as good.)
    """
    value = make(name)
    draw = random.Random(3)
    parts = ("ratio", "lower", "upper", "complete", "beta", "queries")
    paths = [path for path in entries(value) if path[0] in parts and "asked" not in path]
    for path in draw.sample(paths, min(len(paths), 60)):
        for new in draw.sample(changes := others(at(value, path), draw), min(2, len(changes))):
            forged = changed(value, path, new)
            del forged["digest"]
            with pytest.raises(ClaimError, match="certificate#/"):
                verify(sealed(forged))


@pytest.mark.parametrize(
    "field", ["ratio", "upper", "lower", "instance", "digest", "kind", "policy"]
)
def test_missing_and_unknown_fields_are_named(field: str) -> None:
    value = make("rlt on a star")
    without = {key: entry for key, entry in value.items() if key != field}
    with pytest.raises(ClaimError, match=f"certificate#/{field}"):
        verify(without)
    with pytest.raises(ClaimError, match="certificate#/more: is no field"):
        verify({**value, "more": 1})


@pytest.mark.parametrize("value", [None, [], "text", 3, {}, {"schema": "kvbounds/certificate/1"}])
def test_what_is_no_certificate_is_rejected(value: Any) -> None:
    with pytest.raises(ClaimError, match="certificate#"):
        verify(value)


def test_the_pointer_names_the_entry() -> None:
    value = make("rlt on a star")
    for path, new in [
        (("instance", "parents", 2), 5),
        (("lower", "policy_cost"), "5/7"),
        (("upper", "policy", "costs", 2, 1), "5/7"),
        (("upper", "optimum", "costs", 1, 0), "5/7"),
        (("upper", "potential", 3), "-1"),
        (("upper", "potential", 3), 1),
        (("upper", "additive"), "5/7"),
    ]:
        pointer = "/".join(map(str, path))
        with pytest.raises(ClaimError, match=f"certificate#/{pointer}: "):
            verify(changed(value, path, new))


def test_certificate_of_a_cycle() -> None:
    instance = Instance(
        STAR.trie, 2, [[0], [1], [0], [2]], cycle_start=0, name="told", notes={"a": 1}
    )
    value = written(certificate(cycle_ratio(instance, "rlt")))
    assert not value["complete"] and value["instance"]["name"] == ""
    assert verify(value).establishes == (
        "rlt has ratio at least 3/2: a cycle of 4 steps costs it 3 against 2"
    )
    with pytest.raises(ClaimError, match="#/instance: has no cycle_start"):
        verify({**value, "instance": Instance(STAR.trie, 2, [[0]]).to_json()})
    idle = Instance(STAR.trie, 2, [[0], [1]], cycle_start=0).to_json()
    zero = {"policy_cost": "0", "optimum_cost": "0"}
    with pytest.raises(ClaimError, match="costs nothing"):
        verify(sealed({**value, "instance": idle, "lower": zero}))


def test_an_infeasible_claim_of_optimality_is_found() -> None:
    """A policy's automaton cut down to the states of one cycle is no upper bound."""
    value = make("rlt on a star")
    value["upper"]["states"] = value["upper"]["states"][:-1]
    value["upper"]["potential"] = value["upper"]["potential"][:-1]
    with pytest.raises(ClaimError, match="missing state"):
        verify(sealed({key: entry for key, entry in value.items() if key != "digest"}))
