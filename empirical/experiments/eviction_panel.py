"""Every eviction policy in the same cluster."""

from __future__ import annotations

from empirical.cluster.evictions import EVICTIONS
from empirical.experiments.panel import Method, Panel, Point
from empirical.experiments.paper import SWEPT

__all__ = ["EVERY_EVICTION", "EVICTION_PANELS"]

WHOLE_NODES = tuple(f"{name}:granularity=node" for name in ("fifo", "filo", "lfu", "mru", "slru"))
"""SGLang's rules besides its LRU, which is ``sglang-lru``."""

EVERY_EVICTION = Panel(
    "evictions",
    "Every eviction policy, saturated",
    "cluster",
    SWEPT,
    (
        Point(
            "one worker",
            {"workers": 1, "router": "round-robin", "arrivals": "poisson:rate=3"},
        ),
        Point("four workers", {}),
    ),
    tuple(Method(name, "lbgr", name) for name in (*EVICTIONS, *WHOLE_NODES)),
    metrics=("hit_rate", "p50_ttft_ms", "p50_latency_ms"),
    note="The same queries at 3 requests/s on one worker, round-robin (nothing is to be routed), "
    "and at 12 on four, lbgr. Policies with *node* in their names, hits-per-token, gdsf and "
    "sglang-lru evict whole radix nodes, the others single blocks.",
)

EVICTION_PANELS: dict[str, Panel] = {EVERY_EVICTION.name: EVERY_EVICTION}
"""By name."""
