"""The one function of ``sgl_kernel`` that SGLang calls on a CPU, in plain torch.

``convert_weight_packed`` is left out on purpose: without it every layer takes its native path.
Anything else raises when it is called, not when it is imported.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import torch


def assign_req_to_token_pool_cpu(
    req_pool_indices: torch.Tensor,
    req_to_token: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    out_cache_loc: torch.Tensor,
    pool_len: int,
) -> None:
    """Write the new memory indices of every request into its row of the table."""
    taken = 0
    rows = zip(req_pool_indices.tolist(), start.tolist(), end.tolist(), strict=True)
    for row, first, last in rows:
        new = out_cache_loc[taken : taken + last - first]
        req_to_token[row, first:last] = new.to(req_to_token.dtype)
        taken += last - first


def __getattr__(name: str) -> Callable[..., NoReturn]:
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"sgl_kernel.{name} needs the compiled library")

    return missing
