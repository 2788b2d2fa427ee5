"""Every closed form of the theory, once: a sympy expression with its assumptions and source.

The evaluators walk the expressions, in exact arithmetic: no formula is written twice. The additive
constant is part of the statement: ``ALG <= expression * OPT + additive`` for an upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import sympy as sp

from theory.errors import InputError
from theory.harmonic import harmonic

__all__ = ["BOUNDS", "Bound", "approximate", "evaluate", "harmonic"]

B, L, u, k, beta, b, r, Lp, ell, M, N, q, Delta = sp.symbols(
    "B L u k beta b r Lp l M N q Delta", integer=True, positive=True
)
H = sp.harmonic


@dataclass(frozen=True)
class Bound:
    """A closed form and what it is about.

    Attributes
    ----------
    name : str
        Its name in `BOUNDS`.
    expression : sympy expression
        The bound.
    symbols : tuple of sympy.Symbol
        What must be given; B is the capacity, L the least query length, u the least footprint,
        k = B - u + 1 the free slots, beta the queries a batch, b the most leaves of a footprint.
    assumptions : str
        When it holds.
    additive : sympy expression or None
        The additive constant d of the statement; None where the statement has none.
    source : str
        Theorem or paper.
    kind : {"upper", "lower", "exact", "order"}
        An ``"order"`` is a growth rate without a constant.
    subject : str
        The policies that it is about.
    quantity : str
        What is bounded.
    additive_empty : sympy expression or None
        The constant from an empty cache, where it is smaller than `additive`.
    where : tuple of sympy relations
        The range of the symbols.

    Examples
    --------
    >>> bound = BOUNDS["marking-upper"]
    >>> bound.expression, bound.additive, bound.additive_empty
    (B - u + 1, B, 0)
    """

    name: str
    expression: Any
    symbols: tuple[Any, ...]
    assumptions: str
    additive: Any
    source: str
    kind: Literal["upper", "lower", "exact", "order"]
    subject: str
    quantity: str = "competitive ratio"
    additive_empty: Any = None
    where: tuple[Any, ...] = ()


def _rows() -> list[Bound]:
    zero = sp.Integer(0)
    marking = "every marking policy, among them leaf-lru, node-lru, rlt and rlt-step"
    deterministic = "every deterministic policy"
    paper = "the paper, arXiv 2601.18999"
    broom_k = B - L - beta + 2
    fits = (sp.Ge(B, L + beta - 1),)
    cycle_cost = ell * (beta + 2) / 4 * (1 - (beta / (beta + 2)) ** (beta + 2))
    cuts_cost = q**2 * (2 * k - q**2 - q - 2) / 2 + (q + 1) ** 2
    return [
        # Deterministic eviction.
        Bound("marking-upper", B - u + 1, (B, u), "any trie, query lengths and batches", B,
              "Theorem 1", "upper", marking, additive_empty=zero, where=(sp.Ge(B, u),)),
        Bound("deterministic-lower", broom_k, (B, L, beta), "batches of beta distinct queries of "
              "length L, on a broom", zero, "Theorem 2", "lower", deterministic, where=fits),
        Bound("leaf-lru-exact", broom_k, (B, L, beta), "batches of beta distinct queries of length "
              "at least L, so that u >= L + beta - 1", B, "Theorems 1 and 2", "exact",
              "leaf-lru and node-lru", additive_empty=zero, where=fits),
        Bound("distinct-upper", B - L - r + 2, (B, L, r), "every batch has at least r distinct "
              "queries, all of length at least L", B, "Theorem 1", "upper", marking,
              additive_empty=zero, where=(sp.Ge(B, L + r - 1),)),
        Bound("short-query-upper", B - (Lp - 1) / 2, (B, Lp), "one query of length 1, every other "
              "footprint at least Lp", B + (Lp - 1) / 2, "Theorem 1, remark on short queries",
              "upper", marking, where=(sp.Ge(B, Lp),)),
        Bound("fifo-upper", B, (B,), "any trie, query lengths and batches", B,
              "Theorem on FIFO", "upper", "fifo"),
        # What the paper states.
        Bound("paper-lower-single", B - L + 1, (B, L), "single queries of length at least L", zero,
              paper, "lower", "leaf-lru", where=(sp.Ge(B, L),)),
        Bound("paper-upper-single", B - L + 2, (B, L), "single queries of length at least L", None,
              paper, "upper", "leaf-lru", where=(sp.Ge(B, L),)),
        Bound("paper-lower-batch", broom_k, (B, L, beta), "batches of beta queries of length at "
              "least L", zero, paper, "lower", "leaf-lru", where=fits),
        Bound("paper-upper-batch", broom_k + 1, (B, L, beta), "batches of beta queries of length "
              "at least L", None, paper, "upper", "leaf-lru", where=fits),
        Bound("paper-rlt-single", sp.log(B - L), (B, L), "single queries of length at least L",
              None, paper, "order", "rlt", where=(sp.Gt(B, L),)),
        Bound("paper-rlt-batch", sp.log(B - L - beta), (B, L, beta), "batches of beta queries of "
              "length at least L", None, paper, "order", "rlt", where=(sp.Gt(B, L + beta),)),
        # Randomised eviction.
        Bound("yao-lower", H(k), (k,), "on a broom with k + 1 free leaves", zero, "Theorem 3",
              "lower", "every randomised policy"),
        Bound("yao-phase", (k + 1) * H(k), (k,), "requests uniform on k + 1 free leaves", None,
              "Theorem 3, coupon collector", "exact", "the request sequence",
              "expected length of a phase, in steps"),
        Bound("broom-tight", H(k), (k,), "brooms with exactly k + 1 free leaves", B,
              "Theorem 3 and the exact solver", "exact", "rlt and rlt-step"),
        Bound("broom-exact", 2 * H(k) - 1, (k,), "brooms with at least k + 2 free leaves", None,
              "Achlioptas, Chrobak, Noga 2000", "exact", "rlt and rlt-step"),
        Bound("rlt-upper", 2 * (1 + H(k - 1)), (k,), "any trie, query lengths and batches; from an "
              "empty cache", B, "Theorem R5", "upper", "rlt"),
        Bound("no-slack-upper", 2 * (1 + H(k - 1)), (k,), "every completed phase ends with exactly "
              "B distinct tokens; from an empty cache", B, "Theorem R2", "upper",
              "rlt, rlt-step and rlt-token"),
        Bound("one-new-upper", 2 * H(k), (k,), "as no-slack-upper, and the first step of each "
              "phase brings one new token", B, "Theorem R2", "upper", "rlt and rlt-step"),
        Bound("rlt-step-single-upper", 3 * (1 + H(k - 1)), (k,), "single queries; from an empty "
              "cache", B, "Theorem R3", "upper", "rlt-step"),
        Bound("rlt-step-batch-upper", sp.Min(k, (2 + b) * (1 + H(k - 1))), (k, b), "footprints "
              "with at most b leaves; from an empty cache", B, "Theorems 1 and R3", "upper",
              "rlt-step"),
        Bound("slack-lower", cycle_cost / (ell + beta + 2), (ell, beta), "batches of at most 2 "
              "beta + 1 queries, k = l = beta c even, B = 2l - 1; family slack", zero, "Theorem R4",
              "lower", "rlt-step", where=(sp.Ge(ell, beta),)),
        Bound("slack-fixed-lower", cycle_cost / (ell + beta), (ell, beta), "batches of exactly "
              "beta incomparable queries, beta >= 4 even, k = l = beta c; family slack-fixed", zero,
              "Theorem R4'", "lower", "rlt-step", where=(sp.Ge(ell, beta),)),
        Bound("slack-linear-lower", (1 - sp.exp(-2)) * k / 8, (k,), "batches, beta = l = k even",
              zero, "Theorem R4", "lower", "rlt-step"),
        Bound("sglang-lower", 2 * k - 4, (k,), "single queries; family sglang-twice", zero,
              "Theorem on SGLang's LRU", "lower", "sglang-lru", where=(sp.Ge(k, 6),)),
        Bound("sglang-cuts-lower", cuts_cost / (2 * q + 2), (k, q), "single queries, q cuts of "
              "each chain; family sglang-cuts", zero, "Theorem on SGLang's LRU", "lower",
              "sglang-lru", where=(sp.Ge(k, (q + 1) ** 2 + 2),)),
        Bound("sglang-upper", B * (B + 1), (B,), "any trie, query lengths and batches", B * (B + 1),
              "Theorem on SGLang's LRU", "upper", "sglang-lru"),
        Bound("sglang-root-upper", (8 * sp.sqrt(B) + 2) * B, (B,), "as sglang-upper",
              2 * B * (sp.sqrt(B) + 1) ** 2, "Theorem on SGLang's LRU", "upper", "sglang-lru"),
        Bound("random-leaf-lower", k, (k,), "single queries; family memoryless, as its rounds grow",
              zero, "Raghavan and Snir 1989", "lower", "random-leaf"),
        Bound("random-leaf-upper", B, (B,), "any trie, query lengths and batches; from an empty "
              "cache", zero, "Theorem on random leaves", "upper", "random-leaf"),
        Bound("rlt-node-lower", (k + 1) / 2, (k,), "single queries; family rlt-node", zero,
              "Theorem on node-granular marking", "lower", "rlt-node"),
        Bound("phase-upper", M * (1 + H(k - 1)), (M, k), "M tokens of the phase are absent at its "
              "start", None, "Lemma R1", "upper", "rlt-step", "expected cost of a phase"),
        Bound("phase-one-eviction-upper", M * H(k), (M, k), "as phase-upper, and the first step "
              "evicts at most one token", None, "Lemma R1", "upper", "rlt-step",
              "expected cost of a phase"),
        # The optimal policy.
        Bound("onlinemin-upper", H(k), (k,), "any trie, query lengths and batches; from an empty "
              "cache", zero, "Theorem 4", "upper", "onlinemin"),
        Bound("randomised-exact", H(broom_k), (B, L, beta), "batches of beta distinct queries of "
              "length at least L; from an empty cache", zero, "Theorems 3 and 4", "exact",
              "the best randomised policy", where=fits),
        Bound("onlinemin-step", Delta * (1 + H(q + Delta) - H(Delta)), (Delta, q), "a step with "
              "footprint B - q that raises the optimum by Delta", None, "Theorem O1", "upper",
              "onlinemin", "expected cost and growth of the potential in one step"),
        Bound("onlinemin-restart-upper", H(k) / (1 - (k - 1) / N), (k, N), "layers forgotten "
              "whenever the optimum has grown by N", (k - 1) * H(k), "Theorem 4, bounded memory",
              "upper", "onlinemin", where=(sp.Ge(N, k),)),
    ]  # fmt: skip


BOUNDS: dict[str, Bound] = {bound.name: bound for bound in _rows()}
"""All closed forms, by name."""


def _bound(name: str) -> Bound:
    if name not in BOUNDS:
        raise InputError(
            f"unknown bound {name!r}", where="bound", fix=f"choose from {', '.join(BOUNDS)}"
        )
    return BOUNDS[name]


def _values(bound: Bound, given: Mapping[str, int]) -> dict[Any, int]:
    """The value of each symbol; k may be given by B and u, or by B, L and beta."""
    known = dict(given)
    if "k" not in known and "B" in known:
        if "u" in known:
            known["k"] = known["B"] - known["u"] + 1
        elif "L" in known:
            known["k"] = known["B"] - known["L"] - known.get("beta", 1) + 2
    values: dict[Any, int] = {}
    for symbol in bound.symbols:
        value = known.get(str(symbol))
        least = 0 if symbol == q else 1
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(
                f"{symbol} is {value!r}, not an integer from {least} on",
                where=f"bound {bound.name}",
            )
        values[symbol] = value
    for relation in bound.where:
        if not relation.subs(values):
            raise InputError(
                f"needs {relation}", where=f"bound {bound.name}", fix="give other values"
            )
    return values


def evaluate(name: str, **given: int) -> Fraction | int:
    """The exact value of a bound.

    Parameters
    ----------
    name : str
        A name in `BOUNDS`.
    **given : int
        The values of its symbols. ``k`` may be left out where ``B`` and ``u``, or ``B``, ``L``
        and ``beta`` (default 1) are given; values that the bound does not need are ignored.

    Returns
    -------
    Fraction or int
        An int where the value is whole.

    Raises
    ------
    InputError
        If a value is missing or out of range, or the bound has no rational value.

    Examples
    --------
    >>> evaluate("marking-upper", B=10, u=3)
    8
    >>> evaluate("rlt-upper", k=4)
    Fraction(17, 3)
    >>> evaluate("yao-lower", B=5, L=2, beta=2)
    Fraction(11, 6)
    """
    bound = _bound(name)
    value = _exact(bound.expression, _values(bound, given), bound)
    return value.numerator if value.denominator == 1 else value


def approximate(name: str, **given: int) -> float:
    """The value of a bound as a float, also of one that is not rational.

    Examples
    --------
    >>> round(approximate("slack-linear-lower", k=64), 3)
    6.917
    """
    bound = _bound(name)
    values = _values(bound, given)
    try:
        return float(_exact(bound.expression, values, bound))
    except InputError:
        return float(bound.expression.subs(values))


def _exact(expression: Any, values: Mapping[Any, int], bound: Bound) -> Fraction:
    """Walk the expression in rational arithmetic."""
    if expression.is_Symbol:
        return Fraction(values[expression])
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    parts = [_exact(part, values, bound) for part in expression.args]
    if expression.is_Add:
        return sum(parts, Fraction(0))
    if expression.is_Mul:
        product = Fraction(1)
        for part in parts:
            product *= part
        return product
    if expression.func is sp.Min:
        return min(parts)
    if all(part.denominator == 1 for part in parts[-1:]):
        if expression.func is H:
            return harmonic(int(parts[0]))
        if expression.is_Pow:
            return parts[0] ** int(parts[1])
    raise InputError(
        f"{bound.expression} has no rational value",
        where=f"bound {bound.name}",
        fix="an order of growth has none at all; for the others use approximate()",
    )
