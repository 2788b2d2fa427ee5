"""Eviction policies: one a file, named here, loaded on demand."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from theory.errors import InputError, PolicyError
from theory.eviction.base import EvictionPolicy, RandomisedPolicy, Step

__all__ = ["POLICIES", "EvictionPolicy", "RandomisedPolicy", "Step", "make_policy", "policy_class"]

POLICIES: dict[str, str] = {
    "leaf-lru": "theory.eviction.leaf_lru:LeafLRU",
    "rlt": "theory.eviction.rlt:RLT",
    "rlt-step": "theory.eviction.rlt_step:StepRLT",
    "rlt-node": "theory.eviction.rlt_node:NodeRLT",
    "rlt-token": "theory.eviction.rlt_token:TokenRLT",
    "node-lru": "theory.eviction.node_lru:NodeLRU",
    "sglang-lru": "theory.eviction.sglang_lru:SGLangLRU",
    "vllm-lru": "theory.eviction.vllm_lru:VllmLRU",
    "fifo": "theory.eviction.fifo:FIFO",
    "filo": "theory.eviction.filo:FILO",
    "lfu": "theory.eviction.lfu:LFU",
    "slru": "theory.eviction.slru:SLRU",
    "hits-per-token": "theory.eviction.hits_per_token:HitsPerToken",
    "mru": "theory.eviction.mru:MRU",
    "clock": "theory.eviction.clock:Clock",
    "clock-clear": "theory.eviction.clock_clear:ClearClock",
}
"""The built-in policies: name on the command line -> module:Class."""


def policy_class(name: str) -> type[EvictionPolicy]:
    """The class of a built-in policy, or of a user's own given as ``module:Class``.

    Raises
    ------
    PolicyError
        If there is no such policy, or what was found is no eviction policy.

    Examples
    --------
    >>> policy_class("leaf-lru").__name__
    'LeafLRU'
    """
    target = POLICIES.get(name, name)
    module_name, _, class_name = target.partition(":")
    if not module_name or not class_name:
        raise PolicyError(
            f"unknown eviction policy {name!r}",
            where="policy",
            fix=f"choose from {', '.join(sorted(POLICIES))}, or name your own as module:Class",
        )
    here = str(Path.cwd())
    if here not in sys.path and name not in POLICIES:
        sys.path.insert(0, here)
    where = f"policy {name}"
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise PolicyError(
            f"cannot import {module_name!r} ({error})",
            where=where,
            fix="run from the folder that holds the module, or install it",
        ) from error
    except Exception as error:  # the module is the user's: whatever it raises is told in one line
        raise PolicyError(
            f"importing {module_name!r} fails ({type(error).__name__}: {error})",
            where=where,
            fix="mend the module",
        ) from error
    found = getattr(module, class_name, None)
    if found is None:
        raise PolicyError(f"module {module_name!r} has no {class_name!r}", where=where)
    if not (isinstance(found, type) and issubclass(found, EvictionPolicy)):
        raise PolicyError("is not a subclass of theory.eviction.EvictionPolicy", where=where)
    return found


def make_policy(spec: str) -> EvictionPolicy:
    """Build a policy from ``name[:parameter=value...]`` or ``module:Class[:parameter=value...]``.

    Raises
    ------
    PolicyError
        If the name or a parameter is unknown.

    Examples
    --------
    >>> type(make_policy("leaf-lru")).__name__
    'LeafLRU'
    """
    parts = spec.split(":")
    name = ":".join(part for part in parts if "=" not in part)
    parameters: dict[str, Any] = {}
    for part in parts:
        if "=" in part:
            key, _, text = part.partition("=")
            parameters[key.replace("-", "_")] = _value(text)
    try:
        return policy_class(name)(**parameters)
    except (TypeError, ValueError) as error:
        raise PolicyError(f"cannot be built ({error})", where=f"policy {spec}") from error
    except InputError as error:
        raise PolicyError(
            error.what, where=error.where or f"policy {spec}", fix=error.fix
        ) from None


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
