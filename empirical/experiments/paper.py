"""The paper's experiments on the simulated cluster, as panels, with the numbers it reports."""

from __future__ import annotations

from empirical.cluster.profiles import PROFILES
from empirical.experiments.panel import Method, Panel, Point
from empirical.experiments.setting import Setting

__all__ = ["ABLATION", "CACHE_AWARE", "ENDS", "FOUR", "LBGR", "PANELS", "SWEPT"]

CACHE_AWARE = "cache-aware:preset=paper"
LBGR = "lbgr:preset=paper:alpha-miss=4"
"""The authors' public settings: 1 ms a missed *character*, about four to a token."""

FOUR = (
    Method("cache-aware + leaf-lru", CACHE_AWARE, "leaf-lru"),
    Method("cache-aware + rlt", CACHE_AWARE, "rlt"),
    Method("lbgr + leaf-lru", LBGR, "leaf-lru"),
    Method("lbgr + rlt", LBGR, "rlt"),
)
"""The rows of the paper's ablation, worst first."""

SPEED = 1.25
"""The one number fitted to the paper: at 62.5 % of the L40's peak arithmetic (1.25 times the
profile's 50 %) the baseline's P50 latency is about the paper's. All else is predicted."""

FULL = Setting("gsp", speed=SPEED)
"""The paper's default: 128 groups x 32 prompts, 12 requests/s, 4 workers, 4 output tokens."""

SWEPT = Setting("gsp:prompts=8,block=128", speed=SPEED)
"""A quarter of its prompts, in blocks of 128 tokens: for sweeps."""

REPORTED = {
    "cache-aware + leaf-lru": {
        "hit_rate": 0.2389,
        "p50_latency_ms": 26680.0,
        "p50_ttft_ms": 25022.0,
    },
    "cache-aware + rlt": {"hit_rate": 0.2636, "p50_latency_ms": 19191.0, "p50_ttft_ms": 14332.0},
    "lbgr + leaf-lru": {"hit_rate": 0.3333, "p50_latency_ms": 6025.0, "p50_ttft_ms": 2958.0},
    "lbgr + rlt": {"hit_rate": 0.3731, "p50_latency_ms": 2263.0, "p50_ttft_ms": 1088.0},
}
"""The paper's Table 1."""

ABLATION = Panel(
    "ablation",
    "Ablation: router and eviction (the paper's Table 1)",
    "setting",
    FULL,
    (Point("default", {}),),
    (
        *FOUR,
        Method("cache-aware + sglang-lru", CACHE_AWARE, "sglang-lru"),
        Method("lbgr + sglang-lru", LBGR, "sglang-lru"),
        Method("lbgr (our default) + rlt", "lbgr", "rlt"),
    ),
    note="leaf-lru and rlt evict single blocks; sglang-lru evicts whole radix nodes, as SGLang "
    "does. The worker's speed is fitted to the P50 latency of the first row; everything else is "
    "predicted.",
    reference={("default", name): values for name, values in REPORTED.items()},
)

EVICTIONS = tuple(
    Method(name, "round-robin", name) for name in ("leaf-lru", "sglang-lru", "rlt", "rlt-step")
)
ENDS = (FOUR[0], FOUR[3])
"""The baseline and the paper's method, for long axes."""

ONE_WORKER = Setting("gsp:groups=32,prompts=16,block=128,rate=3", speed=SPEED, workers=1)


def _points(field: str, *values: float) -> tuple[Point, ...]:
    return tuple(Point(f"{value:g}", {field: value}) for value in values)


def _workloads(template: str, *values: float) -> tuple[Point, ...]:
    return tuple(Point(f"{value:g}", {"workload": template.format(value)}) for value in values)


FRACTIONS = (0.5, 0.7, 0.9)

PANELS: dict[str, Panel] = {
    panel.name: panel
    for panel in (
        ABLATION,
        Panel(
            "one-worker",
            "Eviction alone: one worker, random order",
            "memory fraction",
            ONE_WORKER,
            _points("memory_fraction", *FRACTIONS),
            EVICTIONS,
            metrics=("hit_rate", "throughput_tok_s"),
        ),
        Panel(
            "one-worker-worst",
            "Eviction alone: one worker, round-robin over the groups",
            "memory fraction",
            ONE_WORKER.but(workload=ONE_WORKER.workload + ",order=round-robin"),
            _points("memory_fraction", 0.5, 0.53, 0.56, 0.6, 0.7),
            EVICTIONS,
            metrics=("hit_rate", "throughput_tok_s"),
        ),
        Panel(
            "memory",
            "Cache size: four workers",
            "memory fraction",
            SWEPT,
            _points("memory_fraction", *FRACTIONS),
            FOUR,
        ),
        Panel(
            "rate",
            "Arrival rate",
            "requests/s",
            SWEPT,
            tuple(Point(f"{r}", {"arrivals": f"poisson:rate={r}"}) for r in (4, 8, 12, 16, 20)),
            FOUR,
        ),
        Panel(
            "workers",
            "Number of workers at 12 requests/s",
            "workers",
            SWEPT,
            _points("workers", 2, 4, 6, 10),
            FOUR,
            metrics=("hit_rate", "p50_latency_ms", "throughput_tok_s"),
        ),
        Panel(
            "models",
            "Model and GPU",
            "profile",
            SWEPT.but(speed=1.0),
            tuple(
                Point(
                    name,
                    {
                        "profile": name,
                        "arrivals": f"poisson:rate={12 if 'l40' in name else 40}",
                        "memory_fraction": None if "l40" in name else 0.5,
                    },
                )
                for name in PROFILES
            ),
            FOUR,
            note="Four workers of each kind; the H200 ones get 40 requests/s and half of their "
            "memory, without which the whole workload fits into every cache.",
        ),
        Panel(
            "order",
            "Order of arrival",
            "order",
            SWEPT,
            tuple(
                Point(order, {"workload": f"{SWEPT.workload},order={order}"})
                for order in ("random", "round-robin", "grouped")
            ),
            FOUR,
        ),
        Panel(
            "sharing",
            "Shared fraction of the prompts",
            "shared fraction",
            SWEPT,
            _workloads(SWEPT.workload + ",ratio={:g}", 0.25, 0.5, 0.65, 0.8),
            FOUR,
        ),
        Panel(
            "output",
            "Length of the answers",
            "output tokens",
            SWEPT,
            _workloads(SWEPT.workload + ",output={:g}", 4, 32, 128),
            FOUR,
        ),
        Panel(
            "context",
            "Context length at equal load",
            "prompt tokens",
            SWEPT,
            tuple(
                Point(
                    str(tokens),
                    {
                        "workload": f"{SWEPT.workload},lengths={tokens}",
                        "arrivals": f"poisson:rate={12 * 3174 / tokens:.4g}",
                    },
                )
                for tokens in (512, 2048, 8192)
            ),
            ENDS,
            note="All prompts of one length; the arrival rate keeps the tokens a second the same.",
        ),
        Panel(
            "benchmarks",
            "Four kinds of prefix sharing",
            "workload",
            SWEPT,
            (
                Point("gsp", {}),
                Point("sharegpt twin", {"workload": "sharegpt:turns=6,rate=8,block=128"}),
                Point("ultrachat twin", {"workload": "ultrachat:turns=6,rate=8,block=128"}),
                Point("loogle twin", {"workload": "loogle:questions=4,block=128,rate=10"}),
            ),
            FOUR,
            note="Twins have the shape of the data sets (128 clients with six turns; 512 documents "
            "with four questions); files of the data sets take their place by "
            "kvbounds simulate --workload sharegpt:file=FILE.",
        ),
        Panel(
            "speed",
            "Speed of the workers",
            "times the roofline",
            SWEPT,
            _points("speed", 0.8, 1.0, 1.2, 1.5, 2.0, 3.0),
            FOUR,
        ),
        Panel(
            "scheduler",
            "Prefill before decode, or both in an iteration",
            "scheduler",
            SWEPT.but(workload=SWEPT.workload + ",output=32"),
            tuple(Point(name, {"scheduler": name}) for name in ("prefill-first", "mixed")),
            FOUR,
        ),
        Panel(
            "clients",
            "Arrival process",
            "arrivals",
            SWEPT,
            tuple(
                Point(text, {"arrivals": text})
                for text in (
                    "poisson:rate=12",
                    "bursty:rate=12,cv=4",
                    "regular:rate=12",
                    "closed:clients=64",
                )
            ),
            FOUR,
        ),
    )
}
"""Every panel by name."""
