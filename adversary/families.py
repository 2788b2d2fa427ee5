"""The registry of worst cases: every family of the proofs, and sweeps over tries of any shape."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adversary import clock, granular, memoryless, slack, tries, unbounded, yao
from adversary import cyclic as _cyclic
from adversary.adaptive import chase
from adversary.tries import Shape, at_least
from theory.errors import InputError
from theory.model import Instance

__all__ = [
    "FAMILIES",
    "binary",
    "broom",
    "caterpillar",
    "chains",
    "cyclic",
    "forest",
    "make_instance",
    "parameters",
]


def cyclic(
    capacity: int = 8, length: int = 1, beta: int = 1, against: str = "", steps: int = 0
) -> Instance:
    """Theorem 2's worst case on the broom: static, or played against a deterministic policy.

    Parameters
    ----------
    capacity, length, beta : int
        B, L and the queries a batch.
    against : str
        A deterministic policy; without one, the static cycle, on which Leaf-LRU misses every time.
    steps : int
        The number of steps; 0 for one cycle (after a prefix, if played).

    Examples
    --------
    >>> cyclic(capacity=3).cycle == cyclic(capacity=3, against="leaf-lru").cycle
    False
    >>> cyclic(capacity=3, steps=9).steps == cyclic(capacity=3, against="leaf-lru", steps=9).steps
    True
    """
    if against:
        return _cyclic.adaptive_cyclic(against, capacity, length, beta, steps)
    return _cut(_cyclic.cyclic(capacity, length, beta), steps)


def broom(
    capacity: int = 8,
    length: int = 2,
    leaves: int = 8,
    beta: int = 1,
    against: str = "",
    steps: int = 0,
    seed: int = 0,
) -> Instance:
    """A sweep over the leaves of a broom, or adaptive play on it.

    Examples
    --------
    >>> broom(capacity=3, length=2, leaves=3).steps
    ((1,), (2,), (3,))
    """
    return _sweep("broom", tries.broom(length, leaves), capacity, beta, against, steps, seed)


def chains(
    capacity: int = 8,
    lengths: Sequence[int] = (4, 3, 2),
    handle: int = 0,
    beta: int = 1,
    against: str = "",
    steps: int = 0,
    seed: int = 0,
) -> Instance:
    """A sweep over disjoint chains, or adaptive play on them.

    Examples
    --------
    >>> chains(capacity=4, lengths=[3, 2]).steps
    ((2,), (4,))
    """
    return _sweep("chains", tries.chains(lengths, handle), capacity, beta, against, steps, seed)


def caterpillar(
    capacity: int = 8,
    spine: int = 5,
    legs: int = 1,
    beta: int = 1,
    against: str = "",
    steps: int = 0,
    seed: int = 0,
) -> Instance:
    """A sweep over the legs of a caterpillar, or adaptive play on it.

    Examples
    --------
    >>> caterpillar(capacity=4, spine=3).shortest
    2
    """
    shape = tries.caterpillar(spine, legs)
    return _sweep("caterpillar", shape, capacity, beta, against, steps, seed)


def binary(
    capacity: int = 8,
    depth: int = 3,
    beta: int = 1,
    against: str = "",
    steps: int = 0,
    seed: int = 0,
) -> Instance:
    """A sweep over the leaves of the complete binary trie, or adaptive play on it.

    Examples
    --------
    >>> len(binary(depth=3).cycle)
    8
    """
    return _sweep("binary", tries.binary(depth), capacity, beta, against, steps, seed)


def forest(
    capacity: int = 3,
    nodes: int = 5,
    index: int = 12,
    beta: int = 1,
    against: str = "",
    steps: int = 0,
    seed: int = 0,
) -> Instance:
    """A sweep over all nodes of one of the rooted forests, or adaptive play on it.

    Examples
    --------
    >>> forest(capacity=3, nodes=3, index=3).cycle
    ((0,), (1,), (2,))
    """
    trie, _ = tries.forest(nodes, index)
    shape = trie, tuple(range(nodes))
    return _sweep("forest", shape, capacity, beta, against, steps, seed)


def _sweep(
    name: str, shape: Shape, capacity: int, beta: int, against: str, steps: int, seed: int
) -> Instance:
    """Ask for the queries in turn, `beta` neighbours at a time; or play against a policy."""
    trie, queries = shape
    at_least(steps, 0, "steps")
    if at_least(beta, 1, "beta") > len(queries):
        raise InputError(
            f"there are only {len(queries)} queries for batches of {beta}", where="parameter beta"
        )
    if against:
        return chase(
            trie,
            capacity,
            against,
            queries,
            steps or 100 * len(queries),
            beta=beta,
            seed=seed,
            until_cycle=not steps,
            name=name,
        )
    around = (*queries, *queries[: beta - 1])
    batches = [around[i : i + beta] for i in range(len(queries))]
    notes = {"shows": "every query in turn"}
    return _cut(Instance(trie, capacity, batches, 0, name, notes), steps)


def _cut(instance: Instance, steps: int) -> Instance:
    """The first `steps` steps of the repeated cycle; the instance itself for 0."""
    if not at_least(steps, 0, "steps"):
        return instance
    around = instance.cycle * -(-steps // len(instance.cycle))
    return Instance(
        instance.trie,
        instance.capacity,
        around[:steps],
        name=instance.name,
        notes=instance.notes,
    )


FAMILIES: dict[str, Callable[..., Instance]] = {
    "cyclic": cyclic,
    "yao": yao.yao,
    "slack": slack.slack,
    "slack-fixed": slack.slack_fixed,
    "three-chains": slack.three_chains,
    "rlt-node": granular.rlt_node,
    "two-chains": granular.two_chains,
    "sglang": granular.sglang,
    "sglang-twice": granular.sglang_twice,
    "sglang-cuts": granular.sglang_cuts,
    "frequency": unbounded.frequency,
    "newest-first": unbounded.newest_first,
    "perfect-frequency": unbounded.perfect_frequency,
    "fifo-batch": unbounded.fifo_batch,
    "clock-star": clock.clock_star,
    "memoryless": memoryless.memoryless,
    "broom": broom,
    "chains": chains,
    "caterpillar": caterpillar,
    "binary": binary,
    "forest": forest,
}
"""Name on the command line -> function that builds the instance from keyword parameters."""


def parameters(family: str) -> dict[str, Any]:
    """The parameters of a family and their defaults.

    Raises
    ------
    InputError
        If there is no such family.

    Examples
    --------
    >>> parameters("slack")
    {'size': 16, 'beta': 4, 'rounds': 0}
    """
    if family not in FAMILIES:
        raise InputError(
            f"unknown family {family!r}", where="family", fix=f"choose from {', '.join(FAMILIES)}"
        )
    signature = inspect.signature(FAMILIES[family])
    return {name: parameter.default for name, parameter in signature.parameters.items()}


def make_instance(family: str, given: Mapping[str, Any]) -> Instance:
    """Build the instance of a family, with its family and all parameters in its notes.

    Parameters
    ----------
    family : str
        A name in `FAMILIES`.
    given : mapping
        Parameters; those left out have their defaults.

    Raises
    ------
    InputError
        If the family or a parameter is unknown, or a value is not allowed.

    Examples
    --------
    >>> make_instance("yao", {"capacity": 3, "steps": 5}).notes["parameters"]["capacity"]
    3
    """
    defaults = parameters(family)
    for name in given:
        if name not in defaults:
            raise InputError(
                f"has no parameter {name!r}",
                where=f"family {family}",
                fix=f"it has {', '.join(defaults)}" if defaults else "it has none",
            )
    values = {**defaults, **given}
    told = {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}
    instance = FAMILIES[family](**given)
    return instance.renamed(family, {"family": family, "parameters": told})
