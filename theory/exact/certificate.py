"""Certificates of exact ratios: JSON that another program can check line by line.

Schema ``kvbounds/certificate/1``. Fractions are strings. Fields of a ratio's certificate (``kind``
is "ratio"):

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

The value of a game (``kind`` is "value") has ``capacity``, the trie, ``beta``, ``queries``,
``steps`` (one for each footprint), ``optimum`` as above, and ``caches``, lists of tokens. ``upper``
is a policy: for each state, a pair of a cache and a work function, ``choices`` is the cache after
each step. ``lower`` is an adversary: ``asked`` is its step in each state. ``potential``: the most
that the other side can still gain under the ratio.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

from theory.exact.cycle import CycleRatio
from theory.exact.game import Automaton
from theory.exact.ratio import Extreme
from theory.exact.solver import ExactRatio
from theory.exact.value import GameValue, Play
from theory.jsonfile import dumps
from theory.model import Instance

__all__ = ["SCHEMA", "certificate", "sealed"]

SCHEMA = "kvbounds/certificate/1"


def certificate(result: ExactRatio | CycleRatio | GameValue) -> dict[str, Any]:
    """The certificate of an exact ratio, of a cycle's ratio, or of the value of a game.

    Examples
    --------
    >>> from theory.exact import Arena, exact_ratio
    >>> from theory.trie import TokenTrie
    >>> value = certificate(exact_ratio(Arena(TokenTrie.from_parents([-1, -1, -1]), 2), "rlt"))
    >>> value["ratio"], value["lower"], value["upper"]["additive"]
    ('3/2', {'policy_cost': '3', 'optimum_cost': '2'}, '0')
    """
    if isinstance(result, GameValue):
        return sealed(_value(result))
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
        "potential": _potential(extreme),
    }


def _automaton(automaton: Automaton[Any]) -> dict[str, Any]:
    costs = [[str(cost) for cost in row] for row in automaton.costs]
    return {"targets": automaton.targets, "costs": costs}


def _potential(extreme: Extreme, factor: Fraction = Fraction(1)) -> list[str]:
    assert extreme.potential is not None
    return [str(Fraction(value, extreme.scale) * factor) for value in extreme.potential]


def _value(result: GameValue) -> dict[str, Any]:
    board, policy, adversary = result.board, result.policy, result.adversary
    assert policy.extreme is not None
    used = sorted({board.states[state][0] for state in (*policy.states, *adversary.states)})
    place = {cache: index for index, cache in enumerate(used)}
    masks = [board.caches[cache] for cache in used]

    def pairs(play: Play) -> list[list[int]]:
        return [[place[c], f] for c, f in (board.states[state] for state in play.states)]

    value: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "value",
        "ratio": str(result.upper),
        "complete": result.complete,
        "capacity": board.arena.capacity,
        **board.arena.trie.to_json(),
        "beta": board.arena.beta,
        "queries": list(board.arena.used_queries),
        "steps": [list(step) for step in board.steps],
        "caches": [[t for t in range(len(board.arena.trie)) if c >> t & 1] for c in masks],
        "optimum": _automaton(board.optima),
        "upper": {
            "ratio": str(result.upper),
            "additive": _potential(policy.extreme)[0],
            "states": pairs(policy),
            "choices": [[place[board.states[s][0]] for s in row] for row in policy.moves.tolist()],
            "potential": _potential(policy.extreme),
        },
        "lower": None,
    }
    if adversary.extreme is not None:
        # The policy's play alone is solved for growth / cost, the inverse ratio.
        value["lower"] = {
            "ratio": str(result.lower),
            "states": pairs(adversary),
            "asked": [step for (step,) in adversary.moves.tolist()],
            "potential": _potential(adversary.extreme, result.lower),
        }
    return value
