"""Service times fitted to a replay, and the profile of a worker that they make.

The model is linear (model, section 5): the time to the first token of a query that is served alone
is ``fixed + alpha_cached * hits + alpha_miss * misses``, and each further token of the answer takes
``decode`` plus ``context`` for every token before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.errors import InputError

__all__ = ["PROFILE", "REPLAY", "fit_times", "least_squares", "profile_of"]

REPLAY = "kvbounds/replay/1"
PROFILE = "kvbounds/profile/1"

Columns = dict[str, NDArray[np.float64]]

Estimate = dict[str, float]
"""A coefficient: its value and its 95 % interval, low to high."""


def least_squares(
    columns: Mapping[str, NDArray[np.float64]], target: NDArray[np.float64]
) -> tuple[dict[str, Estimate | None], float]:
    """Fit ``target = sum of coefficient * column``.

    Returns
    -------
    coefficients : dict of str to (Estimate or None)
        With 95 % Student t intervals. A column that the columns before it make up is left out of
        the fit and has None: its coefficient cannot be told.
    r2 : float
        The share of the variance that the fit explains.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> fit, r2 = least_squares({"one": np.ones(4), "x": x, "twice": 2 * x}, 1 + 3 * x)
    >>> round(fit["x"]["value"], 9), fit["twice"], round(r2, 9)
    (3.0, None, 1.0)
    """
    from scipy.special import stdtrit

    kept: list[str] = []
    for name in columns:
        matrix = np.column_stack([columns[other] for other in (*kept, name)])
        scale = np.linalg.norm(matrix, axis=0)
        if scale[-1] and np.linalg.matrix_rank(matrix / scale, tol=1e-9) == len(kept) + 1:
            kept.append(name)
        if len(kept) == len(target) - 1:  # one is left for the spread
            break
    found: dict[str, Estimate | None] = dict.fromkeys(columns)
    if not kept:
        return found, 0.0
    matrix = np.column_stack([columns[name] for name in kept])
    values, *_ = np.linalg.lstsq(matrix, target, rcond=None)
    residual = target - matrix @ values
    free = len(target) - len(kept)
    variance = float(residual @ residual) / free
    errors = np.sqrt(variance * np.diag(np.linalg.inv(matrix.T @ matrix)))
    half = float(stdtrit(free, 0.975)) * errors
    for name, value, width in zip(kept, values.tolist(), half.tolist(), strict=True):
        found[name] = {"value": value, "low": value - width, "high": value + width}
    spread = target - target.mean()
    total = float(spread @ spread)
    return found, 1.0 - float(residual @ residual) / total if total else 1.0


def fit_times(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Fit the service times to the rows of a replay whose queries were served one by one.

    Parameters
    ----------
    rows : sequence of mappings
        With ``prompt_tokens``, ``output_tokens``, ``measured_hits``, ``ttft_ms``, ``latency_ms``.

    Returns
    -------
    dict
        ``fixed_ms``, ``alpha_cached_ms``, ``alpha_miss_ms`` and ``decode_ms``, ``context_ms``, each
        an estimate or None where the rows cannot tell; ``queries`` and ``r2``.
    """
    fit: dict[str, Any] = {"queries": len(rows)}
    (first, ttft), (later, rest) = _first(rows), _later(rows)
    found, fit["r2"] = least_squares(first, ttft) if len(rows) > 1 else (dict.fromkeys(first), 0.0)
    enough = (later["decode_ms"] > 0).sum() > 1
    decode, _ = least_squares(later, rest) if enough else (dict.fromkeys(later), 0.0)
    return fit | found | decode


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> NDArray[np.float64]:
    return np.array([row[name] for row in rows], dtype=np.float64)


def _first(rows: Sequence[Mapping[str, Any]]) -> tuple[Columns, NDArray[np.float64]]:
    """What the time to the first token is made of, and that time."""
    hits = _column(rows, "measured_hits")
    misses = _column(rows, "prompt_tokens") - hits
    columns = {"fixed_ms": np.ones(len(rows)), "alpha_miss_ms": misses, "alpha_cached_ms": hits}
    return columns, _column(rows, "ttft_ms")


def _later(rows: Sequence[Mapping[str, Any]]) -> tuple[Columns, NDArray[np.float64]]:
    """What the time of the other tokens is made of, and that time."""
    later = _column(rows, "output_tokens") - 1
    before = later * _column(rows, "prompt_tokens") + later * (later + 1) / 2
    rest = _column(rows, "latency_ms") - _column(rows, "ttft_ms")
    return {"decode_ms": later, "context_ms": before}, rest


def _not_negative(columns: Columns, target: NDArray[np.float64]) -> dict[str, Estimate | None]:
    """The best fit without negative times; what would be negative is 0, from 0 to 0."""
    from scipy.optimize import nnls

    told, _ = least_squares(columns, target)
    names = [name for name in columns if told[name] is not None]
    if not names:
        return told
    values, _ = nnls(np.column_stack([columns[name] for name in names]), target)
    kept = {name: columns[name] for name, v in zip(names, values.tolist(), strict=True) if v > 0}
    fit, _ = least_squares(kept, target)
    none = {"value": 0.0, "low": 0.0, "high": 0.0}
    return {name: told[name] and (fit[name] if name in kept else none) for name in columns}


def profile_of(report: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The profile of the worker of a replay, for the simulated cluster.

    The best fit to the rows of the report in which no time is negative: a part of the model that
    would come out negative is left out, and its time is 0. A time that cannot be told is None.

    Raises
    ------
    InputError
        If the report has no fit or no rows, or a missed token takes no time at all.
    """
    fit = report.get("fit")
    miss = fit.get("alpha_miss_ms") if isinstance(fit, dict) else None
    if not isinstance(fit, dict) or miss is None:
        raise InputError(
            "has no fitted times",
            where=f"{where}#/fit",
            fix="replay one by one (--mode sequential) prompts of different lengths",
        )
    if miss["value"] <= 0:
        raise InputError(
            f"a missed token takes {miss['value']:.4g} ms",
            where=f"{where}#/fit/alpha_miss_ms",
            fix="replay more and longer queries on an idle machine",
        )
    try:
        times = _not_negative(*_first(report["rows"])) | _not_negative(*_later(report["rows"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"are no rows of a replay ({error!r})",
            where=f"{where}#/rows",
            fix="write the report with kvbounds replay --out",
        ) from None
    return {
        "schema": PROFILE,
        "name": report["name"],
        "workers": report["workers"],
        "queries": fit["queries"],
        "fixed_ms": times["fixed_ms"],
        "prefill_ms_per_token": times["alpha_miss_ms"],
        "cached_ms_per_token": times["alpha_cached_ms"],
        "decode_ms_per_sequence": times["decode_ms"],
        "context_ms_per_token": times["context_ms"],
    }
