"""The interactive page: played with mouse and keyboard, its simulation held to the model."""

from __future__ import annotations

from typing import Any

import pytest

from adversary.families import cyclic
from mip.belady import farthest_next_use
from theory.cache import PrefixCache
from theory.model import Instance
from theory.trie import TokenTrie

pytestmark = pytest.mark.slow

SETTINGS = [(2, 1, 1), (6, 3, 1), (7, 1, 3), (9, 4, 2), (16, 5, 4)]

SIMULATE = """
const [B, L, beta, name, seed] = arguments;
const trie = kvbounds.broom(B, L, beta);
const steps = kvbounds.sequence(trie, 12 * trie.free.length);
const list = (set) => [...set].sort((a, b) => a - b);
return {
  parents: trie.parent,
  steps,
  records: kvbounds.run(trie, B, steps, name, seed).map((r) => ({
    misses: r.misses, evicted: r.evicted, cached: list(r.cached), marks: list(r.marks),
  })),
};
"""


@pytest.fixture
def page(browser: Any, site: str) -> Any:
    browser.set_window_size(1200, 900)
    browser.get(site + "stepper.html")
    return browser


def simulated(page: Any, B: int, L: int, beta: int, name: str, seed: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = page.execute_script(SIMULATE, B, L, beta, name, seed)
    return found


@pytest.mark.parametrize("name", ["leaf-lru", "fifo", "mru"])
def test_deterministic_policies_are_those_of_the_model(page: Any, name: str) -> None:
    for B, L, beta in SETTINGS:
        shown = simulated(page, B, L, beta, name)
        trie = TokenTrie.from_parents(shown["parents"])
        cache = PrefixCache(trie, B, name)
        for batch, record in zip(shown["steps"], shown["records"], strict=True):
            step = cache.serve(batch)
            assert list(step.misses) == record["misses"]
            assert list(step.evicted) == record["evicted"]
            assert sorted(cache.cached) == record["cached"]


def test_the_optimum_is_the_optimum(page: Any) -> None:
    for B, L, beta in SETTINGS:
        shown = simulated(page, B, L, beta, "optimum")
        instance = Instance(TokenTrie.from_parents(shown["parents"]), B, shown["steps"])
        best = farthest_next_use(instance)
        assert best.schedule is not None
        assert [record["cached"] for record in shown["records"]] == [
            sorted(cache) for cache in best.schedule
        ]
        assert sum(len(record["misses"]) for record in shown["records"]) == best.misses


@pytest.mark.parametrize("name", ["rlt", "rlt-step"])
def test_rlt_keeps_its_rules(page: Any, name: str) -> None:
    for B, L, beta in SETTINGS:
        for seed in (1, 2):
            shown = simulated(page, B, L, beta, name, seed)
            marks: set[int] = set()
            cached: set[int] = set()
            trie = TokenTrie.from_parents(shown["parents"])
            for batch, record in zip(shown["steps"], shown["records"], strict=True):
                footprint = set(trie.footprint(batch))
                marks = footprint if len(marks | footprint) > B else marks | footprint
                assert record["marks"] == sorted(marks)
                assert set(record["misses"]) == footprint - cached
                assert not set(record["evicted"]) & marks
                assert len(record["evicted"]) == max(0, len(cached | footprint) - B)
                cached = (cached | footprint) - set(record["evicted"])
                assert record["cached"] == sorted(cached)
                assert all(trie.parent(t) in cached for t in cached if trie.parent(t) >= 0)


def test_equal_seeds_draw_equal_victims(page: Any) -> None:
    once, again, other = (simulated(page, 9, 2, 1, "rlt", seed) for seed in (1, 1, 2))
    assert once == again
    assert once != other


def test_the_sequence_is_the_worst_case_of_theorem_2(page: Any) -> None:
    for B, L, beta in SETTINGS:
        shown = simulated(page, B, L, beta, "leaf-lru")
        steps = shown["steps"]
        worst = cyclic(capacity=B, length=L, beta=beta, steps=len(steps))
        assert len(shown["parents"]) == len(worst.trie)
        cache = PrefixCache(worst.trie, B, "leaf-lru")
        for batch, record in zip(worst.steps, shown["records"], strict=True):
            assert len(cache.serve(batch).misses) == len(record["misses"])


def text(page: Any, name: str) -> str:
    found: str = page.find_element("css selector", f"[data-out={name}]").text
    return found


def test_mouse(page: Any) -> None:
    assert text(page, "step").startswith("step 1 of")
    page.find_element("name", "next").click()
    page.find_element("name", "next").click()
    assert text(page, "step").startswith("step 3 of")
    page.find_element("name", "back").click()
    assert text(page, "step").startswith("step 2 of")
    play = page.find_element("name", "play")
    play.click()
    assert play.text == "Pause"
    page.execute_async_script("setTimeout(arguments[0], 1500)")
    play.click()
    assert play.text == "Play"
    stopped = text(page, "step")
    assert not stopped.startswith("step 2 of")
    page.execute_async_script("setTimeout(arguments[0], 800)")
    assert text(page, "step") == stopped


def test_keyboard(page: Any) -> None:
    keys = pytest.importorskip("selenium.webdriver").Keys
    page.execute_script("document.getElementById('kvbounds-stepper').focus()")
    page.switch_to.active_element.send_keys(keys.ARROW_RIGHT, keys.ARROW_RIGHT, keys.ARROW_LEFT)
    assert text(page, "step").startswith("step 2 of")
    slider = page.find_element("name", "step")
    slider.send_keys(keys.END)
    shown, _, last = text(page, "step").removeprefix("step ").partition(" of ")
    assert shown == last
    reached = []
    page.execute_script("document.getElementById('kvbounds-stepper').focus()")
    for _ in range(11):
        page.switch_to.active_element.send_keys(keys.TAB)
        reached.append(page.switch_to.active_element.get_attribute("name"))
    wanted = ["B", "L", "beta", "left", "right", "seed", "step", "back", "next", "play"]
    assert [name for name in reached if name in wanted] == wanted


def test_bad_settings_are_brought_into_range(page: Any) -> None:
    for name, typed, kept in (("B", "9999", "16"), ("L", "-3", "1"), ("beta", "", "1")):
        field = page.find_element("name", name)
        page.execute_script(
            "arguments[0].value = arguments[1];"
            "arguments[0].dispatchEvent(new Event('change', {bubbles: true}));",
            field,
            typed,
        )
        assert field.get_attribute("value") == kept
    assert text(page, "bound").endswith("= 16; the optimum has missed 1 so far")


def test_a_phone_shows_one_cache_below_the_other(page: Any) -> None:
    page.set_window_size(400, 900)
    left, right = (
        page.find_element("css selector", f"[data-picture={side}] svg").rect
        for side in ("left", "right")
    )
    inner = page.execute_script("return window.innerWidth")
    assert right["y"] > left["y"]
    assert left["x"] >= 0
    assert left["x"] + left["width"] <= inner
    assert page.execute_script("return document.documentElement.scrollWidth") <= inner
    page.find_element("name", "next").click()
    assert text(page, "step").startswith("step 2 of")
