"""The closed forms: exact values, the relations between them, and bad input."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.strategies import examples
from theory.bounds import BOUNDS, approximate, evaluate, harmonic
from theory.errors import InputError

VALUES: dict[str, int] = {
    **{"B": 30, "L": 3, "u": 4, "k": 18, "beta": 4, "b": 4, "r": 2, "Lp": 5, "l": 16},
    **{"M": 3, "N": 100, "q": 3, "Delta": 2},
}


def symbol(bound: str, name: str) -> Any:
    return next(s for s in BOUNDS[bound].symbols if str(s) == name)


@pytest.mark.parametrize("name", BOUNDS)
def test_the_exact_walk_agrees_with_sympy(name: str) -> None:
    bound = BOUNDS[name]
    value = bound.expression.subs({s: VALUES[str(s)] for s in bound.symbols})
    assert bound.expression.free_symbols <= set(bound.symbols)
    assert float(value) == pytest.approx(approximate(name, **VALUES), rel=1e-12)
    if value.is_Rational:
        assert evaluate(name, **VALUES) == Fraction(int(value.p), int(value.q))
    else:
        with pytest.raises(InputError, match="has no rational value"):
            evaluate(name, **VALUES)


@pytest.mark.parametrize("name", BOUNDS)
def test_every_bound_says_what_it_is_about(name: str) -> None:
    bound = BOUNDS[name]
    assert bound.name == name
    assert bound.assumptions and bound.source and bound.subject and bound.quantity
    assert bound.kind in ("upper", "lower", "exact", "order")
    if bound.kind == "upper" and bound.quantity == "competitive ratio":
        assert bound.additive is not None or bound.source.startswith("the paper")


def test_values_worked_out_by_hand() -> None:
    assert evaluate("marking-upper", B=10, u=3) == 8
    assert evaluate("deterministic-lower", B=10, L=3, beta=2) == 7
    assert evaluate("paper-upper-batch", B=10, L=3, beta=2) == 8
    assert evaluate("yao-lower", k=3) == Fraction(11, 6)
    assert evaluate("broom-exact", k=3) == Fraction(8, 3)
    assert evaluate("rlt-upper", k=3) == 5
    assert evaluate("rlt-upper", k=1) == 2
    assert evaluate("rlt-step-batch-upper", k=100, b=1) == 3 * (1 + harmonic(99))
    assert evaluate("rlt-step-batch-upper", k=5, b=9) == 5
    assert evaluate("short-query-upper", B=4, Lp=3) == 3
    assert evaluate("rlt-node-lower", k=4) == Fraction(5, 2)
    assert evaluate("onlinemin-step", Delta=1, q=2) == harmonic(3)


def test_k_comes_from_what_is_known() -> None:
    assert evaluate("yao-lower", B=5, L=2, beta=2) == harmonic(3)
    assert evaluate("yao-lower", B=5, L=2) == harmonic(4)
    assert evaluate("yao-lower", B=5, u=4) == harmonic(2)
    assert evaluate("yao-lower", B=5, u=4, k=5) == harmonic(5)


def test_the_paper_bounds_are_one_above_the_truth() -> None:
    exact = BOUNDS["leaf-lru-exact"].expression
    assert sp.simplify(BOUNDS["paper-upper-batch"].expression - exact) == 1
    assert sp.simplify(BOUNDS["paper-lower-batch"].expression - exact) == 0
    beta = symbol("leaf-lru-exact", "beta")
    for paper, gap in (("paper-upper-single", 1), ("paper-lower-single", 0)):
        assert sp.simplify(BOUNDS[paper].expression - exact.subs(beta, 1)) == gap


def test_upper_and_lower_bounds_meet_for_leaf_lru() -> None:
    upper, lower = BOUNDS["marking-upper"].expression, BOUNDS["deterministic-lower"].expression
    u, length, beta = (symbol("marking-upper", "u"), *BOUNDS["deterministic-lower"].symbols[1:])
    assert sp.simplify(upper.subs(u, length + beta - 1) - lower) == 0


def test_the_growth_of_the_slack_family() -> None:
    k = symbol("slack-linear-lower", "k")
    for name in ("slack-lower", "slack-fixed-lower"):
        bound = BOUNDS[name]
        diagonal = bound.expression.subs(dict.fromkeys(bound.symbols, k))
        limit = sp.limit(diagonal / BOUNDS["slack-linear-lower"].expression, k, sp.oo)
        assert limit == 1
        for value in (4, 16, 64, 256):
            assert evaluate(name, l=value, beta=value) >= approximate("slack-linear-lower", k=value)
    # Against the logarithm that the paper's rule keeps.
    assert evaluate("slack-fixed-lower", l=1024, beta=1024) > 5 * evaluate("rlt-upper", k=1024)


@given(st.integers(1, 60))
@examples(60)
def test_the_order_of_the_randomised_bounds(k: int) -> None:
    assert evaluate("yao-lower", k=k) == evaluate("onlinemin-upper", k=k)
    assert evaluate("yao-lower", k=k) <= evaluate("broom-exact", k=k)
    assert evaluate("broom-exact", k=k) < evaluate("one-new-upper", k=k)
    assert evaluate("one-new-upper", k=k) <= evaluate("no-slack-upper", k=k)
    assert evaluate("no-slack-upper", k=k) == evaluate("rlt-upper", k=k)
    assert evaluate("rlt-step-batch-upper", k=k, b=1) <= evaluate("rlt-step-single-upper", k=k)
    assert evaluate("onlinemin-restart-upper", k=k, N=10 * k) >= evaluate("yao-lower", k=k)


@given(st.integers(0, 300))
@examples(30)
def test_harmonic_numbers(n: int) -> None:
    assert harmonic(n) == sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))


@pytest.mark.parametrize(
    ("name", "values", "complaint"),
    [
        ("rlt", {"k": 3}, "unknown bound 'rlt'"),
        ("rlt-upper", {}, "k is None"),
        ("rlt-upper", {"k": 0}, "k is 0"),
        ("rlt-upper", {"k": 2.0}, "k is 2.0"),
        ("rlt-upper", {"k": True}, "k is True"),
        ("marking-upper", {"B": 3, "u": 4}, "needs B >= u"),
        ("deterministic-lower", {"B": 3, "L": 3, "beta": 2}, "needs B >= L"),
        ("paper-rlt-single", {"B": 5, "L": 2}, "has no rational value"),
    ],
)
def test_bad_values(name: str, values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        evaluate(name, **values)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("n", [-1, 1.5, True, "3"])
def test_bad_harmonic_numbers(n: Any) -> None:
    with pytest.raises(InputError, match="there is no harmonic number"):
        harmonic(n)
