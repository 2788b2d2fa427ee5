"""The command ``kvbounds attack``."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from kvbounds.cli import main
from kvbounds.cli.attack import _bar
from theory.exact.cycle import cycle_ratio
from theory.model import Instance

OWN = '''
from theory.eviction import EvictionPolicy


class Lifo(EvictionPolicy):
    """Evict the leaf that was loaded last."""

    def __init__(self):
        self.loaded = {}

    def on_step(self, step):
        self.loaded.update(dict.fromkeys(step.misses, step.number))

    def choose(self, leaves):
        return max(leaves, key=lambda token: (self.loaded[token], token))
'''


def call(capsys, *arguments):
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as end:
        main(["attack", *arguments])
    streams = capsys.readouterr()
    return end.value.code, streams.out, streams.err


def test_report_and_witness(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("kvbounds.cli.attack.LINE_EVERY", 10**6)  # on a slow machine too
    path = tmp_path / "witness.json"
    options = ["--policy", "lfu", "--capacity", "3", "--jobs", "1", "--format", "json"]
    code, out, err = call(capsys, *options, "--out", str(path))
    assert (code, err) == (0, f"witness written to {path}\n")
    report = json.loads(out)
    assert report["ratio"] == "unbounded"
    assert report["growth"] == "unbounded"
    assert report["growth_evidence"] == "witness"
    assert report["marking"] is False
    assert report["sequence"] == "a a (b c)^inf"
    assert report["trie"] == ["+- a", "+- b", "+- c"]
    witness = Instance.load(path)
    assert witness == Instance.from_json(report["witness"])
    assert cycle_ratio(witness, "lfu").text == "unbounded"
    assert call(capsys, *options, "--quiet")[1] == out


def test_exact_ratio_and_proved_growth(capsys):
    options = ["--policy", "leaf-lru", "--capacity", "3", "--jobs", "1", "--evaluations", "100"]
    code, out, _ = call(capsys, *options, "--format", "json")
    report = json.loads(out)
    assert code == 0
    assert Fraction(report["ratio"]) == 3
    assert report["exact"] is True
    assert (report["growth"], report["growth_evidence"]) == ("linear", "proved")
    assert report["marking"] is True
    assert report["violation"] is None
    code, out, _ = call(capsys, *options)
    assert code == 0
    assert "linear (proved: bounds deterministic-lower and marking-upper)" in out
    assert "witness (B = 3, 4 tokens)" in out
    # Four leaves in some order, again and again.
    line = next(line for line in out.splitlines() if line.endswith(")^inf"))
    assert sorted(line.strip("()^inf").split()) == ["a", "b", "c", "d"]


def test_own_policy_without_a_state(capsys, tmp_path, monkeypatch):
    (tmp_path / "own_lifo.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    options = ["--policy", "own_lifo:Lifo", "--capacity", "3", "--evaluations", "160"]
    code, out, _ = call(capsys, *options, "--jobs", "1", "--format", "json")
    report = json.loads(out)
    assert code == 0
    assert report["ratio"] == "unbounded"
    assert report["exact"] is False
    assert (report["growth"], report["growth_evidence"]) == ("unbounded", "measured")
    assert report["marking"] is False


@pytest.mark.slow
def test_batches_that_grow(capsys):
    options = ["--policy", "rlt-step", "--capacity", "7", "--beta", "grow", "--evaluations", "1"]
    code, out, _ = call(capsys, *options, "--jobs", "1", "--format", "json")
    report = json.loads(out)
    assert code == 0
    assert (report["beta"], report["beta_grows"]) == (4, True)
    assert (report["growth"], report["growth_evidence"]) == ("linear", "proved")
    assert len({point["beta"] for point in report["points"]}) > 2


def test_goes_on_from_a_saved_state(capsys, tmp_path):
    state = str(tmp_path / "state.json")
    options = ["--policy", "clock", "--capacity", "3", "--jobs", "1", "--format", "json"]
    _, whole, _ = call(capsys, *options, "--evaluations", "200")
    call(capsys, *options, "--evaluations", "100", "--resume", state)
    _, resumed, _ = call(capsys, *options, "--evaluations", "200", "--resume", state)
    assert resumed == whole
    code, _, err = call(capsys, *options, "--resume", state, "--seed", "4")
    assert code == 2
    assert "is the state of another search" in err


def test_bounds_stand_beside_the_ratio(capsys):
    options = ["--policy", "leaf-lru", "--capacity", "3", "--jobs", "1", "--evaluations", "1"]
    _, out, _ = call(capsys, *options, "--quiet")
    (line,) = [line for line in out.splitlines() if line.startswith("bounds, k = 3")]
    assert "at least 3 for any deterministic policy (deterministic-lower)" in line
    assert "at most 3 for any marking policy (marking-upper)" in line
    report = json.loads(call(capsys, *options, "--format", "json")[1])
    assert report["k"] == 3
    assert [bound["value"] for bound in report["bounds"]] == ["3", "3"]


def test_lines_of_progress_now_and_then(capsys):
    times = iter([0, 1, 6, 7, 11])
    with _bar(40, "evaluations", "lfu", quiet=False, clock=lambda: next(times)) as show:
        show(10, "2")
        show(20, "3")  # after six seconds: a line, which looks at the clock again
        show(30, "4")
    assert capsys.readouterr().err == "lfu: 20 of 40 evaluations, ratio 3\n"


def test_budget_in_seconds_is_kept_and_told(capsys):
    options = ["--policy", "leaf-lru", "--capacity", "3", "--budget", "2s", "--jobs", "1"]
    code, out, _ = call(capsys, *options, "--format", "json")
    assert code == 0
    assert json.loads(out)["budget"] == "2s of wall time"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policy", "nope"], "unknown eviction policy 'nope'"),
        (["--policy", "leaf-lru", "--capacity", "0"], "0 is not a positive whole number"),
        (["--policy", "leaf-lru", "--beta", "x"], "'x' is neither an integer nor 'grow'"),
        (["--policy", "leaf-lru", "--beta", "9"], "do not fit into 8"),
        (["--policy", "leaf-lru", "--budget", "soon"], "--budget: 'soon' is no time"),
        (["--policy", "leaf-lru", "--budget", "0s"], "is no time"),
        (["--policy", "leaf-lru", "--budget", "1s", "--evaluations", "2"], "give either"),
        (["--policy", "leaf-lru", "--evaluations", "0"], "--evaluations"),
        ([], "--policy"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(capsys, arguments, words):
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
