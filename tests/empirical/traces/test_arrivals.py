"""Arrival processes and laws of lengths."""

from __future__ import annotations

import numpy as np
import pytest

from empirical.traces.arrivals import PROCESSES, retime
from empirical.traces.lengths import LAWS, draw
from empirical.traces.workload import parse
from theory.errors import InputError


@pytest.mark.parametrize("process", PROCESSES)
def test_rate_and_order_are_kept(process: str) -> None:
    trace = parse("gsp:groups=40,prompts=50,lengths=64")
    again = retime(trace, process, 5.0, seed=3)
    assert again.last.tolist() == trace.last.tolist()
    gaps = np.diff(again.timestamp)
    assert gaps.mean() == pytest.approx(200, rel=0.2)
    spread = {"poisson": 1.0, "bursty": 4.0, "regular": 0.0}[process]
    assert gaps.std() / gaps.mean() == pytest.approx(spread, abs=0.02 + 0.15 * spread)
    assert retime(trace, process, 5.0, seed=3).timestamp.tolist() == again.timestamp.tolist()


def test_turns_carry_the_time_of_their_session() -> None:
    trace = retime(parse("ultrachat:clients=5,turns=3,user=64"), "regular", rate=3)
    assert trace.session is not None
    assert sorted(set(trace.timestamp.tolist())) == [0, 1000, 2000, 3000, 4000]
    assert len({(s, t) for s, t in zip(trace.session, trace.timestamp, strict=True)}) == 5


@pytest.mark.parametrize(
    ("process", "rate", "cv", "message"),
    [
        ("weekly", 1.0, 4.0, "unknown process"),
        ("poisson", 0.0, 4.0, "rate"),
        ("poisson", float("inf"), 4.0, "rate"),
        ("bursty", 1.0, 0.0, "cv"),
    ],
)
def test_bad_processes(process: str, rate: float, cv: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        retime(parse("gsp:groups=1,prompts=2"), process, rate, cv=cv)


@pytest.mark.parametrize("law", LAWS)
def test_laws_have_the_same_total(law: str) -> None:
    lengths = draw(law, 128, 3174, 32768, np.random.default_rng(4))
    assert abs(sum(lengths) / 128 - 3174) < 2
    assert min(lengths) >= 1
    assert max(lengths) <= 32768
    if law == "fixed":
        assert len(set(lengths)) == 1


def test_pareto_has_the_heaviest_tail() -> None:
    top = {
        law: np.mean([max(draw(law, 128, 3174, 10**6, np.random.default_rng(s))) for s in range(9)])
        for law in LAWS
    }
    assert top["fixed"] < top["uniform"] < top["log-normal"] < top["pareto"]


def test_bad_laws() -> None:
    with pytest.raises(InputError, match="unknown law"):
        parse("lengths:law=cauchy")
    with pytest.raises(InputError, match="mean"):
        parse("lengths:mean=9,longest=8")
