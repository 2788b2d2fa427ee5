"""Sweeps on ray: the same results, kept as they come."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from empirical.experiments.setting import Setting
from empirical.experiments.sweep import Sweep
from theory.errors import InputError

TINY = Setting("gsp:groups=4,prompts=4,lengths=512,rate=8", workers=2, eviction="rlt")
SETTINGS = [TINY.but(seed=seed) for seed in range(6)]


@pytest.fixture(scope="module")
def _cluster() -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = pytest.importorskip("ray", reason="ray is not installed (the cluster extra)")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.usefixtures("_cluster")
def test_ray_gives_the_same_bytes_as_this_machine(tmp_path: Path) -> None:
    ray, local = tmp_path / "ray.json", tmp_path / "local.json"
    Sweep(ray, jobs=2, backend="ray").run(SETTINGS)
    Sweep(local, jobs=1).run(SETTINGS)
    assert ray.read_bytes() == local.read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("_cluster")
def test_what_ray_has_finished_is_kept(tmp_path: Path) -> None:
    def stop(done: int, count: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    path = tmp_path / "runs.json"
    with pytest.raises(KeyboardInterrupt):
        Sweep(path, jobs=2, backend="ray", on_done=stop).run(SETTINGS)
    kept = Sweep(path).known
    assert len(kept) == 2
    counts: list[int] = []
    sweep = Sweep(path, jobs=-1, backend="ray", on_done=lambda done, count: counts.append(count))
    results = sweep.run(SETTINGS)
    assert counts == [4] * 4
    assert {setting: results[setting] for setting in kept} == kept
    assert list(results) == SETTINGS


def test_without_ray_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="pip install 'kvbounds"):
        Sweep(jobs=2, backend="ray").run(SETTINGS)
