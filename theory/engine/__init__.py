"""The fast engine: compiled kernels that mean the same as `theory.cache`, on arrays."""

from theory.engine.arrays import StepCounts
from theory.engine.curve import StackDistances
from theory.engine.flat import Flat
from theory.engine.kernel import expect
from theory.engine.optimal import optimum
from theory.engine.simulate import simulate, supports

__all__ = ["Flat", "StackDistances", "StepCounts", "expect", "optimum", "simulate", "supports"]
