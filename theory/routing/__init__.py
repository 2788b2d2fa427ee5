"""Routers: one a file, named here, loaded on demand."""

from __future__ import annotations

from theory.errors import RoutingError
from theory.plugins import Registry, build, find_class
from theory.routing.base import Flight, RoutedQuery, Router, WorkerInfo

__all__ = [
    "ROUTERS",
    "Flight",
    "RoutedQuery",
    "Router",
    "WorkerInfo",
    "make_router",
    "router_class",
]

ROUTERS: dict[str, str] = {
    "lbgr": "theory.routing.lbgr:LBGR",
    "cache-aware": "theory.routing.cache_aware:CacheAware",
    "dynamic-threshold": "theory.routing.dynamic_threshold:DynamicThreshold",
    "round-robin": "theory.routing.round_robin:RoundRobin",
    "random": "theory.routing.uniform:UniformRandom",
    "least-load": "theory.routing.least_load:LeastLoad",
    "power-of-two": "theory.routing.power_of_two:PowerOfTwo",
    "lmetric": "theory.routing.lmetric:LMetric",
    "preble": "theory.routing.preble:Preble",
    "consistent-hash": "theory.routing.consistent_hash:ConsistentHash",
    "session-affinity": "theory.routing.session_affinity:SessionAffinity",
}
"""The built-in routers: name on the command line -> module:Class."""

_REGISTRY = Registry("router", ROUTERS, Router, RoutingError)


def router_class(name: str) -> type[Router]:
    """The class of a built-in router, or of a user's own given as ``module:Class``.

    Raises
    ------
    RoutingError
        If there is no such router, or what was found is no router.

    Examples
    --------
    >>> router_class("lbgr").__name__
    'LBGR'
    """
    found: type[Router] = find_class(name, _REGISTRY)
    return found


def make_router(spec: str) -> Router:
    """Build a router from ``name[:parameter=value...]`` or ``module:Class[:parameter=value...]``.

    Raises
    ------
    RoutingError
        If the name or a parameter is unknown, or a value is refused.

    Examples
    --------
    >>> make_router("cache-aware:preset=paper:match-threshold=0.8").match_threshold
    0.8
    """
    made: Router = build(spec, _REGISTRY)
    return made
