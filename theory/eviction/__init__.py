"""Eviction policies: one a file, named here, loaded on demand."""

from __future__ import annotations

from theory.errors import PolicyError
from theory.eviction.base import EvictionPolicy, RandomisedPolicy, Step
from theory.plugins import Registry, build, find_class

__all__ = ["POLICIES", "EvictionPolicy", "RandomisedPolicy", "Step", "make_policy", "policy_class"]

POLICIES: dict[str, str] = {
    "leaf-lru": "theory.eviction.leaf_lru:LeafLRU",
    "rlt": "theory.eviction.rlt:RLT",
    "rlt-step": "theory.eviction.rlt_step:StepRLT",
    "rlt-node": "theory.eviction.rlt_node:NodeRLT",
    "rlt-token": "theory.eviction.rlt_token:TokenRLT",
    "node-lru": "theory.eviction.node_lru:NodeLRU",
    "sglang-lru": "theory.eviction.sglang_lru:SGLangLRU",
    "vllm-lru": "theory.eviction.vllm_lru:VllmLRU",
    "fifo": "theory.eviction.fifo:FIFO",
    "filo": "theory.eviction.filo:FILO",
    "lfu": "theory.eviction.lfu:LFU",
    "slru": "theory.eviction.slru:SLRU",
    "hits-per-token": "theory.eviction.hits_per_token:HitsPerToken",
    "mru": "theory.eviction.mru:MRU",
    "clock": "theory.eviction.clock:Clock",
    "clock-clear": "theory.eviction.clock_clear:ClearClock",
    "onlinemin": "theory.eviction.onlinemin:OnlineMIN",
    "random-leaf": "theory.eviction.random_leaf:RandomLeaf",
    "lru-k": "theory.eviction.lru_k:LRUK",
    "2q": "theory.eviction.two_q:TwoQ",
    "arc": "theory.eviction.arc:ARC",
    "lfu-ageing": "theory.eviction.lfu_ageing:LFUAgeing",
    "gdsf": "theory.eviction.gdsf:GDSF",
    "s3-fifo": "theory.eviction.s3_fifo:S3FIFO",
    "sieve": "theory.eviction.sieve:Sieve",
    "tail-lru": "theory.eviction.tail_lru:TailLRU",
}
"""The built-in policies: name on the command line -> module:Class."""

_REGISTRY = Registry("eviction policy", POLICIES, EvictionPolicy, PolicyError)


def policy_class(name: str) -> type[EvictionPolicy]:
    """The class of a built-in policy, or of a user's own given as ``module:Class``.

    Raises
    ------
    PolicyError
        If there is no such policy, or what was found is no eviction policy.

    Examples
    --------
    >>> policy_class("leaf-lru").__name__
    'LeafLRU'
    """
    found: type[EvictionPolicy] = find_class(name, _REGISTRY)
    return found


def make_policy(spec: str) -> EvictionPolicy:
    """Build a policy from ``name[:parameter=value...]`` or ``module:Class[:parameter=value...]``.

    Raises
    ------
    PolicyError
        If the name or a parameter is unknown.

    Examples
    --------
    >>> type(make_policy("leaf-lru")).__name__
    'LeafLRU'
    """
    made: EvictionPolicy = build(spec, _REGISTRY)
    return made
