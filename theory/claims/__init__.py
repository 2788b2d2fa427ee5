"""The ledger: every claim of the project with its status, its evidence and what shows it.

A new row goes into the file of its subject; a new subject is one more file with a tuple `ROWS`.
"""

from __future__ import annotations

from theory.claims import cluster, deterministic, exact, model, paper, randomised, routing, systems
from theory.claims.claim import STATUSES, Claim, Status, machine_checked, theorems

__all__ = ["CLAIMS", "STATUSES", "Claim", "Status"]

CLAIMS: tuple[Claim, ...] = machine_checked(
    (
        *model.ROWS,
        *deterministic.ROWS,
        *randomised.ROWS,
        *systems.ROWS,
        *exact.ROWS,
        *routing.ROWS,
        *cluster.ROWS,
        *paper.ROWS,
    ),
    theorems(),
)
"""All rows, in the order of the docs."""
