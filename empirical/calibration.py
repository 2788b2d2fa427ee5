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

    def column(name: str) -> NDArray[np.float64]:
        return np.array([row[name] for row in rows], dtype=np.float64)

    hits, prompt, output = map(column, ("measured_hits", "prompt_tokens", "output_tokens"))
    fit: dict[str, Any] = {"queries": len(rows)}
    first, fit["r2"] = (
        least_squares(
            {
                "fixed_ms": np.ones(len(rows)),
                "alpha_miss_ms": prompt - hits,
                "alpha_cached_ms": hits,
            },
            column("ttft_ms"),
        )
        if len(rows) > 1
        else (dict.fromkeys(("fixed_ms", "alpha_miss_ms", "alpha_cached_ms")), 0.0)
    )
    later = output - 1
    decode, _ = (
        least_squares(
            {"decode_ms": later, "context_ms": later * prompt + later * (later + 1) / 2},
            column("latency_ms") - column("ttft_ms"),
        )
        if (later > 0).sum() > 1
        else (dict.fromkeys(("decode_ms", "context_ms")), 0.0)
    )
    return fit | first | decode


def profile_of(report: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The profile of the worker of a replay, for the simulated cluster.

    A time that cannot be told is None; one that comes out below 0 is 0, its interval as fitted.

    Raises
    ------
    InputError
        If the report has no fit, or a missed token takes no time at all.
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
    profile: dict[str, Any] = {
        "schema": PROFILE,
        "name": report["name"],
        "workers": report["workers"],
        "queries": fit["queries"],
    }
    for name, source in (
        ("fixed_ms", "fixed_ms"),
        ("prefill_ms_per_token", "alpha_miss_ms"),
        ("cached_ms_per_token", "alpha_cached_ms"),
        ("decode_ms_per_sequence", "decode_ms"),
        ("context_ms_per_token", "context_ms"),
    ):
        found = fit.get(source)
        profile[name] = found and {**found, "value": max(found["value"], 0.0)}
    return profile
