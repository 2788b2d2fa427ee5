"""LBGR: learning-based greedy routing, the paper's router."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields, replace
from math import floor
from typing import Any, NamedTuple, Self

from theory.errors import InputError
from theory.routing.base import Flight, RoutedQuery, WorkerInfo, check_number
from theory.routing.prefix import PrefixRouter
from theory.routing.rls import RecursiveLeastSquares

__all__ = ["LBGR", "PRESETS", "Settings"]

FEATURES = ("bias", "hits", "misses", "load")


@dataclass(frozen=True)
class Settings:
    """The parameters of LBGR.

    Attributes
    ----------
    alpha_miss, alpha_cached, alpha_output : float or None
        Predicted service time per missed, cached and output token, in ms; None: what the worker
        is known to take.
    decay : float
        rho in [0, 1]: the load estimate is multiplied by it every `interval`.
    interval : float
        dt, in ms.
    forgetting : float
        Of the recursive least squares, in (0, 1].
    covariance : float
        Their initial covariance.
    features : str
        Those of ``bias+hits+misses+load`` that are learned; ``none`` learns nothing.
    floor : float
        The least predicted service time, the least prediction and the least residual, in ms;
        ``-inf``: no such floor.
    margin : float
        A worker replaces the best one so far only if its prediction is lower by more than this,
        in ms.
    ties : {"rotate", "first"}
        Which worker is looked at first: the one after the last used one, or always the first.
    insert : {"assigned", "completed", "both"}
        When a prompt enters the prefix index.
    whole_ms : bool
        Whether loads are rounded to whole ms, down at each decay.
    bounded : bool
        Whether the prefix index is bounded by the worker's capacity.

    Notes
    -----
    The defaults come out of ``kvbounds experiment lbgr-sensitivity``: in a cluster that batches, a
    residual is known one latency late, and near saturation learning from it does harm. Without
    it decisions do not depend on the scale of the service times, so nothing needs tuning.
    """

    alpha_miss: float | None = None
    alpha_cached: float | None = None
    alpha_output: float | None = None
    decay: float = 0.9
    interval: float = 20.0
    forgetting: float = 0.98
    covariance: float = 1e-3
    features: str = "none"
    floor: float = float("-inf")
    margin: float = 0.0
    ties: str = "rotate"
    insert: str = "assigned"
    whole_ms: bool = False
    bounded: bool = True

    def __post_init__(self) -> None:
        for name in ("alpha_miss", "alpha_cached", "alpha_output"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), name, 0)
        check_number(self.decay, "decay", 0, 1)
        check_number(self.interval, "interval", 0, above=True)
        check_number(self.forgetting, "forgetting", 0, 1, above=True)
        check_number(self.covariance, "covariance", 0, above=True)
        check_number(self.floor, "floor", float("-inf"))
        check_number(self.margin, "margin", 0)
        for name, value, known in (
            ("ties", self.ties, ("rotate", "first")),
            ("insert", self.insert, ("assigned", "completed", "both")),
        ):
            if value not in known:
                raise InputError(f"{name} can be {', '.join(known)}, not {value!r}")
        wrong = [word for word in self.learned if word not in FEATURES]
        if wrong:
            raise InputError(
                f"{wrong[0]!r} is no feature",
                where="features",
                fix=f"join some of {', '.join(FEATURES)} by +, or give none",
            )

    @property
    def learned(self) -> tuple[str, ...]:
        """The features that are learned."""
        return () if self.features == "none" else tuple(self.features.split("+"))


PRESETS: dict[str, Settings] = {
    "default": Settings(),
    "paper": Settings(
        alpha_miss=1.0,
        alpha_cached=0.0,
        alpha_output=0.0,
        decay=31 / 32,
        interval=20.0,
        forgetting=0.95,
        covariance=1e6,
        features="bias",
        floor=1.0,
        margin=1.0,
        ties="first",
        insert="both",
        whole_ms=True,
        bounded=False,
    ),
}
"""Ours, and the setting of the authors' public code (where a token is a character of the text)."""


class _Prediction(NamedTuple):
    service: float  # Cost_ij
    base: float  # Cost_ij + Q_i
    phi: tuple[float, ...]
    total: float  # E_ij


class _Share(NamedTuple):
    amount: float  # what Q_i gained
    tick: int
    prediction: _Prediction


class LBGR(PrefixRouter):
    """Send each query where E_ij = Cost_ij + Q_i + theta_i . phi_ij is least (model, section 5).

    Cost_ij is the predicted service time, with the hits taken from the prefix index. Q_i estimates
    the load: it gains Cost_ij when a query is assigned, decays, and what is left of the amount
    after decay is released when the query completes or fails. theta_i is learned by recursive
    least squares from the latencies observed, as far as Cost_ij + Q_i did not predict them.

    Parameters
    ----------
    preset : {"default", "paper"}
        The settings to start from.
    **changes
        Fields of `Settings` that are to be different.

    Examples
    --------
    >>> LBGR.paper_defaults().settings.margin, LBGR(decay=0.5).settings.decay
    (1.0, 0.5)

    Notes
    -----
    Source: the paper's LBGR; the preset ``paper`` has the constants of its authors' public code.
    """

    def __init__(self, preset: str = "default", **changes: Any) -> None:
        if preset not in PRESETS:
            raise InputError(f"preset can be {' or '.join(PRESETS)}, not {preset!r}")
        known = [field.name for field in fields(Settings)]
        unknown = [key for key in changes if key not in known]
        if unknown:
            raise InputError(
                f"has no parameter {unknown[0]!r}", fix=f"choose from {', '.join(known)}"
            )
        self.settings = replace(PRESETS[preset], **changes)
        self.bounded = self.settings.bounded
        self._learned = [FEATURES.index(name) for name in self.settings.learned]

    @classmethod
    def paper_defaults(cls) -> Self:
        """The router with exactly the settings of the authors' public code."""
        return cls(preset="paper")

    def bind(self, workers: Iterable[WorkerInfo], seed: int) -> None:
        super().bind(workers, seed)
        count = len(self.workers)
        self.load = [0.0] * count  # Q_i, as of tick self._tick[i]
        self._tick = [0] * count
        self.models = [self._model() for _ in range(count)]
        self._shares: dict[Hashable, _Share] = {}

    def _model(self) -> RecursiveLeastSquares:
        chosen = self.settings
        return RecursiveLeastSquares(len(self._learned), chosen.forgetting, chosen.covariance)

    def choose(self, query: RoutedQuery, now: float) -> int:
        hits = self.hits(query)
        candidates = self.eligible(query)
        if self.settings.ties == "rotate":
            first = candidates.index(self.rotate(candidates))
            candidates = candidates[first:] + candidates[:first]
        best = candidates[0]
        least = self._predict(query, best, hits[best], now).total
        for worker in candidates[1:]:
            total = self._predict(query, worker, hits[worker], now).total
            if total < least - self.settings.margin:
                best, least = worker, total
        return best

    def predict(self, query: RoutedQuery, worker: int, now: float) -> float:
        """E_ij: the predicted latency of `query` on `worker`, in ms."""
        return self._predict(query, worker, self.hits(query)[worker], now).total

    def _predict(self, query: RoutedQuery, worker: int, hits: int, now: float) -> _Prediction:
        chosen, info = self.settings, self.workers[worker]
        miss = info.alpha_miss if chosen.alpha_miss is None else chosen.alpha_miss
        cached = info.alpha_cached if chosen.alpha_cached is None else chosen.alpha_cached
        output = info.alpha_output if chosen.alpha_output is None else chosen.alpha_output
        misses = query.length - hits
        service = cached * hits + miss * misses + output * query.output_tokens
        service = max(service, chosen.floor)
        load = self.decayed(worker, now)
        features = (1.0, float(hits), float(misses), load)  # in the order of FEATURES
        phi = tuple([features[index] for index in self._learned])
        total = max(service + load + self.models[worker].predict(phi), chosen.floor)
        return _Prediction(service, service + load, phi, total)

    def decayed(self, worker: int, now: float) -> float:
        """Q_i at the time `now`, in ms."""
        tick = floor(now / self.settings.interval)
        elapsed = tick - self._tick[worker]
        if elapsed > 0:
            self.load[worker] = self._fade(self.load[worker], elapsed)
            self._tick[worker] = tick
        return self.load[worker]

    def _fade(self, amount: float, ticks: int) -> float:
        if not self.settings.whole_ms:
            return float(amount * self.settings.decay**ticks)
        while ticks and amount:  # rounded down each time, so it is soon 0
            faded = float(floor(amount * self.settings.decay))
            if faded == amount:
                break
            amount, ticks = faded, ticks - 1
        return amount

    def assigned(self, flight: Flight) -> None:
        query, worker, now = flight
        prediction = self._predict(query, worker, self.hits(query)[worker], now)
        amount = prediction.service
        if self.settings.whole_ms:
            amount = float(floor(amount + 0.5))
        self.load[worker] += amount
        self._shares[query.id] = _Share(amount, self._tick[worker], prediction)
        if self.settings.insert != "completed":
            super().assigned(flight)

    def released(self, flight: Flight, now: float, *, completed: bool) -> None:
        query, worker, since = flight
        share = self._shares.pop(query.id)
        load = self.decayed(worker, now)
        # The share fades as a real number: only the load itself is kept in whole ms.
        left = share.amount * self.settings.decay ** (self._tick[worker] - share.tick)
        if self.settings.whole_ms:
            left = float(floor(left + 0.5))
        self.load[worker] = max(0.0, load - left)
        if not self.requests[worker] and not self.settings.whole_ms:
            self.load[worker] = 0.0  # an idle worker has no load, whatever the rounding of sums
        if not completed:
            return
        residual = max(now - since - share.prediction.base, self.settings.floor)
        if share.prediction.phi:
            self.models[worker].update(share.prediction.phi, residual)
        if self.settings.insert != "assigned":
            self.index.insert(worker, query.prompt)

    def forget(self, worker: int) -> None:
        super().forget(worker)
        self.load[worker] = 0.0
        self.models[worker] = self._model()
