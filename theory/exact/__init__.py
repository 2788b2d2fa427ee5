"""Exact competitive ratios on finite tries, with certificates that anyone can check."""

from theory.exact.arena import Arena
from theory.exact.certificate import certificate
from theory.exact.solver import ExactRatio, exact_ratio

__all__ = ["Arena", "ExactRatio", "certificate", "exact_ratio"]
