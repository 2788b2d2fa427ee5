"""JSON files with a schema tag: byte-stable, written atomically, read with clear errors."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import orjson

from theory.errors import InputError

__all__ = ["check_writable", "dumps", "read_json", "write_bytes", "write_json", "write_text"]


def dumps(value: Any) -> str:
    """Serialise `value` to indented JSON that is the same for equal input.

    Parameters
    ----------
    value : object
        Anything that orjson accepts; keys keep their order of insertion. Fractions must have
        been turned into strings by the caller.

    Examples
    --------
    >>> print(dumps({"ratio": "3/2"}), end="")
    {
      "ratio": "3/2"
    }
    """
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old file or the whole new one.

    A link is followed; a device or pipe (``/dev/stdout``) is written to, and never replaced.

    Raises
    ------
    InputError
        If the folder is missing or not writable.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(data)
            return
        target = target.resolve()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            # mkstemp makes private files; a result is an ordinary file under the user's umask.
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _unwritable(path, error.strerror) from error


def _unwritable(path: str | Path, why: str | None) -> InputError:
    return InputError(
        f"cannot be written ({why})",
        where=str(path) or "''",
        fix="name a file in a folder that exists and is writable",
    )


def check_writable(*paths: str | Path | None) -> None:
    """Check before a long run that its results can be written; None is no file.

    Raises
    ------
    InputError
        If a folder is missing or not writable, or the path is a folder.
    """
    for path in paths:
        if path is None:
            continue
        try:
            target = Path(path).resolve()
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            special = target.exists() and not target.is_file()
            next(target.parent.iterdir(), None)  # the folder is there
            if not os.access(target if special else target.parent, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise _unwritable(path, error.strerror) from error


def write_text(path: str | Path, text: str) -> None:
    """Write `text` in UTF-8, atomically (see `write_bytes`)."""
    write_bytes(path, text.encode())


def write_json(path: str | Path, value: Any) -> None:
    """Write `value` as JSON, atomically (see `write_text` and `dumps`)."""
    write_text(path, dumps(value))


def read_json(path: str | Path, schema: str | None = None) -> Any:
    """Read a JSON file and check its schema tag.

    Parameters
    ----------
    path : str or Path
        The file.
    schema : str, optional
        The tag that the field ``"schema"`` must carry, e.g. ``"kvbounds/instance/1"``.

    Raises
    ------
    InputError
        If the file is missing, is not JSON, or carries another tag.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", where=str(path), fix="check the path"
        ) from error
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InputError(
            f"is not valid JSON: {error.msg}",
            where=f"{path}:{error.lineno}",
            fix="mend that line or write the file again",
        ) from error
    if schema is not None:
        found = value.get("schema") if isinstance(value, dict) else None
        if found != schema:
            raise InputError(
                f"has schema {found!r}, wanted {schema!r}",
                where=f"{path}#/schema",
                fix="give a file of that kind",
            )
    return value
