"""The least makespan by trying every routing, each worker's misses by brute force."""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st

from tests.mip.oracle import brute_force
from theory.model import Instance
from theory.routing.instance import Duration, RoutingInstance, Worker
from theory.trie import TokenTrie


def least_makespan(instance: RoutingInstance) -> Duration:
    """The optimum over all routings and all evictions."""
    known: dict[tuple[int, tuple[int, ...]], Duration] = {}
    best: Duration | None = None
    for routing in product(range(len(instance.workers)), repeat=len(instance.queries)):
        if not all(instance.fits(j, worker) for j, worker in enumerate(routing)):
            continue
        loads = []
        for worker in range(len(instance.workers)):
            mine = tuple(j for j, chosen in enumerate(routing) if chosen == worker)
            if (worker, mine) not in known:
                known[worker, mine] = _load(instance, worker, mine)
            loads.append(known[worker, mine])
        if best is None or max(loads) < best:
            best = max(loads)
    assert best is not None
    return best


def _load(instance: RoutingInstance, index: int, mine: tuple[int, ...]) -> Duration:
    if not mine:
        return 0
    worker = instance.workers[index]
    steps = [[instance.queries[j]] for j in mine]
    misses = brute_force(Instance(instance.trie, worker.capacity, steps))
    length = sum(len(instance.trie.path(instance.queries[j])) for j in mine)
    output = sum(instance.outputs[j] for j in mine)
    return (
        worker.alpha_miss * misses
        + worker.alpha_cached * (length - misses)
        + worker.alpha_output * output
    )


@st.composite
def routing_instances(
    draw: st.DrawFn, max_tokens: int = 6, max_queries: int = 6, max_workers: int = 3
) -> RoutingInstance:
    """Small instances, mostly with unequal workers, fractions for times, and outputs."""
    n = draw(st.integers(1, max_tokens))
    trie = TokenTrie.from_parents([draw(st.integers(-1, token - 1)) for token in range(n)])
    queries = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=max_queries))
    outputs = [draw(st.integers(0, 2)) for _ in queries]
    longest = max(trie.depth(query) for query in queries)
    workers = []
    for _ in range(draw(st.integers(1, max_workers))):
        capacity = draw(st.integers(1, longest + 2)) if workers else longest
        cached = draw(st.sampled_from(["0", "0", "1/3", "1"]))
        miss = draw(st.sampled_from(["1", "1", "3/2", "2"]))
        workers.append(Worker(capacity, miss, cached, draw(st.sampled_from(["0", "1/2", "1"]))))
        if draw(st.booleans()) and len(workers) < max_workers:
            workers.append(workers[-1])
    return RoutingInstance(trie, workers[:max_workers], queries, outputs)
