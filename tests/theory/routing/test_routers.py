"""Each router against its definition, on cases worked out by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.theory.routing.fleet import bound, query, send, send_all
from theory.errors import InputError, RoutingError
from theory.routing import ROUTERS, RoutedQuery, WorkerInfo, make_router, prefix
from theory.routing.cache_aware import CacheAware
from theory.routing.dynamic_threshold import DynamicThreshold
from theory.routing.least_load import LeastLoad
from theory.routing.lmetric import LMetric


@pytest.mark.parametrize("spec", ROUTERS)
def test_same_seed_same_choices_and_no_bound_state_is_kept(spec: str) -> None:
    prompts = ["abcd", "abce", "xyz", "abq", "xyw", "p"] * 5
    router = make_router(spec)
    first = send_all(bound(router, 3, capacity=9, seed=5), prompts)
    again = send_all(bound(router, 3, capacity=9, seed=5), prompts)
    other = send_all(bound(spec, 3, capacity=9, seed=5), prompts)
    assert first == again == other


@pytest.mark.parametrize("spec", ROUTERS)
def test_only_workers_that_are_up_and_large_enough_are_chosen(spec: str) -> None:
    router = make_router(spec)
    router.bind([WorkerInfo(2), WorkerInfo(8), WorkerInfo(8), WorkerInfo(None)], 0)
    router.on_worker_down(2, 0.0)
    for number in range(40):
        asked = query(number, "abcd"[: 3 + number % 2])
        assert send(router, asked) in (1, 3)
    router.on_worker_down(1, 0.0)
    router.on_worker_down(3, 0.0)
    assert send(router, query(100, "ab")) == 0
    with pytest.raises(RoutingError, match="its 3 symbols fit no worker that is up"):
        router.choose(query(101, "abc"), 0.0)


@pytest.mark.parametrize("spec", ROUTERS)
def test_a_worker_that_comes_back_is_used_again(spec: str) -> None:
    router = bound(spec, 2)
    send_all(router, ["ab", "ab", "cd", "ab"])
    router.on_worker_down(0, 5.0)
    assert router.requests[0] == 0
    assert all(flight.worker == 1 for flight in router.in_flight.values())
    router.on_worker_up(0)
    routed = {send(router, query(10 + n, f"{n}zz"), 6.0) for n in range(40)}
    assert 0 in routed


def test_unknown_names_and_parameters_are_one_line() -> None:
    with pytest.raises(RoutingError, match="unknown router 'nope'; choose from cache-aware, "):
        make_router("nope")
    with pytest.raises(RoutingError, match="router least-load:m=1: has no parameter 'm'; choose "):
        make_router("least-load:m=1")
    with pytest.raises(
        RoutingError, match="router round-robin:m=1: has no parameter 'm'; give none"
    ):
        make_router("round-robin:m=1")
    with pytest.raises(RoutingError, match="router lbgr:m=1: has no parameter 'm'; choose from"):
        make_router("lbgr:m=1")
    with pytest.raises(RoutingError, match="there is no worker; give at least 1"):
        make_router("lbgr").bind([], 0)


@pytest.mark.parametrize(
    "spec",
    [
        "cache-aware:preset=none",
        "cache-aware:match-threshold=2",
        "cache-aware:abs-threshold=-1",
        "cache-aware:fallback=worst",
        "least-load:measure=work",
        "consistent-hash:prefix=0",
        "consistent-hash:load-factor=0.5",
        "preble:window=0",
        "preble:imbalance=0.5",
        "session-affinity:sessions=0",
        "dynamic-threshold:smoothing=0",
        "dynamic-threshold:smoothing=nan",
        "lbgr:decay=1.5",
        "lbgr:interval=0",
        "lbgr:features=bias+colour",
        "lbgr:ties=last",
        "lbgr:preset=theirs",
        "lbgr:forgetting=0",
        "lbgr:alpha-miss=-1",
    ],
)
def test_a_value_out_of_range_is_refused(spec: str) -> None:
    with pytest.raises(InputError, match=f"router {spec}|features"):
        make_router(spec)


def test_round_robin_takes_turns() -> None:
    assert send_all(bound("round-robin", 3), "abcdefg") == [0, 1, 2, 0, 1, 2, 0]


def test_random_is_uniform() -> None:
    counts = Counter(send_all(bound("random", 4), ["a"] * 4000))
    assert all(abs(counts[worker] - 1000) < 120 for worker in range(4))


def test_least_load_counts_queries_or_tokens() -> None:
    prompts = ["abcdefgh", "x", "y", "z"]
    assert send_all(bound("least-load", 2), prompts) == [0, 1, 0, 1]
    assert send_all(bound("least-load:measure=tokens", 2), prompts) == [0, 1, 1, 1]


def test_least_load_sees_completions() -> None:
    router = bound("least-load:measure=tokens", 2)
    assert isinstance(router, LeastLoad)
    first = query(0, "abcdefgh", output=2)
    assert send(router, first) == 0
    assert router.tokens == [10, 0]
    router.on_completed(first, 0, 5.0)
    assert router.tokens == [0, 0]


def test_power_of_two_takes_the_shorter_of_two_queues() -> None:
    router = bound("power-of-two", 2, seed=1)
    assert abs(Counter(send_all(router, ["a"] * 101))[0] - 50) <= 1
    many = bound("power-of-two", 8, seed=1)
    counts = Counter(send_all(many, ["a"] * 800))
    assert max(counts.values()) - min(counts.values()) <= 6  # uniform choice: about 30
    assert send(bound("power-of-two", 1), query(0, "a")) == 0


class TestCacheAware:
    """The thresholds of SGLang's router."""

    def test_presets(self) -> None:
        paper, smg = CacheAware(), CacheAware("smg")
        assert (paper.abs_threshold, paper.rel_threshold, paper.match_threshold) == (
            32,
            1.0001,
            0.5,
        )
        assert (smg.abs_threshold, smg.rel_threshold, smg.match_threshold) == (64, 1.5, 0.3)
        assert (paper.fallback, smg.fallback) == ("smallest-tree", "least-load")
        assert CacheAware("smg", match_threshold=0.9).match_threshold == 0.9

    def test_more_than_half_must_match(self) -> None:
        router = bound("cache-aware", 2)
        assert send(router, query(0, "abcd")) == 0
        assert send(router, query(1, "abxy")) == 1  # 2 of 4 is not more than half
        assert send(router, query(2, "abcz")) == 0  # 3 of 4
        assert send(router, query(3, "abxyzw")) == 1  # 4 of 6, on worker 1

    def test_the_smallest_tree_or_the_least_load_otherwise(self) -> None:
        for preset, expected in (("paper", [0, 1, 1, 1]), ("smg", [0, 1, 0, 1])):
            router = bound(f"cache-aware:preset={preset}", 2)
            assert send_all(router, ["abcdefgh", "ij", "kl", "mn"]) == expected

    @pytest.mark.parametrize(("spec", "most"), [("paper", 33), ("smg", 65)])
    def test_the_queues_may_differ_by_the_threshold(self, spec: str, most: int) -> None:
        workers = send_all(bound(f"cache-aware:preset={spec}", 2), ["hot"] * 200)
        # All to one worker until it is ahead by more than the threshold.
        assert workers[:most] == [0] * most
        assert workers[most] == 1

    def test_both_thresholds_must_be_exceeded(self) -> None:
        router = bound("cache-aware:abs-threshold=1:rel-threshold=3", 2)
        for number in range(2):
            router.on_assigned(query(number, "a"), 0, 0.0)
        router.on_assigned(query(2, "b"), 1, 0.0)
        for number in range(3, 9):  # 3 : 1, then 4 : 1 exceeds 3 times 1
            assert send(router, query(number, "a")) == (0 if number < 5 else 1)
            if number == 5:
                break


class TestDynamicThreshold:
    """The thresholds follow arrivals, latencies and matches."""

    def test_the_tolerance_is_the_mean_queue(self) -> None:
        router = bound("dynamic-threshold:smoothing=1", 2)
        assert isinstance(router, DynamicThreshold)
        assert router.tolerance() == 1.0
        for number in range(3):
            send(router, query(number, "a"), now=10.0 * number)
        router.on_completed(query(0, "a"), router.in_flight[0].worker, 80.0)
        # One arrival every 10 ms that stays 80 ms: 8 in flight, 4 on each of two workers.
        assert router.tolerance() == 4.0

    def test_a_match_is_good_if_it_is_better_than_usual(self) -> None:
        router = bound("dynamic-threshold:smoothing=0.5", 2)
        assert isinstance(router, DynamicThreshold)
        send(router, query(0, "abcd"))
        assert router.match_rate == 0.0
        assert send(router, query(1, "axyz")) == 0  # 1 of 4, the usual is 0
        assert router.match_rate == 0.125

    def test_it_balances_where_the_difference_is_too_large(self) -> None:
        assert send_all(bound("dynamic-threshold", 2), ["abcd"] * 4) == [0, 0, 1, 1]


class TestLMetric:
    """(new prefill tokens, the queued ones too) * batch size."""

    def test_scores(self) -> None:
        router = bound("lmetric", 2)
        assert isinstance(router, LMetric)
        assert send(router, query(0, "abcd")) == 0  # 4 * 1 = 4 * 1
        # worker 0: (4 + 1) * 2 = 10, worker 1: 4 * 1
        assert send(router, query(1, "abcx")) == 1
        assert router.queued == [4, 4]
        # worker 0: (4 + 0) * 2, worker 1: (4 + 1) * 2
        assert send(router, query(2, "abcd")) == 0
        router.on_completed(query(0, "abcd"), 0, 1.0)
        assert router.queued == [0, 4]

    def test_idle_workers_are_compared_by_misses(self) -> None:
        router = bound("lmetric", 3)
        for number, (worker, prompt) in enumerate([(0, "ab"), (1, "abc"), (2, "x")]):
            router.on_assigned(query(number, prompt), worker, 0.0)
            router.on_completed(query(number, prompt), worker, 0.0)
        assert send(router, query(9, "abcd")) == 1


class TestPreble:
    """Exploit a long match, explore otherwise."""

    def test_exploit_and_explore(self) -> None:
        router = bound("preble", 2)
        assert send(router, query(0, "abcdef")) == 0
        assert send(router, query(1, "abcdxx")) == 0  # 4 > 2: exploit, load 6 <= 2 * 6
        assert send(router, query(2, "abyyyy")) == 1  # 2 < 4: explore, 8 + 4 against 6
        assert send(router, query(3, "zz")) == 1  # 8 + 2 against 6 + 2

    def test_too_much_load_is_not_exploited(self) -> None:
        router = bound("preble", 2)
        # Its load is 6, 8, 10, 12, 14; twice the prefill of a prompt is 12.
        prompts = ["abcdef", *("abcd" + str(n) * 2 for n in range(5))]
        assert send_all(router, prompts) == [0, 0, 0, 0, 0, 1]

    def test_the_window_forgets(self) -> None:
        router = bound("preble:window=100", 2)
        assert send(router, query(0, "abcdef"), 0.0) == 0
        assert send(router, query(1, "xyz"), 50.0) == 1
        assert send(router, query(2, "uvw"), 99.0) == 1  # 3 + 3 against 6 + 3
        assert send(router, query(3, "rst"), 100.0) == 0  # the 6 is forgotten

    def test_evictions_cost_what_is_used(self) -> None:
        router = bound("preble:window=10", 2, capacity=4)
        for number in range(2):
            router.on_assigned(query(number, "abcd"), 0, 0.0)
        router.on_assigned(query(2, "wxyz"), 1, 0.0)
        router.on_assigned(query(3, "wxyz"), 1, 0.0)
        # Both workers: load 4, prefill 2, and 2 tokens that every query used must go.
        assert send(router, query(4, "pq"), 1.0) == 0
        # Worker 0: load 6 + 2; of its prefixes pq was used by 1 of 3, ab by 2 of 3.
        assert send(router, query(5, "rs"), 2.0) == 1

    def test_a_failed_query_was_no_work(self) -> None:
        router = bound("preble", 2)
        asked = query(0, "abcdef")
        assert send(router, asked) == 0
        router.on_failed(asked, 0, 1.0)
        assert send(router, query(1, "xy")) == 1  # a tie: rotated
        assert send(router, query(2, "uv")) == 0


class TestConsistentHash:
    """A ring with bounded loads."""

    def test_same_prefix_same_worker_while_there_is_room(self) -> None:
        router = bound("consistent-hash:prefix=2:load-factor=inf", 4)
        workers = send_all(router, [f"{head}{n}" for n in range(50) for head in ("ab", "cd", "ef")])
        assert all(len(set(workers[place::3])) == 1 for place in range(3))

    def test_no_queue_exceeds_the_bound(self) -> None:
        router = bound("consistent-hash:load-factor=1.5", 4)
        for number in range(100):
            send(router, query(number, "hot"))
            assert max(router.requests) <= -(-1.5 * (number + 1) // 4)

    def test_only_the_keys_of_a_lost_worker_move(self) -> None:
        prompts = [f"{n:03d}" for n in range(200)]

        def homes(down: int | None) -> list[int]:
            router = bound("consistent-hash:prefix=3:load-factor=inf", 4)
            if down is not None:
                router.on_worker_down(down, 0.0)
            return [router.choose(query(0, prompt), 0.0) for prompt in prompts]

        before, after = homes(None), homes(2)
        assert all(old == new for old, new in zip(before, after, strict=True) if old != 2)
        assert all(30 < count < 75 for count in Counter(before).values())
        assert 2 not in after


class TestSessionAffinity:
    """A conversation stays where it is."""

    def test_sessions_stay(self) -> None:
        router = bound("session-affinity", 3)
        asked = [query(n, "ab", session=f"s{n % 5}") for n in range(30)]
        workers = [send(router, each) for each in asked]
        assert workers[:5] == [0, 1, 2, 0, 1]
        assert all(workers[n] == workers[n % 5] for n in range(30))

    def test_a_lost_worker_loses_its_sessions(self) -> None:
        router = bound("session-affinity", 2)
        assert send(router, query(0, "a", session="s")) == 0
        router.on_worker_down(0, 0.0)
        assert send(router, query(1, "a", session="s")) == 1
        router.on_worker_up(0)
        assert send(router, query(2, "a", session="s")) == 1

    def test_the_oldest_session_is_forgotten(self) -> None:
        router = bound("session-affinity:sessions=2", 3)
        for number, session in enumerate("abc"):
            assert send(router, query(number, "p", session=session)) == number
        assert send(router, query(3, "p", session="c")) == 2
        assert send(router, query(4, "p", session="a")) == 0  # forgotten: least load, rotated


def test_symbols_that_stand_for_several_tokens() -> None:
    asked = RoutedQuery(0, ("block 1", "block 2"), length=20, tokens_per_symbol=16)
    router = make_router("lmetric")
    assert isinstance(router, LMetric)
    router.bind([WorkerInfo()] * 2, 0)
    router.on_assigned(asked, 0, 0.0)
    assert router.queued == [20, 0]
    again = RoutedQuery(1, ("block 1", "block 9"), length=20, tokens_per_symbol=16)
    router.on_assigned(again, 0, 0.0)
    assert router.queued == [24, 0]  # 16 of its 20 tokens hit


def test_a_users_router_is_found_by_module_and_class(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_router_module.py").write_text(
        "from theory.routing import Router\n"
        "class Last(Router):\n"
        "    def __init__(self, back: int = 1): self.back = back\n"
        "    def choose(self, query, now): return self.eligible(query)[-self.back]\n"
    )
    monkeypatch.chdir(tmp_path)
    assert send(bound("my_router_module:Last", 3), query(0, "a")) == 2
    assert send(bound("my_router_module:Last:back=2", 3), query(0, "a")) == 1
    with pytest.raises(RoutingError, match="has no 'First'"):
        make_router("my_router_module:First")
    with pytest.raises(RoutingError, match=r"is not a subclass of theory\.routing\.Router"):
        make_router("decimal:Decimal")


@pytest.mark.parametrize("spec", ["cache-aware", "lbgr", "lbgr:preset=paper", "lmetric", "preble"])
def test_the_memory_of_prefixes_is_bounded(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix, "LARGEST_TREE", 50)
    router = bound(spec, 2)
    assert isinstance(router, prefix.PrefixRouter)
    for number in range(200):
        send(router, query(number, [number] * 4))
    assert max(router.index.sizes) == 50
    known = bound(spec, 2, capacity=30)
    assert isinstance(known, prefix.PrefixRouter)
    for number in range(200):
        send(known, query(number, [number] * 4))
    assert max(known.index.sizes) == (30 if known.bounded else 50)


@pytest.mark.parametrize("spec", ROUTERS)
def test_an_empty_prompt_goes_somewhere(spec: str) -> None:
    router = bound(spec, 2)
    empty = query(0, "")
    worker = send(router, empty)
    router.on_completed(empty, worker, 1.0)
    assert send(router, query(1, "")) in (0, 1)
