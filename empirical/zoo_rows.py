"""The rows of a zoo that are finished, kept in its folder until all are."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from empirical.traces.base import Trace
from empirical.zoo import on_trace, zoo_row
from theory.errors import InputError
from theory.eviction import POLICIES, make_policy
from theory.jsonfile import read_json, write_json

__all__ = ["Kept", "digest", "row_of"]

SCHEMA = "kvbounds/zoo-rows/1"


def digest(path: str | Path) -> str:
    """The SHA-256 of a file's content.

    Examples
    --------
    >>> digest("/dev/null")[:8]
    'e3b0c442'
    """
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def row_of(
    policy: str,
    capacity: int,
    evaluations: int,
    seed: int,
    traces: Sequence[Trace],
    blocks: int,
) -> dict[str, Any]:
    """One whole row in JSON; what the policy prints goes to stderr."""
    with redirect_stdout(sys.stderr):
        row = zoo_row(policy, capacity, evaluations, seed)
        measured = {one.name: on_trace(policy, one, blocks) for one in traces}
        return replace(row, traces=measured).to_json()


@dataclass
class Kept:
    """The finished rows of a folder.

    Parameters
    ----------
    path : Path
        The file.
    settings : mapping
        What the rows depend on, besides the policy.
    fresh : bool
        Whether to forget what is there.

    Attributes
    ----------
    rows : dict
        By policy. Those of a user's own class hold as long as its file is unchanged.
    """

    path: Path
    settings: Mapping[str, Any]
    fresh: bool = False

    def __post_init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self._sources: dict[str, str | None] = {}
        if self.fresh or not self.path.exists():
            return
        try:
            value = read_json(self.path, SCHEMA)
            if value["settings"] != self.settings:
                return
            for item in value["rows"]:
                row, source = item["row"], item["source"]
                if row["policy"] in POLICIES or source == self._source(row["policy"]):
                    self.rows[row["policy"]] = row
                    self._sources[row["policy"]] = source
        except (InputError, KeyError, TypeError) as error:
            raise InputError(
                f"holds no finished rows ({type(error).__name__}: {error})",
                where=str(self.path),
                fix="start anew with --fresh",
            ) from None

    def add(self, row: dict[str, Any]) -> None:
        """Keep a row."""
        self.rows[row["policy"]] = row
        self._sources[row["policy"]] = self._source(row["policy"])
        items = [{"source": self._sources[name], "row": one} for name, one in self.rows.items()]
        write_json(self.path, {"schema": SCHEMA, "settings": dict(self.settings), "rows": items})

    @staticmethod
    def _source(policy: str) -> str | None:
        """The content of the file of a user's own class."""
        try:
            module = sys.modules[type(make_policy(policy)).__module__]
        except InputError:  # it is no longer there
            return "gone"
        file = getattr(module, "__file__", None)
        return None if policy in POLICIES or file is None else digest(file)
