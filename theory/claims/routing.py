"""Claims about routers and the makespan."""

from __future__ import annotations

from theory.claims.claim import Claim

__all__ = ["ROWS"]

ROWS: tuple[Claim, ...] = (
    Claim(
        "makespan-burst",
        "No constant bounds the makespan ratio of LBGR, least load and round-robin.",
        "Leaf-LRU workers; R rounds of m alternating groups that arrive at once, a prefix of p and "
        "t tokens of its own for each query",
        "proved",
        "These routers take R m (p + t), the optimum at most p + R m t.",
        "pytest theory/test_makespan.py::test_a_burst_makes_even_queues_expensive "
        "theory/test_makespan.py::test_the_ratio_of_a_burst_exceeds_every_constant",
        "this project",
    ),
    Claim(
        "makespan-hot-prefix",
        "With one hot prefix and slow arrivals the ratio of cache-aware routing goes to m.",
        "m equal workers",
        "proved",
        "All queries go to one worker; the optimum spreads them.",
        "pytest theory/test_makespan.py::test_affinity_alone_is_as_bad_as_the_number_of_workers",
        "this project",
    ),
    Claim(
        "makespan-relaxation",
        "The linear relaxation of the joint program is farthest-next-use on one cache of the "
        "pooled capacity, divided by the number of workers.",
        "equal workers",
        "proved",
        "Averaging a solution over the workers; the proof is in `mip.makespan_bounds`.",
        "pytest tests/mip/test_makespan.py::test_pooled_work_is_the_relaxation_for_equal_workers",
        "this project",
    ),
    Claim(
        "makespan-exact",
        "The joint program has the least makespan over all routings and evictions.",
        "random instances with at most ten queries, unequal workers included",
        "verified",
        "Every routing tried, the optimum of each worker by Lemma 1.",
        "pytest tests/mip/test_makespan.py::test_optimum_equals_every_routing_tried",
        "exhaustive search",
    ),
    Claim(
        "routing-searched",
        "With at most eight queries on two workers LBGR is off by a factor of 2 (37/12 with the "
        "paper's settings), cache-aware by 17/8, least load by 27/11.",
        "the saved witnesses",
        "verified",
        "Each witness is served again, and its optimum proven again.",
        "pytest tests/adversary/test_routing.py::test_a_saved_witness_holds",
        "search",
    ),
)
