"""Exact competitive ratios on finite tries, with certificates that anyone can check."""

from theory.exact.arena import Arena
from theory.exact.certificate import certificate
from theory.exact.cycle import CycleRatio, cycle_ratio
from theory.exact.solver import ExactRatio, exact_ratio
from theory.exact.value import GameValue, game_value

__all__ = [
    "Arena",
    "CycleRatio",
    "ExactRatio",
    "GameValue",
    "certificate",
    "cycle_ratio",
    "exact_ratio",
    "game_value",
]
