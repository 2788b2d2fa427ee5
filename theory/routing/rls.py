"""Recursive least squares with forgetting."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

__all__ = ["RecursiveLeastSquares"]


class RecursiveLeastSquares:
    """Fit y = theta . phi online; older observations fade.

    After n updates theta minimises sum_i f^(n-i) (y_i - theta . phi_i)^2 + f^n |theta|^2 / c, where
    f is `forgetting` and c is `covariance`. Nothing is forgotten while some covariance is above
    10^6 c.

    Parameters
    ----------
    dimension : int
        The length of phi.
    forgetting : float
        f, in (0, 1]; 1 forgets nothing.
    covariance : float
        c, the initial covariance: how little the starting value theta = 0 is trusted.

    Examples
    --------
    >>> line = RecursiveLeastSquares(2, forgetting=1.0, covariance=1e6)
    >>> for x in (0.0, 1.0, 2.0):
    ...     line.update([1.0, x], 3.0 + 2.0 * x)
    >>> [round(value, 3) for value in line.theta]
    [3.0, 2.0]

    Notes
    -----
    The update is the standard one, with gain P phi / (f + phi . P phi).
    """

    def __init__(self, dimension: int, forgetting: float, covariance: float) -> None:
        self.forgetting = forgetting
        self.theta = [0.0] * dimension
        self._ceiling = 1e6 * covariance
        self._covariance = [
            [covariance if row == column else 0.0 for column in range(dimension)]
            for row in range(dimension)
        ]

    def predict(self, phi: Sequence[float]) -> float:
        """The value of theta . phi."""
        return _dot(self.theta, phi)

    def update(self, phi: Sequence[float], y: float) -> None:
        """Learn one observation."""
        spread = [_dot(row, phi) for row in self._covariance]  # P phi
        scale = self.forgetting + _dot(phi, spread)
        gain = [value / scale for value in spread]
        error = y - self.predict(phi)
        self.theta = [value + g * error for value, g in zip(self.theta, gain, strict=True)]
        # In a direction that no phi has, the covariance grows as forgetting^-n: stop in time.
        widest = max(row[i] for i, row in enumerate(self._covariance))
        fade = self.forgetting if widest < self._ceiling else 1.0
        self._covariance = [
            [(value - g * s) / fade for value, s in zip(row, spread, strict=True)]
            for row, g in zip(self._covariance, gain, strict=True)
        ]


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return float(sum(map(mul, left, right)))
