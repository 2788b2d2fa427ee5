"""Traces in the Mooncake format: JSON lines, plain or compressed with gzip.

A row has ``timestamp`` (ms), ``input_length``, ``output_length`` (tokens) and ``hash_ids``, one id
a block of the prompt; ``block_size`` (512 if absent) and ``session_id`` are optional. Source of the
format: Qin et al., "Mooncake", FAST 2025, trace release.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from itertools import islice
from math import isfinite
from os import SEEK_END
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from empirical.traces.base import Trace
from theory.errors import InputError
from theory.jsonfile import write_bytes
from theory.memory import check_memory

__all__ = ["BLOCK_SIZE", "dump", "dumps", "load"]

BLOCK_SIZE = 512
"""Tokens a block in rows that do not say otherwise."""

BYTES_A_BYTE = 12
"""What a byte of a trace file takes in memory, at the peak; about."""


class _Row(NamedTuple):
    timestamp: float
    input_length: int
    output_length: int
    hash_ids: list[int]
    block_size: int
    session: str | None


def load(path: str | Path, *, limit: int | None = None, name: str | None = None) -> Trace:
    """Read a trace file.

    Parameters
    ----------
    path : str or Path
        A ``.jsonl`` or ``.jsonl.gz`` file.
    limit : int, optional
        Read only the first `limit` rows of the file.
    name : str, optional
        The name of the trace; by default that of the file without its suffixes.

    Returns
    -------
    Trace
        The requests, sorted by timestamp; rows with equal timestamps keep the order of the file.

    Raises
    ------
    InputError
        With file and line: if the file cannot be read or is empty, a line is broken or cut off, a
        field is missing or of the wrong kind, a length is not positive, the number of ids does not
        match the length of the prompt, an id occurs twice in a row or has two predecessors, or
        rows differ in block size.
    """
    file = Path(path)
    rows: list[_Row] = []
    lines: list[int] = []
    for number, value in islice(_values(file), limit):
        rows.append(_row(value, f"{file}:{number}"))
        lines.append(number)
        if rows[-1].block_size != rows[0].block_size:
            raise InputError(
                f"block_size {rows[-1].block_size} differs from {rows[0].block_size} in line "
                f"{lines[0]}",
                where=f"{file}:{number}",
                fix="give a trace with one block size",
            )
    with_session = any(row.session is not None for row in rows)
    return Trace.from_hash_ids(
        [row.hash_ids for row in rows],
        [row.timestamp for row in rows],
        [row.input_length for row in rows],
        [row.output_length for row in rows],
        block_size=rows[0].block_size if rows else BLOCK_SIZE,
        session=[row.session or "" for row in rows] if with_session else None,
        line=lines,
        name=file.name.removesuffix(".gz").removesuffix(".jsonl") if name is None else name,
        where=str(file),
    )


def _values(file: Path) -> Iterator[tuple[int, Any]]:
    """The lines that are not blank, with their numbers from 1, parsed."""
    try:
        _check_size(file)
        raw = file.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"the gzip data is damaged or cut off ({error})",
            where=str(file),
            fix="fetch the file again",
        ) from error
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", where=str(file), fix="check the path"
        ) from error
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield number, orjson.loads(line)
        except orjson.JSONDecodeError as error:
            cut = number == len(lines)  # the file does not end with a newline
            raise InputError(
                f"{'the last line is cut off' if cut else 'is not valid JSON'} ({error.msg})",
                where=f"{file}:{number}",
                fix="fetch the file again" if cut else "mend or delete that line",
            ) from error


def _check_size(file: Path) -> None:
    """Say so before a file is read that memory cannot hold."""
    with file.open("rb") as stream:
        compressed = stream.read(2) == b"\x1f\x8b"
        size = stream.seek(0, SEEK_END)
        if compressed and size >= 4:
            stream.seek(-4, SEEK_END)
            # The content's length modulo 4 GiB; of a damaged file, anything. Deflate never shrinks
            # by more than this factor.
            size += min(int.from_bytes(stream.read(4), "little"), 1032 * size)
    check_memory(
        BYTES_A_BYTE * size, "the trace", where=str(file), fix="give fewer requests (trace convert)"
    )


def _row(value: Any, where: str) -> _Row:
    if not isinstance(value, dict):
        raise InputError("is not a JSON object", where=where, fix="write one request a line")
    for field in ("timestamp", "input_length", "output_length", "hash_ids"):
        if field not in value:
            raise InputError(f"has no field {field!r}", where=where, fix="add it")
    timestamp = value["timestamp"]
    if type(timestamp) not in (int, float) or not isfinite(timestamp):
        raise InputError(f"timestamp {timestamp!r} is not a number of ms", where=where)
    sizes = value["input_length"], value["output_length"], value.get("block_size", BLOCK_SIZE)
    for field, size in zip(("input_length", "output_length", "block_size"), sizes, strict=True):
        if type(size) is not int or not 1 <= size < 2**62:
            raise InputError(f"{field} {size!r} is not a positive whole number", where=where)
    ids = value["hash_ids"]
    if type(ids) is not list:
        raise InputError(f"hash_ids is a {type(ids).__name__}, not a list", where=where)
    if ids and ({*map(type, ids)} != {int} or min(ids) < 0):
        bad = next(item for item in ids if type(item) is not int or item < 0)
        raise InputError(f"hash id {bad!r} is not a whole number >= 0", where=where)
    session = value.get("session_id")
    if session is not None and type(session) not in (str, int):
        raise InputError(f"session_id {session!r} is not a string", where=where)
    return _Row(
        float(timestamp), *sizes[:2], ids, sizes[2], None if session is None else str(session)
    )


def dumps(trace: Trace) -> bytes:
    """The trace as JSON lines: ids by first appearance, byte-stable.

    Examples
    --------
    >>> print(dumps(Trace.from_hash_ids([[5]], [0], [600], [1], block_size=1024)).decode(), end="")
    {"timestamp":0,"input_length":600,"output_length":1,"hash_ids":[0],"block_size":1024}
    """
    lines: list[bytes] = []
    columns = trace.timestamp.tolist(), trace.input_length.tolist(), trace.output_length.tolist()
    for row, (timestamp, inputs, outputs) in enumerate(zip(*columns, strict=True)):
        value: dict[str, Any] = {
            "timestamp": int(timestamp) if timestamp.is_integer() else timestamp,
            "input_length": inputs,
            "output_length": outputs,
            "hash_ids": trace.hash_ids(row),
        }
        if trace.session is not None:
            value["session_id"] = trace.session[row]
        if trace.block_size != BLOCK_SIZE:
            value["block_size"] = trace.block_size
        lines.append(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))
    return b"".join(lines)


def dump(trace: Trace, path: str | Path) -> None:
    """Write the trace as JSON lines, atomically; compressed if the name ends with ``.gz``."""
    raw = dumps(trace)
    # mtime=0: equal traces give equal bytes.
    write_bytes(path, gzip.compress(raw, mtime=0) if str(path).endswith(".gz") else raw)
