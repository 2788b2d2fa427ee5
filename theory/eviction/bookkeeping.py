"""What several policies keep about the cached tokens: recency, use counts, granularity."""

from __future__ import annotations

from theory.errors import PolicyError
from theory.eviction.base import Granularity, Step
from theory.trie import TokenTrie

__all__ = ["check_granularity", "count_uses", "touch"]


def check_granularity(value: str) -> Granularity:
    """Return `value` if it names a granularity, else raise `PolicyError`.

    Examples
    --------
    >>> check_granularity("node")
    'node'
    """
    if value == "token":
        return "token"
    if value == "node":
        return "node"
    raise PolicyError(f"granularity can be 'token' or 'node', not {value!r}")


def touch(last: dict[int, int], step: Step) -> None:
    """Refresh the time of last access as SGLang 0.5.23 does.

    Its match stamps the whole last node before the node is split, so the unmatched rest becomes
    young too; its insert then stamps the footprint alone. So in every step the rest is just older
    than the footprint: times ``2 j`` and ``2 j + 1``. A token-granular cache has no such rest.

    Examples
    --------
    >>> last = {}
    >>> touch(last, Step(5, queries=(1,), tokens=(0, 1), hits=(0, 1), misses=(), split_off=(2,)))
    >>> last
    {2: 10, 0: 11, 1: 11}
    """
    last.update(dict.fromkeys(step.split_off, 2 * step.number))
    last.update(dict.fromkeys(step.tokens, 2 * step.number + 1))


def count_uses(uses: dict[int, int], step: Step, trie: TokenTrie) -> None:
    """Count one use of each token of each query of the step; a new token starts at its uses now.

    Examples
    --------
    >>> uses = {}
    >>> broom = TokenTrie.from_parents([-1, 0, 0])
    >>> count_uses(uses, Step(0, (1, 2), (0, 1, 2), (), (0, 1, 2)), broom)
    >>> uses
    {0: 2, 1: 1, 2: 1}
    """
    for query in step.queries:
        for token in trie.path(query):
            uses[token] = uses.get(token, 0) + 1
