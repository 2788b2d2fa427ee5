"""The order that new members can enter anywhere, against a list; meldable heaps, against a sort."""

import random

import numpy as np

from theory.engine.meldable import delete, meld, no_links, single
from theory.engine.ordering import insert_below, no_labels, no_neighbours, take_out


def test_an_order_is_a_list() -> None:
    draw = random.Random(0)
    limit = 40
    neighbours, label = no_neighbours(limit), no_labels(limit)
    order: list[int] = []
    for _ in range(2000):
        member = draw.randrange(limit)
        if member in order:
            take_out(neighbours, label, member)
            order.remove(member)
        else:
            place = draw.randrange(len(order) + 1)
            insert_below(neighbours, label, [*order, limit][place], member)
            order.insert(place, member)
        assert sorted(order, key=label.__getitem__) == order
        assert {member for member in range(limit) if label[member]} == set(order)


def test_labels_are_spaced_anew_when_they_run_out() -> None:
    # Right below the same member 200 times: halving a gap of 2**62 alone would end after 62.
    limit = 200
    neighbours, label = no_neighbours(limit), no_labels(limit)
    insert_below(neighbours, label, limit, 0)
    for member in range(1, limit):
        insert_below(neighbours, label, 0, member)
    assert sorted(range(limit), key=label.__getitem__) == [*range(1, limit), 0]


def test_melding_and_deleting_keep_the_smallest_on_top() -> None:
    draw = random.Random(1)
    limit = 60
    key = np.array([draw.randrange(9) for _ in range(limit)])
    for _ in range(50):
        links = no_links(limit)
        heaps = [(single(links, member), {member}) for member in range(limit)]
        while len(heaps) > 1:
            draw.shuffle(heaps)
            (root, members), (other, others) = heaps.pop(), heaps.pop()
            root, members = meld(links, key, root, other), members | others
            gone = draw.choice(sorted(members))
            root = delete(links, key, root, gone)
            members.remove(gone)
            assert root == min(members, key=lambda m: (key[m], m), default=-1)
            heaps.append((root, members))
