"""Conservation laws of the simulated cluster, and small runs worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical.cluster.evictions import EVICTIONS, make_cache
from empirical.cluster.metrics import hit_rate_bound, summary
from empirical.cluster.profiles import Profile
from empirical.cluster.simulate import simulate
from empirical.cluster.worker import Batching, Query, Worker
from empirical.traces.base import Trace
from tests.theory.strategies import examples
from theory.errors import InadmissibleStepError, InputError, RoutingError
from theory.routing import ROUTERS, RoutedQuery, Router

FLAT = Profile("flat", "", fixed_ms=10, prefill_ms_per_token=1, decode_ms_per_sequence=2)


def trace(
    prompts: list[str],
    times: list[float] | None = None,
    outputs: list[int] | None = None,
    session: str | None = None,
    block: int = 1,
) -> Trace:
    """A letter is a block; equal beginnings are shared."""
    ids: dict[str, int] = {}
    return Trace.from_hash_ids(
        [[ids.setdefault(p[: i + 1], len(ids)) for i in range(len(p))] for p in prompts],
        [0.0] * len(prompts) if times is None else times,
        [len(p) * block for p in prompts],
        [1] * len(prompts) if outputs is None else outputs,
        block_size=block,
        session=None if session is None else list(session),
        name="letters",
    )


@given(
    st.lists(
        st.tuples(
            st.text("abcd", min_size=1, max_size=6),
            st.integers(0, 60),
            st.integers(1, 9),
            st.sampled_from("xyz"),
        ),
        min_size=8,
        max_size=24,
    ),
    st.integers(15, 20),
    st.integers(1, 3),
    st.sampled_from(["lbgr", "cache-aware", "round-robin", "dynamic-threshold"]),
    st.sampled_from(list(EVICTIONS)),
    st.sampled_from(["prefill-first", "mixed"]),
    st.integers(1, 8),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([None, 1, 2]),
    st.booleans(),
)
@examples(150)
def test_nothing_is_lost(
    rows: list[tuple[str, int, int, str]],
    capacity: int,
    workers: int,
    router: str,
    eviction: str,
    scheduler: str,
    chunk: int,
    reserve: float,
    clients: int | None,
    sessions: bool,
) -> None:
    """Every query completes once, tokens in = hits + misses, no memory is exceeded."""
    rows.sort(key=lambda row: row[1])
    given_trace = trace(
        [row[0] for row in rows],
        [float(row[1]) for row in rows],
        [row[2] for row in rows],
        "".join(row[3] for row in rows) if sessions else None,
    )
    watched = []
    original = Worker.finish

    def finish(self: Worker) -> object:
        ended = original(self)
        cache = self.cache
        running = [*self.prefilling, *self.decoding]
        assert len(cache.locks) + cache.private <= cache.capacity
        assert cache.private == sum(q.private for q in running)
        held = {block for q in running for block in q.path[: q.held]}
        assert {block for block, locks in cache.locks.items() if locks} == held
        for query in ended.finished:
            watched.append(query.row)
            assert query.computed == query.length + query.output - 1
        return ended

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Worker, "finish", finish)
        run = simulate(
            given_trace,
            router,
            eviction,
            profiles=[FLAT] * workers,
            capacity=capacity,
            batching=Batching(scheduler, chunk=chunk, max_running=5, reserve=reserve),
            clients=clients,
            seed=3,
        )
    assert sorted(watched) == list(range(len(rows)))
    assert sum(worker.served for worker in run.workers) == len(rows)
    assert ((run.hits >= 0) & (run.hits < run.length)).all()  # one token is always computed
    assert (run.arrival < run.first_token).all()
    assert (run.first_token <= run.finish).all()
    assert ((run.first_token == run.finish) == (run.output == 1)).all()
    if clients is None:
        assert (run.arrival >= given_trace.timestamp - given_trace.timestamp[0]).all()
    assert run.hits.sum() / run.length.sum() <= hit_rate_bound(given_trace) + 1e-12
    # The time of the workers is what the profile says of all that they computed.
    steps = sum(w.iterations for w in run.workers) * FLAT.fixed_ms
    prefill = int((run.length - run.hits).sum() + run.recomputed.sum())
    retracted = sum(w.retractions for w in run.workers)
    decode = 2 * int((run.output - 1).sum())
    busy = sum(w.busy_ms for w in run.workers)
    assert busy <= steps + prefill + decode
    assert busy == steps + prefill + decode - 2 * retracted


@pytest.mark.parametrize("router", ROUTERS)
def test_equal_seeds_give_equal_runs(router: str) -> None:
    letters = trace(["ab", "ac", "b", "abc", "ab"] * 6, [float(i) for i in range(30)])
    runs = [
        simulate(letters, router, "rlt", profiles=[FLAT] * 3, capacity=12, seed=5) for _ in range(2)
    ]
    for name in ("arrival", "first_token", "finish", "worker", "hits"):
        assert (getattr(runs[0], name) == getattr(runs[1], name)).all()
    assert runs[0].workers == runs[1].workers


def test_one_query_by_hand() -> None:
    """Prefill 10 + 3, then two decodes of 10 + 2 each; the copy finds all but one token."""
    run = simulate(
        trace(["abc", "abc"], [0, 100], [3, 1]), "round-robin", profiles=[FLAT], capacity=8
    )
    assert run.first_token.tolist() == [13.0, 111.0]
    assert run.finish.tolist() == [37.0, 111.0]
    assert run.hits.tolist() == [0, 2]


def test_prefill_goes_first_or_is_mixed() -> None:
    """The second query comes while the first decodes."""
    given_trace = trace(["ab", "xy"], [0, 13], [3, 1])
    first, mixed = (
        simulate(
            given_trace,
            "round-robin",
            profiles=[FLAT],
            capacity=20,
            batching=Batching(scheduler),
        )
        for scheduler in ("prefill-first", "mixed")
    )
    # 0-12 prefill, 12-24 decode; then prefill alone 24-36 and decode 36-48, or both at once 24-38.
    assert first.first_token.tolist() == [12.0, 36.0]
    assert first.finish.tolist() == [48.0, 36.0]
    assert mixed.first_token.tolist() == [12.0, 38.0]
    assert mixed.finish.tolist() == [38.0, 38.0]


def test_a_long_prompt_is_computed_in_chunks() -> None:
    run = simulate(
        trace(["abcde"]), "round-robin", profiles=[FLAT], capacity=9, batching=Batching(chunk=2)
    )
    assert run.workers[0].iterations == 3
    assert run.first_token.tolist() == [35.0]


def test_a_query_is_retracted_and_loses_no_token() -> None:
    """Two answers of 6 tokens grow beside each other in 9 blocks: one has to wait for the other."""
    run = simulate(
        trace(["ab", "xy"], None, [6, 6]),
        "round-robin",
        profiles=[FLAT],
        capacity=9,
        batching=Batching(reserve=0.0),
    )
    assert run.workers[0].retractions == 1
    # Of the two, equal in answer and prompt, the later one: its answer of 3 is computed again.
    assert run.finish[0] < run.finish[1]
    assert run.recomputed.tolist() == [0, 3]
    assert run.hits.tolist() == [0, 0]


def test_reserving_room_avoids_the_retraction() -> None:
    run = simulate(
        trace(["ab", "xy"], None, [6, 6]),
        "round-robin",
        profiles=[FLAT],
        capacity=9,
        batching=Batching(reserve=1.0),
    )
    assert run.workers[0].retractions == 0


def test_a_turn_waits_for_the_turn_before() -> None:
    conversation = trace(["ab", "abcd"], [0, 5], [2, 1], session="ss")
    run = simulate(conversation, "round-robin", profiles=[FLAT], capacity=9, think_ms=100)
    assert run.finish[0] == 24.0
    assert run.arrival.tolist() == [0.0, 124.0]


def test_the_answer_is_cached_for_the_next_turn() -> None:
    """The answer is ``c`` and its last token, which has no KV entry, ``d``."""
    conversation = trace(["ab", "abcde"], [0, 500], [2, 1], session="ss")
    apart = trace(["ab", "abcde"], [0, 500], [2, 1])
    for given_trace, hits in ((conversation, 3), (apart, 2)):
        run = simulate(given_trace, "round-robin", profiles=[FLAT], capacity=9)
        assert run.hits.tolist() == [0, hits]


def test_clients_take_the_next_session() -> None:
    run = simulate(trace(["ab", "cd", "ef"]), "round-robin", profiles=[FLAT], capacity=9, clients=1)
    assert run.arrival.tolist() == [0.0, 12.0, 24.0]


def test_equal_times_have_an_order() -> None:
    """At 12 the first query ends, then the second arrives: the router knows that."""
    seen: list[tuple[str, int, float]] = []

    class Spy(Router):
        def choose(self, query: RoutedQuery, now: float) -> int:
            seen.append(("choose", int(str(query.id)), now))
            return 0

        def on_completed(self, query: RoutedQuery, worker: int, now: float) -> None:
            super().on_completed(query, worker, now)
            seen.append(("completed", int(str(query.id)), now))

    simulate(trace(["ab", "ac"], [0, 12]), Spy(), profiles=[FLAT], capacity=9)
    assert seen == [("choose", 0, 0), ("completed", 0, 12), ("choose", 1, 12), ("completed", 1, 23)]


def test_a_router_outside_the_cluster_is_told_off() -> None:
    class Astray(Router):
        def choose(self, query: RoutedQuery, now: float) -> int:
            return 7

    with pytest.raises(RoutingError, match="chose 7"):
        simulate(trace(["a"]), Astray(), profiles=[FLAT], capacity=9)


def test_cycling_over_more_than_fits_defeats_lru_only() -> None:
    """Six groups in turn, several in flight: each prefix is gone when its group comes again."""
    prompts = [f"{group}{group}{group}{turn}" for turn in "ABCDEFGH" for group in "uvwxyz"]
    hits = {}
    for eviction in ("leaf-lru", "sglang-lru", "rlt"):
        run = simulate(
            trace(prompts, [4.0 * i for i in range(len(prompts))]),
            "round-robin",
            eviction,
            profiles=[FLAT],
            capacity=18,
            batching=Batching(max_running=2),
        )
        hits[eviction] = int(run.hits.sum())
    assert hits["leaf-lru"] == hits["sglang-lru"] == 0
    assert hits["rlt"] > 10


def test_what_does_not_fit_is_told_before_the_run() -> None:
    with pytest.raises(InadmissibleStepError, match=r"query 1 with its answer: .* 5 blocks"):
        simulate(trace(["a", "abcd"]), "lbgr", profiles=[FLAT], capacity=4)
    with pytest.raises(InputError, match="no capacity"):
        simulate(trace(["a"]), "lbgr", profiles=[FLAT])
    with pytest.raises(InputError, match="no worker"):
        simulate(trace(["a"]), "lbgr", profiles=[], capacity=4)
    with pytest.raises(InputError, match="scheduler"):
        Batching("fifo")


def test_a_twice_as_fast_worker_halves_every_time() -> None:
    letters = trace(["ab", "ac", "bd"], [0, 0, 0], [3, 2, 1])
    slow = simulate(letters, "round-robin", profiles=[FLAT], capacity=9)
    fast = simulate(letters, "round-robin", profiles=[FLAT.faster(2)], capacity=9)
    assert (slow.finish == 2 * fast.finish).all()


def test_unequal_workers() -> None:
    small = replace(FLAT, capacity=2)
    large = replace(FLAT, capacity=6)
    run = simulate(trace(["a", "b"]), "round-robin", profiles=[small, large])
    assert run.worker.tolist() == [0, 1]
    with pytest.raises(InadmissibleStepError):
        simulate(trace(["abc"]), "round-robin", profiles=[small, large])


def test_summary_by_hand() -> None:
    run = simulate(
        trace(["abc", "abc"], [0, 100], [3, 1]), "round-robin", profiles=[FLAT], capacity=8
    )
    found = summary(run)
    assert (found["hit_tokens"], found["prompt_tokens"]) == (2, 6)
    assert found["hit_rate"] == 2 / 6
    assert found["p50_latency_ms"] == (37 + 11) / 2
    assert found["mean_ttft_ms"] == 12
    assert found["throughput_tok_s"] == pytest.approx(10 / 0.111)
    assert found["utilisation"] == pytest.approx(48 / 111)
    assert summary(run, "last-half")["hit_rate"] == 2 / 3
    with pytest.raises(InputError, match="window"):
        summary(run, "first-half")


def test_a_worker_without_work_does_not_start() -> None:
    worker = Worker(make_cache("rlt", [-1], 1), FLAT, 1, Batching())
    assert worker.start() is None
    worker.waiting.append(Query(0, [0], 1, 1))
    assert worker.start() == 11
    assert np.isfinite(worker.busy_ms)
