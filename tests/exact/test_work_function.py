"""The layers against the work function in full, and against farthest-next-use."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from mip.belady import farthest_next_use
from tests.theory.strategies import examples, instances
from theory.exact.arena import mask
from theory.exact.verify_upper import WorkFunctions
from theory.exact.work_function import EMPTY, WorkFunction, serve
from theory.model import Instance


def rank(layers: WorkFunction, cache: frozenset[int]) -> int:
    """The size of a largest independent part of `cache`."""
    found = 0
    for tokens, slots in layers:
        found = min(found + (mask(cache) & tokens).bit_count(), found_slots(layers, tokens))
        assert slots > 0
    return found


def found_slots(layers: WorkFunction, last: int) -> int:
    """The slots of the layers up to the one with the tokens `last`."""
    total = 0
    for tokens, slots in layers:
        total += slots
        if tokens == last:
            break
    return total


@given(instances(most_tokens=7, most_steps=15, most_queries=3))
@examples(200)
def test_layers_are_the_work_function(instance: Instance) -> None:
    functions = WorkFunctions(instance.trie, instance.capacity)
    full, layers, total = functions.start, EMPTY, 0
    for index in range(len(instance.steps)):
        tokens = instance.footprint(index)
        full, rise = functions.serve(full, tokens)
        layers, increase = serve(layers, mask(tokens), instance.capacity)
        assert increase == rise
        total += increase
        values = np.frombuffer(full, dtype=np.int32)
        for cache, value in zip(functions.caches, values.tolist(), strict=True):
            assert value == len(cache) - rank(layers, cache)
    assert total == farthest_next_use(instance, schedule=False).misses


@given(instances(most_tokens=20, most_steps=60, most_queries=4))
@examples(100)
def test_increases_add_up_to_the_optimum(instance: Instance) -> None:
    layers, total = EMPTY, 0
    for index in range(len(instance.steps)):
        layers, increase = serve(layers, mask(instance.footprint(index)), instance.capacity)
        total += increase
        below = layers[:-1]
        assert all(tokens.bit_count() > slots for tokens, slots in below)  # canonical
        assert sum(slots for _, slots in layers) <= instance.capacity
    assert total == farthest_next_use(instance, schedule=False).misses
