"""Random sequences that share, repeat, cut off and extend prompts."""

from __future__ import annotations

import random

from empirical.sglang.prediction import Request
from empirical.sglang.seeded import lexicographic
from theory.trie import TokenTrie


def requests(seed: int, page_size: int, answer: int, count: int = 60) -> list[Request]:
    """Requests over three token ids; equal prompts get equal answers of up to `answer` tokens."""
    rng = random.Random(seed)
    symbols = rng.sample(range(100, 200), 3)
    prompts: list[list[int]] = []
    answers: dict[tuple[int, ...], list[int]] = {}
    result: list[Request] = []
    for _ in range(count):
        prompt = list(rng.choice(prompts)) if prompts and rng.random() < 0.8 else []
        if rng.random() < 0.5:
            prompt = prompt[: rng.randrange(len(prompt) + 1)]
        prompt += rng.choices(symbols, k=rng.randrange(2 * page_size + 2))
        prompt = prompt[: 6 * page_size] or symbols[:1]
        prompts.append(prompt)
        output = rng.choices(symbols, k=rng.randint(1, answer))
        result.append(Request(prompt, answers.setdefault(tuple(prompt), output)))
    return result


def capacity_for(requests: list[Request], page_size: int, seed: int) -> int:
    """Tokens of a pool in which every request fits and the whole sequence does not."""
    rng = random.Random(seed)
    least = max(-(-(len(r.prompt) + len(r.output)) // page_size) for r in requests) + 2
    return rng.randrange(least, 3 * least) * page_size


def forest(seed: int) -> tuple[TokenTrie, int, random.Random]:
    """A small forest numbered depth first, a capacity that fits every query, and a generator."""
    rng = random.Random(seed)
    count = rng.randrange(4, 16)
    parents = [rng.choice([-1, t - 1, rng.randrange(-1, t)]) if t else -1 for t in range(count)]
    trie, _ = lexicographic(TokenTrie.from_parents(parents))
    depth = max(trie.depth(token) for token in range(count))
    return trie, rng.randrange(depth, max(depth + 1, count)), rng
