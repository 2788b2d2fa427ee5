"""The built-in policies on arrays."""

from __future__ import annotations

from collections.abc import Callable

from theory.engine.arrays import StepCounts
from theory.engine.flat import Flat, check_admissible
from theory.errors import PolicyError
from theory.eviction import EvictionPolicy, make_policy

__all__ = ["simulate", "supports"]

Compiled = Callable[[Flat, EvictionPolicy, int, int, StepCounts], None]
"""Fill the counts of a sequence: the policy with its parameters, the capacity, the seed."""


def _lru(flat: Flat, policy: EvictionPolicy, capacity: int, seed: int, to: StepCounts) -> None:
    from theory.engine.lru import leaf_lru

    leaf_lru(flat.runs, capacity, to)


def _vllm(flat: Flat, policy: EvictionPolicy, capacity: int, seed: int, to: StepCounts) -> None:
    from theory.engine.lru import leaf_lru

    leaf_lru(flat.by_query, capacity, to)


def _rlt(flat: Flat, policy: EvictionPolicy, capacity: int, seed: int, to: StepCounts) -> None:
    from theory.engine.rlt import PHASES, randomised_leaf_token
    from theory.engine.twister import seeded

    phases = PHASES[type(policy).__name__]
    randomised_leaf_token(flat.runs, capacity, phases, seeded(seed), to)


def _rlt_node(flat: Flat, policy: EvictionPolicy, capacity: int, seed: int, to: StepCounts) -> None:
    from theory.engine.rlt_node import randomised_leaf_node
    from theory.engine.twister import seeded

    randomised_leaf_node(flat.runs, capacity, seeded(seed), to)


def _ranked(flat: Flat, policy: EvictionPolicy, capacity: int, seed: int, to: StepCounts) -> None:
    from theory.engine.ranked import RULES, smallest_key

    name = type(policy).__name__
    whole_nodes = policy.granularity == "node"
    threshold = getattr(policy, "k" if name == "LRUK" else "threshold", 0)
    refresh_rest = name not in ("NodeLRU", "HitsPerToken", "GDSF")
    runs = flat.runs if whole_nodes else flat.singles
    smallest_key(runs, capacity, RULES[name], threshold, whole_nodes, refresh_rest, to)


def _clock(flat: Flat, policy: EvictionPolicy, capacity: int, seed: int, to: StepCounts) -> None:
    from theory.engine.clock import second_chance

    name = type(policy).__name__
    second_chance(flat.singles, capacity, name == "Clock", name != "Sieve", to)


def _onlinemin(
    flat: Flat, policy: EvictionPolicy, capacity: int, seed: int, to: StepCounts
) -> None:
    from theory.engine.onlinemin import seated_onlinemin
    from theory.engine.twister import seeded
    from theory.eviction.onlinemin import OnlineMIN

    assert isinstance(policy, OnlineMIN)
    seated_onlinemin(flat.singles, capacity, policy.epoch * capacity, seeded(seed), to)


def _rlt_token(
    flat: Flat, policy: EvictionPolicy, capacity: int, seed: int, to: StepCounts
) -> None:
    from theory.engine.rlt_token import randomised_token
    from theory.engine.twister import seeded

    randomised_token(flat.singles, capacity, seeded(seed), to)


def _two_q(flat: Flat, policy: EvictionPolicy, capacity: int, seed: int, to: StepCounts) -> None:
    from theory.engine.two_q import two_queues

    two_queues(flat.singles, capacity, to)


def _arc(flat: Flat, policy: EvictionPolicy, capacity: int, seed: int, to: StepCounts) -> None:
    from theory.engine.arc import adaptive_replacement

    adaptive_replacement(flat.singles, capacity, to)


def _s3_fifo(flat: Flat, policy: EvictionPolicy, capacity: int, seed: int, to: StepCounts) -> None:
    from theory.engine.s3_fifo import small_and_main
    from theory.eviction.s3_fifo import MOST_HITS, S3FIFO

    assert isinstance(policy, S3FIFO)
    small_and_main(flat.singles, capacity, policy.small_size(capacity), MOST_HITS, to)


COMPILED: dict[str, Compiled] = {
    "theory.eviction.leaf_lru.LeafLRU": _lru,
    "theory.eviction.vllm_lru.VllmLRU": _vllm,
    "theory.eviction.rlt.RLT": _rlt,
    "theory.eviction.rlt_step.StepRLT": _rlt,
    "theory.eviction.random_leaf.RandomLeaf": _rlt,
    "theory.eviction.rlt_node.NodeRLT": _rlt_node,
    "theory.eviction.onlinemin.OnlineMIN": _onlinemin,
    "theory.eviction.rlt_token.TokenRLT": _rlt_token,
    "theory.eviction.node_lru.NodeLRU": _ranked,
    "theory.eviction.sglang_lru.SGLangLRU": _ranked,
    "theory.eviction.fifo.FIFO": _ranked,
    "theory.eviction.filo.FILO": _ranked,
    "theory.eviction.lfu.LFU": _ranked,
    "theory.eviction.mru.MRU": _ranked,
    "theory.eviction.slru.SLRU": _ranked,
    "theory.eviction.lfu_ageing.LFUAgeing": _ranked,
    "theory.eviction.lru_k.LRUK": _ranked,
    "theory.eviction.tail_lru.TailLRU": _ranked,
    "theory.eviction.hits_per_token.HitsPerToken": _ranked,
    "theory.eviction.gdsf.GDSF": _ranked,
    "theory.eviction.clock.Clock": _clock,
    "theory.eviction.clock_clear.ClearClock": _clock,
    "theory.eviction.sieve.Sieve": _clock,
    "theory.eviction.two_q.TwoQ": _two_q,
    "theory.eviction.arc.ARC": _arc,
    "theory.eviction.s3_fifo.S3FIFO": _s3_fifo,
}
"""The policies with a compiled form, by class; the class itself, no subclass."""


def _compiled(policy: EvictionPolicy) -> Compiled | None:
    kind = type(policy)
    return COMPILED.get(f"{kind.__module__}.{kind.__qualname__}")


def supports(policy: str) -> bool:
    """Whether `simulate` knows the policy, given as ``name[:parameter=value...]``.

    Examples
    --------
    >>> supports("slru:threshold=3"), supports("a_module_of_mine:MyPolicy")
    (True, False)
    """
    try:
        return _compiled(make_policy(policy)) is not None
    except PolicyError:
        return False


def simulate(flat: Flat, policy: str, capacity: int, seed: int = 0) -> StepCounts:
    """Serve a sequence from an empty cache with a compiled policy.

    The result equals that of `theory.cache.run` step by step: compiled policies break ties in the
    same order, and randomised ones consume the same draws of the same seed.

    Parameters
    ----------
    flat : Flat
        The sequence.
    policy : str
        ``name[:parameter=value...]``, see `supports`.
    capacity : int
        B, in units.
    seed : int
        Seeds a randomised policy.

    Raises
    ------
    PolicyError
        If there is no such policy, or no compiled form of it.
    InadmissibleStepError
        If the footprint of a step exceeds the capacity.

    Examples
    --------
    >>> import numpy as np
    >>> flat = Flat(np.array([-1, -1, -1]), np.arange(5), np.array([0, 1, 2, 0]))
    >>> simulate(flat, "leaf-lru", 2).misses.tolist()
    [1, 1, 1, 1]
    """
    made = make_policy(policy)
    compiled = _compiled(made)
    if compiled is None:
        raise PolicyError(
            "has no compiled form", where=f"policy {policy}", fix="use theory.cache.run"
        )
    capacity = check_admissible(flat, capacity)
    counts = StepCounts.empty(flat.steps)
    compiled(flat, made, capacity, seed, counts)
    return counts
