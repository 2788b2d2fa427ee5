"""A prompt longer than the capacity: one clear error, nothing lost, no endless loop."""

from __future__ import annotations

import pytest

from tests.theory.law import WITH_LAW
from theory.cache import PrefixCache
from theory.errors import InadmissibleStepError
from theory.model import Instance
from theory.trie import TokenTrie

TRIE, (LONG, SHORT) = TokenTrie.from_sequences(["abcdefgh", "abx"])


@pytest.mark.parametrize("policy", WITH_LAW)
def test_the_cache_refuses_it_and_goes_on(policy: str) -> None:
    cache = PrefixCache(TRIE, 4, policy)
    cache.serve([SHORT])
    state = cache.state()
    with pytest.raises(InadmissibleStepError) as caught:
        cache.serve([LONG])
    assert str(caught.value) == (
        "step 1: its footprint of 8 tokens exceeds the capacity 4; raise the capacity to at least 8"
    )
    assert cache.state() == state
    assert cache.serve([SHORT]).cost == 0


def test_the_instance_refuses_it_before_anything_is_served() -> None:
    for overflow in ("error", "split"):
        with pytest.raises(InadmissibleStepError, match="step 1: its footprint of 8 tokens"):
            Instance(TRIE, 4, [[SHORT], [LONG]], overflow=overflow)  # type: ignore[arg-type]


def test_an_exact_fit_is_served() -> None:
    cache = PrefixCache(TRIE, 8)
    cache.serve([SHORT])
    assert cache.serve([LONG]).cost == 6
    assert cache.serve([SHORT]).cost == 1
