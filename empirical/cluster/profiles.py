"""How long an iteration of a worker takes: linear profiles, from a stated roofline or measured.

An iteration of continuous batching takes

    fixed + prefill * (prompt tokens computed) + cached * (prompt tokens found cached)
          + decode * (sequences decoded) + context * (tokens of their contexts)

milliseconds. Roofline: reading the weights once bounds every iteration (*fixed*), the arithmetic
of a token bounds what it adds (*prefill*, *decode*), and reading its KV entry bounds a token of a
context (*cached*, *context*). The quadratic part of attention is left out: for Llama-3.1-8B it is
13 % of the arithmetic at 4,096 tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from theory.errors import InputError
from theory.jsonfile import read_json

__all__ = ["PROFILES", "Hardware", "Model", "Profile", "find_profile", "roofline"]

SCHEMA = "kvbounds/profile/1"

TIMES = (
    "fixed_ms",
    "prefill_ms_per_token",
    "cached_ms_per_token",
    "decode_ms_per_sequence",
    "context_ms_per_token",
)
"""The fields of a profile, each a number or an estimate ``{"value", "low", "high"}``."""


@dataclass(frozen=True)
class Hardware:
    """A GPU.

    Attributes
    ----------
    name : str
        Its name.
    teraflops : float
        Dense BF16, peak.
    bandwidth : float
        Of the memory, in GB/s.
    memory : float
        In GB (10^9 bytes).

    Notes
    -----
    Sources: NVIDIA's data sheets of the L40 and the H200 SXM.
    """

    name: str
    teraflops: float
    bandwidth: float
    memory: float


@dataclass(frozen=True)
class Model:
    """A language model in BF16.

    Attributes
    ----------
    name : str
        Its name.
    parameters, active : float
        All of them and those that a token uses, in 10^9.
    layers, kv_heads, head : int
        Of the KV cache.
    """

    name: str
    parameters: float
    active: float
    layers: int
    kv_heads: int
    head: int

    @property
    def kv_bytes(self) -> int:
        """Bytes of KV cache a token: keys and values in two bytes each."""
        return 2 * 2 * self.layers * self.kv_heads * self.head


@dataclass(frozen=True)
class Profile:
    """The times of a worker's iterations and the size of its memory.

    Attributes
    ----------
    name, source : str
        What it is and where the numbers come from.
    fixed_ms : float
        Of an iteration.
    prefill_ms_per_token, cached_ms_per_token : float
        Of a prompt token that is computed and of one that is found cached.
    decode_ms_per_sequence, context_ms_per_token : float
        Of a sequence that decodes a token and of a token of its context.
    request_ms : float
        What a query takes besides, without keeping the worker busy; before its first token.
    capacity : int or None
        Tokens of KV memory, if known.
    """

    name: str
    source: str
    fixed_ms: float
    prefill_ms_per_token: float
    cached_ms_per_token: float = 0.0
    decode_ms_per_sequence: float = 0.0
    context_ms_per_token: float = 0.0
    request_ms: float = 0.0
    capacity: int | None = None

    def iteration(self, computed: int, cached: int, sequences: int, context: int) -> float:
        """The time of an iteration in ms.

        Examples
        --------
        >>> Profile("slow", "", fixed_ms=20, prefill_ms_per_token=0.5).iteration(100, 0, 0, 0)
        70.0
        """
        return (
            self.fixed_ms
            + self.prefill_ms_per_token * computed
            + self.cached_ms_per_token * cached
            + self.decode_ms_per_sequence * sequences
            + self.context_ms_per_token * context
        )

    def faster(self, factor: float) -> Profile:
        """The same worker, `factor` times as fast.

        Examples
        --------
        >>> PROFILES["llama-3.1-8b-l40"].faster(2).name
        'llama-3.1-8b-l40 x2'
        """
        if not (isfinite(factor) and factor > 0):
            raise InputError(f"{factor!r} is not a positive number", where="speed")
        if factor == 1:
            return self
        return Profile(
            f"{self.name} x{factor:g}",
            self.source,
            self.fixed_ms / factor,
            self.prefill_ms_per_token / factor,
            self.cached_ms_per_token / factor,
            self.decode_ms_per_sequence / factor,
            self.context_ms_per_token / factor,
            self.request_ms / factor,
            self.capacity,
        )

    @classmethod
    def from_json(cls, value: Mapping[str, Any], where: str = "profile") -> Profile:
        """Read a measured profile.

        What is measured on a lone query cannot tell what an iteration takes from what a query
        takes. Decoding a lone sequence is taken to be all *fixed* (reading the weights, which a
        batch shares), and what the first token takes beyond that to be the query's own.

        Raises
        ------
        InputError
            With the JSON pointer of the field, if a time is missing, not a number or below 0.
        """
        times = {name: _time(value, name, where) for name in TIMES}
        if times["prefill_ms_per_token"] is None:
            raise InputError("is not known", where=f"{where}#/prefill_ms_per_token")
        known = {name: time or 0.0 for name, time in times.items()}
        decode = times["decode_ms_per_sequence"]
        shared = known["fixed_ms"] if decode is None else min(decode, known["fixed_ms"])
        capacity = value.get("capacity")
        if capacity is not None and (not isinstance(capacity, int) or capacity < 1):
            raise InputError(f"{capacity!r} is no number of tokens", where=f"{where}#/capacity")
        return cls(
            name=str(value.get("name", "measured")),
            source=f"measured: {where}",
            fixed_ms=shared,
            prefill_ms_per_token=known["prefill_ms_per_token"],
            cached_ms_per_token=known["cached_ms_per_token"],
            decode_ms_per_sequence=max(0.0, known["decode_ms_per_sequence"] - shared),
            context_ms_per_token=known["context_ms_per_token"],
            request_ms=known["fixed_ms"] - shared,
            capacity=capacity,
        )


def _time(value: Mapping[str, Any], name: str, where: str) -> float | None:
    given = value.get(name)
    if isinstance(given, dict):
        given = given.get("value")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given):
        raise InputError(f"{given!r} is not a number", where=f"{where}#/{name}")
    if given < 0:
        raise InputError(f"{given} is below 0", where=f"{where}#/{name}")
    return float(given)


COMPUTE_EFFICIENCY = 0.5
"""The share of the peak arithmetic that a prefill reaches."""

MEMORY_EFFICIENCY = 0.8
"""The share of the peak bandwidth that a decode reaches."""

MEMORY_FRACTION = 0.88
"""The share of the GPU's memory that weights and KV cache take (SGLang's default for one GPU)."""


def roofline(
    model: Model, hardware: Hardware, gpus: int = 1, *, memory_fraction: float = MEMORY_FRACTION
) -> Profile:
    """The profile of `model` on `gpus` GPUs, tensor parallel and without communication.

    Examples
    --------
    >>> profile = roofline(LLAMA_8B, L40)
    >>> round(profile.fixed_ms, 1), round(profile.prefill_ms_per_token, 3), profile.capacity
    (23.2, 0.177, 199737)
    """
    weights = 2e9 * model.parameters
    flops = COMPUTE_EFFICIENCY * 1e12 * hardware.teraflops * gpus
    bandwidth = MEMORY_EFFICIENCY * 1e9 * hardware.bandwidth * gpus
    token = 1000 * 2e9 * model.active / flops
    entry = 1000 * model.kv_bytes / bandwidth
    room = memory_fraction * 1e9 * hardware.memory * gpus - weights
    capacity = int(room // model.kv_bytes)
    if capacity < 1:
        raise InputError(
            f"{model.name} leaves no room for a KV cache on {gpus} x {hardware.name}",
            where=f"memory fraction {memory_fraction:g}",
        )
    return Profile(
        name=f"{model.name}-{hardware.name}" + (f"x{gpus}" if gpus > 1 else ""),
        source=f"roofline: {COMPUTE_EFFICIENCY:.0%} of the arithmetic, {MEMORY_EFFICIENCY:.0%} of "
        f"the bandwidth, {memory_fraction:.0%} of the memory",
        fixed_ms=1000 * weights / bandwidth,
        prefill_ms_per_token=token,
        cached_ms_per_token=entry,
        decode_ms_per_sequence=token,
        context_ms_per_token=entry,
        capacity=capacity,
    )


L40 = Hardware("l40", teraflops=181.05, bandwidth=864, memory=48)
H200 = Hardware("h200", teraflops=989.4, bandwidth=4800, memory=141)
LLAMA_8B = Model("llama-3.1-8b", 8.03, 8.03, layers=32, kv_heads=8, head=128)
LLAMA_70B = Model("llama-3.1-70b", 70.6, 70.6, layers=80, kv_heads=8, head=128)
MIXTRAL = Model("mixtral-8x7b", 46.7, 12.9, layers=32, kv_heads=8, head=128)

WORKERS: dict[str, tuple[Model, Hardware, int]] = {
    "llama-3.1-8b-l40": (LLAMA_8B, L40, 1),
    "llama-3.1-70b-h200x4": (LLAMA_70B, H200, 4),
    "mixtral-8x7b-h200x4": (MIXTRAL, H200, 4),
}
"""The paper's workers."""

PROFILES: dict[str, Profile] = {name: roofline(*worker) for name, worker in WORKERS.items()}
"""Their profiles."""


def find_profile(name: str, memory_fraction: float | None = None) -> Profile:
    """A built-in profile by name, or a measured one from a JSON file.

    Parameters
    ----------
    name : str
        A name of `PROFILES`, or a file of schema ``kvbounds/profile/1``.
    memory_fraction : float, optional
        The share of the memory for weights and KV cache, for a built-in one.

    Examples
    --------
    >>> find_profile("llama-3.1-8b-l40", memory_fraction=0.5).capacity
    60577
    """
    if name in WORKERS:
        if memory_fraction is None:
            return PROFILES[name]
        if not 0 < memory_fraction <= 1:
            raise InputError(f"{memory_fraction!r} is not in (0, 1]", where="memory fraction")
        return roofline(*WORKERS[name], memory_fraction=memory_fraction)
    if not Path(name).suffix:
        raise InputError(
            f"unknown profile {name!r}",
            where="profile",
            fix=f"choose from {', '.join(PROFILES)}, or give a file (.json)",
        )
    if memory_fraction is not None:
        raise InputError(
            "a measured profile has no memory fraction", where=name, fix="give a capacity"
        )
    return Profile.from_json(read_json(name, SCHEMA), where=name)
