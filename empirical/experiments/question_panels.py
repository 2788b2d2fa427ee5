"""The panels of the questions that need the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from empirical.experiments.panel import Method, Panel, Point, variants
from empirical.experiments.paper import CACHE_AWARE, ENDS, FOUR, LBGR, PANELS, SWEPT
from empirical.traces.lengths import LAWS

__all__ = [
    "DEFAULT",
    "LENGTHS",
    "QUESTION_PANELS",
    "ROUTERS",
    "SCALED",
    "SEEDS",
    "SENSITIVITY",
    "THRESHOLDS",
    "WORKERS",
]

SEEDS = Panel(
    "seeds",
    "The same queries, other coins",
    "eviction",
    SWEPT.but(trace_seed=0),
    (Point("default", {}),),
    tuple(Method(f"lbgr + {e}", LBGR, e) for e in ("leaf-lru", "rlt", "rlt-step")),
    note="The queries and their arrivals are the same for all seeds; only coins differ (leaf-lru "
    "and this router toss none).",
)

LENGTHS = Panel(
    "lengths",
    "Laws of the prompt lengths, the same total",
    "law",
    SWEPT,
    tuple(
        Point(law, {"workload": f"lengths:law={law},prompts=8,block=128"})
        for law in ("fixed", "uniform", "log-normal", "pareto")
    ),
    FOUR,
)
assert {point.label for point in LENGTHS.points} == set(LAWS)

WORKERS = PANELS["workers"]

SCALED = Panel(
    "workers-scaled",
    "Number of workers at 3 requests/s each",
    "workers",
    SWEPT.but(workload=f"{SWEPT.workload},groups=320,requests=1024"),
    tuple(Point(f"{n}", {"workers": n, "arrivals": f"poisson:rate={3 * n}"}) for n in (4, 8, 16)),
    ENDS,
    metrics=("hit_rate", "p50_latency_ms", "throughput_tok_s"),
    note="The load of a worker stays what it is with four workers at 12 requests/s; 320 groups, "
    "so that the shared prefixes exceed one cache at every size.",
)

_WORKLOADS: tuple[Point, ...] = (
    Point("gsp, saturated", {}),
    Point("gsp, half loaded", {"speed": 2.0}),
    Point("gsp, 64 output tokens", {"workload": f"{SWEPT.workload},output=64", "speed": 1.5}),
    Point("ultrachat twin", {"workload": "ultrachat:clients=64,turns=4,rate=8,block=128"}),
)
"""Unequal settings in which a default has to do without tuning."""


SENSITIVITY = Panel(
    "lbgr-sensitivity",
    "LBGR: one parameter at a time",
    "workload",
    SWEPT,
    _WORKLOADS,
    variants(
        "leaf-lru",
        ("cache-aware (paper)", CACHE_AWARE),
        ("lbgr (paper)", LBGR),
        ("no learning, decay 31/32", "lbgr:features=none:decay=0.96875"),
        ("learning the bias", "lbgr:features=bias:decay=0.96875"),
        ("fast learning", "lbgr:features=bias:decay=0.96875:covariance=1e6:forgetting=0.95"),
        ("decay 0.9", "lbgr:features=none:decay=0.9"),
        ("decay 0.99", "lbgr:features=none:decay=0.99"),
        ("no decay", "lbgr:features=none:decay=1"),
        ("index filled at completion", "lbgr:features=none:decay=0.96875:insert=completed"),
        ("index without bound", "lbgr:features=none:decay=0.96875:bounded=false"),
    ),
    metrics=("hit_rate", "p50_latency_ms"),
    note="All with leaf-lru. Every variant differs in one parameter from *no learning, decay "
    "31/32*: the load estimate is multiplied by the decay every 20 ms.",
)

DEFAULT = "decay 0.9"
"""The variant that is the default of `theory.routing.lbgr`."""

ROUTERS = Panel(
    "routers",
    "Routers, all with leaf-lru",
    "workload",
    SWEPT,
    _WORKLOADS,
    variants(
        "leaf-lru",
        ("round-robin", "round-robin"),
        ("least-load", "least-load"),
        ("cache-aware (paper)", CACHE_AWARE),
        ("cache-aware (smg)", "cache-aware:preset=smg"),
        ("dynamic-threshold", "dynamic-threshold"),
        ("group map", "consistent-hash:prefix=2:load-factor=inf"),
        ("preble", "preble"),
        ("lbgr (paper)", LBGR),
        ("lbgr (default)", "lbgr"),
    ),
    metrics=("hit_rate", "p50_latency_ms"),
    note="*Group map* hashes the first two blocks (256 tokens), which in gsp name the group.",
)


def _thresholds(values: Sequence[float]) -> tuple[Method, ...]:
    return tuple(
        Method(f"threshold {value:g}", f"cache-aware:match-threshold={value:g}", "leaf-lru")
        for value in values
    )


THRESHOLDS = Panel(
    "thresholds",
    "Cache-aware: match threshold against the shared fraction",
    "shared fraction",
    SWEPT,
    tuple(
        Point(f"{ratio:g}", {"workload": f"{SWEPT.workload},ratio={ratio:g}"})
        for ratio in (0.25, 0.5, 0.8)
    ),
    (
        *_thresholds((0.2, 0.5)),
        Method("smg", "cache-aware:preset=smg", "leaf-lru"),
        Method("dynamic-threshold", "dynamic-threshold", "leaf-lru"),
    ),
    note="The best possible match is the shared fraction: above it a threshold is never met, and "
    "the router falls back to the smallest tree.",
)

QUESTION_PANELS: dict[str, Panel] = {
    panel.name: panel for panel in (SEEDS, LENGTHS, SCALED, SENSITIVITY, ROUTERS, THRESHOLDS)
}
"""By name; ``workers`` and others of the paper's serve questions too."""
