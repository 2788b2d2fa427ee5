"""Settings, resumable sweeps, intervals and verdicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from empirical.experiments.compare import compare
from empirical.experiments.setting import Setting
from empirical.experiments.sweep import Sweep, table
from theory.errors import InputError

TINY = Setting("gsp:groups=4,prompts=4,lengths=512,rate=8", workers=2)


def test_a_setting_gives_the_same_figures_again() -> None:
    assert TINY.run() == TINY.run()
    assert TINY.run() != TINY.but(seed=1).run()
    assert Setting.from_json(json.loads(json.dumps(TINY.to_json()))) == TINY


def test_the_trace_can_keep_its_seed() -> None:
    one, two = TINY.but(seed=1, trace_seed=0), TINY.but(seed=2, trace_seed=0)
    assert one.trace().timestamp.tolist() == two.trace().timestamp.tolist()


def test_a_trace_keeps_its_times_or_is_stretched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = '{"timestamp": %d, "input_length": 8, "output_length": 1, "hash_ids": [%d]}\n'
    (tmp_path / "two.jsonl").write_text(row % (0, 1) + row % (40, 2))
    setting = Setting("two.jsonl", workers=1)
    with pytest.raises(InputError, match=r"two\.jsonl"):
        setting.trace()
    monkeypatch.setenv("KVBOUNDS_TRACES", str(tmp_path))
    assert setting.trace().timestamp.tolist() == [0, 40]
    assert setting.but(arrivals="trace:stretch=2.5").trace().timestamp.tolist() == [0, 100]
    (tmp_path / "two.jsonl").rename(tmp_path / "two")
    assert Setting("two", workers=1).trace().timestamp.tolist() == [0, 40]


def test_finished_runs_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = [TINY.but(seed=seed) for seed in range(4)]
    done: list[tuple[int, int]] = []
    first = Sweep(tmp_path / "runs.json", on_done=lambda *progress: done.append(progress))
    results = first.run(settings[:2])
    assert done == [(1, 2), (2, 2)]
    ran: list[Setting] = []
    original = Setting.run
    monkeypatch.setattr(
        Setting, "run", lambda self, **options: ran.append(self) or original(self, **options)
    )
    again = Sweep(tmp_path / "runs.json").run(settings)
    assert ran == settings[2:]
    assert {setting: again[setting] for setting in settings[:2]} == results


def test_runs_of_any_policy_are_kept(tmp_path: Path) -> None:
    own = "theory.eviction.leaf_lru:LeafLRU"
    settings = [TINY.but(eviction=name) for name in ("slru:threshold=3", own, "leaf-lru")]
    results = Sweep(tmp_path / "runs.json").run(settings)
    assert results[settings[1]] == results[settings[2]]
    assert Sweep(tmp_path / "runs.json").known == results


def test_an_interrupted_sweep_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(done: int, count: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    settings = [TINY.but(seed=seed) for seed in range(4)]
    with pytest.raises(KeyboardInterrupt):
        Sweep(tmp_path / "runs.json", on_done=stop).run(settings)
    assert list(Sweep(tmp_path / "runs.json").known) == settings[:2]


def test_processes_give_the_same_as_one(tmp_path: Path) -> None:
    settings = [TINY.but(seed=seed, eviction="rlt") for seed in range(2)]
    assert Sweep(jobs=2).run(settings) == Sweep(jobs=1).run(settings)


def test_a_file_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    path.write_text('{"schema": "kvbounds/runs/1", "runs": [{"setting": {}}]}')
    with pytest.raises(InputError, match="#/runs/0: is no finished run"):
        Sweep(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arrivals": "poisson"}, "needs a rate"),
        ({"arrivals": "poisson:speed=3"}, "no key 'speed'"),
        ({"arrivals": "poisson:rate=x"}, "cannot read"),
        ({"arrivals": "now"}, "unknown arrivals"),
        ({"arrivals": "trace:stretch=0"}, "stretch"),
        ({"arrivals": "closed:clients=0"}, "clients"),
        ({"workers": 0}, "0 workers"),
        ({"profile": "llama-3.1-8b-l40,llama-3.1-8b-l40,x"}, "3 profiles for 2 workers"),
        ({"workload": "hsp"}, "unknown workload"),
        ({"eviction": "fifi"}, "eviction policy 'fifi'"),
        ({"eviction": "onlinemin"}, "does not run on a worker"),
        ({"capacity": 9}, "capacity"),
    ],
)
def test_bad_settings(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TINY.but(**changes).run()


def test_intervals_are_student_t() -> None:
    row = table(TINY, {s: {"hit_rate": r} for s, r in enumerate((0.1, 0.2, 0.3))})
    low, high = row["intervals"]["hit_rate"]
    assert (low, high) == pytest.approx((0.2 - 0.2484, 0.2 + 0.2484), abs=1e-4)
    assert row["by_seed"]["hit_rate"] == [0.1, 0.2, 0.3]


def test_a_difference_is_paired() -> None:
    """Both vary by 0.2 from seed to seed, but the second is always 0.01 above the first."""
    first, second = (
        table(TINY, {s: {"hit_rate": r + above} for s, r in enumerate((0.1, 0.2, 0.31))})
        for above in (0.0, 0.01)
    )
    assert compare(first, second, "hit_rate").verdict == "higher"
    assert compare(second, first, "hit_rate").verdict == "lower"
    third = table(TINY, {s: {"hit_rate": r} for s, r in enumerate((0.2, 0.1, 0.3))})
    assert compare(first, third, "hit_rate").verdict == "no difference shown"
