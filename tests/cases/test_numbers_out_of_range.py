"""0 and 10**30 where a small number is meant: refused in one line, neither taken nor waited for.

``--beta 0`` was read as the default, ``--seeds`` of 10**30 ran for ever, and what Python or a
library said of large numbers was called a fault of kvbounds.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adversary.families import make_instance
from tests.cli.command import call, fails

Capture = pytest.CaptureFixture[str]
HUGE = "1" + "0" * 30
STAR = ("exact", "--parents=-1,-1,-1", "--capacity", "2", "--quiet")
SMALL = ("--workload", "gsp:groups=2,prompts=2", "--quiet")


@pytest.mark.parametrize(
    "arguments",
    [
        (*STAR, "--beta", "0"),
        (*STAR, "--min-length", "0"),
        ("exact", "--all-forests", "0", "--capacity", "2"),
        ("exact", "--all-forests", HUGE, "--capacity", "2"),
        ("attack", "--policy", "fifo", "--capacity", HUGE),
        ("zoo", "--policy", "fifo", "--capacity", HUGE, "--out", "zoo"),
        ("zoo", "--policy", "fifo", "--blocks", HUGE, "--out", "zoo"),
        ("ratio", "--instance", "star.json", "--cycles", HUGE),
        ("ratio", "--instance", "star.json", "--policy", "rlt", "--seeds", HUGE),
        ("trace", "generate", "--requests", HUGE, "--out", "trace.jsonl"),
        ("simulate", *SMALL, "--workers", HUGE),
        ("simulate", *SMALL, "--jobs", "0"),
        ("makespan", *SMALL, "--workers", HUGE),
    ],
    ids=lambda arguments: " ".join(arguments).replace(HUGE, "10**30"),
)
def test_one_line(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_instance("cyclic", {"capacity": 3}).save("star.json")
    done = call(capsys, *arguments)
    fails(done, 2, "")
    assert "fault" not in done.err


def test_a_mean_is_not_rounded_to_what_it_is_not(capsys: Capture, tmp_path: Path) -> None:
    """39 hits of 42 tokens beside a hit rate of 0.9179 do not agree; 38.55 do."""
    path = tmp_path / "star.json"
    make_instance("cyclic", {"capacity": 3}).save(path)
    done = call(capsys, "ratio", "--instance", path, "--cycles", 5, "--policy", "rlt")
    header, _, cells = (re.split(r" {2,}", line) for line in done.out.splitlines()[1:4])
    row = dict(zip(header, cells, strict=True))
    hits, misses, tokens = (float(row[name]) for name in ("hits", "misses", "tokens"))
    assert hits != round(hits)
    assert hits + misses == pytest.approx(tokens)
    assert hits / tokens == pytest.approx(float(row["hit rate"]), abs=1e-3)


def test_a_slow_capacity_is_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 1,000 tokens a search with ``--budget 10s`` said nothing for many minutes."""

    def work(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("adversary.search.Search.advance", work)
    for capacity, told in ((32, False), (1000, True)):
        done = call(capsys, "attack", "--policy", "fifo", "--capacity", capacity)
        assert done.code == 130
        assert ("takes minutes (--budget 60s ends in time)" in done.err) == told
    fails(call(capsys, "attack", "--policy", "fifo", "--capacity", 1001), 2, "1000")
