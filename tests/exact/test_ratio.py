"""The largest cycle ratio against all simple cycles, and the potential against its inequality."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.strategies import examples
from theory.exact.ratio import Edges, largest_ratio


@st.composite
def graphs(draw: st.DrawFn) -> Edges:
    """Small graphs with two edges out of every state; some states have none."""
    size = draw(st.integers(1, 7))
    expanded = draw(st.integers(1, size))
    cell = st.lists(st.integers(0, size - 1), min_size=2, max_size=2)
    cost = st.lists(st.integers(0, 6), min_size=2, max_size=2)
    growth = st.lists(st.integers(0, 2), min_size=2, max_size=2)

    def rows(row: st.SearchStrategy[list[int]]) -> np.ndarray:
        return np.array(draw(st.lists(row, min_size=expanded, max_size=expanded)))

    return Edges(rows(cell), rows(cost), rows(growth), draw(st.integers(1, 3)), size)


def brute_force(edges: Edges) -> Fraction | str | None:
    """The largest ratio over all simple cycles."""
    graph = nx.MultiDiGraph()
    for (state, edge), target in np.ndenumerate(edges.targets):
        graph.add_edge(state, int(target), edge)
    best: Fraction | None = None
    for nodes in nx.simple_cycles(graph):
        around = [*nodes[1:], nodes[0]]
        choices = [[(0, 0)]]
        for state, then in zip(nodes, around, strict=True):
            choices = [
                [*sofar, (state, edge)]
                for sofar in choices
                for edge in range(2)
                if int(edges.targets[state, edge]) == then
            ]
        for chosen in choices:
            policy, optimum = edges.costs(chosen[1:])
            if optimum == 0 and policy > 0:
                return "unbounded"
            if optimum:
                best = max(best or Fraction(0), policy / optimum)
    return best


@given(graphs())
@examples(400)
def test_against_all_simple_cycles(edges: Edges) -> None:
    found = largest_ratio(edges)
    wanted = brute_force(edges)
    if not wanted:
        assert found is None
        return
    assert found is not None
    policy, optimum = edges.costs(found.cycle)
    for (state, edge), (then, _) in zip(
        found.cycle, found.cycle[1:] + found.cycle[:1], strict=True
    ):
        assert edges.targets[state, edge] == then
    if wanted == "unbounded":
        assert found.ratio is None and policy > 0 and optimum == 0
        return
    assert found.ratio == wanted == policy / optimum
    assert found.potential is not None and min(found.potential) >= 0
    for (state, edge), then in np.ndenumerate(edges.targets):
        gain = Fraction(int(edges.policy[state, edge]), edges.unit)
        gain -= found.ratio * int(edges.optimum[state, edge])
        here, there = (Fraction(found.potential[s], found.scale) for s in (state, then))
        assert gain + there <= here


@pytest.mark.parametrize("scale", [10**12, 10**40])
@given(graphs())
@examples(100)
def test_large_denominators_are_exact(scale: int, edges: Edges) -> None:
    """Costs that no machine word holds: the same ratio, times the scale, plus a little."""
    large = edges._replace(policy=edges.policy.astype(object) * scale + (edges.policy > 0))
    found, plain = largest_ratio(large), largest_ratio(edges)
    assert (found is None) == (plain is None)
    if found is not None and plain is not None:
        assert (found.ratio is None) == (plain.ratio is None)
        if found.ratio is not None and plain.ratio is not None:
            assert 0 <= found.ratio - plain.ratio * scale <= len(found.cycle)
            assert found.potential is not None
            for (state, edge), then in np.ndenumerate(large.targets):
                weight = Fraction(int(large.policy[state, edge]), large.unit)
                weight -= found.ratio * int(large.optimum[state, edge])
                there = Fraction(found.potential[int(then)], found.scale)
                assert weight + there <= Fraction(found.potential[state], found.scale)


@given(graphs())
@examples(100)
def test_without_proof_the_cycle_is_exact(edges: Edges) -> None:
    found, proved = largest_ratio(edges, prove=False), largest_ratio(edges)
    assert (found is None) == (proved is None)
    if found is not None and proved is not None:
        assert found.ratio == proved.ratio and found.potential is None
