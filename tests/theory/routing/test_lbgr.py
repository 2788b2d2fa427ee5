"""LBGR: predictions, decay, release and learning, by hand and against the authors' constants."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.theory.routing.fleet import bound, query, send
from theory.load import RoutingInstance, Worker, route
from theory.routing import WorkerInfo, make_router
from theory.routing.lbgr import LBGR, PRESETS
from theory.routing.rls import RecursiveLeastSquares
from theory.trie import TokenTrie


def lbgr(spec: str = "", workers: int = 2, capacity: int | None = None) -> LBGR:
    """A bound LBGR."""
    router = bound(f"lbgr{spec}", workers, capacity=capacity)
    assert isinstance(router, LBGR)
    return router


def test_paper_defaults_are_the_published_constants() -> None:
    settings = LBGR.paper_defaults().settings
    assert settings == PRESETS["paper"]
    assert (settings.decay, settings.interval, settings.forgetting) == (31 / 32, 20.0, 0.95)
    assert (settings.covariance, settings.alpha_miss, settings.alpha_cached) == (1e6, 1.0, 0.0)
    assert (settings.learned, settings.floor, settings.margin) == (("bias",), 1.0, 1.0)
    assert (settings.ties, settings.insert) == ("first", "both")


def test_prediction_is_service_plus_load() -> None:
    router = lbgr(":features=none:decay=1")
    router.bind([WorkerInfo(None, 2.0, 0.5, 3.0), WorkerInfo(None, 1.0, 0.0, 0.0)], 0)
    assert router.predict(query(0, "abcd", output=2), 0, 0.0) == 4 * 2.0 + 2 * 3.0
    router.on_assigned(query(0, "abcd", output=2), 0, 0.0)
    # 3 hits, 1 miss, 1 output token; and the load of the first query.
    assert router.predict(query(1, "abcx", output=1), 0, 0.0) == 3 * 0.5 + 2.0 + 3.0 + 14.0
    assert router.predict(query(1, "abcx", output=1), 1, 0.0) == 4.0
    assert send(router, query(1, "abcx", output=1)) == 1


def test_load_decays_every_interval_and_the_rest_is_released() -> None:
    router = lbgr(":features=none:decay=0.5:interval=10")
    first, second = query(0, "abcdefgh"), query(1, "abcdefgh"[:4])
    router.on_assigned(first, 0, 5.0)
    assert router.decayed(0, 9.9) == 8.0
    assert router.decayed(0, 10.0) == 4.0  # the tick at 10
    router.on_assigned(second, 0, 12.0)  # a full hit: nothing to add
    router.on_assigned(query(2, "uvwx"), 0, 12.0)
    assert router.decayed(0, 12.0) == 8.0
    router.on_failed(first, 0, 25.0)  # two ticks after 5: 2 of its 8 are left
    assert router.decayed(0, 25.0) == 4.0 - 2.0
    router.on_completed(second, 0, 25.0)
    router.on_completed(query(2, "uvwx"), 0, 25.0)
    assert router.decayed(0, 25.0) == 0.0


def test_the_papers_load_is_kept_in_whole_ms() -> None:
    """Against the rule of the authors' code, step by step: floor(31 Q / 32) every 20 ms."""
    router = lbgr(":preset=paper")
    router.on_assigned(query(0, "x" * 100), 0, 0.0)
    expected = 100
    for tick in range(1, 200):
        expected = expected * 31 // 32
        assert router.decayed(0, 20.0 * tick) == expected
    router.on_assigned(query(1, "y" * 40), 0, 4000.0)
    # Of the 100 ms nothing is left (0.18 rounds to 0), of the 40 all is.
    router.on_completed(query(0, "x" * 100), 0, 4000.0)
    assert router.decayed(0, 4000.0) == 40.0


def test_the_papers_margin_keeps_the_first_worker() -> None:
    paper, ours = lbgr(":preset=paper:features=none"), lbgr(":ties=rotate")
    for number in range(4):
        for router in (paper, ours):
            asked = query(number, f"{number}")
            worker = send(router, asked)
            router.on_completed(asked, worker, 1.0)  # as predicted
            assert worker == (0 if router is paper else number % 2)
    paper.on_assigned(query(9, "z"), 0, 0.0)
    assert send(paper, query(10, "q")) == 0  # worse by 1 ms only
    assert send(paper, query(11, "r")) == 1  # worse by 2 ms


def test_the_prompt_is_indexed_when_it_is_told() -> None:
    asked = query(0, "abcd")
    for insert, routed, completed in (
        ("assigned", 4, 4), ("completed", 0, 4), ("both", 4, 4)
    ):  # fmt: skip
        router = lbgr(f":insert={insert}")
        router.on_assigned(asked, 0, 0.0)
        assert router.hits(asked) == [routed, 0]
        router.on_completed(asked, 0, 1.0)
        assert router.hits(asked) == [completed, 0]
    failed = lbgr(":insert=completed")
    failed.on_assigned(asked, 0, 0.0)
    failed.on_failed(asked, 0, 1.0)
    assert failed.hits(asked) == [0, 0]


def test_the_bias_is_learned_per_worker_from_what_was_not_predicted() -> None:
    router = lbgr(":features=bias:covariance=1e9:forgetting=1:decay=1")
    for number in range(20):
        asked = query(number, [number, number])
        router.on_assigned(asked, 0, 100.0 * number)
        router.on_completed(asked, 0, 100.0 * number + 12.0)  # 2 ms of service, 10 unexplained
    assert router.models[0].theta == pytest.approx([10.0], abs=1e-6)
    assert router.models[1].theta == [0.0]
    assert router.predict(query(99, "zz"), 0, 5000.0) == pytest.approx(12.0, abs=1e-6)
    assert send(router, query(99, "zz"), 5000.0) == 1


def test_the_papers_residual_is_at_least_one() -> None:
    router = lbgr(":preset=paper")
    asked = query(0, "abcdefgh")
    router.on_assigned(asked, 0, 0.0)
    router.on_completed(asked, 0, 2.0)  # faster than the 8 ms predicted: residual -6, taken as 1
    assert router.models[0].theta == pytest.approx([1.0], abs=1e-5)


def test_all_features_recover_the_true_service_times() -> None:
    """The router believes in 1 ms a miss; the workers take 3 ms, 0.5 a hit, and 7 in any case."""
    router = lbgr(":features=bias+hits+misses:covariance=1e6:forgetting=1:decay=1", workers=1)
    rng = random.Random(0)
    now = 0.0
    for number in range(300):
        asked = query(number, "".join(rng.choice("ab") for _ in range(rng.randint(1, 8))))
        hits = router.hits(asked)[0]
        now += 1000.0
        send(router, asked, now)
        router.on_completed(asked, 0, now + 7.0 + 0.5 * hits + 3.0 * (asked.length - hits))
    assert router.models[0].theta == pytest.approx([7.0, 0.5, 2.0], abs=1e-3)


def test_a_failure_teaches_nothing() -> None:
    router = lbgr(":features=bias")
    router.on_assigned(query(0, "abc"), 0, 0.0)
    router.on_failed(query(0, "abc"), 0, 500.0)
    assert router.models[0].theta == [0.0]
    assert router.load == [0.0, 0.0]


def test_an_unlearned_router_knows_the_sequential_model_exactly() -> None:
    """With Leaf-LRU workers and no decay its prediction is the latency, if nothing completes."""
    rng = random.Random(3)
    trie, ends = TokenTrie.from_sequences(
        ["".join(rng.choice("ab") for _ in range(rng.randint(1, 6))) for _ in range(30)]
    )
    instance = RoutingInstance(trie, [Worker(7, 2, 1)] * 3, ends)
    predictions: list[float] = []

    class Noting(LBGR):
        def on_assigned(self, query, worker, now):  # type: ignore[no-untyped-def]
            predictions.append(self.predict(query, worker, now))
            super().on_assigned(query, worker, now)

    run = route(instance, Noting(features="none", decay=1.0), "leaf-lru")
    assert predictions == [row.finish - row.arrival for row in run.served]


def test_recursion_equals_weighted_least_squares() -> None:
    rng = np.random.default_rng(0)
    forgetting, covariance = 0.9, 50.0
    model = RecursiveLeastSquares(3, forgetting, covariance)
    rows = rng.normal(size=(40, 3))
    values = rng.normal(size=40)
    for row, value in zip(rows.tolist(), values.tolist(), strict=True):
        model.update(row, value)
    weight = forgetting ** np.arange(39, -1, -1.0)
    normal = rows.T @ (weight[:, None] * rows) + forgetting**40 / covariance * np.eye(3)
    expected = np.linalg.solve(normal, rows.T @ (weight * values))
    assert model.theta == pytest.approx(expected.tolist(), rel=1e-8)


def test_recursion_stays_finite_where_a_feature_never_varies() -> None:
    model = RecursiveLeastSquares(2, 0.5, 1.0)
    for _ in range(5000):
        model.update([1.0, 0.0], 3.0)
    assert model.theta == pytest.approx([3.0, 0.0])
    assert model.predict([1.0, 1.0]) == pytest.approx(3.0)


def test_presets_can_be_changed_in_part() -> None:
    made = make_router("lbgr:preset=paper:margin=0:features=bias+load")
    assert isinstance(made, LBGR)
    assert made.settings.margin == 0
    assert made.settings.learned == ("bias", "load")
    assert made.settings.forgetting == 0.95
