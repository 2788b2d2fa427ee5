"""Instance: validation, the numbers of the notation, pages, overflow, JSON."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.strategies import examples, instances, parents
from theory.errors import CapacityError, InadmissibleStepError, InputError
from theory.model import Instance, split_step
from theory.trie import TokenTrie

GOOD: dict[str, Any] = {
    "schema": "kvbounds/instance/1",
    "capacity": 2,
    "parents": [-1, 0, -1],
    "steps": [[1], [2, 0]],
}


@given(instances(most_queries=3))
@examples()
def test_the_numbers_of_the_notation(instance: Instance) -> None:
    sizes = [
        len({t for query in step for t in instance.trie.path(query)}) for step in instance.steps
    ]
    assert instance.u == min(sizes)
    assert instance.k == instance.capacity - min(sizes) + 1
    assert instance.beta == max(len(set(step)) for step in instance.steps)
    assert instance.shortest == min(
        len(instance.trie.path(query)) for step in instance.steps for query in step
    )


@given(instances(most_queries=3), st.integers(0, 11), st.integers(1, 3))
@examples()
def test_cycles(instance: Instance, start: int, times: int) -> None:
    steps = instance.steps
    assert (instance.prefix, instance.cycle) == (steps, ())
    with pytest.raises(InputError, match="has no cycle"):
        instance.unrolled(2)
    if start >= len(steps):
        return
    cyclic = Instance(instance.trie, instance.capacity, steps, start)
    assert cyclic.prefix + cyclic.cycle == steps
    assert cyclic.unrolled(times).steps == steps[:start] + steps[start:] * times
    assert Instance.from_json(cyclic.to_json()) == cyclic


@given(parents(10), st.data())
@examples(300)
def test_splitting_a_batch_is_the_greedy_cut(given_parents: list[int], data: st.DataObject) -> None:
    trie = TokenTrie.from_parents(given_parents)
    step = data.draw(
        st.lists(st.integers(0, len(trie) - 1), min_size=1, max_size=6, unique=True).map(tuple)
    )
    capacity = data.draw(st.integers(1, len(trie)))
    parts = split_step(trie, step, capacity)
    assert tuple(query for part in parts for query in part) == step
    longest = max(trie.depth(query) for query in step)
    if longest > capacity:
        with pytest.raises(InadmissibleStepError):
            Instance(trie, capacity, [step], overflow="split")
        return
    assert Instance(trie, capacity, [step], overflow="split").steps == tuple(parts)
    assert all(trie.footprint_size(part) <= capacity for part in parts)
    # No part could have taken the next query, and no cut into consecutive parts has fewer.
    for part, following in pairwise(parts):
        assert trie.footprint_size((*part, following[0])) > capacity
    fewest = {len(step): 0}
    for first in reversed(range(len(step))):
        fewest[first] = 1 + min(
            fewest[end]
            for end in range(first + 1, len(step) + 1)
            if trie.footprint_size(step[first:end]) <= capacity
        )
    assert len(parts) == fewest[0]


def test_a_split_keeps_the_place_of_the_cycle() -> None:
    star = TokenTrie.from_parents([-1] * 4)
    instance = Instance(star, 2, [[0, 1, 2], [3], [1, 2, 3]], 1, overflow="split")
    assert instance.steps == ((0, 1), (2,), (3,), (1, 2), (3,))
    assert instance.cycle == ((3,), (1, 2), (3,))


def test_without_the_option_a_batch_that_is_too_large_is_an_error() -> None:
    star = TokenTrie.from_parents([-1] * 3)
    with pytest.raises(InadmissibleStepError) as caught:
        Instance(star, 2, [[0], [0, 1, 2]])
    assert (caught.value.step, caught.value.footprint, caught.value.capacity) == (1, 3, 2)
    assert "overflow='split'" in str(caught.value)


def test_a_query_that_is_too_long_is_an_error_even_when_splitting() -> None:
    chain = TokenTrie.from_segments([(-1, 3)])
    with pytest.raises(InadmissibleStepError, match=r"step 0.*raise the capacity to at least 3$"):
        Instance(chain, 2, [[2]], overflow="split")
    with pytest.raises(InputError, match="'error' or 'split'"):
        Instance(chain, 3, [[2]], overflow="drop")  # type: ignore[arg-type]


@pytest.mark.parametrize("capacity", [0, -1, 1.5, "3", True, None])
def test_capacities(capacity: Any) -> None:
    with pytest.raises(CapacityError, match="is not a positive whole number"):
        Instance(TokenTrie.from_parents([-1]), capacity, [[0]])


def test_an_instance_needs_steps_and_steps_need_queries() -> None:
    star = TokenTrie.from_parents([-1])
    with pytest.raises(InputError, match="the sequence has no step"):
        Instance(star, 1, [])
    with pytest.raises(InputError, match="step 1: the batch has no query"):
        Instance(star, 1, [[0], []])
    with pytest.raises(InputError, match="step 0: 1 is not a token of the trie"):
        Instance(star, 1, [[1]])
    for start in (-1, 1, "0", True):
        with pytest.raises(InputError, match="is no step"):
            Instance(star, 1, [[0]], start)  # type: ignore[arg-type]


@given(instances(most_tokens=12, most_queries=3), st.integers(1, 3), st.booleans())
@examples(200)
def test_pages(instance: Instance, size: int, keep: bool) -> None:
    steps = [
        [query for query in step if keep or instance.trie.depth(query) >= size]
        for step in instance.steps
    ]
    pages = instance.trie.paged({q for s in steps for q in s}, size, "keep" if keep else "drop")
    expected = [tuple(dict.fromkeys(pages.end[q] for q in step)) for step in steps if step]
    fits = all(pages.trie.footprint_size(s) <= instance.capacity // size for s in expected)
    if instance.capacity < size:
        with pytest.raises(CapacityError, match=f"give at least {size}"):
            instance.paged(size)
    elif not expected or not fits:
        with pytest.raises(InputError):
            instance.paged(size, partial="keep" if keep else "drop")
    else:
        paged = instance.paged(size, partial="keep" if keep else "drop")
        assert paged.capacity == instance.capacity // size
        assert [[paged.trie.depth(page) for page in step] for step in paged.steps] == [
            [pages.trie.depth(page) for page in step] for step in expected
        ]


def test_the_cycle_of_a_paged_instance_starts_at_a_step_that_is_left() -> None:
    trie = TokenTrie.from_parents([-1, 0, -1])
    instance = Instance(trie, 2, [[2], [1], [2], [1]], 2)
    paged = instance.paged(2, partial="drop")
    assert (paged.steps, paged.cycle_start) == (((0,), (0,)), 1)
    assert Instance(trie, 2, [[1], [2]], 1).paged(2, partial="drop").cycle_start is None


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"steps": None}, "x#/steps:"),
        ({"steps": [[1], 2]}, "x#/steps:"),
        ({"steps": [[1], ["2"]]}, "x#/steps/1/0:"),
        ({"steps": [[1], [0, 2.0]]}, "x#/steps/1/1:"),
        ({"steps": [[1], [0, True]]}, "x#/steps/1/1:"),
        ({"steps": []}, "x#/steps:"),
        ({"steps": [[]]}, "x#/steps/0:"),
        ({"steps": [[1], [3]]}, "x#/steps/1:"),
        ({"steps": [[1, 2]]}, "x#/steps/0:"),
        ({"capacity": 0}, "x#/capacity:"),
        ({"capacity": None}, "x#/capacity:"),
        ({"capacity": "2"}, "x#/capacity:"),
        ({"parents": [0]}, "x#/parents/0:"),
        ({"parents": None}, "x#:"),
        ({"cycle_start": 2}, "x#/cycle_start:"),
        ({"cycle_start": "1"}, "x#/cycle_start:"),
        ({"cycle_start": True}, "x#/cycle_start:"),
        ({"notes": []}, "x#/notes:"),
        ({"name": 7}, "x#/name:"),
    ],
)
def test_a_broken_instance_names_the_json_pointer(change: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InputError) as caught:
        Instance.from_json({**GOOD, **change}, "x")
    assert str(caught.value).startswith(pointer)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [None, 3, [], "text"])
def test_an_instance_is_a_json_object(value: Any) -> None:
    with pytest.raises(InputError, match="x#: is not a JSON object"):
        Instance.from_json(value, "x")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"capacity": 2,\n "steps": [[0]\n', "is not valid JSON"),
        ("[]", "#/schema: has schema None"),
        ('{"schema": "kvbounds/instance/2"}', "#/schema: has schema 'kvbounds/instance/2'"),
        ('{"schema": "kvbounds/instance/1"}', "#/steps: is not a list"),
        ("", "is not valid JSON"),
    ],
)
def test_a_broken_file_names_the_file(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Instance.load(path)
    assert str(caught.value).startswith(str(path))
    assert complaint in str(caught.value)


def test_a_missing_file_and_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Instance.load(tmp_path / "absent.json")
    with pytest.raises(InputError, match="cannot be written"):
        Instance.from_json(GOOD).save(tmp_path / "absent" / "x.json")


@given(instances(most_queries=3))
@examples(30)
def test_saved_bytes_are_stable(tmp_path_factory: Any, instance: Instance) -> None:
    folder = tmp_path_factory.mktemp("instances")
    named = instance.renamed("x", {"source": "test"})
    named.save(folder / "a.json")
    again = Instance.load(folder / "a.json")
    assert again == named
    assert again.notes == {"source": "test"}
    again.save(folder / "b.json")
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()
