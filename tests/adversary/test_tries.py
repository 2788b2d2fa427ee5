"""The tries of the worst cases."""

from __future__ import annotations

from itertools import product

import pytest

from adversary.tries import binary, broom, caterpillar, chains, forest, forests
from theory.errors import InputError
from theory.trie import TokenTrie

ROOTED_FORESTS = [1, 2, 4, 9, 20, 48, 115, 286, 719, 1842]  # OEIS A000081, n = 1..10


def canonical(parents):
    """A name of the isomorphism class: nested sorted tuples."""
    below = {node: [] for node in range(-1, len(parents))}
    for node in range(len(parents) - 1, -1, -1):
        below[parents[node]].append(tuple(sorted(below[node])))
    return tuple(sorted(below[-1]))


@pytest.mark.parametrize(("nodes", "count"), list(enumerate(ROOTED_FORESTS, start=1)))
def test_number_of_forests(nodes, count):
    found = list(forests(nodes))
    assert len(found) == count
    assert len({canonical(parents) for parents in found}) == count
    assert all(-1 <= parent < node for f in found for node, parent in enumerate(f))


@pytest.mark.parametrize("nodes", range(1, 7))
def test_every_class_is_there(nodes):
    everything = product(*(range(-1, node) for node in range(nodes)))
    wanted = {canonical(parents) for parents in everything}
    assert {canonical(parents) for parents in forests(nodes)} == wanted


def test_forest_by_number():
    for index, parents in enumerate(forests(5)):
        trie, leaves = forest(5, index)
        assert tuple(trie.parents()) == parents
        assert leaves == leaves_of(trie)
    with pytest.raises(InputError, match="there are 20 forests with 5 nodes; give 0 to 19"):
        forest(5, 20)


def leaves_of(trie: TokenTrie):
    inner = set(trie.parents())
    return tuple(token for token in range(len(trie)) if token not in inner)


@pytest.mark.parametrize(
    ("shape", "size", "depths"),
    [
        (broom(1, 4), 4, [1] * 4),
        (broom(5, 3), 7, [5] * 3),
        (chains([3, 1, 2], handle=2), 8, [5, 3, 4]),
        (caterpillar(3, legs=2), 9, [2, 2, 3, 3, 4, 4]),
        (binary(3), 14, [3] * 8),
    ],
)
def test_shapes(shape, size, depths):
    trie, leaves = shape
    assert len(trie) == size
    assert leaves == leaves_of(trie)
    assert [trie.depth(leaf) for leaf in leaves] == depths


@pytest.mark.parametrize(
    "build",
    [
        lambda: broom(0, 3),
        lambda: broom(2, 0),
        lambda: chains([]),
        lambda: chains([2, 0]),
        lambda: chains([2], handle=-1),
        lambda: caterpillar(0),
        lambda: caterpillar(2, 0),
        lambda: binary(0),
        lambda: binary(19),
        lambda: broom(2, 10**9),
        lambda: chains([10**6, 1]),
        lambda: caterpillar(10**4, 10**4),
        lambda: next(forests(0)),
        lambda: broom(True, 3),
    ],
)
def test_bad_parameters(build):
    with pytest.raises(InputError):
        build()
