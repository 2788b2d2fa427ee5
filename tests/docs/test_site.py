"""The built site in a real browser: links, formulas, and no request that leaves this machine."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote, urldefrag
from urllib.request import urlopen

import pytest

pytestmark = pytest.mark.slow

PAGE = """
const done = arguments[0];
const formulas = () => [...document.querySelectorAll('.math')];
const answer = () => done({
  links: [...document.querySelectorAll('a[href]')].map((a) => a.href),
  images: [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src),
  ids: [...document.querySelectorAll('[id]')].map((e) => e.id),
  formulas: formulas().length,
  bare: formulas().filter((e) => !e.querySelector('mjx-container')).map((e) => e.textContent),
  wrong: [...document.querySelectorAll('mjx-merror, [data-mjx-error]')].map((e) => e.textContent),
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
});
window.MathJax?.startup?.promise ? MathJax.startup.promise.then(answer) : answer();
"""


@pytest.fixture(scope="module")
def pages(browser: Any, site: str) -> dict[str, dict[str, Any]]:
    """Every page that links lead to from the first one, as the browser sees it."""
    browser.set_window_size(1200, 900)
    browser.get_log("performance")
    waiting, found = [site + "index.html"], {}
    while waiting:
        address = waiting.pop()
        if address in found:
            continue
        browser.get(address)
        found[address] = browser.execute_async_script(PAGE)
        for link in found[address]["links"]:
            target = urldefrag(link).url
            if target.startswith(site) and target.endswith(".html"):
                waiting.append(target)
    return found


def test_every_internal_link_leads_somewhere(pages: dict[str, dict[str, Any]], site: str) -> None:
    assert len(pages) > 30
    broken = []
    for address, page in pages.items():
        for link in set(page["links"]):
            target, fragment = urldefrag(link)
            if not target.startswith(site):
                continue
            if target in pages:
                ids = pages[target]["ids"]
                if fragment and fragment not in ids and unquote(fragment) not in ids:
                    broken.append(f"{address}: {link}")
            elif not target.endswith("/"):
                with urlopen(target) as answer:
                    if answer.status != 200:
                        broken.append(f"{address}: {link}")
    assert not broken


def test_every_formula_is_rendered(pages: dict[str, dict[str, Any]]) -> None:
    assert sum(page["formulas"] for page in pages.values()) > 500
    assert [page["bare"] for page in pages.values() if page["bare"]] == []
    assert [page["wrong"] for page in pages.values() if page["wrong"]] == []


def test_every_picture_is_there(pages: dict[str, dict[str, Any]]) -> None:
    assert [page["images"] for page in pages.values() if page["images"]] == []


def test_nothing_is_asked_of_another_machine(
    pages: dict[str, dict[str, Any]], browser: Any, site: str
) -> None:
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }
    assert len(asked) >= len(pages)
    assert {url for url in asked if not url.startswith((site, "data:", "blob:"))} == set()


def test_pages_fit_a_phone(pages: dict[str, dict[str, Any]], browser: Any, site: str) -> None:
    browser.set_window_size(400, 800)
    try:
        too_wide = []
        for address in pages:
            if "/_modules/" in address or address.endswith(("genindex.html", "search.html")):
                continue
            browser.get(address)
            if browser.execute_async_script(PAGE)["wide"] > 1:
                too_wide.append(address)
        assert not too_wide
    finally:
        browser.set_window_size(1200, 900)
