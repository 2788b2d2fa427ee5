"""Families that the randomised leaf policies find hard: slack between phases, and three chains.

The *slack* of a phase is B minus its number of distinct tokens. A batch that brings many new tokens
ends a phase early; with slack left a long junk chain, which has one leaf, survives a uniform choice
among leaves phase after phase while the working sets, which have many leaves, lose tokens. The
step-granular rule (`rlt-step`) then works with B - |J| slots against the optimum's B, and its
logarithm is lost (Theorems R4 and R4'); the paper's rule (`rlt`) clears the junk first and has it.
"""

from __future__ import annotations

from adversary.tries import MOST, at_least, chains
from theory.errors import InputError
from theory.model import Instance

__all__ = ["slack", "slack_fixed", "three_chains"]


def _chain_length(size: int, beta: int) -> int:
    """The length c of the beta chains that make up a working set of `size` tokens."""
    at_least(size, 2, "size")
    at_least(beta, 1, "beta", most=10**3)
    if size % 2 or size % beta:
        raise InputError(
            f"size {size} is not even or not a multiple of beta {beta}",
            where="parameter size",
            fix="give an even size = beta * (length of a chain)",
        )
    return size // beta


def slack(size: int = 16, beta: int = 4, rounds: int = 0) -> Instance:
    """Theorem R4: rlt-step loses the logarithm on batches of at most 2 beta + 1 queries.

    A and C are working sets of beta chains each, J is a junk chain. A cycle is one step that loads
    J, A and a part of C, and fills the cache exactly; then C and A alternate. B = 2 size - 1 and
    u = k = size.

    Parameters
    ----------
    size : int
        l, the number of tokens of A and of C: even and a multiple of `beta`.
    beta : int
        Chains in A and in C.
    rounds : int
        T, the alternating steps of a cycle; 0 for beta + 2, as in the theorem.

    Notes
    -----
    In each cycle rlt-step pays at least ``(1 - e**-2) (beta + 2) size / 4`` on average, the optimum
    at most ``size + beta + 2``.

    Examples
    --------
    >>> instance = slack(size=8, beta=4)
    >>> instance.capacity, instance.u, instance.k, instance.beta, len(instance.cycle)
    (15, 8, 8, 7, 7)
    """
    c = _chain_length(size, beta)
    at_least(rounds, 0, "rounds", most=MOST // beta)
    junk = size // 2 - 1
    lengths = [c] * (2 * beta) + ([junk] if junk else [])
    trie, ends = chains(lengths)
    a, b, j = ends[:beta], ends[beta : 2 * beta], ends[2 * beta :]
    whole, rest = divmod(size - 1 - junk, c)  # the part of C: whole chains, then a piece of one
    part = [*b[:whole], *([b[whole] - c + rest] if rest else [])]
    alternating = [b if step % 2 == 0 else a for step in range(rounds or beta + 2)]
    return Instance(
        trie,
        2 * size - 1,
        [(*j, *a, *part), *alternating],
        cycle_start=0,
        name="slack",
        notes={"source": "Theorem R4", "shows": "rlt-step is not O(log k) on batches; rlt is"},
    )


def slack_fixed(size: int = 16, beta: int = 4, handle: int = 0) -> Instance:
    """Theorem R4': the same with exactly `beta` pairwise incomparable queries in every batch.

    Everything hangs below a handle. A cycle is a step with J and beta - 1 chains of A, and then
    C and A alternate for beta + 2 steps. B = 2 size - 1 + handle, k = size; with chains of one
    token and handle = L - 1 this is the setting of Theorem 2 with k = B - L - beta + 2.

    Parameters
    ----------
    size : int
        l, the number of tokens of A and of C below the handle: even and a multiple of `beta`.
    beta : int
        Queries a batch: even, at least 4.
    handle : int
        h, the tokens that all queries share.

    Notes
    -----
    From the second cycle on rlt-step pays at least ``(1 - e**-2) (beta + 2) size / 4`` a cycle on
    average, the optimum at most ``size + beta``.

    Examples
    --------
    >>> instance = slack_fixed(size=8, beta=8, handle=2)
    >>> instance.capacity, instance.u, instance.k, instance.beta, instance.shortest
    (17, 10, 8, 8, 3)
    """
    at_least(beta, 4, "beta")
    if beta % 2:
        raise InputError(f"beta {beta} is odd", where="parameter beta", fix="give an even number")
    c = _chain_length(size, beta)
    at_least(handle, 0, "handle")
    trie, ends = chains([c] * (2 * beta) + [size // 2 - 1], handle)
    a, b, junk = ends[:beta], ends[beta : 2 * beta], ends[2 * beta]
    return Instance(
        trie,
        2 * size - 1 + handle,
        [(*a[:-1], junk), *([b, a] * (beta // 2 + 1))],
        cycle_start=0,
        name="slack-fixed",
        notes={
            "source": "Theorem R4'",
            "shows": "rlt-step is not O(log k) on batches of exactly beta queries; rlt is",
        },
    )


def three_chains(singles: int = 5, length: int = 1) -> Instance:
    """Three chains of two tokens and some single ones: single queries, no slack.

    Phase i asks for x_i, x'_{i+2}, x'_i and then all singles (indices modulo 3, x' below x). The
    optimum misses one token a phase. B = k = singles + 4 for length 1; for 5 to 14 singles the cost
    of rlt (equal to rlt-step here) in a phase exceeds 2 H_k - 1, so that is no bound on all tries.

    Parameters
    ----------
    singles : int
        p, the number of single tokens.
    length : int
        L, the length of the shortest query: all tokens hang below a handle of L - 1.

    Examples
    --------
    >>> instance = three_chains(singles=5, length=3)
    >>> instance.capacity, instance.k, len(instance.cycle) // 3
    (11, 9, 8)
    """
    at_least(singles, 1, "singles")
    at_least(length, 1, "length")
    handle = length - 1
    trie, ends = chains([2] * 3 + [1] * singles, handle)
    low, single = ends[:3], [(end,) for end in ends[3:]]
    steps: list[tuple[int, ...]] = []
    for i in range(3):
        top = low[i] - 1
        steps += [(top,), (low[(i + 2) % 3],), (low[i],), *single]
    return Instance(
        trie,
        singles + 4 + handle,
        steps,
        cycle_start=0,
        name="three-chains",
        notes={
            "source": "a phase costs 118463/25200 for 5 singles, exactly",
            "shows": "rlt exceeds 2 H_k - 1 with single queries",
        },
    )
