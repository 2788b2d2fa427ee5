"""Checks of `state()` and of `sees`: what a policy says that its future depends on.

Two caches in states that are said to be equal are asked for the same few steps, and must do the
same, exactly: whole laws are compared. That finds faults and proves nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import NamedTuple

from adversary.checks.case import Finding, told
from adversary.tries import broom, caterpillar
from theory.cache import PrefixCache
from theory.errors import PolicyError
from theory.eviction import RandomisedPolicy, make_policy
from theory.exact.arena import Arena, sees
from theory.exact.growing import grows
from theory.model import Instance
from theory.trie import ROOT, TokenTrie

__all__ = ["canonical", "finite", "sees_no_more", "state"]

Steps = tuple[tuple[int, ...], ...]

BREADTH = 60
"""States of an arena that are expanded."""
COMPARISONS = 60
WALKS, WALK = 4, 40
AHEAD = 4
BRANCHES = 200
"""Outcomes that are followed for one law."""
MOST_BRANCHES = 12_000
"""Outcomes that are followed in one check."""


class _Exhausted(Exception):  # noqa: N818 - never seen outside
    """A law has too many branches to be followed."""


def _arenas(capacity: int) -> list[Arena]:
    """From small to large; single queries and pairs."""
    shapes = [
        (broom(1, 3)[0], 2, 1),
        (broom(1, 4)[0], 3, 1),
        (broom(2, 3)[0], 3, 1),
        (TokenTrie.from_parents([-1, 0, 1, 0, -1]), 3, 1),
        (caterpillar(3)[0], 4, 1),
        (broom(1, 4)[0], 3, 2),
        (TokenTrie.from_parents([-1, 0, 1, 0, -1]), 4, 2),
    ]
    if capacity > 4:
        shapes.append((broom(1, capacity + 1)[0], capacity, 1))
    return [Arena(trie, bound, beta) for trie, bound, beta in shapes if bound <= capacity]


def _cache(arena: Arena, policy: str, seed: int) -> PrefixCache:
    return PrefixCache(arena.trie, arena.capacity, make_policy(policy), seed=seed)


def _served(arena: Arena, policy: str, seed: int, steps: Steps) -> PrefixCache:
    cache = _cache(arena, policy, seed)
    for step in steps:
        cache.serve(step)
    return cache


def _law(
    cache: PrefixCache, steps: Sequence[tuple[int, ...]], left: list[int]
) -> dict[object, Fraction]:
    """The law of what is evicted, step by step."""
    if not steps:
        return {(): Fraction(1)}
    found: dict[object, Fraction] = {}
    begun = cache.begin_each(steps[0])
    left[0] -= len(begun) - 1
    todo = [(one, Fraction(1, len(begun))) for one in begun]
    while todo:
        now, weight = todo.pop()
        left[0] -= 1
        if left[0] < 0:
            raise _Exhausted
        if now.excess <= 0:
            gone = now.finish().evicted
            for rest, share in _law(now, steps[1:], left).items():
                key = (frozenset(gone), rest)
                found[key] = found.get(key, Fraction(0)) + weight * share
            continue
        leaves = now.leaves()
        if isinstance(now.policy, RandomisedPolicy):
            law = now.policy.distribution(leaves)
            for victim, share in law.items():
                if share:
                    then = now.fork()
                    then.evict(victim)
                    todo.append((then, weight * share))
        else:
            now.evict(now.policy.choose(leaves))
            todo.append((now, weight))
    return found


class _Purse:
    """How many outcomes may still be followed in a check."""

    def __init__(self) -> None:
        self.left = MOST_BRANCHES
        self.compared = 0

    def apart(self, one: PrefixCache, other: PrefixCache, first: Steps, second: Steps) -> bool:
        """Whether two caches do different things; False if that takes too long to tell."""
        laws = []
        for cache, steps in ((one, first), (other, second)):
            most = min(BRANCHES, self.left)
            left = [most]
            try:
                laws.append(_law(cache, steps, left))
            except _Exhausted:
                return False
            finally:
                self.left -= most - max(left[0], 0)
        self.compared += 1
        return laws[0] != laws[1]


def state(policy: str, instance: Instance, seed: int) -> str | None:
    """`state` is hashable, the same when asked twice, and the same in a fork."""
    cache = PrefixCache(instance.trie, instance.capacity, make_policy(policy), seed=seed)
    for number, step in enumerate(instance.steps):
        try:
            if not cache.tells_state:
                return f"step {number}: state() is not implemented any more"
        except PolicyError as error:
            return f"step {number}: {error.what}; {error.fix}"
        now = cache.policy.state()
        if cache.policy.state() != now:
            return f"step {number}: state() is another one when it is asked again"
        if cache.fork().policy.state() != now:
            return f"step {number}: state() of a fork is another one"
        cache.serve(step)
    return None


class _Met(NamedTuple):
    """A situation, and the steps that have led there."""

    cache: PrefixCache
    steps: Steps


def canonical(policy: str, capacity: int, seed: int) -> Finding:
    """Equal states and caches have equal futures: on short sequences, then on longer ones."""
    draw = Random(f"{seed}/canonical")
    purse, states = _Purse(), 0
    for arena in _arenas(capacity):
        batches = arena.batches("order")
        met: dict[Hashable, _Met] = {}
        left = COMPARISONS
        for now in _situations(arena, batches, policy, seed, met, draw):
            first = met.setdefault(now.cache.state(), now)
            if first is now or first.steps == now.steps or left == 0:
                continue
            left -= 1
            ahead = tuple(draw.choice(batches) for _ in range(draw.randint(1, AHEAD)))
            if purse.apart(first.cache, now.cache, ahead, ahead):
                return _not_canonical(arena, policy, seed, first.steps, now.steps, ahead)
        states += len(met)
    return Finding(
        "canonical",
        "pass",
        f"{states} states; {purse.compared} pairs of histories with equal states go on alike",
    )


def _situations(
    arena: Arena,
    batches: Sequence[tuple[int, ...]],
    policy: str,
    seed: int,
    met: dict[Hashable, _Met],
    draw: Random,
) -> Iterator[_Met]:
    """Breadth first, so that the first fault is short; then along random walks."""
    start = _Met(_cache(arena, policy, seed), ())
    yield start
    queue = [start]
    for count in range(BREADTH):
        if count == len(queue):
            break
        now = queue[count]
        for batch in batches:
            then = _after(now, batch)
            if then.cache.state() not in met:
                queue.append(then)
            yield then
    for _ in range(WALKS):
        now = _Met(_cache(arena, policy, draw.randrange(2**32)), ())
        for _ in range(WALK):
            now = _after(now, draw.choice(batches))
            yield now


def _after(now: _Met, batch: tuple[int, ...]) -> _Met:
    cache = now.cache.fork()
    cache.serve(batch)
    return _Met(cache, (*now.steps, batch))


def _not_canonical(
    arena: Arena, policy: str, seed: int, first: Steps, second: Steps, ahead: Steps
) -> Finding:
    """Tell the fault, cut down as long as it is one (of a deterministic policy)."""

    def wrong(one: Steps, other: Steps, then: Steps) -> bool:
        begun, also = (_served(arena, policy, seed, steps) for steps in (one, other))
        return begun.state() == also.state() and _Purse().apart(begun, also, then, then)

    parts = [first, second, ahead]
    smaller = wrong(*parts)
    while smaller:
        smaller = False
        for which in range(3):
            for at in range(len(parts[which])):
                cut = [*parts]
                cut[which] = parts[which][:at] + parts[which][at + 1 :]
                if wrong(*cut):
                    parts, smaller = cut, True
                    break
    first, second, ahead = parts
    steps = second + ahead
    case = Instance(arena.trie, arena.capacity, steps, len(steps) - 1)
    return Finding(
        "canonical",
        "fail",
        f"equal states and caches after {_shown(first)} and after {_shown(second)}, but then "
        f"{_shown(ahead)} is served in two ways; put what choose() depends on into state() "
        f"({told(case)})",
        case,
    )


def _shown(steps: Steps) -> str:
    text = " | ".join(" ".join(map(str, step)) for step in steps)
    return f"steps {text}" if steps else "no step"


def finite(policy: str, capacity: int, seed: int) -> Finding:
    """States return when situations do; if they grow on a cycle, something must depend on it.

    On deep tries there are counts that nothing can depend on, such as that of a token on every
    path. They are no fault where others decide; on a star all tokens are alike.
    """
    idle: tuple[Arena, Steps] | None = None
    decided: Steps | None = None
    looked = 0
    for arena in _arenas(capacity):
        batches = arena.batches("order")
        star = arena.trie.parents() == [ROOT] * len(arena.trie)
        for cycle in (tuple(batches[:1]), tuple(batches[:2]), tuple(batches[:12])):
            looked += 1
            if decided is not None and not star:
                continue
            if not grows(_cache(arena, policy, seed), cycle):
                continue
            if _decides(arena, policy, seed, cycle):
                decided = decided or cycle
            elif star:
                return _never_returns(arena, cycle)
            else:
                idle = idle or (arena, cycle)
    if idle is not None and decided is None:
        return _never_returns(*idle)
    if decided is not None:
        return Finding(
            "finite",
            "told",
            f"no: the states grow without end on the cycle of {_shown(decided)}, and victims "
            "depend on it; `exact` ends at its cap unless the ratio is unbounded",
        )
    return Finding("finite", "pass", f"on {looked} cycles the states return")


def _never_returns(arena: Arena, cycle: Steps) -> Finding:
    case = Instance(arena.trie, arena.capacity, cycle, 0)
    return Finding(
        "finite",
        "fail",
        "state() never returns while the cache does, and no continuation that was tried tells its "
        f"values apart; give ranks instead of times and counts ({told(case)}, repeated)",
        case,
    )


def _decides(arena: Arena, policy: str, seed: int, cycle: Steps) -> bool:
    """Whether some short word tells the states after different numbers of rounds apart."""
    cache = _cache(arena, policy, seed)
    rounds = []
    for _ in range(4):
        for step in cycle:
            cache.serve(step)
        rounds.append(cache.fork())
    words = list(_words(arena))
    for one, other in pairwise(rounds):
        if set(one.cached) == set(other.cached) and one.state() != other.state():
            for word in words:
                a, b = one.fork(), other.fork()
                if any(a.serve(step).evicted != b.serve(step).evicted for step in word):
                    return True
    return False


def _words(arena: Arena) -> Iterator[Steps]:
    """Words a^i b^j c^j ... z^k that fill the cache: counts catch up, and then somebody must go."""
    letters = [(query,) for query in arena.queries[: arena.capacity + 1]]
    turned = [letters[at:] + letters[:at] for at in range(len(letters))]
    for a, *middle, z in (*turned, *(order[::-1] for order in turned)):
        for i in range(4):
            for j in range(1, 6):
                for k in (1, 3):
                    yield (a,) * i + tuple(b for b in middle for _ in range(j)) + (z,) * k


def sees_no_more(policy: str, capacity: int, seed: int) -> Finding:
    """The policy depends on nothing of a batch that `sees` leaves out."""
    promise = make_policy(policy).sees
    if promise not in ("footprint", "queries", "order"):
        fault = f"sees can be 'footprint', 'queries' or 'order', not {promise!r}"
        return Finding("sees", "fail", fault)
    promise = sees(make_policy(policy))
    if promise == "order":
        return Finding("sees", "not applicable", "'order' promises nothing")
    draw = Random(f"{seed}/sees")
    purse = _Purse()
    tries = [broom(1, 5)[0], broom(2, 4)[0], TokenTrie.from_parents([-1, 0, 1, 0, -1, 4])]
    for trie in tries:
        for bound in {min(4, capacity), capacity}:
            for _ in range(12):
                cache = PrefixCache(trie, bound, make_policy(policy), seed=seed)
                steps: Steps = ()
                for _ in range(10):
                    step, other = _alike(trie, bound, promise, draw)
                    ahead = tuple(_alike(trie, bound, promise, draw)[0] for _ in range(3))
                    if step != other:
                        one, two = (step, *ahead), (other, *ahead)
                        if purse.apart(cache, cache, one, two):
                            case = Instance(trie, bound, (*steps, *two), len(steps))
                            return Finding(
                                "sees",
                                "fail",
                                f"promises {promise!r}, but after {_shown(steps)} the batches "
                                f"{list(step)} and {list(other)} are not the same to it, when "
                                f"{_shown(ahead)} follow ({told(case)})",
                                case,
                            )
                    cache.serve(step)
                    steps = (*steps, step)
    return Finding(
        "sees", "pass", f"{promise!r}: {purse.compared} pairs of batches that are the same to it"
    )


def _alike(
    trie: TokenTrie, bound: int, promise: str, draw: Random
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A batch that fits, and one that differs in what the promise leaves out."""
    while True:
        step = tuple(draw.sample(range(len(trie)), draw.randint(1, 3)))
        tokens = trie.footprint(step)
        if len(tokens) <= bound:
            break
    other = [*step]
    if promise == "footprint":  # some inner tokens of the footprint as queries, or not
        inner = set(map(trie.parent, tokens))
        other = [t for t in tokens if t not in inner or draw.random() < 0.5]
    draw.shuffle(other)
    return step, tuple(other)
