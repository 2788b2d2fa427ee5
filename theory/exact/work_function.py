r"""The work function of the offline optimum, canonical: a few layers of tokens with slots.

The work function after some steps gives to every cache Z the least cost of serving them and ending
in Z. Up to its minimum it is the nullity of a *nested matroid* M on the tokens:

    w(Z) = OPT + |Z| - r_M(Z)

So the states that no other dominates are the bases of M, all at offset 0; every other Z is
dominated by a basis Z* that contains a largest independent part of Z, since w(Z) is the minimum
plus the |Z \ Z*| tokens that Z has on top. A nested matroid is a short list of layers: disjoint
sets X_1, ..., X_m of tokens with s_1, ..., s_m slots; a set is independent if for every i it has at
most s_1 + ... + s_i tokens of X_1, ..., X_i, and no token outside the layers. With every layer but
the last larger than its slots the list is unique, hence the state is finite and canonical.

A step with footprint U contracts U, cuts the rank to B - |U| and puts U on top as free tokens; the
minimum rises by the number of tokens of U that are not independent of the others before them.

Proof. Lazy schedules suffice: they hold U_t in Z_t in Z_{t-1} u U_t. Write M for the matroid before
the step, M' for the one after it, D = |U| - r_M(U) and n for the nullity |.| - r(.). Contraction
and truncation give, for U in Z and |Z| <= B, r_M'(Z) = |U| + min(B - |U|, r_M(Z) - r_M(U)) =
min(B, D + r_M(Z)) = D + r_M(Z), because D + r_M(Z) <= |U| + |Z \ U| = |Z| <= B. Hence
D + n_M'(Z) = n_M(Z). (1) If Z is reached from Y, Z in Y u U, then n_M(Z) <= n_M(Y u U) <=
n_M(Y) + |U \ Y|: no schedule beats w' = w + cost. (2) It is attained: let Z be a basis of M' and I
a largest part of U that is independent in M. (Z \ U) u I is independent in M; extend it to a basis
Y. Then Z in Y u U, and the step from Y costs |U \ Y| = |U| - |I| = D. Going backwards from any
basis gives a schedule that costs the sum of all D, so OPT is exactly that sum. (Schedules with
caches that are not prefix-closed cost no less: model, Lemma 1.)
"""

from __future__ import annotations

__all__ = ["EMPTY", "WorkFunction", "serve"]

WorkFunction = tuple[tuple[int, int], ...]
"""The layers from low to high, each a mask of tokens and a number of slots."""

EMPTY: WorkFunction = ()
"""Before the first step: the empty cache."""


def serve(layers: WorkFunction, footprint: int, capacity: int) -> tuple[WorkFunction, int]:
    """The work function after one more step, and by how much its minimum rises.

    Parameters
    ----------
    layers : WorkFunction
        The work function before the step.
    footprint : int
        The mask of U, at most `capacity` tokens.
    capacity : int
        B.

    Returns
    -------
    layers : WorkFunction
        The work function after the step.
    increase : int
        The growth of OPT, in misses.

    Examples
    --------
    Two single tokens fill the cache; a third takes a slot from one of them, whichever it is:

    >>> layers = EMPTY
    >>> for token in (0, 1, 2):
    ...     layers, increase = serve(layers, 1 << token, capacity=2)
    >>> layers, increase
    (((3, 1), (4, 1)), 1)
    """
    tokens = [x for x, _ in layers]
    slots = [s for _, s in layers]
    increase = 0
    rest = footprint
    while rest:
        token = rest & -rest
        rest ^= token
        place = next((i for i, x in enumerate(tokens) if x & token), None)
        if place is None:
            increase += 1
            continue
        tokens[place] ^= token
        slots[place] -= 1
        _merge_down(tokens, slots, place)
    surplus = sum(slots) - (capacity - footprint.bit_count())
    while surplus > 0:
        taken = min(surplus, slots[-1])
        slots[-1] -= taken
        surplus -= taken
        _merge_down(tokens, slots, len(slots) - 1)
    tokens.append(footprint)
    slots.append(footprint.bit_count())
    result: list[tuple[int, int]] = []
    held, free = 0, 0
    for x, s in zip(tokens, slots, strict=True):
        held, free = held | x, free + s
        if held.bit_count() > free:
            result.append((held, free))
            held, free = 0, 0
    if held:
        result.append((held, free))
    return tuple(result), increase


def _merge_down(tokens: list[int], slots: list[int], place: int) -> None:
    """Join a layer without slots to the one below; without one, its tokens can never be kept."""
    if slots[place] == 0:
        if place:
            tokens[place - 1] |= tokens[place]
        del tokens[place], slots[place]
