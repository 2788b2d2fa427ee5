"""The command ``kvbounds ratio``."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from adversary.families import make_instance
from empirical.traces.mooncake import dump
from empirical.traces.synthetic import generate
from tests.cli.command import call, command, fails
from theory.model import Instance
from theory.trie import TokenTrie

Capture = pytest.CaptureFixture[str]


@pytest.fixture(name="trace", scope="module")
def _trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "small.jsonl"
    dump(generate(150, seed=5), path)
    return path


def test_the_fields_that_scripts_rely_on(capsys: Capture, trace: Path) -> None:
    options = ["--capacity", "70,200", "--policy", "leaf-lru,rlt", "--format", "json"]
    done = call(capsys, "ratio", "--trace", trace, *options)
    assert (done.code, done.err) == (0, "")
    told = done.json
    assert told["schema"] == "kvbounds/ratio/1"
    assert [(row["policy"], row["capacity"]) for row in told["rows"]] == [
        ("leaf-lru", 70),
        ("rlt", 70),
        ("leaf-lru", 200),
        ("rlt", 200),
    ]
    for row in told["rows"]:
        assert row["hits"] + row["misses"] == pytest.approx(row["tokens"])
        assert row["hit_rate"] == row["hits"] / row["tokens"]
        assert row["opt_hit_rate"] == (row["tokens"] - row["opt_misses"]) / row["tokens"]
        assert Fraction(row["ratio"]) >= 1
    exact, sampled = told["rows"][:2]
    assert Fraction(exact["ratio"]) == Fraction(exact["run_misses"], exact["run_opt_misses"])
    assert sampled["ratio_low"] <= sampled["ratio"] <= sampled["ratio_high"]
    assert (sampled["seeds"], "seeds" in exact) == (20, False)


def test_equal_runs_print_equal_bytes(trace: Path, tmp_path: Path) -> None:
    given = ["ratio", "--trace", trace, "--capacity", "80", "--policy", "rlt,leaf-lru"]
    options = ["--format", "json", "--seeds", "3", "--seed", "7"]
    one = command(*given, *options, folder=tmp_path)
    two = command(*given, *options, "--out", "told.json", folder=tmp_path)
    assert (one.code, one.err) == (0, "")
    assert one == two
    assert (tmp_path / "told.json").read_text() == one.out


def test_the_table_names_units_and_denominator(capsys: Capture, trace: Path) -> None:
    given = ["ratio", "--trace", trace, "--capacity", "80", "--policy", "leaf-lru,rlt"]
    done = call(capsys, *given, "--window", "last-half", "--bypass")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "small"
    assert [word.strip() for word in lines[1].split("  ") if word] == [
        *("policy", "capacity", "tokens", "hits", "misses", "hit rate", "OPT hit rate"),
        *("OPT misses", "ratio", "95 % interval", "seeds"),
    ]
    assert lines[5:] == [
        "capacity: blocks of 512 tokens",
        "hit rate: hit tokens / prompt tokens of the last half of the 150 requests",
        "OPT:      fewest misses, one per block, over the whole run, with bypass",
        "ratio:    misses over the optimum's, one per block, over the whole run",
    ]


def test_units_pages_batches_and_match_rules(capsys: Capture, trace: Path) -> None:
    def rate(*options: object) -> float:
        done = call(capsys, "ratio", "--trace", trace, "--format", "json", *options)
        assert done.code == 0, done
        rate = done.json["rows"][0]["hit_rate"]
        assert isinstance(rate, float)
        return rate

    blocks = rate("--capacity", 80)
    assert rate("--capacity", 80 * 512, "--unit", "token", "--page-size", 512) == blocks
    assert rate("--capacity", 80 * 512, "--unit", "token") != blocks
    assert rate("--capacity", 160, "--page-size", 2) < rate("--capacity", 160)
    assert rate("--capacity", 80, "--partial", "drop") != blocks
    assert rate("--capacity", 80, "--match", "all-but-last") <= blocks
    assert rate("--capacity", 80, "--batch", 8, "--overflow", "split") != blocks


def test_an_instance_with_a_cycle(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "cyclic.json"
    make_instance("cyclic", {"capacity": 6, "length": 2}).save(path)
    done = call(capsys, "ratio", "--instance", path, "--format", "json", "--cycles", 5)
    (row,) = done.json["rows"]
    assert (row["capacity"], row["cycle"]["ratio"]) == (6, "5")
    table = call(capsys, "ratio", "--instance", path, "--policy", "leaf-lru,rlt").out
    assert "leaf-lru at 6: 48 misses against" in table
    assert "in 8 repeated cycles, ratio 4.8" in table
    assert table.splitlines()[1].split("  ")[-1] == "ratio of cycle"
    larger = call(capsys, "ratio", "--instance", path, "--capacity", "7-8", "--format", "json")
    assert [row["misses"] for row in larger.json["rows"]] == [7, 7]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("lru", "did you mean leaf-lru, node-lru, sglang-lru? choose from 2q, "),
        ("Leaf_LRU", "did you mean leaf-lru? choose from 2q, "),
        ("onlinmin", "did you mean onlinemin? choose from 2q, "),
        ("nope", "unknown eviction policy 'nope'; choose from 2q, "),
    ],
)
def test_a_name_that_is_nearly_one(capsys: Capture, tmp_path: Path, name: str, near: str) -> None:
    path = tmp_path / "i.json"
    make_instance("cyclic", {"capacity": 3}).save(path)
    fails(call(capsys, "ratio", "--instance", path, "--policy", name), 2, near)


def test_a_capacity_that_is_too_large_for_json(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    make_instance("cyclic", {"capacity": 3}).save(path)
    path.write_text(path.read_text().replace('"capacity": 3,', f'"capacity": {10**30},', 1))
    fails(call(capsys, "ratio", "--instance", path), 2, "i.json#/capacity: 1e+30 is too large")


def test_a_trace_may_have_any_name(capsys: Capture, trace: Path) -> None:
    other = trace.with_name(trace.name.removesuffix(".jsonl"))  # the name that tables show
    other.write_bytes(trace.read_bytes())
    for words in (
        ("ratio", "--trace", "{}", "--capacity", 4000, "--quiet"),
        ("curve", "--trace", "{}", "--capacities", 4000, "--quiet"),
        ("trace", "inspect", "{}"),
    ):
        shown = [
            call(capsys, *(str(word).replace("{}", str(path)) for word in words))
            for path in (trace, other)
        ]
        assert shown[0].code == 0, shown[0].err
        assert shown[0] == shown[1]


def test_an_unbounded_cycle_stands_beside_the_ratio_of_the_run(
    capsys: Capture, tmp_path: Path
) -> None:
    path = tmp_path / "mru.json"
    star = TokenTrie.from_parents([-1, -1, -1])
    Instance(star, 2, [[0], [1], [2], [1], [2]], 3).save(path)
    lines = call(capsys, "ratio", "--instance", path, "--policy", "mru").out.splitlines()
    header, row = lines[1], lines[3]
    assert header.split("  ")[-1] == "ratio of cycle"
    assert "ratio of run" in header
    assert row.split()[-1] == "unbounded"
    assert row[: header.index("ratio of run") + len("ratio of run")].endswith(" 1.6667")


def test_a_policy_of_ones_own(tmp_path: Path, trace: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from theory.eviction import EvictionPolicy\n"
        "class First(EvictionPolicy):\n"
        "    def on_step(self, step): pass\n"
        "    def choose(self, leaves): return leaves[0]\n"
    )
    given = ["ratio", "--trace", trace, "--capacity", "90", "--format", "json"]
    done = command(*given, "--policy", "mine:First", folder=tmp_path)
    assert done.code == 0, done
    assert done.json["rows"][0]["policy"] == "mine:First"
    fails(command(*given, "--policy", "mine:Second", folder=tmp_path), 2, "has no 'Second'")


GOOD = '{"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]}'


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ([], ["--capacity", "8"], "t.jsonl: the trace has no request; give at least one row"),
        ([GOOD, '{"timestamp":'], ["--capacity", "8"], "t.jsonl:2: is not valid JSON"),
        (
            [GOOD, GOOD.replace("[1, 2]", "[3, 2]")],
            ["--capacity", "8"],
            "t.jsonl:2: hash id 2 follows 3 here and follows 1 in line 1",
        ),
        (
            [GOOD.replace("600", "6000")],
            ["--capacity", "8"],
            "t.jsonl:1: has 2 hash_ids, but input_length 6000 makes 12 blocks of 512 tokens",
        ),
        (
            [GOOD],
            ["--capacity", "1"],
            "t, line 1: its footprint of 2 blocks exceeds the capacity 1",
        ),
        ([GOOD], ["--capacity", "0"], "0 is not a positive whole number; give at least 1"),
        ([GOOD], ["--capacity", "-3"], "-3 is not a positive whole number"),
        ([GOOD], ["--capacity", "many"], "--capacity: 'many' is not an integer or a range"),
        ([GOOD], ["--capacity", ","], "--capacity: the list is empty"),
        ([GOOD], [], "--capacity: a trace has no capacity"),
        ([GOOD], ["--capacity", "8", "--policy", "lru"], "unknown eviction policy 'lru'; did you"),
        ([GOOD], ["--capacity", "8", "--policy", "no_such:P"], "cannot import 'no_such'"),
        ([GOOD], ["--capacity", "8", "--unit", "page"], "'page' is not one of 'block', 'token'"),
        ([GOOD], ["--capacity", "8", "--cycles", "2"], "a trace has no cycle"),
        ([GOOD], ["--capacity", "8", "--page-size", "0"], "--page-size"),
        ([GOOD], ["--capacity", "8", "--page-size", "9"], "8 holds no page of 9"),
        ([GOOD], ["--capacity", "8", "--out", "no/such/folder.json"], "cannot be written"),
        (
            [GOOD],
            ["--capacity", "8", "--unit", "token", "--page-size", "601", "--partial", "drop"],
            "8 holds no page of 601",
        ),
        (
            [GOOD],
            ["--capacity", "700", "--unit", "token", "--page-size", "601", "--partial", "drop"],
            "no prompt fills a page; give smaller pages",
        ),
        (
            [GOOD, GOOD],
            ["--capacity", "8", "--batch", "2", "--match", "all-but-last"],
            "the match rule all-but-last is for single requests",
        ),
    ],
)
def test_bad_input(
    capsys: Capture, tmp_path: Path, lines: list[str], options: list[str], message: str
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(line + "\n" for line in lines))
    fails(call(capsys, "ratio", "--trace", path, *options), 2, message)


def test_bad_instances(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    fails(call(capsys, "ratio"), 2, "give either a trace or an instance")
    fails(call(capsys, "ratio", "--trace", "a", "--instance", "b"), 2, "give either")
    fails(call(capsys, "ratio", "--instance", path), 2, "i.json: cannot be read")
    path.write_text("{")
    fails(call(capsys, "ratio", "--instance", path), 2, "i.json:1: is not valid JSON")
    path.write_text(json.dumps({"schema": "kvbounds/result/1"}))
    fails(call(capsys, "ratio", "--instance", path), 2, "has schema 'kvbounds/result/1'")
    path.write_text(
        json.dumps(
            {"schema": "kvbounds/instance/1", "capacity": 1, "parents": [-1, 0], "steps": [[1]]}
        )
    )
    fails(call(capsys, "ratio", "--instance", path), 2, "its footprint of 2 tokens exceeds")
    Instance(TokenTrie.from_parents([-1, 0]), 2, [[1]]).save(path)
    assert call(capsys, "ratio", "--instance", path).code == 0
    fails(call(capsys, "ratio", "--instance", path, "--capacity", "1"), 2, "exceeds the capacity 1")
    fails(call(capsys, "ratio", "--instance", path, "--unit", "token"), 2, "has tokens only")
    fails(call(capsys, "ratio", "--instance", path, "--batch", "2"), 2, "has its own batches")
    fails(call(capsys, "ratio", "--instance", path, "--cycles", "2"), 2, "has no cycle")


def test_golden_numbers(capsys: Capture, traces: Path) -> None:
    done = call(
        capsys,
        *("ratio", "--trace", traces / "mooncake_conversation_trace.jsonl"),
        *("--capacity", "2048,8192,32768", "--policy", "leaf-lru", "--window", "last-half"),
        *("--bypass", "--format", "json"),
    )
    rows = done.json["rows"]
    assert [round(row["hit_rate"], 4) for row in rows] == [0.0564, 0.1882, 0.3558]
    assert [round(row["opt_hit_rate"], 4) for row in rows] == [0.2684, 0.3981, 0.3981]
