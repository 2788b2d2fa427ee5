"""Panels on public traces, which are no part of the project: KVBOUNDS_TRACES names their folder."""

from __future__ import annotations

from empirical.experiments.panel import Panel, Point, variants
from empirical.experiments.paper import CACHE_AWARE, LBGR
from empirical.experiments.setting import Setting

__all__ = ["LBGR_TRACES", "TRACE_PANELS"]

CONVERSATION = "mooncake_conversation_trace.jsonl"
SYNTHETIC = "mooncake_synthetic_trace.jsonl"
AGENTIC = "claude_code_agentic_sample.jsonl"

LARGE = Setting(CONVERSATION, eviction="rlt", profile="llama-3.1-70b-h200x4")
"""Workers whose memory takes the long prompts of these traces: 1,083,740 tokens each."""


def _point(label: str, workload: str, stretch: float) -> Point:
    return Point(label, {"workload": workload, "arrivals": f"trace:stretch={stretch:g}"})


LBGR_TRACES = Panel(
    "lbgr-traces",
    "LBGR on public traces: one parameter at a time",
    "trace",
    LARGE,
    (
        _point("conversation, full load", CONVERSATION, 1),
        _point("conversation, half", CONVERSATION, 2),
        _point("synthetic, full load", SYNTHETIC, 1),
        _point("synthetic, half", SYNTHETIC, 2),
        _point("agentic", AGENTIC, 0.1),
    ),
    variants(
        "rlt",
        ("round-robin", "round-robin"),
        ("cache-aware (paper)", CACHE_AWARE),
        ("cache-aware (smg)", "cache-aware:preset=smg"),
        ("lbgr (paper)", LBGR),
        ("decay 0", "lbgr:decay=0"),
        ("decay 0.8", "lbgr:decay=0.8"),
        ("decay 0.9", "lbgr"),
        ("decay 31/32", "lbgr:decay=0.96875"),
        ("decay 0.99", "lbgr:decay=0.99"),
        ("decay 0.999", "lbgr:decay=0.999"),
        ("no decay", "lbgr:decay=1"),
        ("answers free", "lbgr:alpha-output=0"),
        ("misses dearer, times 4", "lbgr:alpha-miss=0.2854"),
        ("learning the bias", "lbgr:features=bias"),
        ("learning, decay 31/32", "lbgr:features=bias:decay=0.96875"),
        ("index filled at completion", "lbgr:insert=completed"),
        ("index filled at both", "lbgr:insert=both"),
        ("index without bound", "lbgr:bounded=false"),
    ),
    note="All with rlt, whose coins are what the seeds change; 4 workers (70B on four H200 each). "
    "The traces keep their timestamps, multiplied by 1 at full load, by 2 at half, and by 0.1 "
    "for the agentic sample. Every variant differs in one parameter from *decay 0.9*, the default, "
    "if nothing else is said.",
)

TRACE_PANELS: dict[str, Panel] = {panel.name: panel for panel in (LBGR_TRACES,)}
"""By name; `Panel.files` says what they need."""
