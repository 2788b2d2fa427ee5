"""Certificates of exact ratios: JSON that another program can check line by line.

Schema ``kvbounds/certificate/1``. Fractions are strings. Fields of a ratio's certificate:

policy, ratio, complete
    The claim. Not complete: the ratio is a lower bound only.
instance
    The witness of the lower bound: a prefix and, from ``cycle_start``, a cycle that can be repeated
    for ever (schema ``kvbounds/instance/1``).
lower
    What a cycle costs: ``policy_cost`` (expected), ``optimum_cost``.
upper
    Null if there is none. ``beta`` and ``queries``: the steps are all admissible batches of exactly
    beta distinct queries. ``steps``: one for each batch that the policy can tell apart. ``policy``
    and ``optimum``: automata, with ``targets[state][step]`` and ``costs[state][step]``, state 0
    initial. ``states``: all reachable pairs of their states, [0, 0] first. ``potential``: for each
    pair, the least potential under the ratio. ``additive``: the potential of the first pair, hence
    ALG <= ratio * OPT + additive for every sequence, and no smaller constant will do.
digest
    SHA-256 of all other fields as this module writes them.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

from theory.exact.cycle import CycleRatio
from theory.exact.game import Automaton
from theory.exact.solver import ExactRatio
from theory.jsonfile import dumps
from theory.model import Instance

__all__ = ["SCHEMA", "certificate", "sealed"]

SCHEMA = "kvbounds/certificate/1"


def certificate(result: ExactRatio | CycleRatio) -> dict[str, Any]:
    """The certificate of an exact ratio, or of the ratio of a cycle, for `jsonfile.write_json`.

    Examples
    --------
    >>> from theory.exact import Arena, exact_ratio
    >>> from theory.trie import TokenTrie
    >>> value = certificate(exact_ratio(Arena(TokenTrie.from_parents([-1, -1, -1]), 2), "rlt"))
    >>> value["ratio"], value["lower"], value["upper"]["additive"]
    ('3/2', {'policy_cost': '3', 'optimum_cost': '2'}, '0')
    """
    if isinstance(result, CycleRatio):
        witness, complete, upper = result.instance, result.ratio is None, None
    else:
        witness, complete, upper = result.witness, result.complete, _upper(result)
    # The name and the notes of an instance are no part of the claim.
    witness = Instance(witness.trie, witness.capacity, witness.steps, witness.cycle_start)
    return sealed(
        {
            "schema": SCHEMA,
            "kind": "ratio",
            "policy": result.policy,
            "ratio": result.text,
            "complete": complete,
            "instance": witness.to_json(),
            "lower": {
                "policy_cost": str(result.policy_cost),
                "optimum_cost": str(result.optimum_cost),
            },
            "upper": upper,
        }
    )


def sealed(value: dict[str, Any]) -> dict[str, Any]:
    """The certificate with its digest."""
    return {**value, "digest": hashlib.sha256(dumps(value).encode()).hexdigest()}


def _upper(result: ExactRatio) -> dict[str, Any] | None:
    game, extreme = result.game, result.extreme
    if extreme.potential is None:
        return None
    return {
        "beta": result.arena.beta,
        "queries": list(result.arena.used_queries),
        "steps": [list(step) for step in game.steps],
        "additive": str(result.additive),
        "policy": _automaton(game.policies),
        "optimum": _automaton(game.optima),
        "states": game.pairs.tolist(),
        "potential": [str(Fraction(value, extreme.scale)) for value in extreme.potential],
    }


def _automaton(automaton: Automaton[Any]) -> dict[str, Any]:
    costs = [[str(cost) for cost in row] for row in automaton.costs]
    return {"targets": automaton.targets, "costs": costs}
