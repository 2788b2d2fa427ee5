"""Sweeps over all small forests."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from adversary.tries import forests
from theory.errors import InputError
from theory.exact.sweep import Row, Task, solve, tasks, worst_rows


def test_the_number_of_instances() -> None:
    """Single queries, forests with 5 to 7 nodes, B = 2 to 4, every least query depth: 868."""
    all_forests = [parents for nodes in (5, 6, 7) for parents in forests(nodes)]
    assert len(tasks(all_forests, [2, 3, 4], [1], range(1, 8), ["rlt"])) == 868


def test_tasks_leave_out_what_is_decided() -> None:
    found = tasks(forests(3), [1, 2, 3], [1, 2], [1, 2, 3], ["fifo"])
    assert all(not task.arena.trivial and task.arena.k > 1 for task in found)
    assert Task("fifo", 2, 1, (-1, -1, -1), 1) in found
    assert len(found) == len(set(found))


def test_worst_of_each_cell() -> None:
    rows = [
        solve(task, 1000) for task in tasks(forests(4), [2, 3], [1], [1, 2], ["leaf-lru", "mru"])
    ]
    table = {row.cell: (row.ratio, count, cut) for row, count, cut in worst_rows(rows)}
    assert table["leaf-lru", 3, 1, 1][0] == 3 and table["leaf-lru", 3, 1, 2][0] == 2
    assert table["mru", 2, 1, 1][0] is None
    assert sum(count for _, count, _ in table.values()) == len(rows)


def test_rows_survive_their_file() -> None:
    row = Row(Task("rlt", 2, 1, (-1, -1, -1), 1), 1, Fraction(3, 2), True, 10)
    assert Row.from_json(row.to_json(), "here") == row
    endless = Row(Task("mru", 2, 1, (-1, -1, -1), 1), 1, None, True, 10)
    assert Row.from_json(endless.to_json(), "here") == endless


@pytest.mark.parametrize("change", [{"ratio": "1/0"}, {"parents": 3}, {"capacity": "x"}, None])
def test_a_bad_row_is_told(change: Any) -> None:
    good = Row(Task("rlt", 2, 1, (-1, -1, -1), 1), 1, Fraction(3, 2), True, 10).to_json()
    bad = {} if change is None else {**good, **change}
    with pytest.raises(InputError, match="here: is no row"):
        Row.from_json(bad, "here")
