"""Sequences on which routers are far from the least makespan, and the witnesses of that.

Every service time is 1 ms per missed token and 0 per hit, so makespans are numbers of tokens. The
ratios are to the clairvoyant optimum over routings *and* evictions, proven for each witness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

from mip.makespan import solve_makespan
from theory.errors import ClaimError, InputError
from theory.jsonfile import read_json, write_json
from theory.load import route
from theory.routing.instance import Duration, RoutingInstance, Worker, exact
from theory.trie import ROOT, TokenTrie

__all__ = [
    "ROUTING_FAMILIES",
    "RoutingWitness",
    "alternating_groups",
    "hot_prefix",
    "late_giant",
    "load_routing_instance",
    "misleading_lengths",
    "witness",
    "witnesses",
]

SCHEMA = "kvbounds/routing-witness/1"


def hot_prefix(
    workers: int = 2, queries: int = 24, prefix: int = 8, tail: int = 7
) -> RoutingInstance:
    """Every prompt shares more than half of its tokens: cache-aware piles them on one worker.

    It spends prefix + queries * tail there, while an even split costs every worker prefix +
    (queries / workers) * tail: the ratio goes to `workers`. The queries arrive so slowly that the
    queues never look imbalanced, although all the work is on one worker.

    Examples
    --------
    >>> from theory.load import route
    >>> route(hot_prefix(), "cache-aware").loads
    (176, 0)
    """
    _positive(workers=workers, queries=queries, prefix=prefix, tail=tail)
    trie = TokenTrie.from_segments([(ROOT, prefix), *[(prefix - 1, tail)] * queries])
    ends = [prefix + (place + 1) * tail - 1 for place in range(queries)]
    time = float(prefix + tail)
    return RoutingInstance(
        trie,
        [Worker(prefix + queries * tail)] * workers,
        ends,
        arrivals=[place * time for place in range(queries)],
        name="hot-prefix",
        notes={"workers": workers, "queries": queries, "prefix": prefix, "tail": tail},
    )


def alternating_groups(
    workers: int = 2, rounds: int = 6, prefix: int = 16, tail: int = 1
) -> RoutingInstance:
    """A burst of one group for each worker in turn, where a cache holds one prefix only.

    In each round every group asks `workers` times in a row. Whoever evens out the queues (least
    load, round-robin, and LBGR, whose greedy choice is the shorter queue) serves each group
    everywhere and loads its prefix again each time: rounds * workers * (prefix + tail) a worker.
    One worker a group costs prefix + rounds * workers * tail, so the ratio grows with the rounds up
    to (prefix + tail) / tail: no constant bounds it.

    Examples
    --------
    >>> from theory.load import route
    >>> [route(alternating_groups(), router).makespan for router in ("least-load", "lbgr")]
    [204, 204]
    """
    _positive(workers=workers, rounds=rounds, prefix=prefix, tail=tail)
    segments: list[tuple[int, int]] = []
    ends: list[list[int]] = []
    size = 0
    for _ in range(workers):
        segments.append((ROOT, prefix))
        top = size + prefix - 1
        size += prefix
        ends.append([])
        for _ in range(rounds * workers):
            segments.append((top, tail))
            size += tail
            ends[-1].append(size - 1)
    order = [
        ends[group][turn * workers + place]
        for turn in range(rounds)
        for group in range(workers)
        for place in range(workers)
    ]
    return RoutingInstance(
        TokenTrie.from_segments(segments),
        [Worker(prefix + tail)] * workers,
        order,
        name="alternating-groups",
        notes={"workers": workers, "rounds": rounds, "prefix": prefix, "tail": tail},
    )


def misleading_lengths(
    workers: int = 2, rounds: int = 6, long: int = 16, short: int = 1
) -> RoutingInstance:
    """One long prompt, then a short one for each other worker, again and again, in one burst.

    A router that counts queries gives every long prompt to the same worker: rounds * long there,
    while an even split costs about rounds * (long + (workers - 1) * short) / workers. The ratio
    goes to `workers`.

    Examples
    --------
    >>> from theory.load import route
    >>> route(misleading_lengths(), "least-load").loads
    (96, 6)
    """
    _positive(workers=workers, rounds=rounds, long=long, short=short)
    lengths = ([long] + [short] * (workers - 1)) * rounds
    return _unshared(lengths, workers, "misleading-lengths")


def late_giant(workers: int = 2, small: int = 1) -> RoutingInstance:
    """Small prompts that fill all workers evenly, then one as long as a worker's share of them.

    Graham's example for greedy scheduling: with workers * (workers - 1) small prompts of length
    `small` and one of workers * small, any router that keeps the loads even ends at
    (2 workers - 1) * small, the optimum is workers * small. The ratio is 2 - 1 / workers.

    Examples
    --------
    >>> from theory.load import route
    >>> route(late_giant(3), "lbgr").makespan
    5
    """
    _positive(workers=workers, small=small)
    lengths = [small] * (workers * (workers - 1)) + [workers * small]
    return _unshared(lengths, workers, "late-giant")


def _unshared(lengths: Sequence[int], workers: int, name: str) -> RoutingInstance:
    """Prompts that share nothing, all at once, in caches that hold any one of them."""
    ends, size = [], 0
    for length in lengths:
        size += length
        ends.append(size - 1)
    return RoutingInstance(
        TokenTrie.from_segments([(ROOT, length) for length in lengths]),
        [Worker(max(lengths))] * workers,
        ends,
        name=name,
        notes={"workers": workers, "lengths": list(lengths)},
    )


def _positive(**values: int) -> None:
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"{value!r} is not a positive whole number", where=name)


ROUTING_FAMILIES: dict[str, tuple[Callable[..., RoutingInstance], tuple[str, ...]]] = {
    "hot-prefix": (hot_prefix, ("cache-aware",)),
    "alternating-groups": (alternating_groups, ("least-load", "lbgr", "round-robin")),
    "misleading-lengths": (misleading_lengths, ("least-load", "round-robin")),
    "late-giant": (late_giant, ("lbgr",)),
}
"""The constructions: name -> (function, the routers that it is bad for)."""


@dataclass(frozen=True)
class RoutingWitness:
    """An instance on which a router is far from the optimum, with what it costs.

    Attributes
    ----------
    instance : RoutingInstance
        The queries and the workers.
    router, eviction : str
        Who serves them.
    seed : int
        Of the router and the policy.
    makespan, optimum : int or Fraction
        In ms; the optimum is proven.
    origin : str
        Where it comes from: a construction, or a search with its budget and seed.
    """

    instance: RoutingInstance
    router: str
    eviction: str
    seed: int
    makespan: Duration
    optimum: Duration
    origin: str

    @property
    def ratio(self) -> Fraction:
        """The makespan over the optimum, exactly."""
        return Fraction(self.makespan) / Fraction(self.optimum)

    def verify(self) -> None:
        """Run the router and prove the optimum again.

        Raises
        ------
        ClaimError
            If a number is another one.
        """
        again = witness(
            self.instance, self.router, self.eviction, seed=self.seed, origin=self.origin
        )
        for name in ("makespan", "optimum"):
            if getattr(again, name) != getattr(self, name):
                raise ClaimError(
                    f"the witness {self.instance.name} says {name} {getattr(self, name)} ms for "
                    f"{self.router}, it is {getattr(again, name)} ms"
                )

    def save(self, path: str | Path) -> None:
        """Write the witness as JSON, schema ``kvbounds/routing-witness/1``."""
        write_json(
            path,
            {
                "schema": SCHEMA,
                "router": self.router,
                "eviction": self.eviction,
                "seed": self.seed,
                "makespan": str(self.makespan),
                "optimum": str(self.optimum),
                "ratio": str(self.ratio),
                "origin": self.origin,
                "instance": self.instance.to_json(),
            },
        )

    @classmethod
    def load(cls, path: str | Path) -> RoutingWitness:
        """Read a witness; it is not verified yet.

        Raises
        ------
        InputError
            With the field that is missing or wrong.
        """
        return _witness_from(read_json(path, SCHEMA), str(path))


def _witness_from(value: dict[str, Any], where: str) -> RoutingWitness:
    for key, kind in (("router", str), ("eviction", str), ("seed", int), ("origin", str)):
        if not isinstance(value.get(key), kind):
            raise InputError(f"is no {kind.__name__}", where=f"{where}#/{key}")
    return RoutingWitness(
        RoutingInstance.from_json(value.get("instance"), f"{where}#/instance"),
        value["router"],
        value["eviction"],
        value["seed"],
        exact(value.get("makespan"), f"{where}#/makespan"),
        exact(value.get("optimum"), f"{where}#/optimum"),
        value["origin"],
    )


def witness(
    instance: RoutingInstance,
    router: str,
    eviction: str = "leaf-lru",
    *,
    seed: int = 0,
    origin: str = "construction",
) -> RoutingWitness:
    """Run a router on an instance and prove the optimum.

    Raises
    ------
    MissingProofError
        If the optimum cannot be proven.
    OptimumError
        If the router beats it.
    """
    run = route(instance, router, eviction, seed=seed)
    best = solve_makespan(instance, starts=[run.assignment])
    best.check(run.makespan, router)
    return RoutingWitness(instance, router, eviction, seed, run.makespan, best.require(), origin)


def witnesses() -> list[RoutingWitness]:
    """The witnesses that come with the toolkit, sorted by name."""
    folder = resources.files("adversary") / "witnesses" / "routing"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".json"))
    return [RoutingWitness.load(str(folder / name)) for name in files]


def load_routing_instance(path: str | Path) -> RoutingInstance:
    """Read an instance of the routing problem, or that of a witness."""
    value = read_json(path)
    if isinstance(value, dict) and value.get("schema") == SCHEMA:
        return _witness_from(value, str(path)).instance
    return RoutingInstance.load(path)
