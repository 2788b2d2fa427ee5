"""What README.md says that the commands print is what they print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.command import command

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [text for text in BLOCK.findall(README.read_text(encoding="utf-8")) if "$ pip" not in text]


def same(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines agree; a line ``...`` stands for any number of lines."""
    if not shown:
        return not any(printed)
    if shown[0] == "...":
        return len(shown) == 1 or any(same(shown[1:], printed[i:]) for i in range(len(printed)))
    return bool(printed) and shown[0] == printed[0] and same(shown[1:], printed[1:])


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda text: text.split()[2])
def test_the_output_is_real(block: str, tmp_path: Path) -> None:
    """Every ``$ kvbounds`` line is run, and the lines below it are its output."""
    for part in re.split(r"^\$ kvbounds ", block, flags=re.MULTILINE)[1:]:
        words, _, shown = part.partition("\n")
        done = command(*shlex.split(words), folder=tmp_path)
        assert done.code == 0, done.err
        if shown:
            lines = [line.rstrip() for line in done.out.splitlines()]
            assert same(shown.rstrip().splitlines(), lines), done.out


def test_there_are_five_more() -> None:
    assert len(BLOCKS) == 5
