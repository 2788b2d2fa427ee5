"""kvbounds: verify and validate the theory of KV-cache eviction and routing in LLM serving.

The public names below load on first use, so that ``import kvbounds`` is cheap.

Examples
--------
>>> import kvbounds
>>> star = kvbounds.TokenTrie.from_parents([-1, -1, -1])
>>> instance = kvbounds.Instance(star, capacity=2, steps=[[0], [1], [2]] * 20)
>>> kvbounds.run(instance, "leaf-lru").misses, kvbounds.farthest_next_use(instance).misses
(60, 31)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from adversary.families import make_instance as make_instance
    from empirical.ratio import RatioStudy as RatioStudy
    from empirical.traces import mooncake as _mooncake
    from empirical.traces.base import Trace as Trace
    from mip.agreement import check_agreement as check_agreement
    from mip.belady import farthest_next_use as farthest_next_use
    from mip.makespan import solve_makespan as solve_makespan
    from mip.makespan_bounds import lower_bounds as lower_bounds
    from mip.schedule import Optimum as Optimum
    from mip.schedule import schedule_cost as schedule_cost
    from theory.bounds import BOUNDS as BOUNDS
    from theory.bounds import evaluate as evaluate
    from theory.cache import PrefixCache as PrefixCache
    from theory.cache import run as run
    from theory.claims import CLAIMS as CLAIMS
    from theory.errors import KvboundsError as KvboundsError
    from theory.eviction import EvictionPolicy as EvictionPolicy
    from theory.eviction import RandomisedPolicy as RandomisedPolicy
    from theory.eviction import make_policy as make_policy
    from theory.exact import Arena as Arena
    from theory.exact import exact_ratio as exact_ratio
    from theory.exact.verify import verify_file as verify_file
    from theory.load import route as route
    from theory.model import Instance as Instance
    from theory.routing import RoutedQuery as RoutedQuery
    from theory.routing import Router as Router
    from theory.routing import make_router as make_router
    from theory.routing.instance import RoutingInstance as RoutingInstance
    from theory.trie import TokenTrie as TokenTrie

    load_trace = _mooncake.load

_PUBLIC = {
    "Arena": "theory.exact",
    "BOUNDS": "theory.bounds",
    "CLAIMS": "theory.claims",
    "EvictionPolicy": "theory.eviction",
    "Instance": "theory.model",
    "KvboundsError": "theory.errors",
    "Optimum": "mip.schedule",
    "PrefixCache": "theory.cache",
    "RandomisedPolicy": "theory.eviction",
    "RatioStudy": "empirical.ratio",
    "RoutedQuery": "theory.routing",
    "Router": "theory.routing",
    "RoutingInstance": "theory.routing.instance",
    "TokenTrie": "theory.trie",
    "Trace": "empirical.traces.base",
    "check_agreement": "mip.agreement",
    "evaluate": "theory.bounds",
    "exact_ratio": "theory.exact",
    "farthest_next_use": "mip.belady",
    "load_trace": "empirical.traces.mooncake:load",
    "lower_bounds": "mip.makespan_bounds",
    "make_instance": "adversary.families",
    "make_policy": "theory.eviction",
    "make_router": "theory.routing",
    "route": "theory.load",
    "run": "theory.cache",
    "schedule_cost": "mip.schedule",
    "solve_makespan": "mip.makespan",
    "verify_file": "theory.exact.verify",
}
"""Name -> the module that defines it, with ``:name`` where it is called otherwise there."""

__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'kvbounds' has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    return getattr(importlib.import_module(module), attribute or name)


def __dir__() -> list[str]:
    return __all__
