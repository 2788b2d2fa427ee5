"""A search with a deadline stops soon after it, and keeps what it has found."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

from adversary.beam import beam
from adversary.cyclic import cyclic
from adversary.deadline import Deadline
from adversary.growth import Candidate, growth
from adversary.known import known
from adversary.measure import LEAST_SEEDS, certify, measure
from adversary.search import LONGEST_FAMILY, Search
from adversary.shrink import shrink
from adversary.strategy import Strategy, brooms, play
from adversary.target import Target


class Ticks:
    """A clock that goes on by one whenever it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def over() -> bool:
    return True


def test_a_deadline_goes_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(Deadline(0.0)))()
    assert not pickle.loads(pickle.dumps(Deadline(float("inf"))))()


@pytest.mark.parametrize("policy", ["leaf-lru", "rlt", "tests.exact.policies:FirstLeaf"])
@pytest.mark.parametrize("capacity", [4, 100])
def test_nothing_but_a_family_is_tried_after_the_end(policy: str, capacity: int) -> None:
    search = Search(Target(policy, capacity))
    search.advance(stop=Deadline(0.0))
    assert [candidate.found_by for candidate in search.pool] == ["family cyclic"]
    assert search.evaluations == 0
    assert search.rounds == 0
    best = search.result(Deadline(0.0))
    assert best.score.ratio is not None
    if policy == "leaf-lru":
        assert best.score.ratio == capacity


@pytest.mark.parametrize("ticks", [10, 300, 2000])
def test_it_ends_within_an_island(ticks: int) -> None:
    whole = Search(Target("leaf-lru", 5))
    whole.advance()
    cut, clock = Search(Target("leaf-lru", 5)), Ticks()
    cut.advance(stop=Deadline(float(ticks), clock))
    assert cut.evaluations < whole.evaluations
    # After the end it only asks, once in each of the places where it can go on.
    assert clock.now < ticks + 60
    assert cut.best.score.ratio == 5


def test_a_search_that_was_cut_goes_on() -> None:
    target = Target("clock-clear", 4)
    search = Search(target)
    search.advance(stop=Deadline(0.0))
    again = Search.from_json(search.to_json())
    assert again.to_json() == search.to_json()
    assert again.rounds == 0  # what is always tried was not, and still has to be
    again.advance()
    assert again.rounds == 1
    assert again.best.score.ratio == 7


def test_a_deadline_that_is_not_reached_changes_nothing() -> None:
    target = Target("fifo", 3)
    one, other = Search(target), Search(target)
    counts: list[int] = []
    one.advance(each=counts.append)
    other.advance(stop=Deadline(float("inf")), jobs=2)
    assert other.rounds == 1
    assert other.best.score == one.best.score
    assert sum(counts) == one.evaluations


def test_beam_and_play_stop() -> None:
    target = Target("clock-clear", 3)
    board = brooms(target)[0]
    assert beam(target, board, Fraction(1), stop=over) == (None, 0)
    assert play(target, board, Strategy("", "m"), stop=over) is None
    assert play(target, board, Strategy("", "m"), stop=lambda: False) is not None


def test_a_measurement_that_is_stopped_still_has_an_interval() -> None:
    target = Target("rlt", 4)
    short = measure(cyclic(4), target, range(20), stop=over)
    assert short.runs == LEAST_SEEDS
    assert short.half_width > 0
    assert certify(cyclic(40), Target("rlt", 40), stop=over).runs == LEAST_SEEDS


def test_no_part_of_a_point_is_fitted() -> None:
    target = Target("clock", 4)
    best = Candidate(cyclic(4), certify(cyclic(4), target), "x")
    assert growth(target, best, slots=(2, 3), stop=over).points == ()
    whole = growth(target, best, slots=(2, 3))
    counts = set()
    for ticks in range(1, 302, 20):
        cut = growth(target, best, slots=(2, 3), stop=Deadline(float(ticks), Ticks()))
        assert cut.points == whole.points[: len(cut.points)]
        counts.add(len(cut.points))
    assert counts >= {0, 1}


def test_shrinking_that_is_stopped_measures_nothing_again() -> None:
    target = Target("rlt", 4)
    score = measure(cyclic(4), target, range(5))
    assert shrink(cyclic(4), target, stop=over, score=score) == (cyclic(4), score)


def test_long_families_are_left_out() -> None:
    target = Target("leaf-lru", 100)
    found = dict(known(target, LONGEST_FAMILY))
    assert "cyclic" in found
    assert "clock-star" not in found
    assert max(len(instance.cycle) for instance in found.values()) <= LONGEST_FAMILY
    small = Target("leaf-lru", 20)
    assert dict(known(small, LONGEST_FAMILY)).keys() == dict(known(small)).keys()
