"""Requests and answers as they are passed on: all headers but those of one connection."""

from __future__ import annotations

from collections.abc import Iterable

from multidict import CIMultiDict

__all__ = ["answer_headers", "request_bytes"]

Raw = Iterable[tuple[bytes, bytes]]

# Those of one connection only (RFC 9110, 7.6.1), and what the sender sets itself.
_HOP = frozenset(
    [
        b"connection",
        b"content-length",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    ]
)
# The gateway reads the whole request, unpacks it if it is packed, and greets the worker itself.
_REQUEST_HOP = _HOP | {b"content-encoding", b"expect", b"host"}


def request_bytes(
    method: str, path: str, authority: bytes, headers: Raw, body: bytes | None
) -> bytes:
    """A request, ready to be sent.

    Examples
    --------
    >>> headers = [(b"Connection", b"close"), (b"Authorization", b"Bearer key")]
    >>> request_bytes("GET", "/health", b"127.0.0.1:1", headers, None).splitlines()
    [b'GET /health HTTP/1.1', b'Host: 127.0.0.1:1', b'Authorization: Bearer key', b'']
    """
    parts = [method.encode(), b" ", path.encode(), b" HTTP/1.1\r\nHost: ", authority, b"\r\n"]
    for name, value in _kept(headers, _REQUEST_HOP):
        parts += (name, b": ", value, b"\r\n")
    if body is not None:
        parts += (b"Content-Length: ", str(len(body)).encode(), b"\r\n\r\n", body)
    else:
        parts.append(b"\r\n")
    return b"".join(parts)


def answer_headers(headers: Raw) -> CIMultiDict[str]:
    """The headers of an answer, for the client; one that is there twice stays there twice.

    Examples
    --------
    >>> headers = [(b"Keep-Alive", b"5"), (b"Set-Cookie", b"a"), (b"set-cookie", b"b")]
    >>> answer_headers(headers).getall("Set-Cookie")
    ['a', 'b']
    """
    return CIMultiDict(
        (name.decode("utf-8", "replace"), value.decode("utf-8", "replace"))
        for name, value in _kept(headers, _HOP)
    )


def _kept(headers: Raw, left_out: frozenset[bytes]) -> list[tuple[bytes, bytes]]:
    named: set[bytes] = set()  # by the header Connection
    kept = []
    for name, value in headers:
        lower = name.lower()
        if lower == b"connection":
            named.update(token.strip().lower() for token in value.split(b","))
        elif lower not in left_out:
            kept.append((name, value))
    return [pair for pair in kept if pair[0].lower() not in named] if named else kept
