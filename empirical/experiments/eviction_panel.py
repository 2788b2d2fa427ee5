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
            {
                "workers": 1,
                "router": "round-robin",
                "workload": "gsp:groups=32,prompts=32,block=128,rate=3",
            },
        ),
        Point("four workers", {}),
    ),
    tuple(Method(name, "lbgr", name) for name in (*EVICTIONS, *WHOLE_NODES)),
    metrics=("hit_rate", "p50_ttft_ms", "p50_latency_ms"),
    note="One worker with a quarter of the groups and of the rate, round-robin (nothing is to be "
    "routed); four workers with all of them, lbgr. Policies with *node* in their names, hits-per-"
    "token, gdsf and sglang-lru evict whole radix nodes, the others single blocks.",
)

EVICTION_PANELS: dict[str, Panel] = {EVERY_EVICTION.name: EVERY_EVICTION}
"""By name."""
