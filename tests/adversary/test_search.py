"""The search finds the known worst cases, certifies them and makes them minimal."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from adversary import search as search_module
from adversary.beam import beam
from adversary.cyclic import cyclic
from adversary.evolve import change_sequence, change_strategy
from adversary.families import FAMILIES
from adversary.growth import Candidate, Point, fit, growing_beta, growth, proved_growth
from adversary.measure import Score, certify, measure
from adversary.search import Search
from adversary.shrink import shrink
from adversary.strategy import LETTERS, Strategy, brooms, play, random_board, random_strategy
from adversary.target import Target
from mip.belady import farthest_next_use
from tests.exact.policies import Stateless
from theory.bounds import evaluate
from theory.cache import run
from theory.errors import CapacityError, InputError, PolicyError
from theory.jsonfile import dumps
from theory.model import Instance
from theory.trie import TokenTrie


def searched(target, rounds=1, seed=0):
    search = Search(target, seed)
    for _ in range(rounds):
        search.advance()
    return search


def costs_of_more_cycles(instance, policy, cycles=12):
    """Policy and optimum, straight from the executable cache and farthest-next-use."""
    few, more = instance.unrolled(cycles), instance.unrolled(2 * cycles)
    return (
        run(more, policy).misses - run(few, policy).misses,
        farthest_next_use(more, schedule=False).misses
        - farthest_next_use(few, schedule=False).misses,
    )


# Found by search alone, without the families and the exact solver.
@pytest.mark.parametrize(
    ("policy", "least"),
    [
        ("leaf-lru", 4),
        ("fifo", 4),
        ("clock-clear", 6),
        ("lfu", None),
        ("mru", None),
        ("slru", None),
        pytest.param("rlt", Fraction(5, 2), marks=pytest.mark.slow),
    ],
)
def test_search_alone(policy, least, monkeypatch):
    monkeypatch.setattr(search_module, "known", lambda *_: [])
    monkeypatch.setattr(search_module, "EXACT_CAPACITY", 0)
    target = Target(policy, 4)
    search = Search(target, seed=3)
    for _ in range(3):
        search.advance()
        if search.finished:
            break
    found = search.result()
    assert not found.found_by.startswith(("family", "exact"))
    if least is None:
        assert found.score.ratio is None
        assert found.score.exact
        cost, optimum = costs_of_more_cycles(found.instance, policy)
        assert cost > 0
        assert optimum == 0
    else:
        assert found.score.ratio >= least
    if policy in ("leaf-lru", "node-lru"):
        assert found.score.ratio == 4  # Theorem 1: never more than B - u + 1


@pytest.mark.parametrize("policy", ["leaf-lru", "fifo", "clock-clear"])
def test_result_is_what_the_executable_cache_and_the_optimum_say(policy):
    found = searched(Target(policy, 3)).result()
    assert found.score.exact
    cost, optimum = costs_of_more_cycles(found.instance, policy, cycles=30)
    assert Fraction(cost, optimum) == found.score.ratio


@pytest.mark.parametrize(("beta", "length"), [(2, 1), (1, 3), (2, 2), (3, 2)])
def test_the_rules_of_the_target_are_kept(beta, length):
    target = Target("leaf-lru", 6, beta, length)
    search = searched(target)
    for candidate in search.pool:
        instance = candidate.instance
        assert all(len(step) == beta for step in instance.steps)
        assert instance.shortest >= length
    assert search.result().score.ratio == evaluate("leaf-lru-exact", B=6, L=length, beta=beta)


def test_exact_solver_takes_part_where_the_capacity_is_small():
    best = searched(Target("rlt", 2)).result()
    assert best.score.exact
    assert best.score.ratio == evaluate("broom-exact", k=2)


def test_sglang_lru_exceeds_the_bound_of_marking_policies():
    best = searched(Target("sglang-lru", 5)).result()
    assert best.score.ratio >= 6


def test_seeded_resumable_and_the_same_for_any_number_of_processes():
    target = Target("clock", 3)
    straight = searched(target, rounds=2, seed=5)
    saved = searched(target, rounds=1, seed=5).to_json()
    resumed = Search.from_json(saved)
    assert resumed.to_json() == saved
    resumed.advance(jobs=2)
    assert dumps(resumed.to_json()) == dumps(straight.to_json())


@pytest.mark.parametrize(
    "damage",
    [
        lambda value: value.pop("pool"),
        lambda value: value.update(capacity="3"),
        lambda value: value["pool"][0].pop("instance"),
        lambda value: value["pool"][0].update(policy_cost="x"),
        lambda value: value["pool"][0]["instance"].update(steps=[[99]]),
        lambda value: value.update(seed="x"),
    ],
)
def test_a_damaged_state_is_one_clear_error(damage):
    value = searched(Target("mru", 2)).to_json()
    damage(value)
    with pytest.raises(InputError):
        Search.from_json(value, "state.json")


def test_bad_targets():
    with pytest.raises(CapacityError, match="do not fit into 3"):
        Target("leaf-lru", 3, beta=3, min_length=2)
    with pytest.raises(CapacityError):
        Target("leaf-lru", 0)
    with pytest.raises(PolicyError):
        Target("nonsense", 3)


def test_beam_finds_the_exact_ratio_of_clock_clear():
    target = Target("clock-clear", 2)
    instance, served = beam(target, brooms(target)[0], Fraction(2))
    assert certify(instance, target).ratio == 3
    assert served > 0


def test_beam_finds_nothing_above_the_bound():
    target = Target("leaf-lru", 3)
    assert beam(target, brooms(target)[1], Fraction(3))[0] is None


def test_changes_keep_the_rules():
    draw = Random(0)
    target = Target("leaf-lru", 6, beta=2, min_length=2)
    instance, changed = cyclic(6, 2, 2), 0
    for _ in range(300):
        new = change_sequence(instance, target, draw)
        if new is not None:
            assert all(target.allows(new.trie, step) for step in new.steps)
            changed += new.steps != instance.steps
            instance = new if len(new.steps) < 60 else cyclic(6, 2, 2)
    assert changed > 100
    strategy = Strategy("", "m")
    for _ in range(300):
        strategy = change_strategy(strategy, draw, 4)
        assert strategy.pattern
        assert set(strategy.warm + strategy.pattern) <= set(LETTERS)


def test_random_boards_and_strategies_can_be_played():
    draw = Random(1)
    for _ in range(60):
        target = Target("leaf-lru", draw.randint(3, 7), draw.choice((1, 2)), draw.choice((1, 2)))
        board = random_board(target, draw)
        game = play(target, board, random_strategy(draw, target.k), limit=60)
        if game is not None:
            assert all(target.allows(board.trie, step) for step in game.steps)


@pytest.mark.parametrize("policy", ["leaf-lru", "lfu", "clock-clear"])
def test_a_game_that_closes_repeats_for_ever(policy):
    target = Target(policy, 4)
    game = play(target, brooms(target)[1], Strategy("nh", "mmoh"))
    costs = [step.cost for step in run(game.unrolled(5), policy).steps[len(game.prefix) :]]
    period = len(game.cycle)
    assert costs[period:] == costs[:period] * 4


def test_measure_agrees_with_the_exact_costs():
    for name in ("cyclic", "clock-star", "two-chains", "frequency", "sglang", "fifo-batch"):
        instance = FAMILIES[name]()
        for policy in ("leaf-lru", "fifo", "lfu", "clock-clear"):
            target = Target(policy, instance.capacity, instance.beta)
            exact = certify(instance, target)
            if not exact.exact:  # LFU counts for ever what is used for ever
                assert policy == "lfu"
                continue
            quick = measure(instance, target)
            # The period of the policy or of the optimum can be longer than the window.
            assert abs(quick.policy_cost - exact.policy_cost) <= exact.policy_cost / 20
            assert abs(quick.optimum_cost - exact.optimum_cost) <= Fraction(1, 4)


def test_measured_interval_holds_the_exact_ratio_of_a_randomised_policy():
    instance = FAMILIES["three-chains"](singles=5)
    score = measure(instance, Target("rlt", 9), range(100))
    exact = 118463 / 25200
    assert not score.exact
    assert 0 < score.half_width < 0.2
    assert abs(float(score.ratio) - exact) < 2 * score.half_width


def test_what_only_the_start_costs_is_no_unbounded_ratio():
    # Eight leaves fit, but coins take a while to evict the ninth; each is asked for many times.
    star = TokenTrie.from_parents([-1] * 9)
    cycle = [(leaf,) for leaf in range(8) for _ in range(8)]
    instance = Instance(star, 8, [(8,), *cycle], cycle_start=1)
    coins = Target("tests.exact.policies:AnyLeaf", 8)
    assert measure(instance, coins, range(1000, 1100)).ratio is None
    assert certify(instance, coins).ratio == 1
    mru = Instance(TokenTrie.from_parents([-1] * 3), 2, [(0,), (1,), (2,)], cycle_start=1)
    stays = certify(mru, Target("tests.adversary.test_search:Newest", 2))
    assert not stays.exact
    assert stays.ratio is None


class Newest(Stateless):
    """Keeps the first token for ever, so that b and c in turn always miss beside it."""

    def choose(self, leaves):
        return max(leaf for leaf in leaves if leaf)


def test_score_texts():
    assert Score(Fraction(3), Fraction(0)).text == "unbounded"
    assert Score(Fraction(0), Fraction(0)).ratio == 1
    assert Score(Fraction(3), Fraction(2), exact=True).text == "3/2"
    assert Score(Fraction(3), Fraction(2), half_width=0.1).text == "1.5000 +- 0.1000"


@pytest.mark.parametrize(
    ("policy", "prefix", "cycle"),
    [
        ("lfu", ((0,), (0,)), ((1,), (2,))),
        ("slru", ((0,), (0,)), ((1,), (2,))),
        ("mru", ((0,),), ((1,), (2,))),
        ("filo", ((0,),), ((1,), (2,))),
    ],
)
def test_shrinks_to_the_witness_of_the_textbook(policy, prefix, cycle):
    target = Target(policy, 5)
    found = searched(target).result()
    small, score = shrink(found.instance, target)
    assert (small.capacity, small.prefix, small.cycle) == (2, prefix, cycle)
    assert len(small.trie) == 3
    assert score.exact
    assert score.ratio is None


def test_shrinking_keeps_the_ratio_and_is_minimal():
    target = Target("leaf-lru", 4, min_length=2)
    star = cyclic(4, 2)
    messy = Instance(
        TokenTrie.from_parents([*star.trie.parents(), -1, 0]),
        4,
        [(2,), (1,), (6,), *star.steps],
        cycle_start=3,
    )
    small, score = shrink(messy, target)
    assert score.ratio == 3
    assert small.prefix == ()
    assert sorted(small.cycle) == [(1,), (2,), (3,), (4,)]
    assert len(small.trie) == 5
    for at in range(4):
        rest = small.cycle[:at] + small.cycle[at + 1 :]
        assert certify(Instance(small.trie, 4, rest, 0), target).ratio < 3


def test_shrinking_stops_when_told():
    target = Target("leaf-lru", 4)
    instance = Instance(cyclic(4).trie, 4, [(0,), (0,), *cyclic(4).steps], cycle_start=2)
    small, _ = shrink(instance, target, stop=lambda: True)
    assert len(small.steps) == len(instance.steps)


PROVED = [
    ("leaf-lru", 1, False, "linear"),
    ("fifo", 2, False, "linear"),
    ("rlt", 1, False, "logarithmic"),
    ("rlt", 4, True, "logarithmic"),
    ("rlt-step", 1, False, "logarithmic"),
    ("rlt-step", 2, False, "logarithmic"),
    ("rlt-step", 4, True, "linear"),
    ("rlt-node", 1, False, "linear"),
]


@pytest.mark.parametrize(("policy", "beta", "grow", "order"), PROVED)
def test_proved_growth(policy, beta, grow, order):
    found = proved_growth(Target(policy, 8, beta), grow)
    assert found[0] == order


def test_growth_verdicts_without_a_proof():
    for policy, verdict in (("clock-clear", "linear"), ("mru", "unbounded")):
        target = Target(policy, 4)
        best = searched(target).result()
        found = growth(target, best, slots=(2, 3, 4, 6))
        assert found.verdict == verdict
        assert found.evidence == ("witness" if verdict == "unbounded" else "measured")
        if verdict == "linear":
            assert found.fits[0].order == "linear"
            assert found.fits[0].slope == pytest.approx(2)


@pytest.mark.slow
def test_growth_of_a_randomised_policy_is_measured_from_its_own_points(monkeypatch):
    # As if nothing were proved about rlt: the fit alone has to tell.
    monkeypatch.setattr("adversary.growth.PROVED", {})
    target = Target("rlt", 4)
    best = searched(target).result()
    found = growth(target, best, slots=(3, 4, 6, 8, 12))
    assert found.verdict in ("logarithmic", "undetermined")


def test_few_points_are_undetermined():
    target = Target("clock", 4)
    found = growth(target, Candidate(cyclic(4), certify(cyclic(4), target), "x"), slots=(2, 3))
    assert (found.verdict, found.fits) == ("undetermined", ())


@pytest.mark.parametrize(
    ("order", "law"),
    [
        ("constant", lambda k: Fraction(5, 2)),
        ("logarithmic", lambda k: evaluate("yao-lower", k=k)),
        ("linear", lambda k: Fraction(k + 1, 2)),
    ],
)
def test_fits(order, law):
    points = [
        Point(k, k, 1, Score(Fraction(law(k)), Fraction(1)), "") for k in (2, 3, 4, 6, 8, 12, 16)
    ]
    fits = sorted(fit(points), key=lambda one: one.aicc)
    assert fits[0].order == order
    assert fits[1].aicc - fits[0].aicc > 2


def test_growing_beta_fits():
    for capacity in range(2, 40):
        for length in range(1, 5):
            if capacity >= length:
                beta = growing_beta(capacity, length)
                Target("leaf-lru", capacity, beta, length)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "least"),
    [
        ("leaf-lru", 7.5),
        ("fifo", 7.5),
        ("clock-clear", 8),
        ("rlt", 2.5),
        ("lfu", None),
        ("mru", None),
        ("filo", None),
        ("slru", None),
    ],
)
def test_capacity_eight(policy, least):
    best = searched(Target(policy, 8)).result()
    assert best.score.ratio is None if least is None else best.score.sure >= least
