"""kvbounds: verify and validate the theory of KV-cache eviction and routing in LLM serving.

The public names below load on first use, so that ``import kvbounds`` is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from theory.cache import PrefixCache as PrefixCache
    from theory.cache import run as run
    from theory.errors import KvboundsError as KvboundsError
    from theory.eviction import EvictionPolicy as EvictionPolicy
    from theory.eviction import RandomisedPolicy as RandomisedPolicy
    from theory.eviction import make_policy as make_policy
    from theory.model import Instance as Instance
    from theory.trie import TokenTrie as TokenTrie

_PUBLIC = {
    "EvictionPolicy": "theory.eviction",
    "Instance": "theory.model",
    "KvboundsError": "theory.errors",
    "PrefixCache": "theory.cache",
    "RandomisedPolicy": "theory.eviction",
    "TokenTrie": "theory.trie",
    "make_policy": "theory.eviction",
    "run": "theory.cache",
}

__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'kvbounds' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
