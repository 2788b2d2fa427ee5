"""Every compiled policy against the executable cache, at every step."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.instances import agrees, instances
from theory.engine import Flat, simulate, supports
from theory.errors import PolicyError
from theory.eviction import POLICIES
from theory.model import Instance

SPECS = [
    *sorted(POLICIES),
    *(f"{name}:granularity=node" for name in ("fifo", "filo", "lfu", "mru", "slru")),
    *(f"lru-k:uses={uses}" for uses in (1, 3)),
    *(f"tail-lru:threshold={threshold}" for threshold in (0, 1, 4)),
    "slru:threshold=3",
    *(f"s3-fifo:share={share}" for share in (0.3, 0.6)),
    *(f"onlinemin:epoch={epoch}" for epoch in (0, 2, 3)),
]


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=120, deadline=None, derandomize=True)
@given(instances(), st.integers(0, 5))
def test_equals_the_specification_at_every_step(spec: str, instance: Instance, seed: int) -> None:
    counts = simulate(Flat.from_instance(instance), spec, instance.capacity, seed)
    assert agrees(counts, instance, spec, seed)


def test_every_built_in_policy_is_compiled() -> None:
    assert all(map(supports, POLICIES))


def test_what_has_no_compiled_form_is_told() -> None:
    flat = Flat.from_instance(Instance.from_json({"parents": [-1], "capacity": 1, "steps": [[0]]}))
    assert not supports("no-such-policy")
    with pytest.raises(PolicyError, match="no compiled form"):
        simulate(flat, "tests.exact.policies:FirstLeaf", 1)
    with pytest.raises(PolicyError, match="unknown eviction policy"):
        simulate(flat, "no-such-policy", 1)


@pytest.mark.parametrize(
    "spec", ["2q", "arc", "gdsf", "onlinemin:epoch=2", "rlt-token", "s3-fifo", "sglang-lru"]
)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(instances(most_tokens=80, most_steps=120), st.integers(0, 5))
def test_equals_the_specification_on_longer_chains(
    spec: str, instance: Instance, seed: int
) -> None:
    # Nodes of more than 20 tokens too, where GDSF rounds.
    counts = simulate(Flat.from_instance(instance), spec, instance.capacity, seed)
    assert agrees(counts, instance, spec, seed)
