"""A trace of many blocks, made and measured; prints seconds and peak memory as JSON."""

import json
import resource
import sys
import time

import numpy as np

from theory.engine import Flat, StackDistances, optimum
from theory.engine import kernel as kernels


def conversations(blocks: int) -> Flat:
    """Prompts of 1 to 50 blocks; each continues one of the prompts before it, or begins anew."""
    rng = np.random.default_rng(1)
    parent: list[int] = []
    depth: list[int] = []
    last: list[int] = []
    open_: list[int] = []  # where conversations have come to
    uses = 0
    while uses < blocks:
        draws = rng.random(4096)
        lengths = rng.integers(1, 9, 4096)
        for draw, length in zip(draws.tolist(), lengths.tolist(), strict=True):
            if draw < 0.1 or not open_:
                place, above = len(open_), -1
                open_.append(-1)
            else:
                place = int((draw - 0.1) / 0.9 * len(open_))
                above = open_[place] if depth[open_[place]] < 42 else -1
            for _ in range(length):
                parent.append(above)
                depth.append(depth[above] + 1 if above >= 0 else 1)
                above = len(parent) - 1
            open_[place] = above
            last.append(above)
            uses += depth[above]
    return Flat(np.array(parent), np.arange(len(last) + 1), np.array(last))


if __name__ == "__main__":
    kernels.expect(2**62)
    small = conversations(1000)  # loads the kernels
    StackDistances(small).misses()
    optimum(small, small.units)
    flat = conversations(int(sys.argv[1]))
    began = time.perf_counter()
    distances = StackDistances(flat)
    distances.misses()
    for capacity in np.geomspace(flat.footprint.max(), flat.units, 16).astype(int).tolist():
        distances.counts(capacity)
    curve = time.perf_counter() - began
    began = time.perf_counter()
    optimum(flat, flat.units // 20)
    print(
        json.dumps(
            {
                "blocks": int(flat.footprint.sum()),
                "curve": curve,
                "optimum": time.perf_counter() - began,
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            }
        )
    )
