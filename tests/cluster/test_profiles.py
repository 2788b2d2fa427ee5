"""Profiles: rooflines by hand, measured ones from files, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from empirical.calibration import PROFILE, fit_times, profile_of
from empirical.cluster.profiles import PROFILES, Profile, find_profile
from tests.docs.test_formats import conforms
from theory.errors import InputError
from theory.jsonfile import read_json, write_json


def estimate(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 1, "high": value + 1}


def test_the_roofline_of_the_l40_by_hand() -> None:
    """16.06 GB at 691.2 GB/s; 16.06 GFLOP at 90.5 TFLOP/s; 128 KiB of KV cache a token."""
    found = PROFILES["llama-3.1-8b-l40"]
    assert found.fixed_ms == pytest.approx(16.06 / 691.2 * 1000)
    assert found.prefill_ms_per_token == pytest.approx(16.06 / 90525 * 1000)
    assert found.context_ms_per_token == pytest.approx(131072 / 691.2e6)
    assert found.capacity == int((0.88 * 48e9 - 16.06e9) / 131072)


def test_larger_models_on_faster_machines() -> None:
    small, large, experts = PROFILES.values()
    assert large.capacity is not None
    assert small.capacity is not None
    assert large.capacity > small.capacity
    # Mixtral computes with a quarter of its weights, but reads most of them in every iteration.
    assert experts.prefill_ms_per_token < 0.2 * large.prefill_ms_per_token
    assert experts.fixed_ms > 0.6 * large.fixed_ms


def test_memory_fraction_and_speed() -> None:
    half = find_profile("llama-3.1-8b-l40", 0.5)
    whole = find_profile("llama-3.1-8b-l40", 1.0)
    assert half.capacity is not None
    assert whole.capacity is not None
    assert whole.capacity - half.capacity == pytest.approx(24e9 / 131072, abs=1)
    assert half.faster(2).iteration(100, 50, 3, 900) == half.iteration(100, 50, 3, 900) / 2
    with pytest.raises(InputError, match="leaves no room"):
        find_profile("llama-3.1-8b-l40", 0.3)


def test_a_calibrated_profile_is_read_back(tmp_path: Path) -> None:
    """A lone query takes what was measured: 50 + 0.5 a miss, then 20 for each further token."""
    rows = [
        {
            "prompt_tokens": prompt,
            "output_tokens": output,
            "measured_hits": hits,
            "ttft_ms": 50 + 0.5 * (prompt - hits),
            "latency_ms": 50 + 0.5 * (prompt - hits) + 20 * (output - 1),
        }
        for prompt, hits, output in [(64, 0, 2), (64, 32, 3), (128, 64, 5), (256, 16, 2)]
    ]
    report = {"name": "cpu", "workers": [], "fit": fit_times(rows), "rows": rows}
    file = tmp_path / "cpu.json"
    write_json(file, profile_of(report, "report"))
    conforms(read_json(file), "profile")
    found = find_profile(str(file))
    assert found.name == "cpu"
    assert found.request_ms + found.iteration(100, 0, 0, 0) == pytest.approx(50 + 0.5 * 100)
    assert found.iteration(0, 0, 1, 700) == pytest.approx(20)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"fixed_ms": 1.0}, "#/prefill_ms_per_token: is not known"),
        ({"prefill_ms_per_token": "fast"}, "#/prefill_ms_per_token: 'fast' is not a number"),
        ({"prefill_ms_per_token": estimate(-2)}, "#/prefill_ms_per_token: -2 is below 0"),
        ({"prefill_ms_per_token": 1, "capacity": 0}, "#/capacity: 0 is no number"),
    ],
)
def test_what_is_no_profile(value: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Profile.from_json(value)


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown profile 'h100'"):
        find_profile("h100")
    write_json(tmp_path / "x.json", {"schema": PROFILE, "prefill_ms_per_token": 1})
    with pytest.raises(InputError, match="no memory fraction"):
        find_profile(str(tmp_path / "x.json"), 0.5)
    with pytest.raises(InputError, match="speed"):
        find_profile(str(tmp_path / "x.json")).faster(0)
