"""Two programs side by side on the same machine: the best of several turns each."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

__all__ = ["Table", "best", "process", "race"]


@dataclass
class Table:
    """Measured seconds or rates against a target."""

    rows: list[tuple[str, str, str, str, str]] = field(default_factory=list)

    def add(self, what: str, ours: str, theirs: str, ratio: str, target: str) -> None:
        """Write one row down."""
        self.rows.append((what, ours, theirs, ratio, target))

    def lines(self) -> list[str]:
        """The table, aligned."""
        rows = [("what", "kvbounds", "peer", "ratio", "target"), *self.rows]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        return [
            "  ".join(
                text.ljust(width) if i == 0 else text.rjust(width)
                for i, (text, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]


def process(*command: object) -> Callable[[], object]:
    """Run a command to its end, without its output."""
    words = [str(word) for word in command]
    return lambda: subprocess.run(words, check=True, capture_output=True)


def kvbounds(*arguments: object) -> Callable[[], object]:
    """Run ``kvbounds`` as a process."""
    return process(sys.executable, "-m", "kvbounds", *arguments)


def best(work: Callable[[], object], turns: int = 5) -> float:
    """The least wall-clock seconds of several turns."""
    return race([work], turns)[0]


def race(works: Sequence[Callable[[], object]], turns: int = 5) -> list[float]:
    """The least wall-clock seconds of each, taking turns, so that all see the same machine."""
    seconds = [float("inf")] * len(works)
    for _ in range(turns):
        for place, work in enumerate(works):
            began = time.perf_counter()
            work()
            seconds[place] = min(seconds[place], time.perf_counter() - began)
    return seconds
