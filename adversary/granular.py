"""Families on which policies that evict or refresh whole radix nodes do badly."""

from __future__ import annotations

from adversary.tries import at_least, chains
from theory.model import Instance
from theory.trie import TokenTrie

__all__ = ["rlt_node", "sglang", "sglang_cuts", "sglang_twice", "two_chains"]


def two_chains(size: int = 4, handle: int = 0) -> Instance:
    """Two chains in turn, one token too many for the cache.

    B = 2 size - 1 (+ handle). Whole-node LRU evicts the other chain completely and pays `size` = k
    in every step; leaf by leaf, one token is enough, and Leaf-LRU is optimal.

    Parameters
    ----------
    size : int
        The tokens of each chain.
    handle : int
        The tokens above both.

    Examples
    --------
    >>> instance = two_chains(4)
    >>> instance.capacity, instance.u, instance.k
    (7, 4, 4)
    """
    at_least(size, 1, "size")
    trie, ends = chains([size, size], handle)
    return Instance(
        trie,
        2 * size - 1 + handle,
        [(end,) for end in ends],
        cycle_start=0,
        name="two-chains",
        notes={
            "source": "model, section 3",
            "shows": "node-lru pays k a step, leaf-lru and the optimum 1",
        },
    )


def rlt_node(slots: int = 8, handle: int = 0) -> Instance:
    """A long chain D of k - 1 tokens and two leaves p and x, asked for as x, D, p, D.

    B = slots + handle, u = handle + 1, k = slots. When x or p comes, the uniform choice among
    *nodes* takes D or the other leaf with probability 1/2 each: (k + 1)/2 a pair of steps, against
    1 of the optimum. Among *tokens*, D loses one at most.

    Parameters
    ----------
    slots : int
        k, at least 2.
    handle : int
        The tokens above all.

    Examples
    --------
    >>> instance = rlt_node(slots=8)
    >>> instance.capacity, instance.k, len(instance.cycle)
    (8, 8, 4)
    """
    at_least(slots, 2, "slots")
    trie, (d, p, x) = chains([slots - 1, 1, 1], handle)
    return Instance(
        trie,
        slots + handle,
        [(x,), (d,), (p,), (d,)],
        cycle_start=0,
        name="rlt-node",
        notes={
            "source": "model, section 4",
            "shows": "rlt-node has ratio (k + 1)/2 here, the logarithm is lost",
        },
    )


def sglang() -> Instance:
    """The refresh before the split (SGLang 0.5.23) exceeds B - u + 1: B = 5, cost 18 against 3.

    A partial match refreshes the last access of the whole node before the node is split, so that
    a suffix nobody asked for becomes young: `sglang-lru` is not marking. Splitting first
    (`node-lru`) costs 9 a cycle.

    Examples
    --------
    >>> instance = sglang()
    >>> instance.capacity, instance.u, instance.k, len(instance.cycle)
    (5, 1, 5, 15)
    """
    trie = TokenTrie.from_parents([-1, -1, -1, -1, 0, 1, 2])
    prefix = (0, 3, 5, 6)
    cycle = (0, 1, 3, 6, 4, 1, 2, 3, 4, 5, 2, 0, 3, 5, 6)
    return Instance(
        trie,
        5,
        [(query,) for query in (*prefix, *cycle)],
        cycle_start=len(prefix),
        name="sglang",
        notes={
            "source": "found by the exact solver",
            "shows": "sglang-lru has ratio 6 > B - u + 1 = 5",
        },
    )


def sglang_twice(weight: int = 3, handle: int = 0) -> Instance:
    """The refresh before the split makes `sglang-lru` almost twice as bad as Leaf-LRU: 2k - 4.

    Three chains of two tokens, a long chain D that is only asked for as a whole, and a single
    token e. In a phase one of the three is split, so that its rest, which nobody asks for until
    the phase is over, outlives D and what else is needed: D and a first token are loaded twice.
    The policy pays 2 weight + 6 = 2k - 4 a phase, the optimum 1.

    Parameters
    ----------
    weight : int
        The tokens of D; k = weight + 5.
    handle : int
        The tokens above all chains.

    Examples
    --------
    >>> instance = sglang_twice(20)
    >>> instance.capacity, instance.u, instance.k, len(instance.cycle)
    (25, 1, 25, 30)
    """
    at_least(weight, 1, "weight")
    trie, ends = chains([2, 2, 2, weight, 1], handle)
    (a, b, c), (d, e) = ((end - 1, end) for end in ends[:3]), ends[3:]
    queries = [d, a[0], e, c[1], b[1]]
    for x, y, z in ((a, b, c), (c, a, b), (b, c, a)):
        queries += [d, y[1], x[0], z[0], e, d, z[0], e, y[1], x[1]]
    return Instance(
        trie,
        weight + 5 + handle,
        [(query,) for query in queries],
        cycle_start=5,
        name="sglang-twice",
        notes={
            "source": "generalises what the exact solver finds for weight 1, 2, 3 and 6",
            "shows": "sglang-lru pays 2k - 4 a phase against 1",
        },
    )


def sglang_cuts(cuts: int = 3, weight: int = 20, handle: int = 0) -> Instance:
    """A chain that is cut q times keeps its end young q times: `sglang-lru` is superlinear in k.

    q = `cuts` chains of q + 1 tokens, two blocks of q + 1 and a long chain D that are only asked
    for as wholes, and two single tokens. Each cut of a chain refreshes its last token, which nobody
    asks for, and all else leaves before it. The blocks take turns: the one that the optimum drops
    keeps its place long enough for all the chains to leave, pieces and all, and to come back whole.

    Parameters
    ----------
    cuts : int
        q; with cuts about sqrt(2 k / 3) the ratio is about 0.27 k sqrt(k).
    weight : int
        The tokens of D; k = weight + 1 + (q + 1) ** 2.
    handle : int
        The tokens above all chains.

    Examples
    --------
    >>> instance = sglang_cuts(cuts=8, weight=20)
    >>> instance.capacity, instance.u, instance.k
    (102, 1, 102)
    """
    at_least(cuts, 1, "cuts", most=100)
    at_least(weight, 1, "weight")
    size = cuts + 1
    trie, ends = chains([weight, 1, 1, size, size, *[size] * cuts], handle)
    long, there, gone, old, new = ends[:5]
    split = ends[5:]
    first = [*split, old, long, there]
    cycle: list[int] = []
    for _ in range(2):
        cycle += [*split, old, long, there, new, *split]
        for place, end in enumerate(split):
            others = [*split[place + 1 :], *split[:place]]
            cycle += split[place - 1 : place]
            for cut in range(end - cuts, end):
                cycle += [there, cut, gone, long, new, *others]
                there, gone = gone, there
        old, new = new, old
    return Instance(
        trie,
        weight + 1 + size**2 + handle,
        [(query,) for query in (*first, *cycle)],
        cycle_start=len(first),
        name="sglang-cuts",
        notes={
            "source": "theorem on SGLang's LRU",
            "shows": "sglang-lru has a ratio of the order of k sqrt(k)",
        },
    )
