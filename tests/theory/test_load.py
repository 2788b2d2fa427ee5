"""The sequential load model: costs, clocks and files."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from theory.cache import run
from theory.errors import InadmissibleStepError, InputError, RoutingError
from theory.load import Cluster, route, serve
from theory.routing import ROUTERS, RoutedQuery, Router
from theory.routing.instance import RoutingInstance, Worker, exact
from theory.trie import TokenTrie

TRIE, ENDS = TokenTrie.from_sequences(["abc", "abd", "xyz", "abc"])


def test_costs_are_exact() -> None:
    workers = [Worker(6, "0.3", "0.1", "1/7"), Worker(6, 2)]
    instance = RoutingInstance(TRIE, workers, ENDS, outputs=[1, 0, 2, 3])
    result = serve(instance, [0, 0, 1, 0])
    # 3 misses; 2 hits and 1 miss; 3 misses; 3 hits.
    assert [row.hits for row in result.served] == [0, 2, 0, 3]
    assert result.loads == (Fraction("0.9") + Fraction(1, 7) + Fraction("0.5") + Fraction("0.3")
                            + Fraction(3, 7), 6)  # fmt: skip
    assert result.makespan == 6
    assert (result.hits, result.misses) == (5, 7)
    assert result.assignment == (0, 0, 1, 0)


def test_each_worker_serves_as_the_executable_cache_does() -> None:
    rng = random.Random(1)
    trie, ends = TokenTrie.from_sequences(
        ["".join(rng.choice("ab") for _ in range(rng.randint(1, 5))) for _ in range(40)]
    )
    instance = RoutingInstance(trie, [Worker(6), Worker(8, 2)], ends)
    for policy in ("leaf-lru", "rlt", "node-lru"):
        result = route(instance, "random", policy, seed=3)
        for index, worker in enumerate(instance.workers):
            part = instance.worker_instance(index, result.assignment)
            assert part is not None
            alone = run(part, policy, seed=3 * 2 + index)
            assert result.loads[index] == worker.alpha_miss * alone.misses


def test_a_full_hit_may_cost_its_last_token() -> None:
    instance = RoutingInstance(TRIE, [Worker(7)], ENDS)
    assert serve(instance, [0] * 4).loads == (7,)
    assert serve(instance, [0] * 4, match="all-but-last").loads == (8,)


class Recorder(Router):
    """Takes the workers in turn and notes what it is told."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []

    def choose(self, query: RoutedQuery, now: float) -> int:
        self.log.append(("choose", query.id, now))
        return int(str(query.id)) % 2

    def on_completed(self, query: RoutedQuery, worker: int, now: float) -> None:
        super().on_completed(query, worker, now)
        self.log.append(("completed", query.id, worker, now))


def test_completions_are_told_before_the_next_arrival_in_order() -> None:
    instance = RoutingInstance(TRIE, [Worker(6)] * 2, ENDS, arrivals=[0.0, 0.0, 2.5, 3.0])
    recorder = Recorder()
    result = route(instance, recorder)
    # Worker 0: query 0 until 3, then query 2 until 6; worker 1: query 1 until 3, query 3 (3 to 4).
    assert recorder.log == [
        ("choose", 0, 0.0),
        ("choose", 1, 0.0),
        ("choose", 2, 2.5),
        ("completed", 0, 0, 3.0),
        ("completed", 1, 1, 3.0),
        ("choose", 3, 3.0),
    ]
    assert [(row.start, row.finish) for row in result.served] == [(0, 3), (0, 3), (3, 6), (3, 4)]
    assert result.loads == (6, 4)


def test_idle_time_is_no_load() -> None:
    instance = RoutingInstance(TRIE, [Worker(6)], ENDS[:2], arrivals=[0.0, 100.0])
    result = serve(instance, [0, 0])
    assert result.loads == (4,)
    assert result.served[1].start == 100.0


@pytest.mark.parametrize("router", ROUTERS)
def test_every_router_serves_every_query(router: str) -> None:
    instance = RoutingInstance(
        TRIE, [Worker(3), Worker(4), Worker(6)], ENDS * 5, arrivals=range(20), sessions=["s"] * 20
    )
    result = route(instance, router, "rlt", seed=2)
    assert len(result.served) == 20
    assert result == route(instance, router, "rlt", seed=2)
    assert sum(result.loads) == result.misses


class Wrong(Router):
    """Names a worker that the query does not fit."""

    def choose(self, query: RoutedQuery, now: float) -> int:
        return 0


def test_a_router_that_names_no_worker_is_told() -> None:
    instance = RoutingInstance(TRIE, [Worker(2), Worker(3)], ENDS)
    with pytest.raises(RoutingError, match="query 0: Wrong chose 0, which is no eligible worker"):
        route(instance, Wrong())
    with pytest.raises(RoutingError, match="query 0: does not fit worker 0"):
        serve(instance, [0, 1, 1, 1])
    with pytest.raises(RoutingError, match="query 1: 2 is no worker"):
        serve(instance, [1, 2, 1, 1])


def test_seeds_of_the_workers_differ() -> None:
    instance = RoutingInstance(TRIE, [Worker(6)] * 2, ENDS)
    cluster = Cluster(instance, "rlt", seed=4)
    draws = [cache.policy.random.random() for cache in cluster.caches]  # type: ignore[attr-defined]
    assert draws == [random.Random(8).random(), random.Random(9).random()]


def test_bad_workers_and_queries_are_one_line() -> None:
    for worker, message in (
        ({"capacity": 0}, "capacity: 0 is not a positive whole number"),
        ({"capacity": 4, "alpha_miss": -1}, "alpha_miss: -1 is negative"),
        ({"capacity": 4, "alpha_cached": 2}, "alpha_cached: a hit takes longer than a miss"),
        ({"capacity": 4, "alpha_output": "x"}, "alpha_output: 'x' is not a number"),
        ({"capacity": 4, "alpha_output": float("nan")}, "alpha_output: nan is not a number"),
        ({"capacity": 4, "alpha_miss": "1/0"}, "alpha_miss: '1/0' is not a number"),
    ):
        with pytest.raises(InputError, match=message):
            Worker(**worker)
    with pytest.raises(InputError, match="workers: there is no worker"):
        RoutingInstance(TRIE, [], ENDS)
    with pytest.raises(InputError, match="queries: there is no query"):
        RoutingInstance(TRIE, [Worker(3)], [])
    with pytest.raises(InadmissibleStepError, match="step 0: its footprint of 3 tokens exceeds"):
        RoutingInstance(TRIE, [Worker(2)], ENDS)
    with pytest.raises(InputError, match="query 1: 99 is not a token"):
        RoutingInstance(TRIE, [Worker(3)], [2, 99])
    with pytest.raises(InputError, match=r"query 1: the arrival 1.0 ms does not follow 2.0 ms"):
        RoutingInstance(TRIE, [Worker(3)], ENDS[:2], arrivals=[2.0, 1.0])
    with pytest.raises(InputError, match="query 0: the arrival nan ms"):
        RoutingInstance(TRIE, [Worker(3)], ENDS[:1], arrivals=[float("nan")])
    with pytest.raises(InputError, match="outputs: 1 values for 4 queries"):
        RoutingInstance(TRIE, [Worker(3)], ENDS, outputs=[1])
    with pytest.raises(InputError, match="query 0: -1 output tokens"):
        RoutingInstance(TRIE, [Worker(3)], ENDS[:1], outputs=[-1])


def test_exact_numbers() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact("1e-3") == Fraction(1, 1000)
    assert isinstance(exact(Fraction(4, 2)), int)
    for bad in (True, None, "a", float("inf"), [1]):
        with pytest.raises(InputError, match="is not a number"):
            exact(bad)


def test_an_instance_is_the_same_after_it_was_a_file(tmp_path: Path) -> None:
    instance = RoutingInstance(
        TRIE,
        [Worker(6, "3/2", "0.1"), Worker(4)],
        ENDS,
        outputs=[1, 2, 3, 4],
        arrivals=[0.0, 0.5, 0.5, 9.0],
        sessions=["a", None, "b", "a"],
        name="four",
        notes={"from": "a test"},
    )
    instance.save(tmp_path / "i.json")
    again = RoutingInstance.load(tmp_path / "i.json")
    assert again == instance
    assert again.notes == instance.notes
    assert instance.first(2).queries == instance.queries[:2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workers": [{"capacity": 0}]}, "#/workers/0/capacity: 0 is not"),
        ({"workers": [{}]}, "#/workers/0/capacity: None is not"),
        ({"workers": [{"capacity": 3, "speed": 1}]}, "#/workers/0: has no field 'speed'"),
        ({"workers": [{"capacity": 3, "alpha_miss": "x"}]}, "#/workers/0/alpha_miss: 'x' is not"),
        ({"workers": [3]}, "#/workers/0: is not a JSON object"),
        ({"workers": 3}, "#/workers: is not a list"),
        ({"queries": None}, "#/queries: is not a list"),
        ({"queries": ["a"]}, "query 0: 'a' is not a token"),
        ({"outputs": [1]}, "outputs: 1 values for 4 queries"),
        ({"arrivals": ["x"] * 4}, "has a value of the wrong type"),
        ({"parents": None}, "neither a list 'parents'"),
    ],
)
def test_a_broken_file_names_the_field(change: dict[str, Any], message: str) -> None:
    value = {**RoutingInstance(TRIE, [Worker(3)], ENDS).to_json(), **change}
    with pytest.raises(InputError, match=r"file\.json") as caught:
        RoutingInstance.from_json(value, "file.json")
    assert message in str(caught.value)
