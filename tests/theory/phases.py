"""Phases of a sequence and what marking means, straight from the definition."""

from __future__ import annotations

from collections.abc import Sequence

from theory.model import Instance


def phase_tokens(instance: Instance) -> list[set[int]]:
    """The tokens used in the current phase, at each step and including it."""
    result: list[set[int]] = []
    used: set[int] = set()
    for index in range(len(instance.steps)):
        footprint = set(instance.footprint(index))
        used = used | footprint if len(used | footprint) <= instance.capacity else footprint
        result.append(used)
    return result


def first_violation(instance: Instance, evicted: Sequence[Sequence[int]]) -> int | None:
    """The first step that evicts a token used in its phase; None if the run is marking."""
    for index, (used, gone) in enumerate(zip(phase_tokens(instance), evicted, strict=True)):
        if used & set(gone):
            return index
    return None
