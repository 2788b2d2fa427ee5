"""RLT and token-granular Leaf-LRU inside an unmodified SGLang.

SGLang loads this plugin by itself (entry-point group ``sglang.srt.plugins``), in the launcher and
in every scheduler process. It registers three radix-cache backends::

    --radix-cache-backend kvbounds-rlt         marks, reset when no unmarked leaf is left
    --radix-cache-backend kvbounds-rlt-step    marks, reset as soon as a step does not fit
    --radix-cache-backend kvbounds-leaf-lru    the oldest leaf, token by token, split first

``KVBOUNDS_SEED`` in the environment seeds the draws (0 by default). The plugin also admits SGLang's
own policies ``fifo``, ``mru`` and ``filo``, which its command line does not offer by itself.
"""

from __future__ import annotations

import os
from typing import Any

__all__ = ["BACKENDS", "UNLISTED", "register"]

BACKENDS = {
    "kvbounds-leaf-lru": "LeafLRURadixCache",
    "kvbounds-rlt": "RLTRadixCache",
    "kvbounds-rlt-step": "RLTStepRadixCache",
}
"""The name on SGLang's command line -> the class in `empirical.sglang.radix`."""


UNLISTED = ["fifo", "mru", "filo"]
"""SGLang's eviction policies that its command line leaves out."""


def register() -> None:
    """Register the backends; a second call changes nothing."""
    from sglang.srt.arg_groups.choices import (
        RADIX_EVICTION_POLICY_CHOICES,
        add_radix_eviction_policy_choices,
    )
    from sglang.srt.mem_cache.registry import (
        register_radix_cache_backend,
        registered_radix_cache_backends,
    )

    known = RADIX_EVICTION_POLICY_CHOICES
    add_radix_eviction_policy_choices([name for name in UNLISTED if name not in known])
    seed = int(os.environ.get("KVBOUNDS_SEED", "0"))
    for name, class_name in BACKENDS.items():
        if name not in registered_radix_cache_backends():
            register_radix_cache_backend(name, _factory(class_name, seed))


def _factory(class_name: str, seed: int) -> Any:
    def build(context: Any) -> Any:
        # SGLang's radix cache pulls torch: only the process that builds a cache pays for it.
        from empirical.sglang import radix

        return getattr(radix, class_name)(context.params, seed=seed)

    return build
