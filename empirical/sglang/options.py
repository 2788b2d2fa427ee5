"""How a SGLang worker is started: its command line, its environment, its model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from empirical.sglang.plugin import BACKENDS, UNLISTED
from theory.errors import InputError

__all__ = ["EVICTIONS", "WorkerOptions", "tiny_model"]

SGLANG_POLICIES = ("lru", "lfu", "slru", *UNLISTED)
EVICTIONS = (*SGLANG_POLICIES, *BACKENDS)
"""What ``--eviction`` can name: SGLang's own policies and the plugin's backends."""

TINY_MODEL: Mapping[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 64,
    "vocab_size": 32000,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "torch_dtype": "bfloat16",
}
"""A Llama of two layers: enough for the cache to be real, small enough for a CPU.

Its heads are as large as GPU kernels want them.
"""


def tiny_model(folder: Path) -> Path:
    """Write the configuration of the tiny model into `folder`; the weights are random."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(dict(TINY_MODEL), indent=1), encoding="utf-8")
    return folder


@dataclass(frozen=True)
class WorkerOptions:
    """How a worker is started.

    Parameters
    ----------
    model : Path or None
        A folder with a model's ``config.json``; None is the tiny model. Weights are random.
    eviction : str
        One of `EVICTIONS`.
    capacity : int
        Tokens in the KV pool: the cache and the running queries share them.
    device : {"cpu", "cuda"}
        Where it runs.
    page_size : int
        Tokens a page.
    seed : int
        Seeds the plugin's draws.
    max_running : int
        Queries that may run at once.
    chunk : int
        Tokens of a prefill chunk.
    extra : tuple of str
        More flags for SGLang's server.
    """

    model: Path | None = None
    eviction: str = "lru"
    capacity: int = 4096
    device: str = "cpu"
    page_size: int = 1
    seed: int = 0
    max_running: int = 16
    chunk: int = 8192
    extra: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.eviction not in EVICTIONS:
            raise InputError(
                f"unknown eviction {self.eviction!r}",
                where="--eviction",
                fix=f"choose from {', '.join(EVICTIONS)}",
            )
        if self.device not in ("cpu", "cuda"):
            raise InputError(f"device can be cpu or cuda, not {self.device!r}", where="--device")
        for name in ("capacity", "page_size", "max_running", "chunk"):
            if getattr(self, name) < 1:
                raise InputError("is not positive", where=f"--{name.replace('_', '-')}")
        if self.capacity < self.page_size:
            raise InputError(
                f"{self.capacity} tokens hold no page of {self.page_size}", where="--capacity"
            )
        if self.model is not None and not (self.model / "config.json").is_file():
            raise InputError(
                "has no config.json", where=str(self.model), fix="name a model's folder"
            )

    def seeded(self, seed: int) -> WorkerOptions:
        """The same options with another seed."""
        return replace(self, seed=seed)

    def command(self, python: str, model: Path, port: int) -> list[str]:
        """The server's command line."""
        flags: dict[str, Any] = {
            "--model-path": model.resolve(),
            "--load-format": "dummy",
            "--host": "127.0.0.1",
            "--port": port,
            "--device": self.device,
            "--page-size": self.page_size,
            "--max-total-tokens": self.capacity,
            "--max-running-requests": self.max_running,
            "--chunked-prefill-size": self.chunk,
            "--random-seed": 0,
        }
        if self.device == "cpu":
            flags |= {"--attention-backend": "torch_native", "--sampling-backend": "pytorch"}
        switches = ["--skip-tokenizer-init", "--enable-metrics", "--enable-cache-report"]
        if self.device == "cpu":
            # An idle scheduler would otherwise poll, and take a core from its neighbours.
            switches += ["--disable-cuda-graph", "--sleep-on-idle"]
        if self.eviction in BACKENDS:
            flags["--radix-cache-backend"] = self.eviction
        else:
            flags["--radix-eviction-policy"] = self.eviction
        named = [str(part) for pair in flags.items() for part in pair]
        return [python, "-m", "sglang.launch_server", *named, *switches, *self.extra]

    def environment(self) -> dict[str, str]:
        """The server's environment."""
        value = {**os.environ, "KVBOUNDS_SEED": str(self.seed), "HF_HUB_OFFLINE": "1"}
        value["PYTHONUNBUFFERED"] = "1"
        if self.device == "cpu":
            value["SGLANG_USE_CPU_ENGINE"] = "1"
        if self.eviction in UNLISTED:
            # SGLang's compiled tree knows only the policies that its command line offers.
            value["SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND"] = "python"
        return value
