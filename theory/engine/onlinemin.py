"""Kernel: Seated OnlineMIN."""

from __future__ import annotations

import numpy as np

from theory.engine.arrays import Array, Indices, Runs, StepCounts
from theory.engine.fenwick import change, empty, kth
from theory.engine.heap import Heap, new_heap, pop, push
from theory.engine.kernel import helper, kernel
from theory.engine.layers import (
    ABOVE,
    BELOW,
    HELD,
    ROOT,
    SIZE,
    SLOTS,
    Table,
    Tree,
    find,
    first_full,
    join,
    lowest_of_all,
    lowest_up_to,
    no_layers,
    refresh,
)
from theory.engine.meldable import Links, delete, meld, no_links, single
from theory.engine.minima import ABSENT, assign, minimum, none
from theory.engine.ordering import insert_below, no_labels, no_neighbours, take_out
from theory.engine.subtrees import subtrees
from theory.engine.twister import State, below

__all__ = ["seated_onlinemin"]

LOW = 32
MASK = (1 << LOW) - 1


@helper
def _evict_virtual(
    tree: Tree,
    key: Array,
    table: Table,
    up: Array,
    links: Links,
    place_of: Indices,
    seat: Indices,
    owner: Indices,
    spares: Heap,
    unit: int,
) -> Heap:
    """Take a unit out of the basis; its seat becomes spare."""
    place = find(up, place_of[unit])
    table[place, HELD] -= 1
    table[place, ROOT] = delete(links, key, table[place, ROOT], unit)
    refresh(tree, key, table, place)
    if seat[unit] >= 0:
        spares = push(spares, 0, 1, seat[unit])
        owner[seat[unit]] = -1
        seat[unit] = -1
    return spares


@helper
def _take_slot(tree: Tree, key: Array, table: Table, up: Array, links: Links, place: int) -> None:
    """Take a slot from a layer; without any left it joins the one below, or is forgotten."""
    table[place, SLOTS] -= 1
    if table[place, SLOTS] == 0:
        join(tree, key, table, up, links, place, table[place, BELOW])
    else:
        refresh(tree, key, table, place)


@helper
def _append(table: Table, place: int, size: int) -> None:
    """A new highest layer, all of whose units are in the basis."""
    table[place, SLOTS] = table[place, SIZE] = table[place, HELD] = size
    table[place, ROOT] = -1
    below = table[0, BELOW]
    table[place, BELOW] = below
    table[place, ABOVE] = 0
    table[below, ABOVE] = place
    table[0, BELOW] = place


@kernel()
def seated_onlinemin(
    runs: Runs, capacity: int, epoch: int, state: State, counts: StepCounts
) -> None:
    """Fill `counts`; runs are single units, and an epoch ends when the optimum has grown so much.

    With N units, T steps and D the depth of the trie. Virtual cache: the layers are in a segment
    tree over their places, each with a heap of its units of the basis, so every miss and every join
    takes amortised O(log N + log T). Layers are joined at most once each, and only the layer that
    was the highest before a step can become no restriction by it. The order of priorities is a list
    with labels, which a unit enters in O(log N). A restart looks at all units.

    Real cache: the least recently used leaf below a spare unit is the least recently used unit of
    its subtree, which is a range of a segment tree. The spare units are in a heap by that leaf,
    with entries that may be out of date: use only makes leaves younger, so an entry that is found
    too old goes back in with its leaf of now. Every use and every eviction changes the oldest leaf
    of at most D units: O(D log N) for each, and in practice much less.
    """
    parent, _, start, use, _, _ = runs
    hits, misses, evicted = counts
    units = len(parent)
    places = len(start)
    neighbours = no_neighbours(units)  # the order of priorities
    key = no_labels(units)
    placed = empty(units)  # the units in that order
    placements = 0
    pending = np.empty(capacity, np.int32)  # the units that are to get a place in it
    unplaced = 0
    links = no_links(units)
    virtual = np.zeros(units, np.bool_)
    place_of = np.zeros(units, np.int32)
    table = np.zeros((places, 6), np.int64)
    up = np.arange(places)
    tree = no_layers(places)
    slots = 0  # of all layers
    since = 0  # the growth of the optimum in this epoch
    cached = np.zeros(units, np.bool_)
    seat = np.full(units, -1, np.int32)
    owner = np.full(units, -1, np.int32)
    begin, end = subtrees(parent)
    ages = none(units)  # by the place of a cached unit: its last use and, of equals, later first
    spares = new_heap()
    size = 0
    for step in range(len(start) - 1):
        footprint = use[start[step] : start[step + 1]]
        place = table[0, BELOW]
        for unit in pending[:unplaced]:
            drawn = below(state, placements + 1)
            higher = kth(placed, drawn) if drawn < placements else units
            insert_below(neighbours, key, higher, unit)
            change(placed, unit, 1)
            placements += 1
            table[place, ROOT] = meld(links, key, table[place, ROOT], single(links, unit))
        if unplaced > 0:
            refresh(tree, key, table, place)
        hit = 0
        for unit in footprint:
            if cached[unit]:
                hit += 1
            place = find(up, place_of[unit])
            if place == 0:
                since += 1
                continue
            if virtual[unit]:
                table[place, HELD] -= 1
                table[place, ROOT] = delete(links, key, table[place, ROOT], unit)
            else:
                victim = lowest_up_to(tree, key, first_full(tree, place))
                virtual[victim] = False
                spares = _evict_virtual(
                    tree, key, table, up, links, place_of, seat, owner, spares, victim
                )
            table[place, SIZE] -= 1
            place_of[unit] = 0
            _take_slot(tree, key, table, up, links, place)
            slots -= 1
        while slots > capacity - len(footprint):
            victim = lowest_of_all(tree)
            virtual[victim] = False
            spares = _evict_virtual(
                tree, key, table, up, links, place_of, seat, owner, spares, victim
            )
            _take_slot(tree, key, table, up, links, table[0, BELOW])
            slots -= 1
        slots += len(footprint)
        for unit in footprint:
            virtual[unit] = True
        place = step + 1
        highest = table[0, BELOW]
        unplaced = 0
        if 0 < epoch <= since:
            since = 0
            while table[0, ABOVE] > 0:
                join(tree, key, table, up, links, table[0, ABOVE], 0)
            _append(table, place, slots)
            for unit in range(units):
                if key[unit] > 0:
                    take_out(neighbours, key, unit)
                    change(placed, unit, -1)
                if virtual[unit]:
                    place_of[unit] = place
                    pending[unplaced] = unit
                    unplaced += 1
            placements = 0
        else:
            _append(table, place, len(footprint))
            for unit in footprint:
                if key[unit] > 0:
                    take_out(neighbours, key, unit)
                    change(placed, unit, -1)
                    placements -= 1
                place_of[unit] = place
                pending[unplaced] = unit
                unplaced += 1
            if highest > 0 and table[highest, SIZE] <= table[highest, SLOTS]:
                join(tree, key, table, up, links, highest, place)
        for unit in footprint:
            assign(ages, begin[unit], (step << LOW) | (MASK - unit))
            if owner[unit] >= 0:
                seat[owner[unit]] = -1
            owner[unit] = unit
            seat[unit] = unit
        hits[step] = hit
        misses[step] = len(footprint) - hit
        size += len(footprint) - hit
        evicted[step] = max(size - capacity, 0)
        while size > capacity:
            age, _, spare = pop(spares)
            if owner[spare] >= 0 or not cached[spare]:
                continue
            now = minimum(ages, begin[spare], end[spare])
            if now > age:
                spares = push(spares, now, 1, spare)
                continue
            leaf = MASK - (now & MASK)
            unit = leaf
            moved = owner[unit]
            owner[unit] = -1
            while moved >= 0:  # each owner up to the next spare unit moves up by one
                unit = parent[unit]
                next_moved = owner[unit]
                owner[unit] = moved
                seat[moved] = unit
                moved = next_moved
            if unit != spare:
                spares = push(spares, now, 1, spare)
            cached[leaf] = False
            assign(ages, begin[leaf], ABSENT)
            size -= 1
        for unit in footprint:
            cached[unit] = True
