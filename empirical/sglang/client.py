"""Ask a SGLang server: one streamed request, its cached tokens, its times."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from theory.errors import InputError, KvboundsError

__all__ = ["Answer", "ServerError", "flush", "generate", "server_info"]


class ServerError(KvboundsError):
    """A server that cannot be reached, answers with an error, or hangs."""


class Answer(NamedTuple):
    """What a server answered.

    Attributes
    ----------
    cached_tokens, prompt_tokens : int
        The prompt tokens that the server found in its cache, and all of them.
    output : list of int
        The token ids of the answer.
    ttft_ms, latency_ms : float
        From the request to the first token and to the last one.
    """

    cached_tokens: int
    prompt_tokens: int
    output: list[int]
    ttft_ms: float
    latency_ms: float


def generate(
    url: str, prompt: Sequence[int], output_tokens: int = 1, *, timeout: float = 60.0
) -> Answer:
    """Send a prompt and read the streamed answer of exactly `output_tokens` tokens.

    Raises
    ------
    ServerError
        If the server cannot be reached, answers with an error, ends too early or is silent for
        `timeout` seconds.
    """
    body = {
        "input_ids": list(prompt),
        "sampling_params": {
            "max_new_tokens": output_tokens,
            "temperature": 0,
            "ignore_eos": True,
        },
        "stream": True,
    }
    start = time.perf_counter()
    first = last = 0.0
    output: list[int] = []
    facts: dict[str, Any] = {}
    try:
        for event in _events(url, body, timeout):
            last = (time.perf_counter() - start) * 1e3
            first = first or last
            if "error" in event:
                raise ServerError(f"{url} answered: {event['error']}")
            facts = event["meta_info"]
            if facts["completion_tokens"] == len(event["output_ids"]):
                output = list(event["output_ids"])  # all of it each time
            else:
                output += event["output_ids"]
        answer = Answer(facts["cached_tokens"], facts["prompt_tokens"], output, first, last)
    except (OSError, http.client.HTTPException) as error:
        raise ServerError(f"{url} failed: {type(error).__name__}: {error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ServerError(f"{url} did not answer as a SGLang server does ({error!r})") from error
    if answer.prompt_tokens != len(prompt) or len(output) != output_tokens:
        raise ServerError(
            f"{url} answered {len(output)} of {output_tokens} tokens to a prompt of "
            f"{answer.prompt_tokens} of {len(prompt)}: {facts.get('finish_reason')}"
        )
    return answer


def server_info(url: str, timeout: float = 10.0) -> dict[str, Any]:
    """The settings of a server.

    Raises
    ------
    ServerError
        If it cannot be reached or answers with an error.
    """
    info = _ask(url, "GET", "/server_info", timeout)
    try:
        value: dict[str, Any] = json.loads(info)
    except ValueError as error:
        raise ServerError(f"{url} did not answer as a SGLang server does ({error!r})") from error
    return value


def flush(url: str, timeout: float = 30.0) -> None:
    """Empty the cache of an idle server.

    Raises
    ------
    ServerError
        If it cannot be reached or refuses, which it does while it serves a request.
    """
    _ask(url, "POST", f"/flush_cache?timeout={timeout:g}", timeout + 5)


def _connect(url: str, timeout: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    try:
        fine = parts.scheme == "http" and parts.hostname and parts.path in ("", "/")
        port = parts.port or 80
    except ValueError:
        fine = False
    if not fine:
        raise InputError(
            f"{url!r} is no URL of a worker", where="--worker", fix="write http://HOST:PORT"
        )
    return http.client.HTTPConnection(str(parts.hostname), port, timeout=timeout)


def _ask(url: str, method: str, path: str, timeout: float) -> bytes:
    connection = _connect(url, timeout)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise ServerError(f"{url} failed: {type(error).__name__}: {error}") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise ServerError(f"{url}{path} answered {answer.status}: {_short(text)}")
    return text


def _events(url: str, body: dict[str, Any], timeout: float) -> Iterator[dict[str, Any]]:
    """The server-sent events of a request, until the server says that it is done."""
    connection = _connect(url, timeout)
    try:
        connection.request(
            "POST", "/generate", json.dumps(body), {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        if answer.status != 200:
            raise ServerError(f"{url} answered {answer.status}: {_short(answer.read())}")
        for line in answer:
            field, _, data = line.decode().strip().partition(": ")
            if field == "data":
                if data == "[DONE]":
                    return
                yield json.loads(data)
    finally:
        connection.close()
    raise ServerError(f"{url} broke off its answer")


def _short(text: bytes) -> str:
    return text.decode(errors="replace")[:200]
