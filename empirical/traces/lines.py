"""Files of JSON objects, one a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from theory.errors import InputError

__all__ = ["rows_of"]


def rows_of(file: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file, each with ``file:line``.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is no JSON object.
    """
    try:
        with Path(file).open("rb") as stream:
            for number, line in enumerate(stream, 1):
                where = f"{file}:{number}"
                if not line.strip():
                    continue
                try:
                    row = orjson.loads(line)
                except orjson.JSONDecodeError as error:
                    raise InputError(f"is not valid JSON: {error.msg}", where=where) from None
                if not isinstance(row, dict):
                    raise InputError("is not a JSON object", where=where)
                yield where, row
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", where=str(file), fix="check the path"
        ) from None
