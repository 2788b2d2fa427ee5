"""Programs for the tests of the solver adapter."""

from __future__ import annotations

import random
from typing import Any

from mip.solver import pulp


def hard_program(items: int = 120, limits: int = 40) -> Any:
    """A many-dimensional knapsack that takes a solver many seconds; zeros are feasible."""
    draw = random.Random(1)
    problem = pulp.LpProblem("hard", pulp.LpMaximize)
    take = [problem.add_variable(f"x{i}", 0, 1, cat="Integer") for i in range(items)]
    problem += pulp.lpSum(draw.randint(10, 100) * x for x in take)
    for _ in range(limits):
        problem += pulp.lpSum(draw.randint(10, 100) * x for x in take) <= 20 * items
    return problem


def small_program() -> tuple[Any, Any, Any]:
    """Minimise 3x + 2y + 1 over integers with 2x + 2y >= 3 and x >= 1/2: x = y = 1, value 6."""
    problem = pulp.LpProblem("small", pulp.LpMinimize)
    x = problem.add_variable("x", 0, 9, cat="Integer")
    y = problem.add_variable("y", 0, 9, cat="Integer")
    problem += 3 * x + 2 * y + 1
    problem += 2 * x + 2 * y >= 3
    problem += x >= 0.5
    return problem, x, y


def infeasible_program() -> tuple[Any, Any]:
    """No integer lies between 3/2 and 7/4; its relaxation is feasible."""
    problem = pulp.LpProblem("infeasible", pulp.LpMinimize)
    x = problem.add_variable("x", 0, 9, cat="Integer")
    problem += 1 * x
    problem += 4 * x >= 6
    problem += 4 * x <= 7
    return problem, x
